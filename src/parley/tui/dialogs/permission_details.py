"""The details of a permission request as lines.

The action comes first: commands, the input of the tool, paths, diffs. The agent's own text comes
later, cut to a few rows, each with a mark, so that none can pretend to be the command. Commands and
input are broken at the width and never at blanks, so that every character is visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, cast

from rich.style import Style

from parley.client import PermissionDecision
from parley.client._patch_reader import changed_paths
from parley.client._tool_call_display import (
    clean_title,
    describe_action,
    distinct_commands,
    names_action,
    repeats_shown,
    shorten_json,
)
from parley.policy import Subject, subject_of
from parley.schema import v2
from parley.schema.base import JsonObject, Unknown
from parley.session._transcript_entries import ToolCallEntry
from parley.tui.render.blocks import one_line, truncate_lines, truncate_text
from parley.tui.render.content import content_lines, json_lines, json_text, text_lines
from parley.tui.render.diff import diff_lines
from parley.tui.render.lines import Line, chop, indent, wrap
from parley.tui.render.theme import Theme

__all__ = ["describe_decision", "known_tool_call", "permission_lines"]

_NONE = Style.null()
_TITLE_LINES = 3
_CLAIM_LINES = 8
_CLAIM = "│ "
"""Begins each row that the agent has written."""
_LABEL_CELLS = 2
_LONGEST_TITLE = 80
_LONGEST_THING = 200
_MAX_FIELDS = 1_000


def known_tool_call(
    request: v2.RequestPermissionRequest, call: ToolCallEntry | None
) -> ToolCallEntry | None:
    """Return the tool call of a question, or else what the question contains of it."""
    if call is None and isinstance(request.subject, v2.ToolCallPermissionSubject):
        call = ToolCallEntry(request.subject.tool_call.tool_call_id)
        call.apply(request.subject.tool_call)
    return call


def permission_lines(
    request: v2.RequestPermissionRequest,
    call: ToolCallEntry | None,
    cwd: str,
    width: int,
    theme: Theme,
) -> list[Line]:
    """Return the details of a permission request as lines.

    Args:
        request: The question.
        call: The tool call, from `known_tool_call`.
        cwd: The directory for relative paths.
        width: The available cells.
        theme: The styles.
    """
    subject = subject_of(request, call, cwd)
    lines = _title_lines(request, subject, width, theme)
    lines += _command_lines(distinct_commands(subject.commands), width, theme)
    if isinstance(request.subject, v2.CommandPermissionSubject):
        lines += _named("in", request.subject.cwd, width, theme)
    elif subject.commands and subject.cwd:
        lines += _named("in", subject.cwd, width, theme)
    if call is not None:
        lines += _input_lines(call, subject, width, theme)
    kind = "" if call is None else call.kind
    diffs = _diffs(call)
    for path in _paths(call, subject.paths, diffs):
        lines += _named(kind or "path", path, width, theme)
    if isinstance(request.subject, Unknown):
        lines += _named("about", request.subject.tag, width, theme)
        lines += text_lines(shorten_json(json_text(request.subject)), width, theme.faint)
    for diff in diffs:
        lines += diff_lines(diff, width, theme)
    return lines + _claim_lines(request, call, width, theme)


def _title_lines(
    request: v2.RequestPermissionRequest, subject: Subject, width: int, theme: Theme
) -> list[Line]:
    """Return the title, after the action if the title does not name it."""
    title, action = clean_title(request.title), describe_action(subject)
    if action and not names_action(title, subject):
        is_repeated = title in subject.commands or title in subject.paths or not title
        action = f"{action[0].upper()}{action[1:]}"
        title = f"{action}?" if is_repeated else f"{action}: {title}"
    runs = wrap([("? ", theme.warning), (one_line(title), theme.strong)], width)
    return truncate_lines(runs, _TITLE_LINES, width, theme)


def _named(name: str, text: str, width: int, theme: Theme) -> list[Line]:
    """Return a name and its whole value."""
    label = f"{one_line(name)} "[: max(width // 2, 1)]
    body = chop([(_flat(text), theme.strong)], max(width - len(label), 1))
    return indent(body, (label, theme.faint))


def _flat(text: str) -> str:
    """Return text on one line, with all blanks, and a sign for each newline."""
    return truncate_text(text).replace("\n", "␊").expandtabs(4)


def _command_lines(commands: Sequence[str], width: int, theme: Theme) -> list[Line]:
    """Return commands as lines, with numbers if there are several lines."""
    rows: list[tuple[str, str]] = []
    for command in commands:
        first, *others = truncate_text(command).expandtabs(4).split("\n")
        rows += [("$ ", first), *(("> ", other) for other in others)]
    digits = len(str(len(rows)))
    lines: list[Line] = []
    for number, (sign, text) in enumerate(rows, 1):
        label = f"{number:>{digits}} {sign}" if len(rows) > 1 else sign
        body = chop([(text, theme.strong)], max(width - len(label), 1))
        lines += indent(body, (label, theme.accent))
    return lines


def _paths(call: ToolCallEntry | None, real: tuple[str, ...], diffs: list[v2.Diff]) -> list[str]:
    """Return each path once, as written and resolved, without those of the diffs."""
    shown = changed_paths(diffs)
    named = [] if call is None else call.locations
    places = [each for each in named if each.line or each.path not in shown]
    texts = [f"{each.path}:{each.line}" if each.line else each.path for each in places]
    known = {*shown, *(each.path for each in places)}
    return list(dict.fromkeys([*texts, *(each for each in real if each not in known)]))


def _claim_lines(
    request: v2.RequestPermissionRequest, call: ToolCallEntry | None, width: int, theme: Theme
) -> list[Line]:
    """Return the agent's text with marks, and the number of lines that are left out."""
    inner = max(width - len(_CLAIM), 1)
    lines: list[Line] = []
    if request.description is not None:
        lines += text_lines(request.description, inner, theme.faint)
    if call is not None:
        if call.title and call.title != request.title:
            words = wrap(
                [("tool ", theme.faint), (one_line(clean_title(call.title)), _NONE)], inner
            )
            lines += truncate_lines(words, _TITLE_LINES, inner, theme)
        for item in call.content:
            lines += _content_lines(item, inner, theme)
    mark = (_CLAIM, theme.faint)
    return indent(truncate_lines(lines, _CLAIM_LINES, inner, theme), mark, mark)


