"""This process's own stdin and stdout as a connection: what an agent is started with.

The protocol gets private copies of both descriptors. Descriptor 1 then points to stderr and
descriptor 0 to the null device, so that a stray `print`, a library that writes to stdout, or a
child process can neither put a line into the conversation nor eat one of it. What was printed
earlier and is still in Python's buffer goes to stderr as well; what is printed from now on gets
there line by line.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from parley.errors import ConnectFailed

from .base import MAX_MESSAGE_BYTES
from .pipe import PipeTransport

__all__ = ["StdioTransport"]


class StdioTransport(PipeTransport):
    """The peer is whoever started this process."""

    def __init__(self, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        """Take stdin and stdout away from everybody else, until the process ends.

        Raises:
            ConnectFailed: The process has no stdin or no stdout.
        """
        if sys.__stdin__ is None or sys.__stdout__ is None:
            raise ConnectFailed("this process was started without stdin or without stdout")
        null = os.open(os.devnull, os.O_RDWR)
        if null == 2:  # stderr is closed; a copy made below would have become the new one
            os.set_inheritable(2, True)
        super().__init__(os.dup(0), os.dup(1), max_message_bytes=max_message_bytes)
        # In a process started without stderr, 2 may be anything by now: a file of the event loop.
        has_stderr = null == 2 or sys.__stderr__ is not None
        os.dup2(null, 0)
        os.dup2(2 if has_stderr else null, 1)
        if null != 2:
            os.close(null)
        if sys.stdout is not None:
            with suppress(OSError):
                sys.stdout.flush()
        printed: TextIO | None = sys.stdout
        if isinstance(printed, io.TextIOWrapper):  # as stderr is: what is printed is seen
            printed.reconfigure(line_buffering=True)
