"""The states of a session: running, waiting for the user, or idle, and the stop reason.

`StateUpdate` is a state inside another message, with one class per state. `StateUpdated` has the
same fields as a session update.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle#session-states
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import AllOrDefault, Object, Open, Unstable
from parley.schema.drafts.sessions import Usage

from .errors import Error
from .ids import SessionId, TerminalId, ToolCallId

__all__ = [
    "BackgroundSubagent",
    "BackgroundTerminal",
    "BackgroundToolCall",
    "BackgroundWork",
    "IdleStateUpdate",
    "RequiresActionStateUpdate",
    "RunningStateUpdate",
    "StateUpdate",
    "StateUpdated",
    "StopReason",
    "UnknownStateUpdate",
]

StopReason: TypeAlias = (
    Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str
)
"""The reason why the foreground work ended."""


class BackgroundTerminal(Object, tag_field="type", tag="terminal"):
    """A terminal that runs in the background."""

    terminal_id: TerminalId


class BackgroundToolCall(Object, tag_field="type", tag="tool_call"):
    """A tool call that runs in the background."""

    tool_call_id: ToolCallId


class BackgroundSubagent(Object, tag_field="type", tag="subagent"):
    """Unstable: a subagent that runs in the background."""

    session_id: SessionId
    """The subagent's session."""


BackgroundWork: TypeAlias = Open[BackgroundTerminal | BackgroundToolCall | BackgroundSubagent]
"""Background work of a session."""


class RunningStateUpdate(Object, tag_field="state", tag="running"):
    """The agent is working."""

    background: AllOrDefault[list[BackgroundWork] | None] = None
    """All background work; None if the agent does not report it."""


class IdleStateUpdate(Object, tag_field="state", tag="idle"):
    """The session has no foreground work."""

    usage: Unstable[Usage | None] = None
    """The tokens that the work used."""
    background: AllOrDefault[list[BackgroundWork] | None] = None
    """All background work; None if the agent does not report it."""
    stop_reason: StopReason | None = None
    """The reason why work ended; None if no work ended or the agent does not report it."""
    error: Error | None = None
    """The error; only with the stop reason `error`."""


class RequiresActionStateUpdate(Object, tag_field="state", tag="requires_action"):
    """The work waits for an action of the user."""

    background: AllOrDefault[list[BackgroundWork] | None] = None
    """All background work; None if the agent does not report it."""


class UnknownStateUpdate(Object, tag_field="state", tag="unknown"):
    """Unstable: the state of the session is unknown."""

    background: AllOrDefault[list[BackgroundWork] | None] = None
    """All background work; None if the agent does not report it."""


StateUpdate: TypeAlias = Open[
    RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate
]
"""The foreground state of a session."""


class StateUpdated(Object, tag_field="sessionUpdate", tag="state_update"):
    """Update: the foreground state of the session, such as running or idle.

    An update with an unknown state is read as `Unknown`.
    """

    state: Open[Literal["running", "idle", "requires_action", "unknown"]]
    """`unknown` is unstable."""
    usage: Unstable[Usage | None] = None
    """The tokens that the work used; only when idle."""
    background: AllOrDefault[list[BackgroundWork] | None] = None
    """All background work; None if the agent does not report it."""
    stop_reason: StopReason | None = None
    """The reason why work ended, only when idle; None if no work ended or it is not reported."""
    error: Error | None = None
    """The error; only with the stop reason `error`."""
