"""The ASGI application that puts an agent on the network: `/acp` by HTTP and by WebSocket.

| request | what it does | answer |
|---|---|---|
| POST initialize | makes a connection, for which the agent is served | 200, the agent's answer |
| POST anything else | delivers one message | 202 |
| GET | opens the stream of the connection, or with `Acp-Session-Id` of a session | 200, events |
| GET with an upgrade | makes a connection on a WebSocket | 101 |
| DELETE | ends the connection | 202 |

Host, Origin and token are checked before anything else; see `access.py`. The application runs under
any ASGI server and in any other application; `parley.transport.http.server.server` has one of ours.
Spec: https://agentclientprotocol.com/rfds/streamable-http-websocket-transport
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from parley.errors import ConnectionClosed
from parley.transport.http.asgi_types import (
    PASS_OVER,
    WHEN_GONE,
    PassOver,
    Receive,
    Scope,
    Send,
    WhenGone,
)
from parley.transport.http.negotiation import (
    CONNECTION_ID,
    LAST_EVENT_ID,
    RESUME,
    SESSION_ID,
    format_resume,
)
from parley.transport.target import Servable

from .access import ALLOW, Access
from .answers import (
    Header,
    Headers,
    Refused,
    answer,
    deny,
    parse_number,
    parse_resume,
    path_within,
    refuse,
)
from .connection import Facts, RemoteConnection
from .hosting import Hosting
from .limits import AppLimits, Clock
from .log import EventLog
from .posts import Gone
from .socket_outlet import Socket
from .sockets import Line
from .streams import Reader

__all__ = ["HttpApp", "lifespan"]

_SECRETS = frozenset({"authorization", "proxy-authorization", "cookie"})


class HttpApp:
    """Serves one agent to everybody who gets in; a connection each."""

    def __init__(
        self,
        host: Servable,
        *,
        access: Access | None = None,
        path: str | None = "/acp",
        limits: AppLimits | None = None,
        clock: Clock | None = None,
        open_log: Callable[[Facts], EventLog] | None = None,
        knows_session: Callable[[str, str], Awaitable[bool]] | None = None,
    ) -> None:
        """Prepare to serve.

        Args:
            host: Serves each connection, as `Agent` does.
            access: Who gets in; the local user alone, if not given.
            path: The one path that is served; None serves any, where another application routes.
            limits: What is held at most.
            clock: What time it is; the event loop's if not given.
            open_log: Makes the log of a connection that may resume; in memory if not given.
            knows_session: Tells whether a principal has a session that is not open yet. Without it
                a stream may be opened for any, and ends if nobody loads the session.
        """
        self._access = access or Access()
        self._path = path
        self.where = f"the agent is at {path}"
        """What is told to those who are let in and ask for another path."""
        self._limits = limits or AppLimits()
        self._knows_session = knows_session
        self._hosting = Hosting(host, self._limits, clock=clock, open_log=open_log)
        self.connections = self._hosting.registry
        """Those that there are."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; see the specification of ASGI."""
        if scope["type"] == "http":
            reader = await self._http(scope, receive, send)
            if reader is not None:  # here, where nothing else is kept: there are many
                when_gone = _when_gone(scope)
                scope["headers"] = ()
                del scope
                await reader.pour(receive, send, when_gone)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await lifespan(receive, send, self.aclose)

    async def aclose(self, grace_after: float = 2.0) -> None:
        """End all connections, and wait a while for the agent to end what it did on them."""
        await self._hosting.aclose(grace_after)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> Reader | None:
        """Answer a request, or return who answers it with a stream."""
        headers = Headers(scope["headers"])
        shared: list[Header] = []
        try:
            self._access.check_source(scope, headers)
            shared = self._access.shared(headers)
            if scope["method"] == "OPTIONS":
                await answer(send, 204, headers=self._access.preflight(headers))
                return None
            principal = self._access.principal(scope, headers)
            self._check_path(scope)
            match scope["method"]:
                case "POST":
                    status, body, fields = await self._post(principal, scope, headers, receive)
                    await answer(send, status, body, headers=(*fields, *shared))
                case "GET":
                    return await self._get(principal, headers, shared)
                case "DELETE":
                    connection = self.connections.find(headers.one(CONNECTION_ID), principal)
                    connection.lose(ConnectionClosed("the client ended the connection"))
                    await answer(send, 202, headers=shared)
                case method:
                    raise Refused(
                        405, "method_not_allowed", f"{method} is not served here", headers=ALLOW
                    )
        except Refused as refused:
            await refuse(send, refused, headers=shared)
        except Gone:
            pass  # nobody is there to be answered
        return None

    def _check_path(self, scope: Scope) -> None:
        if self._path is not None and path_within(scope) != self._path:
            raise Refused(404, "not_found", f"There is nothing here; {self.where}")

    async def _post(
        self, principal: str, scope: Scope, headers: Headers, receive: Receive
    ) -> tuple[int, bytes, list[Header]]:
        id = headers.one(CONNECTION_ID)
        if id is None:
            facts = _facts(principal, scope, headers)
            is_negotiated = parse_resume(headers.one(RESUME)) is not None
            connection, frame = await self._hosting.initialize(
                facts, headers, receive, is_negotiated=is_negotiated
            )
            return 200, frame, self._welcome(connection, is_negotiated)
        connection = self.connections.find(id, principal)
        when_gone = _when_gone(scope)
        with connection.held(when_gone) as let_go:
            on_gone = let_go if when_gone is None else None
            await self._hosting.box(connection).take(headers, receive, on_gone)
            self.connections.find(id, principal)  # it may have ended in the meantime
        return 202, b"", []

    def _welcome(self, connection: RemoteConnection, is_negotiated: bool) -> list[Header]:
        fields = [(CONNECTION_ID, connection.id.encode())]
        if is_negotiated:
            fields.append((RESUME, format_resume({"grace": int(self._limits.grace)})))
        return fields

    async def _get(self, principal: str, headers: Headers, shared: list[Header]) -> Reader:
        if not _accepts_events(headers):
            raise Refused(406, "not_acceptable", "GET answers with text/event-stream: accept it")
        id = headers.one(CONNECTION_ID)
        connection = self.connections.find(id, principal)
        router = self._hosting.router(connection)
        session, cursor = headers.one(SESSION_ID), headers.one(LAST_EVENT_ID)
        if session is not None and session not in router.sessions:
            await self._check_session(principal, session)
            self.connections.find(id, principal)
        number = None if cursor is None else parse_number(cursor, "Last-Event-ID")
        reader = router.open(session, number)
        reader.headers = shared
        reader.on_end = connection.release
        connection.hold()
        return reader

    async def _check_session(self, principal: str, session: str) -> None:
        if self._knows_session is not None and not await self._knows_session(principal, session):
            raise Refused(404, "unknown_session", "There is no session with that id here")
        self.connections.check_sessions(principal)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope["headers"])
        if (await receive())["type"] != "websocket.connect":
            return
        try:
            self._access.check_source(scope, headers)
            principal = self._access.principal(scope, headers)
            self._check_path(scope)
            line, fields = self._line(_facts(principal, scope, headers), headers)
        except Refused as refused:
            await deny(scope, send, refused)
            return
        extensions: dict[str, Any] = scope.get("extensions") or {}
        pass_over: PassOver | None = extensions.get(PASS_OVER)
        if pass_over is not None:
            pass_over()
        await line.run(receive, send, fields, _when_gone(scope))

    def _line(self, facts: Facts, headers: Headers) -> tuple[Line, list[Header]]:
        """Make a connection on a socket, or continue one that the client names."""
        asked = parse_resume(headers.one(RESUME))
        id = headers.one(CONNECTION_ID)
        if id is None:
            connection = self._hosting.connect_socket(facts, is_negotiated=asked is not None)
            fields = self._welcome(connection, asked is not None)
            seen = 0  # whatever it says: it is new
        else:
            connection = self.connections.find(id, facts.principal)
            seen = (asked or {}).get("received", 0)
            fields = [
                (CONNECTION_ID, connection.id.encode()),
                (RESUME, format_resume({"received": _received(connection, asked)})),
            ]
        line = Line(connection, self._limits.body_bytes)
        line.attach(seen)
        return line, fields


