"""Stderr, shared by questions to the user and by everything that agents can cause to be written.

While a question is open, nothing else is written: it would push the question out of view, or look
like another one. It waits, up to a bound, and is written when the question is answered.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["hold_stderr", "is_stderr_held", "write_stderr"]

_MAX_HELD_CHARS = 100_000


class _Held:
    """The texts that wait, and the number of questions that they wait for."""

    def __init__(self) -> None:
        self.questions = 0
        self.texts: list[str] = []
        self.chars = 0
        self.lost_chars = 0

    def add(self, text: str) -> None:
        if self.chars + len(text) > _MAX_HELD_CHARS:
            self.lost_chars += len(text)
            return
        self.texts.append(text)
        self.chars += len(text)

    def flush(self) -> None:
        texts, lost_chars = self.texts, self.lost_chars
        self.texts, self.chars, self.lost_chars = [], 0, 0
        if lost_chars:
            texts.append(f"parley: … and {lost_chars:,} more characters during the question\n")
        _write("".join(texts))


_held = _Held()


def write_stderr(text: str) -> None:
    """Write text that is inert already, or keep it until no question is open."""
    if _held.questions:
        _held.add(text)
    else:
        _write(text)


def is_stderr_held() -> bool:
    """Return whether a question is open."""
    return _held.questions > 0


@contextmanager
def hold_stderr() -> Generator[None]:
    """Hold back what others write while the block runs."""
    _held.questions += 1
    try:
        yield
    finally:
        _held.questions -= 1
        if not _held.questions:
            _held.flush()


def _write(text: str) -> None:
    if text:
        sys.stderr.write(text)
        sys.stderr.flush()
