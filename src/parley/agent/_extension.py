"""Extensions: methods that an agent serves besides its sessions, such as `nes/*`.

An `AgentExtension` is registered once with `add_extension` (in `_agent.py`) and joins each
connection as a `ConnectionExtension`. There it declares its features, handles its own requests, and
is closed with the connection. It may have sessions of its own kind: a request that both it and the
agent handle, such as `session/set_config_option`, goes to the owner of the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from parley.errors import LocalProtocolError
from parley.peer import NotificationHandler, RequestContext, RequestHandler, TypedHandler
from parley.session._capabilities import AgentFeatures, ClientFeatures

if TYPE_CHECKING:
    from ._agent_state import AgentState
    from ._connection import AgentConnection


class ConnectionExtension(Protocol):
    """An extension on one connection."""

    @property
    def requests(self) -> Mapping[str, RequestHandler]:
        """The handlers of its requests, by method."""
        ...

    @property
    def notifications(self) -> Mapping[str, NotificationHandler | TypedHandler]:
        """The handlers of its notifications, by method."""
        ...

    def features(self, offered: AgentFeatures, client: ClientFeatures) -> AgentFeatures:
        """Return the offered features of the agent together with those of the extension."""
        ...

    def owns_session(self, session_id: str | None) -> bool:
        """Return whether a session belongs to the extension."""
        ...

    async def aclose(self) -> None:
        """End all work, because the connection ends; may be called twice."""


class AgentExtension(Protocol):
    """An extension that adds methods to an agent; register it with `add_extension`."""

    def join(self, connection: AgentConnection, agent: AgentState) -> ConnectionExtension:
        """Return the extension's side of a new connection, which is not initialized yet.

        Args:
            connection: The connection.
            agent: The shared state of the agent; `check_accepting` raises while it shuts down.

        Raises:
            LocalProtocolError: Something that the extension needs is missing.
        """
        ...


def route_by_session(
    extension: ConnectionExtension,
    extension_handler: RequestHandler,
    agent_handler: RequestHandler | TypedHandler | None,
) -> RequestHandler:
    """Return a handler that calls the extension's or the agent's, depending on the session.

    Args:
        extension: The extension.
        extension_handler: The extension's handler.
        agent_handler: The agent's handler of the same method, if it has one.

    Raises:
        LocalProtocolError: The agent's handler decodes the params as its own type.
    """
    if agent_handler is None:
        return extension_handler
    if isinstance(agent_handler, TypedHandler):
        raise LocalProtocolError(
            "an extension cannot share a method that the agent decodes as its own type"
        )

    async def handle(params: object, request: RequestContext) -> object:
        is_extensions = extension.owns_session(request.session_id)
        handler = extension_handler if is_extensions else agent_handler
        return await handler(params, request)

    return handle
