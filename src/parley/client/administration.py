"""What a client asks of an agent besides conversations: its sessions, its login, its providers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from parley.errors import LocalProtocolError, RemoteProtocolError, Unsupported
from parley.peer import Peer
from parley.schema import v2
from parley.schema.base import Kind, Method
from parley.schema.v2 import methods, unstable
from parley.session.features import AgentFeatures
from parley.session.surface import ClientSurface

__all__ = ["Administration"]


class Administration(ABC):
    """The requests of a connection that belong to no open session."""

    cwd: Path
    """Where sessions work that say nothing else."""
    peer: Peer
    """The connection below, for what has no place here."""

    @property
    def name(self) -> str:
        """What the agent is called in logs and errors."""
        return self.peer.name

    @property
    @abstractmethod
    def surface(self) -> ClientSurface:
        """The connection in version 2's words."""

    @property
    def version(self) -> int:
        """The version of the protocol that is spoken."""
        return self.surface.version

    @property
    def info(self) -> v2.Implementation:
        """Which program the agent is."""
        return self.surface.agent.info

    @property
    def features(self) -> AgentFeatures:
        """What the agent offers."""
        return self.surface.agent.features

    @property
    def auth_methods(self) -> list[v2.AuthMethod]:
        """The ways to log in."""
        return self.surface.agent.auth_methods

    @abstractmethod
    def _closed_there(self, session_id: v2.SessionId) -> None:
        """Learn that the agent has closed a session because of what it was asked."""

    async def list_sessions(
        self,
        cwd: str | Path | None = None,
        *,
        archived: unstable.SessionArchiveFilter | None = None,
    ) -> AsyncIterator[v2.SessionInfo]:
        """Loop over the sessions that the agent knows, page by page.

        Args:
            cwd: Only those of this directory.
            archived: Unstable: whether archived ones are left out, are among them, or are all.
        """
        cursor = None
        while True:
            page = await self.list_sessions_page(cwd, cursor=cursor, archived=archived)
            for info in page.sessions:
                yield info
            if page.next_cursor is None:
                return
            if page.next_cursor == cursor:
                raise RemoteProtocolError(f"the {self.name} lists the same page again and again")
            cursor = page.next_cursor

    async def list_sessions_page(
        self,
        cwd: str | Path | None = None,
        *,
        cursor: v2.SessionListCursor | None = None,
        archived: unstable.SessionArchiveFilter | None = None,
    ) -> v2.ListSessionsResponse:
        """Return one page of the list; its `next_cursor` asks for the next."""
        where = None if cwd is None else str((self.cwd / cwd).absolute())
        request = v2.ListSessionsRequest(cwd=where, cursor=cursor, archived=archived)
        return await self.surface.request(methods.LIST_SESSIONS, request)

    async def delete_session(self, session_id: v2.SessionId) -> None:
        """Take a session off the agent's list; one that is open here is closed by that."""
        request = v2.DeleteSessionRequest(session_id=session_id)
        await self.surface.request(methods.DELETE_SESSION, request)
        self._closed_there(session_id)

    async def archive_session(self, session_id: v2.SessionId) -> None:
        """Unstable: hide a session from lists; one that is open here is closed by that."""
        request = unstable.ArchiveSessionRequest(session_id=session_id)
        await self.surface.request(methods.ARCHIVE_SESSION, request)
        self._closed_there(session_id)

    async def unarchive_session(self, session_id: v2.SessionId) -> None:
        """Unstable: show an archived session in lists again."""
        request = unstable.UnarchiveSessionRequest(session_id=session_id)
        await self.surface.request(methods.UNARCHIVE_SESSION, request)

    async def session_status(self, session_id: v2.SessionId) -> unstable.SessionStatusResponse:
        """Unstable: ask whether a session is in the agent's memory, without touching it."""
        request = unstable.SessionStatusRequest(session_id=session_id)
        return await self.surface.request(methods.SESSION_STATUS, request)

    async def set_session_title(self, session_id: v2.SessionId, title: str) -> str:
        """Unstable: give a session a title; returns it as the agent keeps it."""
        request = unstable.SetSessionTitleRequest(session_id=session_id, title=title)
        return (await self.surface.request(methods.SET_SESSION_TITLE, request)).title

    async def logout(self) -> None:
        """Have the agent forget its login; open sessions may fail afterwards."""
        if not self.features.logout:
            raise Unsupported(f"the {self.name} offers no logout")
        await self.surface.request(methods.LOGOUT_AUTH, v2.LogoutAuthRequest())

    async def auth_status(self) -> unstable.AuthStatusResponse:
        """Unstable: ask whether the agent is logged in, and as whom."""
        return await self.surface.request(methods.AUTH_STATUS, unstable.AuthStatusRequest())

    async def list_providers(self) -> list[unstable.ProviderInfo]:
        """Unstable: return where the agent's model calls go."""
        request = unstable.ListProvidersRequest()
        return (await self.surface.request(methods.LIST_PROVIDERS, request)).providers

    async def set_provider(self, request: unstable.SetProviderRequest) -> None:
        """Unstable: send the agent's model calls somewhere else."""
        await self.surface.request(methods.SET_PROVIDER, request)

    async def disable_provider(self, provider_id: unstable.ProviderId) -> None:
        """Unstable: have the agent use a provider no longer."""
        request = unstable.DisableProviderRequest(provider_id=provider_id)
        await self.surface.request(methods.DISABLE_PROVIDER, request)

    async def request(self, method: str, params: Any = None, result: Any = Any) -> Any:
        """Send an extension's request, whose name begins with `_`, and return its result.

        Args:
            method: The name.
            params: Anything that can be written as JSON.
            result: The type of the result; plain JSON values unless told otherwise.
        """
        return await self.surface.request(_extension(method, "request", result), params)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send an extension's notification, whose name begins with `_`."""
        await self.surface.notify(_extension(method, "notification", None), params)


def _extension(name: str, kind: Kind, result: Any) -> Method[Any, Any]:
    if not name.startswith("_"):
        raise LocalProtocolError(f"{name} is no extension: its name does not begin with _")
    return Method(name=name, to="agent", kind=kind, params=Any, result=result)
