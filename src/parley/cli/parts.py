"""The parts of a turn as lines for a terminal: tool calls, diffs, plans.

Each line is inert and has a colour, which may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from parley._display_text import sanitize_text
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript_entries import TerminalEntry, ToolCallEntry

__all__ = ["COLOURS", "Line", "content_lines", "plan_lines", "tool_line"]

Line: TypeAlias = tuple[str, str]

COLOURS = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}
"""The codes that a terminal knows for a colour."""

_MARKS = {
    "pending": ("○", "dim"),
    "in_progress": ("▸", "cyan"),
    "paused": ("‖", "yellow"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("■", "yellow"),
}
_BOXES = {"completed": "[x]", "in_progress": "[>]", "cancelled": "[-]"}
MAX_LINES = 12
"""How much of what a tool call shows is shown here, per item."""


def tool_line(call: ToolCallEntry) -> Line:
    """Return what a tool call does and how far it is."""
    mark, colour = _MARKS.get(call.status, ("?", "dim"))
    title = sanitize_text(call.title or call.name or call.id, is_line=True)
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


def _item_lines(item: v2.ToolCallContent, terminals: Mapping[str, TerminalEntry]) -> Iterator[Line]:
    match item:
        case v2.Diff():
            yield from _diff_lines(item)
        case v2.Terminal(terminal_id=id):
            terminal = terminals.get(id)
            for line in sanitize_text(terminal.text if terminal else "").splitlines():
                yield f"    {line}", "dim"
        case v2.Content(content=v2.TextContent(text=text)):
            for line in sanitize_text(text).splitlines():
                yield f"    {line}", "dim"
        case _:
            pass


def _diff_lines(diff: v2.Diff) -> Iterator[Line]:
    for change in diff.changes:
        if not isinstance(change, Unknown):
            word = type(change).__name__.removeprefix("Diff").lower()
            yield f"    {word} {sanitize_text(change.path, is_line=True)}", "bold"
    if diff.patch is None:
        return
    is_head = True  # behind it, "+++" may be a line that is added
    for line in sanitize_text(diff.patch.text).splitlines():
        is_head = line.startswith("diff ") or (is_head and not line.startswith("@@"))
        if is_head and line.startswith(("+++ ", "--- ", "diff ", "index ")):
            continue
        yield f"    {line}", {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


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
