"""This process's own stdin and stdout as a connection: what an agent is started with.

The protocol gets private copies of both descriptors. Descriptor 1 then points to stderr and
descriptor 0 to the null device, so that a stray `print`, a library that writes to stdout, or a
child process can neither put a line into the conversation nor eat one of it.
"""

from __future__ import annotations

import os
import sys

from .base import MAX_MESSAGE_BYTES
from .pipe import PipeTransport

__all__ = ["StdioTransport"]


class StdioTransport(PipeTransport):
    """The peer is whoever started this process."""

    def __init__(self, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        """Take stdin and stdout away from everybody else, until the process ends."""
        sys.stdout.flush()
        super().__init__(os.dup(0), os.dup(1), max_message_bytes=max_message_bytes)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2 if _is_open(2) else null, 1)
        os.close(null)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
