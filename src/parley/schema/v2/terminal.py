"""Terminals of the agent, whose output the client shows, as session updates; `terminal/cancel`.

In version 1 the client runs the commands; version 2 does not have those methods. The tool calls
that show a terminal are in `tools.py`.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#content
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from parley.schema.base import I64, SIGNAL, Object, Patch

from .ids import AbsolutePath, SessionId, TerminalId

__all__ = [
    "CancelTerminalRequest",
    "CancelTerminalResponse",
    "Terminal",
    "TerminalCancelCapabilities",
    "TerminalCapabilities",
    "TerminalExitStatus",
    "TerminalOutput",
    "TerminalOutputChunk",
    "TerminalSize",
    "TerminalUpdate",
]

_Length: TypeAlias = Annotated[int, Meta(ge=1, le=2**16 - 1)]


class Terminal(Object, tag_field="type", tag="terminal"):
    """A terminal shown in a tool call."""

    terminal_id: TerminalId


class TerminalOutput(Object):
    """All output of a terminal so far."""

    data: str
    """The data, encoded as base64."""


class TerminalExitStatus(Object):
    """The exit status of a terminal's process; present only after it exited."""

    exit_code: I64 | None = None
    signal: Annotated[str, SIGNAL] | None = None
    """The name of the signal, such as `SIGTERM`."""


class TerminalSize(Object):
    """The size of the terminal, in characters."""

    cols: _Length
    rows: _Length


class TerminalCancelCapabilities(Object):
    """The terminal can be cancelled with `terminal/cancel`."""


class TerminalCapabilities(Object):
    """The operations that the client may request for a terminal."""

    cancel: TerminalCancelCapabilities | None = None


class TerminalUpdate(Patch, tag_field="sessionUpdate", tag="terminal_update"):
    """A change of a terminal; the first one creates it."""

    terminal_id: TerminalId
    command: str | UnsetType | None = UNSET
    cwd: AbsolutePath | UnsetType | None = UNSET
    output: TerminalOutput | UnsetType | None = UNSET
    """Replaces the previous content."""
    exit_status: TerminalExitStatus | UnsetType | None = UNSET
    size: TerminalSize | UnsetType | None = UNSET
    capabilities: TerminalCapabilities | UnsetType | None = UNSET


class TerminalOutputChunk(Object, tag_field="sessionUpdate", tag="terminal_output_chunk"):
    """More output of a terminal."""

    terminal_id: TerminalId
    data: str
    """The output, encoded as base64; characters may be split between chunks."""


class CancelTerminalRequest(Object):
    """Cancel the process of one terminal."""

    session_id: SessionId
    terminal_id: TerminalId


class CancelTerminalResponse(Object):
    """The request was accepted; the exit status confirms the end."""
