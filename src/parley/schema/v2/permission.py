"""Asking the user before something is done.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#requesting-permission
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import Object, Open, Strict

from .ids import AbsolutePath, SessionId, TerminalId, ToolCallId
from .tools import ToolCallUpdate

__all__ = [
    "CancelledPermissionOutcome",
    "CommandPermissionSubject",
    "PermissionOption",
    "PermissionOptionId",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequestPermissionSubject",
    "SelectedPermissionOutcome",
    "ToolCallPermissionSubject",
]

PermissionOptionId: TypeAlias = str
"""Names one answer that the user may give."""

PermissionOptionKind: TypeAlias = (
    Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str
)
"""What an answer means; an unknown one never allows anything by itself."""


class ToolCallPermissionSubject(Object, tag_field="type", tag="tool_call"):
    """The question is about a tool call."""

    tool_call: ToolCallUpdate
    """To be applied like a session update."""


class CommandPermissionSubject(Object, tag_field="type", tag="command"):
    """The question is about a command."""

    command: str
    cwd: AbsolutePath
    tool_call_id: ToolCallId | None = None
    """The tool call that it belongs to, where known."""
    terminal_id: TerminalId | None = None
    """The terminal that it will run in, where known."""


RequestPermissionSubject: TypeAlias = Open[ToolCallPermissionSubject | CommandPermissionSubject]
"""What a question is about."""


class PermissionOption(Object):
    """One answer that the user may give."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(Object):
    """Ask the user to choose."""

    session_id: SessionId
    title: str
    """The question."""
    description: str | None = None
    """Why it is asked."""
    subject: Strict[RequestPermissionSubject | None] = None
    options: Annotated[list[PermissionOption], Meta(min_length=1)]


class CancelledPermissionOutcome(Object, tag_field="outcome", tag="cancelled"):
    """Nothing was chosen, so nothing is approved."""


class SelectedPermissionOutcome(Object, tag_field="outcome", tag="selected"):
    """The user chose an option."""

    option_id: PermissionOptionId


RequestPermissionOutcome: TypeAlias = Open[CancelledPermissionOutcome | SelectedPermissionOutcome]
"""How a question ended; an unknown outcome is no approval."""


class RequestPermissionResponse(Object):
    """The answer."""

    outcome: RequestPermissionOutcome
