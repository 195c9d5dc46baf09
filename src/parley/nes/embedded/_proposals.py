"""Candidates as proposals: the smallest edits, in the document's own line ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from parley.nes.engine import (
    EditProposal,
    JumpProposal,
    Proposal,
    RenameProposal,
    ReplaceProposal,
    Span,
    Spot,
    TextEdit,
)

from ._context import Candidate
from ._source import SourceFile

_MANY = 3
_WORD = re.compile(r"\w+")


def edit_of(candidate: Candidate, file: SourceFile) -> EditProposal:
    """Return a candidate as an edit."""
    edits = tuple(_edits(candidate, file))
    return EditProposal(
        uri=candidate.uri,
        edits=edits,
        cursor=_cursor(edits, file),
        score=candidate.score,
        rule=candidate.rule,
        meta=_meta(candidate),
    )


def jump_of(candidate: Candidate, file: SourceFile, score: float) -> JumpProposal:
    """Return the place of a candidate."""
    line = file.lines[candidate.start] if candidate.start < len(file.lines) else ""
    column = candidate.column
    if column is None:
        column = len(line) - len(line.lstrip())
    return JumpProposal(
        uri=candidate.uri,
        spot=Spot(min(candidate.start, len(file.lines) - 1), min(column, len(line))),
        score=score,
        rule=candidate.rule,
        meta=_meta(candidate),
    )


def others_of(candidate: Candidate, file: SourceFile, kinds: frozenset[str]) -> Iterator[Proposal]:
    """Yield what does the same at all places of a renamed name, if the client can show it."""
    if candidate.names is None or candidate.rule != "rename":
        return
    old, new = candidate.names
    if "rename" in kinds and candidate.column is not None:
        yield RenameProposal(
            uri=candidate.uri,
            spot=Spot(candidate.start, candidate.column),
            new_name=new,
            score=candidate.score,
            meta=_meta(candidate),
        )
    lines = {line for line, _ in candidate.places}
    is_many = len(lines) >= _MANY and is_alone(old, candidate.places, file)
    if "searchAndReplace" in kinds and is_many:
        yield ReplaceProposal(
            uri=candidate.uri,
            search=rf"\b{re.escape(old)}\b",
            replace=new,
            is_regex=True,
            score=candidate.score,
            rule=candidate.rule,
            meta=_meta(candidate),
        )


def _meta(candidate: Candidate) -> dict[str, int]:
    return {"remaining": candidate.remaining}


def _edits(candidate: Candidate, file: SourceFile) -> Iterator[TextEdit]:
    start, end, new = candidate.start, candidate.end, candidate.lines
    if end - start == len(new):
        for line, text in enumerate(new, start):
            old = file.lines[line]
            if old != text:
                yield _within(line, old, text)
        return
    old_lines, top = file.lines[start:end], 0
    while top < min(len(old_lines), len(new)) and old_lines[top] == new[top]:
        top += 1
    tail = 0
    while tail < min(len(old_lines), len(new)) - top and old_lines[~tail] == new[~tail]:
        tail += 1
    yield _lines(file, start + top, end - tail, new[top : len(new) - tail])


def _within(line: int, old: str, new: str) -> TextEdit:
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[~tail] == new[~tail]:
        tail += 1
    span = Span(Spot(line, head), Spot(line, len(old) - tail))
    return TextEdit(span, new[head : len(new) - tail])


def _lines(file: SourceFile, start: int, end: int, new: list[str]) -> TextEdit:
    """Replace whole lines, whether or not the last one has an end."""
    last = len(file.lines)
    if end < last:
        text = "".join(line + file.eol for line in new)
        return TextEdit(Span(Spot(start, 0), Spot(end, 0)), text)
    finish = Spot(last - 1, len(file.lines[-1]))
    if start == 0:
        return TextEdit(Span(Spot(0, 0), finish), file.eol.join(new))
    begin = Spot(start - 1, len(file.lines[start - 1]))
    return TextEdit(Span(begin, finish), "".join(file.eol + line for line in new))


def _cursor(edits: tuple[TextEdit, ...], file: SourceFile) -> Spot | None:
    """Return the end of the last edit, in the changed text, and of the word that it is in."""
    if not edits:
        return None
    # Earlier edits are on earlier lines, and none of several edits has a line end.
    last = edits[-1]
    breaks = last.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if last.text.endswith(("\n", "\r")):
        breaks = breaks[:-1]
    line = last.span.start.line + len(breaks) - 1
    column = len(breaks[-1]) + (last.span.start.column if len(breaks) == 1 else 0)
    end = last.span.end
    rest = _WORD.match(file.lines[end.line], end.column) if end.line < len(file.lines) else None
    if rest is not None and _WORD.match(last.text[-1:]):
        column += len(rest[0])
    return Spot(line, column)


_MOST_PLACES = 2_000


def renamed(line: str, columns: Iterable[int], names: tuple[str, str]) -> str:
    """Rename a name at places of a line; columns are bytes."""
    data = line.encode()
    old, new = (name.encode() for name in names)
    for column in sorted(columns, reverse=True):
        if data[column : column + len(old)] == old:
            data = data[:column] + new + data[column + len(old) :]
    return data.decode()


def everywhere(candidate: Candidate, file: SourceFile) -> Candidate | None:
    """Return what renames at all places what a candidate renames at some; None if it is no part."""
    if candidate.names is None or not 1 < len(candidate.places) <= _MOST_PLACES:
        return None
    columns: dict[int, list[int]] = {}
    for line, column in candidate.places:
        columns.setdefault(line, []).append(column)
    start, end = min(columns), max(columns) + 1
    if (start, end) == (candidate.start, candidate.end):
        return None
    return Candidate(
        uri=candidate.uri,
        start=start,
        end=end,
        lines=[
            renamed(file.lines[line], columns.get(line, ()), candidate.names)
            for line in range(start, end)
        ],
        rule=candidate.rule,
        cause=candidate.cause,
        score=candidate.score,
        names=candidate.names,
        places=candidate.places,
    )


def is_alone(name: str, places: Sequence[tuple[int, int]], file: SourceFile) -> bool:
    """Return whether a name stands at some places of a file, and nowhere else."""
    return len(file.places(name, len(places) + 1)) == len(set(places))
