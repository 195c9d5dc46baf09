"""Warnings and errors of the library, written to stderr: inert, and not the same one forever.

An agent can cause the same complaint thousands of times. The first few of a kind are written, with
what they quote; the others are counted, and the count is written when it reaches a power of ten and
when the command ends.
"""

from __future__ import annotations

import atexit
import logging

from parley._display_text import sanitize_text

from .held_stderr import write_stderr
from .paint import begin_of

__all__ = ["StderrLogHandler"]

_MAX_WRITTEN = 5
"""The number of messages of one kind that are written in full."""
_MAX_CHARS = 2_000
"""The maximum length of one message; a traceback may be longer."""
_EXAMPLE_CELLS = 120


class StderrLogHandler(logging.Handler):
    """Writes warnings and errors to stderr, and counts those of a kind that it has written often.

    Two complaints are of a kind if they come from the same logger with the same message, whatever
    the message quotes.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("parley: %(message)s"))
        self._kinds: dict[tuple[str, str], _Kind] = {}
        atexit.register(self.report)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a complaint, or count it."""
        try:
            kind = self._kinds.setdefault((record.name, str(record.msg)), _Kind())
            kind.count += 1
            if kind.count <= _MAX_WRITTEN:
                text = sanitize_text(self.format(record))
                if len(text) > _MAX_CHARS and record.exc_info is None:
                    text = f"{text[:_MAX_CHARS]} … {len(text) - _MAX_CHARS:,} more characters"
                write_stderr(f"{text}\n")
                kind.example, kind.reported = text, kind.count
            elif str(kind.count).strip("0") == "1":
                _report(kind)
        except Exception:  # noqa: BLE001 - as every handler: a log record is no reason to end
            self.handleError(record)

    def report(self) -> None:
        """Write how often complaints came that are not written."""
        for kind in self._kinds.values():
            _report(kind)


class _Kind:
    """Complaints with the same message."""

    def __init__(self) -> None:
        self.count = 0
        self.reported = 0
        self.example = ""


def _report(kind: _Kind) -> None:
    if kind.count > kind.reported:
        kind.reported = kind.count
        example = begin_of(kind.example.partition("\n")[0].removeprefix("parley: "), _EXAMPLE_CELLS)
        write_stderr(f"parley: {kind.count:,} times by now, such as: {example}\n")
