"""Permission: the agent asks before it acts, and the user decides.

Spec: https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import Bare, Object

from .ids import SessionId
from .tools import ToolCallUpdate

__all__ = [
    "CancelledPermissionOutcome",
    "PermissionOption",
    "PermissionOptionId",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "SelectedPermissionOutcome",
]

PermissionOptionId: TypeAlias = str
"""Names one of the options of a request."""

PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always"
]
"""What choosing an option means."""


class PermissionOption(Object):
    """One of the answers that the user can choose from."""

    option_id: PermissionOptionId
    name: str
    """What to write on the button."""
    kind: PermissionOptionKind


class RequestPermissionRequest(Object):
    """May this tool call go ahead?"""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: list[PermissionOption]


class CancelledPermissionOutcome(Bare, tag_field="outcome", tag="cancelled"):
    """The turn was cancelled before the user had decided."""


class SelectedPermissionOutcome(Object, tag_field="outcome", tag="selected"):
    """The user has chosen one of the options."""

    option_id: PermissionOptionId


RequestPermissionOutcome: TypeAlias = CancelledPermissionOutcome | SelectedPermissionOutcome
"""How a permission request ended."""


class RequestPermissionResponse(Object):
    """What the user decided."""

    outcome: RequestPermissionOutcome
