"""Terminals: commands that the client runs for the agent.

All of this needs `clientCapabilities.terminal`. How a terminal shows up in a tool call is in
`tools.py`. Spec: https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

from parley.schema.base import NO_ITEMS, U32, U64, NullDefault, Object, Strict

from .ids import SessionId, TerminalId

__all__ = [
    "CreateTerminalRequest",
    "CreateTerminalResponse",
    "EnvVariable",
    "KillTerminalRequest",
    "KillTerminalResponse",
    "ReleaseTerminalRequest",
    "ReleaseTerminalResponse",
    "TerminalExitStatus",
    "TerminalOutputRequest",
    "TerminalOutputResponse",
    "WaitForTerminalExitRequest",
    "WaitForTerminalExitResponse",
]


class EnvVariable(Object):
    """A variable for the environment of a process."""

    name: str
    value: str


class CreateTerminalRequest(Object):
    """Start a command; the answer comes at once."""

    session_id: SessionId
    command: str
    args: NullDefault[list[str]] = NO_ITEMS
    env: NullDefault[list[EnvVariable]] = NO_ITEMS
    cwd: Strict[str | None] = None
    """Where to run it, as an absolute path; the session's own directory if absent."""
    output_byte_limit: Strict[U64 | None] = None
    """How much output to keep; what is over it goes from the front."""


class CreateTerminalResponse(Object):
    """The command has been started."""

    terminal_id: TerminalId


class TerminalExitStatus(Object):
    """How a command ended."""

    exit_code: U32 | None = None
    """None where a signal ended it."""
    signal: str | None = None
    """The signal that ended it."""


class TerminalOutputRequest(Object):
    """Ask for the output so far, without waiting."""

    session_id: SessionId
    terminal_id: TerminalId


class TerminalOutputResponse(Object):
    """The output so far."""

    output: str
    truncated: bool
    """Whether some of the output was dropped because of the limit."""
    exit_status: TerminalExitStatus | None = None
    """Only there once the command has ended."""


class WaitForTerminalExitRequest(Object):
    """Wait until the command has ended."""

    session_id: SessionId
    terminal_id: TerminalId


class WaitForTerminalExitResponse(Object):
    """The command has ended."""

    exit_code: U32 | None = None
    """None where a signal ended it."""
    signal: str | None = None
    """The signal that ended it."""


class KillTerminalRequest(Object):
    """End the command but keep its terminal, so that the output can still be read."""

    session_id: SessionId
    terminal_id: TerminalId


class KillTerminalResponse(Object):
    """The command has been ended."""


class ReleaseTerminalRequest(Object):
    """Give the terminal up; a command that still runs is ended."""

    session_id: SessionId
    terminal_id: TerminalId


class ReleaseTerminalResponse(Object):
    """The terminal is gone and its id is no longer valid."""
