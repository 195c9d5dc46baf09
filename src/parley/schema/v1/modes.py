"""Session modes: ways of working that the agent offers, such as asking or editing.

Config options do the same and more, see `config.py`; agents may send both.
Spec: https://agentclientprotocol.com/protocol/v1/session-modes
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import Lenient, Object

from .ids import SessionId

__all__ = [
    "CurrentModeUpdate",
    "SessionMode",
    "SessionModeId",
    "SessionModeState",
    "SetSessionModeRequest",
    "SetSessionModeResponse",
]

SessionModeId: TypeAlias = str
"""Names a mode; the agent chooses it."""


class SessionMode(Object):
    """A way of working."""

    id: SessionModeId
    name: str
    description: str | None = None


class SessionModeState(Object):
    """The modes of a session, and the one that is on."""

    current_mode_id: SessionModeId
    available_modes: Lenient[list[SessionMode]]


class SetSessionModeRequest(Object):
    """Switch to another mode."""

    session_id: SessionId
    mode_id: SessionModeId


class SetSessionModeResponse(Object):
    """The mode is on."""


class CurrentModeUpdate(Object, tag_field="sessionUpdate", tag="current_mode_update"):
    """The agent has switched to another mode."""

    current_mode_id: SessionModeId
