"""What is done with stored sessions, open or not: listed, named, archived, deleted.

Spec: https://agentclientprotocol.com/protocol/v2/session-list
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parley.peer import RequestContext
from parley.schema import v2
from parley.schema.v2 import unstable

from .listing import page
from .session import Session
from .sessions import not_found
from .store import StoredSession, now

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["Archive"]

_STATES: dict[str, v2.StateUpdate] = {
    "running": v2.RunningStateUpdate(),
    "requires_action": v2.RequiresActionStateUpdate(),
    "idle": v2.IdleStateUpdate(),
}


class Archive:
    """The stored sessions of an agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def list(
        self, params: v2.ListSessionsRequest, request: RequestContext
    ) -> v2.ListSessionsResponse:
        """Answer `session/list`."""
        return page(await self._agent.store.list(params.cwd), params)

    async def delete(
        self, params: v2.DeleteSessionRequest, request: RequestContext
    ) -> v2.DeleteSessionResponse:
        """Answer `session/delete`; one that is not there is deleted already."""
        await self._close(params.session_id)
        self._agent.holders.pop(params.session_id, None)  # who is opening it finds it gone
        await self._agent.store.delete(params.session_id)
        return v2.DeleteSessionResponse()

    async def archive(
        self, params: unstable.ArchiveSessionRequest, request: RequestContext
    ) -> unstable.ArchiveSessionResponse:
        """Answer `session/archive`; an open session is closed."""
        await self._close(params.session_id)
        await self._put_away(params.session_id, True)
        return unstable.ArchiveSessionResponse()

    async def unarchive(
        self, params: unstable.UnarchiveSessionRequest, request: RequestContext
    ) -> unstable.UnarchiveSessionResponse:
        """Answer `session/unarchive`."""
        await self._put_away(params.session_id, False)
        return unstable.UnarchiveSessionResponse()

    async def _put_away(self, id: str, is_archived: bool) -> None:
        stored = await self._stored(id)
        stored.is_archived = is_archived
        await self._agent.store.put(stored)

    async def status(
        self, params: unstable.SessionStatusRequest, request: RequestContext
    ) -> unstable.SessionStatusResponse:
        """Answer `session/status`."""
        session = self._open(params.session_id)
        if session is None:
            await self._stored(params.session_id)
            return unstable.SessionStatusResponse(status="saved")
        state = _STATES[session.transcript.state]
        return unstable.SessionStatusResponse(status="open", state=state)

    async def set_title(
        self, params: unstable.SetSessionTitleRequest, request: RequestContext
    ) -> unstable.SetSessionTitleResponse:
        """Answer `session/set_title`."""
        session = self._open(params.session_id)
        if session is not None:
            await session.set_title(params.title)
            stored = session.stored
        else:
            stored = await self._stored(params.session_id)
            stored.updated_at = now()
            update = v2.SessionInfoUpdate(title=params.title)
            stored.transcript.fold(update)
            self._agent.store.append(stored.id, update)
        await self._agent.store.put(stored)
        return unstable.SetSessionTitleResponse(title=params.title)

    def _open(self, id: str) -> Session | None:
        holder = self._agent.holders.get(id)
        return None if holder is None else holder.get(id)

    async def _close(self, id: str) -> None:
        holder = self._agent.holders.get(id)
        if holder is not None:
            await holder.close_one(id)

    async def _stored(self, id: str) -> StoredSession:
        stored = await self._agent.store.get(id)
        if stored is None:
            raise not_found(id)
        return stored
