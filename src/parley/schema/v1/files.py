"""Files of the client, which the agent reads and writes: `fs/read_text_file`, `fs/write_text_file`.

The client includes unsaved changes of its editor. Only version 1 has these methods. Capabilities
are in `capabilities.py`.

Spec: https://agentclientprotocol.com/protocol/v1/file-system
"""

from __future__ import annotations

from parley.schema.base import U32, Object, Strict

from .ids import SessionId

__all__ = [
    "ReadTextFileRequest",
    "ReadTextFileResponse",
    "WriteTextFileRequest",
    "WriteTextFileResponse",
]


class ReadTextFileRequest(Object):
    """Read a text file, or some lines of it."""

    session_id: SessionId
    path: str
    """An absolute path."""
    line: Strict[U32 | None] = None
    """The first line to read, starting at 1."""
    limit: Strict[U32 | None] = None
    """The maximum number of lines to read."""


class ReadTextFileResponse(Object):
    """The requested text."""

    content: str


class WriteTextFileRequest(Object):
    """Write a whole text file; it is created if it does not exist."""

    session_id: SessionId
    path: str
    """An absolute path."""
    content: str


class WriteTextFileResponse(Object):
    """The file was written."""