async def lifespan(
    receive: Receive, send: Send, on_shutdown: Callable[[], Awaitable[None]]
) -> None:
    """Follow the life of a server that tells of it, until it ends."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.shutdown":
            await on_shutdown()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


def _received(connection: RemoteConnection, asked: dict[str, int] | None) -> int:
    """Return how much has come on a connection that is to be continued on another socket."""
    socket = connection.outlet
    if not isinstance(socket, Socket) or not socket.is_negotiated or asked is None:
        raise Refused(404, "not_resumable", "This connection cannot be continued; open a new one")
    return socket.received


def _when_gone(scope: Scope) -> WhenGone | None:
    """Return what tells that the client is gone, where the server can tell."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    found: WhenGone | None = extensions.get(WHEN_GONE)
    return found


def _facts(principal: str, scope: Scope, headers: Headers) -> Facts:
    client = scope.get("client")
    shown = {name: value for name, value in headers if name not in _SECRETS}
    return Facts(principal, str(client[0]) if client else "", shown)


def _accepts_events(headers: Headers) -> bool:
    """Tell whether a client reads events: it names them, `text/*` or `*/*`, and not with q=0."""
    for part in ",".join(headers.every(b"accept")).lower().split(","):
        kind, *parameters = (each.strip() for each in part.split(";"))
        refused = any(each.replace(" ", "").rstrip("0.") == "q=" for each in parameters)
        if kind in ("text/event-stream", "text/*", "*/*") and not refused:
            return True
    return False
