"""The connections that there are, by their ids, and how many each principal has.

An id that belongs to another principal is as unknown as one that was never given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from parley.bounded import Bounded

from .answers import Refused
from .connection import RemoteConnection
from .limits import AppLimits

__all__ = ["GOING_AWAY", "Registry"]

GOING_AWAY = "the server is going away; load or resume the session on a new connection"
"""What clients are told when it is the end of them all."""
_REMEMBERED = 1024
"""How many connections that have ended are known, to tell who comes late from a stranger."""
_LATER = ((b"retry-after", b"5"),)


class Registry:
    """All connections of an application."""

    def __init__(self, limits: AppLimits) -> None:
        self._limits = limits
        self._is_closed = False
        self._by_id: dict[str, RemoteConnection] = {}
        self._ended: Bounded[str, str] = Bounded(_REMEMBERED)
        self._of: defaultdict[str, set[RemoteConnection]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[RemoteConnection]:
        return iter(list(self._by_id.values()))

    def check_room(self, principal: str) -> None:
        """Refuse one more connection where there are enough.

        Raises:
            Refused: A limit is reached.
        """
        if self._is_closed:
            raise Refused(503, "going_away", "The server is going away", headers=_LATER)
        if len(self._by_id) >= self._limits.connections:
            most = self._limits.connections
            raise Refused(
                503,
                "too_many_connections",
                f"This server has {most} connections, which is the limit; try again later",
                headers=_LATER,
            )
        if len(self._of.get(principal, ())) >= self._limits.connections_per_principal:
            most = self._limits.connections_per_principal
            raise Refused(
                429,
                "too_many_connections_of_principal",
                f"You have {most} connections, which is the limit; end one with DELETE",
                headers=_LATER,
            )

    def check_sessions(self, principal: str) -> None:
        """Refuse one more session where there are enough.

        Raises:
            Refused: The limit is reached.
        """
        open_now = sum(each.outlet.open_sessions for each in self._of.get(principal, ()))
        if open_now >= self._limits.sessions_per_principal:
            most = self._limits.sessions_per_principal
            raise Refused(
                429,
                "too_many_sessions",
                f"You have {most} sessions open, which is the limit; close one",
                headers=_LATER,
            )

    def close(self) -> None:
        """Take no further connection, and say to those who come back that it is for ever."""
        self._is_closed = True

    def add(self, connection: RemoteConnection) -> None:
        """Keep a connection until it ends."""
        self._by_id[connection.id] = connection
        self._of[connection.principal].add(connection)
        connection.on_end = lambda: self._remove(connection)

    def find(self, id: str | None, principal: str) -> RemoteConnection:
        """Return a connection of a principal's.

        Raises:
            Refused: There is none with that id, or none is named.
        """
        if id is None:
            raise Refused(400, "no_connection", "The header Acp-Connection-Id is missing")
        found = self._by_id.get(id)
        if found is None and self._is_closed:
            raise Refused(410, "going_away", GOING_AWAY)
        if found is None or found.principal != principal:
            is_late = self._ended.get(id) == principal
            raise Refused(
                404,
                "connection_ended" if is_late else "unknown_connection",
                "There is no connection with that id; it has ended, or never was: initialize a new "
                "one",
            )
        return found

    def _remove(self, connection: RemoteConnection) -> None:
        self._by_id.pop(connection.id, None)
        self._ended[connection.id] = connection.principal
        mine = self._of[connection.principal]
        mine.discard(connection)
        if not mine:
            del self._of[connection.principal]
