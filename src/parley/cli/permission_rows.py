"""The rows of a permission request on the terminal.

First what the agent writes about it, marked and bounded. Then, next to the choices, what would
really be done: diffs, the tool's input, paths, and last the commands, as the policy sees them. Each
row begins with a mark of ours and ends before the edge of the terminal. So no text can pretend to
be another part of the question, however it is padded or wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

import msgspec

from parley._display_text import sanitize_text
from parley.client._patch_reader import changed_paths
from parley.client._tool_call_display import (
    clean_title,
    describe_action,
    distinct_commands,
    repeats_shown,
    shorten_json,
    without_fence,
)
from parley.policy import Subject, subject_of
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript_entries import ToolCallEntry

from .paint import begin_of, cells_of, cut_row
from .render import content_lines

__all__ = ["action_of", "claim_rows", "real_rows", "wrap_rows"]

_CLAIM = "    │ "
_CONTINUED = "    ┊ "
"""Begins a row that continues the one above it."""
_MAX_CLAIM_ROWS = 8
_MAX_REAL_ROWS = 500
_MAX_CHARS = 40_000
"""The maximum length of one text."""
_MAX_FIELDS = 200
_LABEL_CELLS = 20
_KIND = re.compile(r"[a-z_]{1,20}")


def action_of(request: v2.RequestPermissionRequest, call: ToolCallEntry | None, cwd: str) -> str:
    """Return what the agent wants to do, such as `run a command`; empty if it does not say."""
    return describe_action(subject_of(request, call, cwd))


def claim_rows(
    request: v2.RequestPermissionRequest, call: ToolCallEntry | None, cwd: str, width: int
) -> list[str]:
    """Return what the agent writes about a question: few rows, and how much is not shown.

    A title that is the command or the path itself is left out.
    """
    subject = subject_of(request, call, cwd)
    texts = [clean_title(request.title), request.description or ""]
    if call is not None:
        texts += [clean_title(call.title or ""), *_contents(call)]
    lines: list[str] = []
    for text in dict.fromkeys(each.strip() for each in texts):
        if text in subject.commands or text in subject.paths:
            continue
        lines += sanitize_text(text[:_MAX_CHARS]).splitlines()
        if len(text) > _MAX_CHARS:
            lines.append(f"… {len(text) - _MAX_CHARS:,} more characters")
    shown = [cut_row(line.expandtabs(4), width - len(_CLAIM)) for line in lines[:_MAX_CLAIM_ROWS]]
    if len(lines) > _MAX_CLAIM_ROWS:
        shown[-1] = f"… {len(lines) - _MAX_CLAIM_ROWS + 1:,} more lines"
    return [f"{_CLAIM}{line}" for line in shown]


def real_rows(
    request: v2.RequestPermissionRequest, call: ToolCallEntry | None, cwd: str, width: int
) -> list[str]:
    """Return what would be done, with all that the policy examines; the commands come last."""
    subject = subject_of(request, call, cwd)
    parts: list[tuple[str, str]] = []
    if isinstance(request.subject, Unknown):
        json = shorten_json(_json(request.subject))
        parts.append((_label("subject", request.subject.tag), json))
    if call is not None:
        diffs = [each for each in call.content if isinstance(each, v2.Diff)]
        lines = content_lines(diffs, {}, _MAX_REAL_ROWS)
        parts += [("± ", text[4:]) for text, _ in lines]
        parts += _input(call.raw_input, subject, diffs)
        kind = call.kind if _KIND.fullmatch(call.kind) else "path"
        parts += [(f"{kind}: ", each) for each in _paths(call, subject.paths)]
    parts += [("$ ", command) for command in distinct_commands(subject.commands)]
    if subject.commands and subject.cwd:
        parts.append(("in ", subject.cwd))
    rows = [row for label, text in parts for row in wrap_rows(label, text, width)]
    return _middle_left_out(rows)


def _label(part: str, name: str) -> str:
    """Return the beginning of a row for something that the agent has named, perhaps `$ ls`."""
    return f"{part}.{begin_of(sanitize_text(name, is_line=True), _LABEL_CELLS)}: "


def _paths(call: ToolCallEntry, real: Iterable[str]) -> list[str]:
    """Return each path once, as the agent spells it and as it is really called."""
    spelled = [f"{each.path}:{each.line}" if each.line else each.path for each in call.locations]
    known = {each.path for each in call.locations}
    return list(dict.fromkeys([*spelled, *(each for each in real if each not in known)]))


def _contents(call: ToolCallEntry) -> Iterator[str]:
    """Yield the texts that a tool call shows."""
    for item in call.content:
        if isinstance(item, v2.Content) and isinstance(item.content, v2.TextContent):
            yield without_fence(item.content.text)[0]


def _input(given: Any, subject: Subject, diffs: Sequence[v2.Diff]) -> Iterator[tuple[str, str]]:
    """Yield the input of a tool field by field, except what is shown already."""
    if given is None:
        return
    shown = {subject.cwd, *changed_paths(diffs)}
    is_object = isinstance(given, dict)
    fields = cast("dict[str, Any]", given) if is_object else {"": given}
    for name, value in islice(fields.items(), _MAX_FIELDS):
        if repeats_shown(name, value, subject.commands, shown, diffs):
            continue
        text = value if isinstance(value, str) else shorten_json(_json(value))
        yield _label("input", name) if is_object else "input: ", text
    if len(fields) > _MAX_FIELDS:
        yield "! ", f"{len(fields) - _MAX_FIELDS:,} more fields are not shown"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode(errors="replace")


def wrap_rows(label: str, text: str, width: int) -> Iterator[str]:
    """Yield a text in rows that fit: each character is seen, and none is beyond the edge.

    Args:
        label: What the first row begins with, after the margin.
        text: The text, as the agent gave it.
        width: The columns of the terminal.
    """
    if len(text) > _MAX_CHARS:
        half, count = _MAX_CHARS // 2, len(text) - _MAX_CHARS
        text = f"{text[:half]} … {count:,} characters are not shown … {text[-half:]}"
    start = f"    {label}"
    for line in sanitize_text(text).split("\n"):
        rest = line.expandtabs(4)
        while True:
            row = begin_of(rest, width - cells_of(start))
            yield f"{start}{row}"
            start, rest = _CONTINUED, rest[len(row) :]
            if not rest:
                break
        start = "    > " if label == "$ " else _CONTINUED


def _middle_left_out(rows: list[str]) -> list[str]:
    """Return the first and the last of too many rows, and how many are not shown."""
    if len(rows) <= _MAX_REAL_ROWS:
        return rows
    half = _MAX_REAL_ROWS // 2
    return [
        *rows[:half],
        f"    ! {len(rows) - 2 * half:,} rows are not shown",
        *rows[-half:],
    ]
