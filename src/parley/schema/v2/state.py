"""Whether a session is working, waiting for somebody, or idle, and why it stopped.

`StateUpdate` is a snapshot as it stands inside other messages, one class per state. As a session
update the same fields are spread beside `sessionUpdate`; that is `StateUpdated`.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle#session-states
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import Object, Open, Unstable, Whole

from .errors import Error
from .ids import SessionId, TerminalId, ToolCallId
from .prompt import Usage

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
"""Why foreground work ended."""


class BackgroundTerminal(Object, tag_field="type", tag="terminal"):
    """A terminal that runs on."""

    terminal_id: TerminalId


class BackgroundToolCall(Object, tag_field="type", tag="tool_call"):
    """A tool call that runs on."""

    tool_call_id: ToolCallId


class BackgroundSubagent(Object, tag_field="type", tag="subagent"):
    """Unstable: a subagent that runs on."""

    session_id: SessionId
    """The subagent's session."""


BackgroundWork: TypeAlias = Open[BackgroundTerminal | BackgroundToolCall | BackgroundSubagent]
"""Something that runs beside the foreground."""


class RunningStateUpdate(Object, tag_field="state", tag="running"):
    """The agent is working."""

    background: Whole[list[BackgroundWork] | None] = None
    """All that runs beside it; None where the agent does not say."""


class IdleStateUpdate(Object, tag_field="state", tag="idle"):
    """Nothing is going on in the foreground."""

    usage: Unstable[Usage | None] = None
    """The tokens that the work took."""
    background: Whole[list[BackgroundWork] | None] = None
    """All that runs on; None where the agent does not say."""
    stop_reason: StopReason | None = None
    """Why work ended; None where none ended or the agent does not say."""
    error: Error | None = None
    """What failed; only with the stop reason `error`."""


class RequiresActionStateUpdate(Object, tag_field="state", tag="requires_action"):
    """The work cannot go on before the user has done something."""

    background: Whole[list[BackgroundWork] | None] = None
    """All that runs beside it; None where the agent does not say."""


class UnknownStateUpdate(Object, tag_field="state", tag="unknown"):
    """Unstable: the agent cannot tell what the session is doing."""

    background: Whole[list[BackgroundWork] | None] = None
    """All that runs beside it; None where the agent does not say."""


StateUpdate: TypeAlias = Open[
    RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate
]
"""What a session is doing in the foreground."""


class StateUpdated(Object, tag_field="sessionUpdate", tag="state_update"):
    """What the session is doing in the foreground, as a session update.

    An update with an unknown state is read as `Unknown`.
    """

    state: Open[Literal["running", "idle", "requires_action", "unknown"]]
    """`unknown` is unstable."""
    usage: Unstable[Usage | None] = None
    """The tokens that the work took; only when idle."""
    background: Whole[list[BackgroundWork] | None] = None
    """All that runs beside it; None where the agent does not say."""
    stop_reason: StopReason | None = None
    """Why work ended; only when idle, None where none ended or the agent does not say."""
    error: Error | None = None
    """What failed; only with the stop reason `error`."""
