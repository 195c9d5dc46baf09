"""The stderr of the process of an MCP server: read, logged, and never blocked.

It is drained always, so that the server does not stall. Each line is logged, harmless for a
terminal and cut, up to a number of lines; the last one is kept for who wants to know why the server
has ended.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from parley._display_text import sanitize_text
from parley.transport._fd_reader import FdReader

logger = logging.getLogger("parley.mcp.stderr")  # documented

MAX_LINES = 10_000
"""How many lines of a server are logged."""
_LINE_BYTES = 2000
_LAST_CHARS = 200


class Stderr:
    """The stderr of one server, of as many processes as are started for it."""

    def __init__(self, name: str) -> None:
        self._name = sanitize_text(name, is_line=True)
        self._rest = b""
        self._lines = 0
        self._last = ""
        self._inlet: FdReader | None = None

    @property
    def last_line(self) -> str:
        """The last line that has something in it."""
        if self._inlet is not None:
            self._inlet.read_available()
        return _text(self._rest)[:_LAST_CHARS] or self._last

    @contextmanager
    def opened(self) -> Generator[TextIO]:
        """Return a file for a process to use as its stderr."""
        own_end, child_end = os.pipe()
        inlet = self._inlet = FdReader(own_end, self._take, lambda _: None, is_exclusive=True)
        inlet.start()
        try:
            with os.fdopen(child_end, "w") as file:
                yield file
        finally:
            inlet.read_available()
            inlet.close()
            self._inlet = None
            self._see(self._rest)
            self._rest = b""

    def _take(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._see(line)
        self._rest = rest[:_LINE_BYTES]  # of a line without an end the beginning is kept

    def _see(self, line: bytes) -> None:
        text = _text(line)
        if not text:
            return
        self._last = text[:_LAST_CHARS]
        self._lines += 1
        if self._lines <= MAX_LINES:
            logger.info("the MCP server %s: %s", self._name, text)
        elif self._lines == MAX_LINES + 1:
            logger.warning("the MCP server %s: further lines are left out", self._name)


def _text(line: bytes) -> str:
    return sanitize_text(line[:_LINE_BYTES].decode(errors="replace"), is_line=True)
