"""The end of the recordings of a program that carries connections itself."""

from __future__ import annotations

from parley.recording import RecordingWriter

from .reporting import say

__all__ = ["close_writer"]

_MAX_WAIT_SECONDS = 5.0
"""How long the program waits for the disk at its end."""


def close_writer(writer: RecordingWriter) -> None:
    """Write the rest of the recordings; report a disk that does not respond."""
    if not writer.close(_MAX_WAIT_SECONDS):
        say("parley: the recordings are incomplete, since the disk did not respond in time")
