"""Terminals that the agent runs and the client shows.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#content
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from parley.schema.base import I64, Object, Patch

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
    """All output of a terminal up to now."""

    data: str
    """The bytes as base64."""


class TerminalExitStatus(Object):
    """How a terminal's process ended; being there means that it did."""

    exit_code: I64 | None = None
    signal: str | None = None
    """A name such as `SIGTERM`."""


class TerminalSize(Object):
    """The size that the process writes for."""

    cols: _Length
    rows: _Length


class TerminalCancelCapabilities(Object):
    """The terminal can be stopped with `terminal/cancel`."""


class TerminalCapabilities(Object):
    """What the client may do with a terminal."""

    cancel: TerminalCancelCapabilities | None = None


class TerminalUpdate(Patch, tag_field="sessionUpdate", tag="terminal_update"):
    """What changed about a terminal; the first one creates it."""

    terminal_id: TerminalId
    command: str | UnsetType | None = UNSET
    cwd: AbsolutePath | UnsetType | None = UNSET
    output: TerminalOutput | UnsetType | None = UNSET
    """Replaces everything that was shown before."""
    exit_status: TerminalExitStatus | UnsetType | None = UNSET
    size: TerminalSize | UnsetType | None = UNSET
    capabilities: TerminalCapabilities | UnsetType | None = UNSET


class TerminalOutputChunk(Object, tag_field="sessionUpdate", tag="terminal_output_chunk"):
    """More output of a terminal."""

    terminal_id: TerminalId
    data: str
    """The bytes as base64; a character may be cut at either end."""


class CancelTerminalRequest(Object):
    """Stop one terminal's process and nothing else."""

    session_id: SessionId
    terminal_id: TerminalId


class CancelTerminalResponse(Object):
    """The terminal will be stopped; its exit status confirms it."""
