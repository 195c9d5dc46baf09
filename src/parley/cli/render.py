"""The parts of a turn as lines for a terminal: tool calls, diffs, plans.

Each line is inert and has a colour, which may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from parley._display_text import sanitize_text
from parley.client._patch_reader import (
    PatchFile,
    change_label,
    is_named_above,
    lines_near_changes,
    read_patch,
)
from parley.client._tool_call_display import clean_title, raw_output_text, without_fence
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript_entries import TerminalEntry, ToolCallEntry

__all__ = ["Line", "content_lines", "plan_lines", "result_lines", "tool_line"]

Line: TypeAlias = tuple[str, str]

_MARKS = {
    "pending": ("○", "dim"),
    "in_progress": ("▸", "cyan"),
    "paused": ("‖", "yellow"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("■", "yellow"),
}
_SIGN_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_BOXES = {"completed": "[x]", "in_progress": "[>]", "cancelled": "[-]"}
MAX_LINES = 12
"""How much of what a tool call shows is shown here, per item."""


def tool_line(call: ToolCallEntry) -> Line:
    """Return what a tool call does and how far it is."""
    mark, colour = _MARKS.get(call.status, ("?", "dim"))
    title = sanitize_text(clean_title(call.title or call.name or call.id), is_line=True)
    kind = "" if call.kind == "other" else f"{sanitize_text(call.kind, is_line=True)}: "
    return f"{mark} {kind}{title}", colour


def content_lines(
    content: Sequence[v2.ToolCallContent],
    terminals: Mapping[str, TerminalEntry],
    max_lines: int = MAX_LINES,
) -> list[Line]:
    """Return what a tool call shows: text, diffs, the output of terminals; so much of each."""
    items = (list(_item_lines(item, terminals)) for item in content)
    return [line for lines in items for line in _cut(lines, max_lines)]


def result_lines(call: ToolCallEntry, terminals: Mapping[str, TerminalEntry]) -> list[Line]:
    """Return the result of a tool call: its content, or the raw output if that has no lines."""
    lines = content_lines(call.content, terminals)
    return lines or _cut(list(_text_lines(raw_output_text(call.raw_output))), MAX_LINES)


def _text_lines(text: str) -> Iterator[Line]:
    for line in sanitize_text(text).splitlines():
        yield f"    {line}", "dim"


def _item_lines(item: v2.ToolCallContent, terminals: Mapping[str, TerminalEntry]) -> Iterator[Line]:
    match item:
        case v2.Diff():
            yield from _diff_lines(item)
        case v2.Terminal(terminal_id=id):
            terminal = terminals.get(id)
            yield from _text_lines(terminal.text if terminal else "")
        case v2.Content(content=v2.TextContent(text=text)):
            yield from _text_lines(without_fence(text)[0])
        case _:
            pass


def _diff_lines(diff: v2.Diff) -> Iterator[Line]:
    for change in diff.changes:
        if not isinstance(change, Unknown):
            path = sanitize_text(change.path, is_line=True)
            yield f"    {change_label(diff, change)} {path}", "bold"
    if diff.patch is None:
        return
    patch = sanitize_text(diff.patch.text)
    files = read_patch(patch)
    if not files:
        for line in patch.splitlines():
            yield f"    {line}", _SIGN_COLOURS.get(line[:1], "")
    for file in files:
        if len(files) > 1 or not is_named_above(file, diff.changes):
            yield from [(f"    {file.name}", "bold")] if file.name else []
        yield from _file_lines(file)


def _file_lines(file: PatchFile) -> Iterator[Line]:
    """Yield the remarks about a file and its changed lines with a few lines around each."""
    for remark in file.remarks:
        yield f"    {remark}", "dim"
    for hunk in file.hunks:
        hunk.drop_newline_remarks()
        yield f"    {hunk.header}", "cyan"
        for line in lines_near_changes(hunk.lines):
            if isinstance(line, int):
                yield f"    ⋯ {line} lines", "dim"
            else:
                yield f"    {line.sign}{line.text}", _SIGN_COLOURS.get(line.sign, "")


def _cut(lines: list[Line], most: int) -> list[Line]:
    if len(lines) <= most:
        return lines
    return [*lines[:most], (f"    … {len(lines) - most} more lines", "dim")]


def plan_lines(plan: v2.PlanUpdateContent) -> list[Line]:
    """Return the steps of a plan, or its text."""
    match plan:
        case v2.PlanItems(entries=entries):
            return [("plan:", "bold"), *(_step(entry) for entry in entries)]
        case Unknown():
            return [("plan: (of a kind that is not known here)", "dim")]
        case _:
            content = getattr(plan, "content", "") or getattr(plan, "uri", "")
            return [
                ("plan:", "bold"),
                *((f"  {line}", "") for line in sanitize_text(content).splitlines()),
            ]


def _step(entry: v2.PlanEntry) -> Line:
    text = sanitize_text(entry.content, is_line=True)
    colour = "dim" if entry.status in ("completed", "cancelled") else ""
    return f"  {_BOXES.get(entry.status, '[ ]')} {text}", colour
