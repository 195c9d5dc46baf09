"""The log of a gateway: a line for each event, as text or JSON, without content."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from parley._display_text import sanitize_text

from .config import LogFormat
from .events import Event

__all__ = ["EventLog", "JsonFormatter"]

_WORD = re.compile(r"[\w.:/@%+\[\]-]+")
"""Values that need no quotes in a line of text."""
_UNTOLD = frozenset({"request"})
"""Events that are too frequent for the log; the metrics count them."""


class EventLog:
    """Writes events to a log."""

    def __init__(self, write: Callable[[str], None], format: LogFormat) -> None:
        """Create a log.

        Args:
            write: Takes each line, without its end.
            format: The format of a line.
        """
        self._write = write
        self._line = _json if format == "json" else _text

    def record(self, event: Event) -> None:
        """Write an event."""
        if event.event not in _UNTOLD:
            self._write(sanitize_text(self._line(event), is_line=True))


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")


def _json(event: Event) -> str:
    fields = msgspec.to_builtins(event)
    if event.seconds is not None:
        fields["seconds"] = round(event.seconds, 3)
    return msgspec.json.encode({"at": _now(), **fields}).decode()


def _text(event: Event) -> str:
    words = [f"{_now()} {event.event.replace('_', ' ')}"]
    for name in event.__struct_fields__[1:]:
        value = getattr(event, name)
        if value not in ("", 0, None) or (name == "code" and value == 0):
            shown = f"{value:.3f}" if isinstance(value, float) else str(value)
            words.append(f"{name}={shown if _WORD.fullmatch(shown) else repr(shown)}")
    return " ".join(words)


class JsonFormatter(logging.Formatter):
    """Log records of the program as lines of JSON, beside the events."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = {
            "at": _now(),
            "event": "log",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return sanitize_text(msgspec.json.encode(fields).decode(), is_line=True)
