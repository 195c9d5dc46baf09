"""Session modes, such as asking first or editing at once: `session/set_mode`, and its update.

Config options, in `config.py`, are the more general form. An agent may send both.

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
"""The id of a mode, chosen by the agent."""


class SessionMode(Object):
    """A mode of a session."""

    id: SessionModeId
    name: str
    description: str | None = None


class SessionModeState(Object):
    """The modes of a session, and the current one."""

    current_mode_id: SessionModeId
    available_modes: Lenient[list[SessionMode]]


class SetSessionModeRequest(Object):
    """Switch to another mode."""

    session_id: SessionId
    mode_id: SessionModeId


class SetSessionModeResponse(Object):
    """The mode was set."""


class CurrentModeUpdate(Object, tag_field="sessionUpdate", tag="current_mode_update"):
    """The agent has switched to another mode."""

    current_mode_id: SessionModeId