def _diffs(call: ToolCallEntry | None) -> list[v2.Diff]:
    return [] if call is None else [each for each in call.content if isinstance(each, v2.Diff)]


def _input_lines(call: ToolCallEntry, subject: Subject, width: int, theme: Theme) -> list[Line]:
    """Return the input of a tool field by field, the short ones first.

    Fields that repeat other parts are left out, and JSON is shortened. The policy examines all.
    """
    value: Any = call.raw_input
    if value is None or value == {}:
        return []
    inner = max(width - _LABEL_CELLS, 1)
    diffs = _diffs(call)
    shown = {subject.cwd, *changed_paths(diffs)}
    is_object = isinstance(value, dict)
    fields = cast("JsonObject", value) if is_object else {"": value}
    bodies: list[list[Line]] = []
    for name, each in islice(fields.items(), _MAX_FIELDS):
        if repeats_shown(name, each, subject.commands, shown, diffs):
            continue
        text = truncate_text(each) if isinstance(each, str) else shorten_json(json_text(each))
        bodies.append(_chopped(f"{one_line(name)}: {text}" if is_object else text, inner))
    bodies.sort(key=lambda body: len(body) > 1)
    lines = [line for body in bodies for line in body]
    if len(fields) > _MAX_FIELDS:
        lines += _chopped(f"… {len(fields) - _MAX_FIELDS:,} more fields", inner)
    head: Line = wrap([("input", theme.faint)], width)[0]
    return [head, *indent(lines, ("  ", _NONE), ("  ", _NONE))] if lines else []


def _chopped(text: str, width: int) -> list[Line]:
    rows = text.expandtabs(4).split("\n")
    return [line for row in rows for line in chop([(row, _NONE)], width)]


def _content_lines(item: v2.ToolCallContent, width: int, theme: Theme) -> list[Line]:
    match item:
        case v2.Diff():
            return []  # it is shown before the agent's text
        case v2.Terminal(terminal_id=id):
            return _named("terminal", id, width, theme)
        case v2.Content(content=content):
            return content_lines(content, width, theme)
        case _:
            return [*_named("content", item.tag, width, theme), *json_lines(item, width, theme)]


def describe_decision(decided: PermissionDecision) -> str:
    """Return the title of a decided question, with the commands or paths that it does not name."""
    title, subject = decided.request.title, decided.subject
    untold = [each for each in subject.commands if each not in title]
    if not subject.commands:
        untold = [each for each in subject.paths if each.rpartition("/")[2] not in title]
    title = title.rstrip("?: ") if untold else title
    parts = [_shortened(title, _LONGEST_TITLE), _shortened(" ".join(untold), _LONGEST_THING)]
    return ": ".join(each for each in parts if each)


def _shortened(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"
