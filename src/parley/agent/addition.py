"""What an agent serves besides its sessions, brought by a part that the agent itself does not know.

An addition is given to `Agent.add` once and joins each connection. There it says what it offers,
answers requests of its own, and is told when the connection ends. It may have sessions of its own
kind: a request that both it and the agent answer, as `session/set_config_option`, goes to whom the
session belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from parley.errors import LocalProtocolError
from parley.peer import NotificationHandler, RequestContext, RequestHandler, Typed
from parley.session.features import AgentFeatures, ClientFeatures

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["Addition", "Joined", "shared"]


class Joined(Protocol):
    """An addition on one connection."""

    @property
    def requests(self) -> Mapping[str, RequestHandler]:
        """The requests that it answers, by method."""
        ...

    @property
    def notifications(self) -> Mapping[str, NotificationHandler | Typed]:
        """The notifications that it takes, by method."""
        ...

    def features(self, offered: AgentFeatures, client: ClientFeatures) -> AgentFeatures:
        """Return what the agent offers to a client, with what this adds."""
        ...

    def holds(self, session_id: str | None) -> bool:
        """Tell whether a session is one of its own."""
        ...

    async def aclose(self) -> None:
        """End everything: the connection ends."""


class Addition(Protocol):
    """Something that an agent serves besides its sessions."""

    def join(self, connection: Connection) -> Joined:
        """Begin to serve one connection, which is not initialized yet.

        Raises:
            LocalProtocolError: Something is missing that it needs.
        """
        ...


def shared(
    joined: Joined, its: RequestHandler, agents: RequestHandler | Typed | None
) -> RequestHandler:
    """Return what answers a request: the addition, or the agent where that answers it as well."""
    if agents is None:
        return its
    if isinstance(agents, Typed):
        raise LocalProtocolError("an addition cannot answer what the agent reads in its own way")

    async def handle(params: object, request: RequestContext) -> object:
        handler = its if joined.holds(request.session_id) else agents
        return await handler(params, request)

    return handle
