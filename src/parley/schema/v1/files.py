"""Files that the client reads and writes for the agent, unsaved changes included.

Needs `clientCapabilities.fs`. Spec: https://agentclientprotocol.com/protocol/v1/file-system
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
    """Absolute."""
    line: Strict[U32 | None] = None
    """The first line to read, counted from 1."""
    limit: Strict[U32 | None] = None
    """How many lines to read at most."""


class ReadTextFileResponse(Object):
    """The text that was asked for."""

    content: str


class WriteTextFileRequest(Object):
    """Write a whole text file; it is created if it does not exist."""

    session_id: SessionId
    path: str
    """Absolute."""
    content: str


class WriteTextFileResponse(Object):
    """The file has been written."""
