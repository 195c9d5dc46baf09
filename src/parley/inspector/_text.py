"""The rows of a recording for a terminal and for programs, without a browser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from parley._display_text import sanitize_text

from ._filter import Filter
from ._row import Flag, Row
from ._sources import InspectedRecording

_MARKS = {"client": "→", "agent": "←", "stderr": "!", "event": "·"}
"""The direction of a frame: to the agent, or from it."""
_NAME_CHARS = 24
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Line(Struct, frozen=True):
    """A line for the terminal, made inert."""

    text: str
    colour: str
    """The name of a colour; empty for none."""


class RowSelection:
    """Selects the rows to show from a recording, also while it grows.

    Of a message only the row of its first chunk is shown, with the text of the others. As long as
    the message may grow, that row and what follows it wait.
    """

    def __init__(
        self, recording: InspectedRecording, filter: Filter, *, folds: bool, waits: bool
    ) -> None:
        self._recording = recording
        self._filter = filter
        self._folds = folds
        self._waits = folds and waits
        self._shown = 0

    def new_rows(self) -> list[Row]:
        """Return the rows that have not been returned before."""
        rows = self._recording.table.rows
        end = len(rows)
        if self._waits and self._recording.is_live and rows and rows[-1].message:
            end = max(rows[-1].message - 1, self._shown)
        new = rows[self._shown : end]
        self._shown = end
        chosen = self._filter.numbers(new, self._recording.data)
        found = (rows[number - 1] for number in chosen)
        return [row for row in found if not self._folds or row.message in (0, row.number)]


def lines(rows: Sequence[Row], *, folds: bool) -> Iterator[Line]:
    """Yield each row as a line."""
    for row in rows:
        name = f"{f'#{row.id} ' if row.id else ''}{row.update or row.method or row.kind}"
        facts = [*_facts(row, folds=folds)]
        summary = "  ".join(each for each in (*facts, row.summary) if each)
        head = f"{row.number:>6} {row.at:>9.3f} {_MARKS[row.source]} {name:<{_NAME_CHARS}}"
        text = f"{_inert(head)} {sanitize_text(summary, is_line=True)}"
        yield Line(text.rstrip(), _colour(row))


def _inert(text: str) -> str:
    """Return text with its spaces, which align the columns, and without anything invisible."""
    return sanitize_text(text).replace("\n", " ").replace("\t", " ")


def _facts(row: Row, *, folds: bool) -> Iterator[str]:
    if row.kind == "error":
        yield "error"
    if row.latency is not None and row.kind != "request":
        yield _duration(row.latency)
    if folds and row.chunks > 1:
        yield f"{row.chunks} chunks"
    for flag in (Flag.SLOW, Flag.CANCELLED, Flag.UNANSWERED, Flag.INVALID):
        if row.flags & flag and flag.name and row.kind != "invalid":
            yield flag.name.lower()


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _colour(row: Row) -> str:
    if row.flags & (Flag.ERROR | Flag.INVALID):
        return "red"
    if row.flags & (Flag.SLOW | Flag.UNANSWERED | Flag.CANCELLED) or row.source == "stderr":
        return "yellow"
    return "dim" if row.source == "event" else ""


def as_json(row: Row, data: bytes) -> dict[str, Any]:
    """Return a row and its frame for `--json`.

    Args:
        row: The row.
        data: The bytes of the frame: `frame` if they are JSON, else `text`.
    """
    value = structs.asdict(row)
    value["flags"] = [flag.name.lower() for flag in Flag if row.flags & flag and flag.name]
    if row.kind == "event":
        return value
    try:
        data.decode()
        msgspec.json.decode(data)
    except _NOT_JSON:
        value["text"] = data.decode(errors="replace")
    else:
        value["frame"] = Raw(data.strip())
    return value
