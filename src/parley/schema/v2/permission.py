"""Permission requests, with which an agent asks the user before it acts.

The subject of a request is a tool call, a command, or something else. Tool calls are in `tools.py`.

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
"""The id of an option."""

PermissionOptionKind: TypeAlias = (
    Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str
)
"""The meaning of an option; an unknown one never allows anything by itself."""


class ToolCallPermissionSubject(Object, tag_field="type", tag="tool_call"):
    """The request is about a tool call."""

    tool_call: ToolCallUpdate
    """A patch of the call, applied like a session update."""


class CommandPermissionSubject(Object, tag_field="type", tag="command"):
    """The request is about a command."""

    command: str
    cwd: AbsolutePath
    tool_call_id: ToolCallId | None = None
    """The tool call that it belongs to, if known."""
    terminal_id: TerminalId | None = None
    """The terminal that it will run in, if known."""


RequestPermissionSubject: TypeAlias = Open[ToolCallPermissionSubject | CommandPermissionSubject]
"""The subject of a permission request."""


class PermissionOption(Object):
    """An option that the user can choose."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(Object):
    """Ask the user for permission."""

    session_id: SessionId
    title: str
    """The question."""
    description: str | None = None
    """The reason for the request."""
    subject: Strict[RequestPermissionSubject | None] = None
    options: Annotated[list[PermissionOption], Meta(min_length=1)]


class CancelledPermissionOutcome(Object, tag_field="outcome", tag="cancelled"):
    """The user did not choose an option, so nothing is approved."""


class SelectedPermissionOutcome(Object, tag_field="outcome", tag="selected"):
    """The user chose an option."""

    option_id: PermissionOptionId


RequestPermissionOutcome: TypeAlias = Open[CancelledPermissionOutcome | SelectedPermissionOutcome]
"""The outcome of a permission request; an unknown outcome is not approval."""


class RequestPermissionResponse(Object):
    """The answer."""

    outcome: RequestPermissionOutcome
