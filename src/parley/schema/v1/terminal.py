"""Terminals of the client, in which it runs commands for the agent: the `terminal/*` methods.

Only version 1 has these methods; in version 2 agents run commands themselves. A terminal that a
tool call shows is in `tools.py`, the capability in `capabilities.py`.

Spec: https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

from typing import Annotated

from parley.schema.base import EMPTY_LIST, SIGNAL, U32, U64, NullDefault, Object, Strict

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
    """An environment variable of a process."""

    name: str
    value: str


class CreateTerminalRequest(Object):
    """Start a command; the response does not wait for its end."""

    session_id: SessionId
    command: str
    args: NullDefault[list[str]] = EMPTY_LIST
    env: NullDefault[list[EnvVariable]] = EMPTY_LIST
    cwd: Strict[str | None] = None
    """The working directory, as an absolute path; the session's if absent."""
    output_byte_limit: Strict[U64 | None] = None
    """The maximum output to keep; the oldest is dropped first."""


class CreateTerminalResponse(Object):
    """The command was started."""

    terminal_id: TerminalId


class TerminalExitStatus(Object):
    """The exit status of a command."""

    exit_code: U32 | None = None
    """None if a signal ended it."""
    signal: Annotated[str, SIGNAL] | None = None
    """The signal that ended it."""


class TerminalOutputRequest(Object):
    """Get the output so far, without waiting."""

    session_id: SessionId
    terminal_id: TerminalId


class TerminalOutputResponse(Object):
    """The output so far."""

    output: str
    truncated: bool
    """Whether some of the output was dropped because of the limit."""
    exit_status: TerminalExitStatus | None = None
    """Present only after the command has exited."""


class WaitForTerminalExitRequest(Object):
    """Wait for the command to exit."""

    session_id: SessionId
    terminal_id: TerminalId


class WaitForTerminalExitResponse(Object):
    """The command exited."""

    exit_code: U32 | None = None
    """None if a signal ended it."""
    signal: Annotated[str, SIGNAL] | None = None
    """The signal that ended it."""


class KillTerminalRequest(Object):
    """Kill the command but keep the terminal, so that its output can still be read."""

    session_id: SessionId
    terminal_id: TerminalId


class KillTerminalResponse(Object):
    """The command was killed."""


class ReleaseTerminalRequest(Object):
    """Release the terminal; a running command is killed."""

    session_id: SessionId
    terminal_id: TerminalId


class ReleaseTerminalResponse(Object):
    """The terminal was released; its id is no longer valid."""
