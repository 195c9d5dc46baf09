"""The open connections by id, and the limits for each principal.

The id of another principal's connection is treated like one that never existed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from parley._bounded_dict import BoundedDict

from .connection import RemoteConnection
from .limits import AppLimits
from .responses import HttpError

GOING_AWAY = "the server is going away; load or resume the session on a new connection"
"""The reason that clients get when the server shuts down."""
_MAX_ENDED = 1024
"""The number of ended connections to remember, to tell a late request from an unknown id."""
_RETRY_AFTER = ((b"retry-after", b"5"),)


class ConnectionRegistry:
    """The open connections of an application, by id and by principal."""

    def __init__(self, limits: AppLimits) -> None:
        self._limits = limits
        self._is_closed = False
        self._by_id: dict[str, RemoteConnection] = {}
        self._ended: BoundedDict[str, str] = BoundedDict(_MAX_ENDED)
        self._by_principal: defaultdict[str, set[RemoteConnection]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[RemoteConnection]:
        return iter(list(self._by_id.values()))

    def check_connections(self, principal: str) -> None:
        """Check that the principal may open another connection.

        Raises:
            HttpError: A limit is reached, or the server is shutting down.
        """
        if self._is_closed:
            raise HttpError(503, "going_away", "The server is going away", headers=_RETRY_AFTER)
        if len(self._by_id) >= self._limits.connections:
            limit = self._limits.connections
            raise HttpError(
                503,
                "too_many_connections",
                f"The server has reached its limit of {limit} connections; try again later",
                headers=_RETRY_AFTER,
            )
        if len(self._by_principal.get(principal, ())) >= self._limits.connections_per_principal:
            limit = self._limits.connections_per_principal
            raise HttpError(
                429,
                "too_many_connections_of_principal",
                f"You have reached your limit of {limit} connections; end one with DELETE",
                headers=_RETRY_AFTER,
            )

    def check_sessions(self, principal: str) -> None:
        """Check that the principal may open another session.

        Raises:
            HttpError: The limit is reached.
        """
        open_count = sum(each.sink.open_sessions for each in self._by_principal.get(principal, ()))
        if open_count >= self._limits.sessions_per_principal:
            limit = self._limits.sessions_per_principal
            raise HttpError(
                429,
                "too_many_sessions",
                f"You have reached your limit of {limit} open sessions; close one",
                headers=_RETRY_AFTER,
            )

    def close(self) -> None:
        """Refuse new connections; a client that reconnects gets 410 instead of 404."""
        self._is_closed = True

    def add(self, connection: RemoteConnection) -> None:
        """Register a connection until it ends."""
        self._by_id[connection.id] = connection
        self._by_principal[connection.principal].add(connection)
        connection.on_end = lambda: self._remove(connection)

    def find(self, id: str | None, principal: str) -> RemoteConnection:
        """Return the connection with this id, if it belongs to the principal.

        Raises:
            HttpError: There is no such connection, or `id` is None.
        """
        if id is None:
            raise HttpError(400, "no_connection", "The header Acp-Connection-Id is missing")
        found = self._by_id.get(id)
        if found is None and self._is_closed:
            raise HttpError(410, "going_away", GOING_AWAY)
        if found is None or found.principal != principal:
            is_late = self._ended.get(id) == principal
            raise HttpError(
                404,
                "connection_ended" if is_late else "unknown_connection",
                "There is no connection with that id: it has ended or never existed. Initialize a "
                "new one",
            )
        return found

    def _remove(self, connection: RemoteConnection) -> None:
        self._by_id.pop(connection.id, None)
        self._ended[connection.id] = connection.principal
        connections = self._by_principal[connection.principal]
        connections.discard(connection)
        if not connections:
            del self._by_principal[connection.principal]
