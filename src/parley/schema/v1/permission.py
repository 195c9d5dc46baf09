"""Permission requests, with which an agent asks the user before it acts.

A request in version 1 is always about a tool call; these are in `tools.py`.

Spec: https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import BaseStruct, Object

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
"""The id of an option."""

PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always"
]
"""The meaning of an option."""


class PermissionOption(Object):
    """An option that the user can choose."""

    option_id: PermissionOptionId
    name: str
    """The label of the option."""
    kind: PermissionOptionKind


class RequestPermissionRequest(Object):
    """Ask the user whether a tool call may proceed."""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: list[PermissionOption]


class CancelledPermissionOutcome(BaseStruct, tag_field="outcome", tag="cancelled"):
    """The turn was cancelled before the user decided."""


class SelectedPermissionOutcome(Object, tag_field="outcome", tag="selected"):
    """The user chose an option."""

    option_id: PermissionOptionId


RequestPermissionOutcome: TypeAlias = CancelledPermissionOutcome | SelectedPermissionOutcome
"""The outcome of a permission request."""


class RequestPermissionResponse(Object):
    """The user's decision."""

    outcome: RequestPermissionOutcome
