"""The ASGI application that puts an agent on the network: `/acp` over HTTP and WebSocket.

| request | effect | response |
|---|---|---|
| POST initialize | creates a connection and serves the agent on it | 200, the agent's response |
| POST anything else | delivers one message | 202 |
| GET | opens the stream of the connection, or with `Acp-Session-Id` of a session | 200, events |
| GET with an upgrade | creates a connection on a WebSocket | 101 |
| DELETE | ends the connection | 202 |

Host, Origin and token are checked before anything else; see `access.py`. The application runs under
any ASGI server, alone or mounted in another application; `parley.asgi_server` is one.
Spec: https://agentclientprotocol.com/rfds/streamable-http-websocket-transport
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from parley.asgi_server.extensions import (
    ON_DISCONNECT,
    SKIP_OVERSIZED,
    OnDisconnect,
    SkipOversized,
)
from parley.errors import ConnectionClosed
from parley.rpc._framing import EDGE_BYTES
from parley.transport._target import Servable
from parley.transport.http._asgi_types import (
    Receive,
    Scope,
    Send,
)
from parley.transport.http._negotiation import (
    CONNECTION_ID,
    LAST_EVENT_ID,
    RESUME,
    SESSION_ID,
    format_resume,
)

from .access import ALLOW, Access
from .connection import ClientAddressInfo, RemoteConnection
from .connection_manager import ConnectionManager
from .event_log import EventLog
from .event_stream import EventStreamReader
from .limits import AppLimits, Clock
from .local_server_guard import LocalServerGuard
from .post_inbox import ClientDisconnected
from .responses import (
    Header,
    Headers,
    HttpError,
    parse_number,
    parse_resume,
    path_within,
    reject_upgrade,
    send_error,
    send_response,
)
from .websocket_endpoint import WebSocketEndpoint
from .websocket_sink import WebSocketSink

_SECRETS = frozenset({"authorization", "proxy-authorization", "cookie"})


class HttpApp:
    """An ASGI application that serves one agent to many clients, each on its own connection.

    Run it with any ASGI server, or mount it in another application. `serve` runs it with Parley's
    own server. `connections` are the open connections; `aclose` ends them.
    """

    def __init__(  # noqa: PLR0913 - an agent, and the options of an application
        self,
        host: Servable,
        *,
        access: Access | None = None,
        path: str | None = "/acp",
        path_hint: str | None = None,
        limits: AppLimits | None = None,
        clock: Clock | None = None,
        open_log: Callable[[ClientAddressInfo], EventLog] | None = None,
        knows_session: Callable[[str, str], Awaitable[bool]] | None = None,
    ) -> None:
        """Create the application.

        Args:
            host: Serves each connection; an `Agent`, for example.
            access: The access rules; by default, only the local user has access.
            path: The only path that is served; None serves any path, for an application that does
                its own routing.
            path_hint: Where to find agents, for authenticated clients that request another path.
            limits: Limits on memory, connections and time.
            clock: The source of time; by default, the event loop.
            open_log: Creates the log of a connection that can be resumed; by default, in memory.
            knows_session: Returns whether a principal has a session with this id that is not open
                yet. Without it, a stream may be opened for any session id, and ends if the session
                is not loaded in time.
        """
        self._access = access or Access()
        self._path = path
        self._path_hint = path_hint or f"the agent is at {path}"
        self._limits = limits or AppLimits()
        self._knows_session = knows_session
        self._guard = LocalServerGuard(is_off=self._access.allow_local_servers)
        self._manager = ConnectionManager(
            host, self._limits, clock=clock, open_log=open_log, guard=self._guard
        )
        self.connections = self._manager.registry
        """The open connections."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, a WebSocket or the lifespan, as the ASGI specification says."""
        if scope["type"] == "http":
            reader = await self._http(scope, receive, send)
            if reader is not None:  # run it here, so that an idle stream keeps no other frame alive
                on_disconnect = _on_disconnect(scope)
                scope["headers"] = ()
                del scope
                await reader.run(receive, send, on_disconnect)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await lifespan(receive, send, self.aclose)

    async def aclose(self, grace_after: float = 2.0) -> None:
        """End all connections, and wait up to `grace_after` seconds for the agent to finish."""
        await self._manager.aclose(grace_after)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> EventStreamReader | None:
        """Respond to a request, or return the reader that responds with an event stream."""
        headers = Headers(scope["headers"])
        cors_headers: list[Header] = []
        try:
            self._access.check_host_and_origin(scope, headers)
            cors_headers = self._access.cors_headers(headers)
            if scope["method"] == "OPTIONS":
                await send_response(send, 204, headers=self._access.preflight(headers))
                return None
            principal = self._access.principal(scope, headers)
            self._check_path(scope)
            match scope["method"]:
                case "POST":
                    status, body, fields = await self._post(principal, scope, headers, receive)
                    await send_response(send, status, body, headers=(*fields, *cors_headers))
                case "GET":
                    return await self._get(principal, headers, cors_headers)
                case "DELETE":
                    connection = self.connections.find(headers.one(CONNECTION_ID), principal)
                    connection.end(ConnectionClosed("the client ended the connection"))
                    await send_response(send, 202, headers=cors_headers)
                case method:
                    raise HttpError(
                        405, "method_not_allowed", f"{method} is not supported here", headers=ALLOW
                    )
        except HttpError as error:
            await send_error(send, error, headers=cors_headers)
        except ClientDisconnected:
            pass  # there is no client left to respond to
        return None

    def _check_path(self, scope: Scope) -> None:
        if self._path is not None and path_within(scope) != self._path:
            raise HttpError(404, "not_found", f"Nothing is served at this path; {self._path_hint}")

    async def _post(
        self, principal: str, scope: Scope, headers: Headers, receive: Receive
    ) -> tuple[int, bytes, list[Header]]:
        id = headers.one(CONNECTION_ID)
        if id is None:
            client = _client_address_info(principal, scope, headers)
            is_negotiated = parse_resume(headers.one(RESUME)) is not None
            connection, frame = await self._manager.initialize(
                client, headers, receive, is_negotiated=is_negotiated
            )
            return 200, frame, self._connection_headers(connection, is_negotiated)
        connection = self.connections.find(id, principal)
        on_disconnect = _on_disconnect(scope)
        with connection.keep_open(on_disconnect) as release:
            on_client_disconnect = release if on_disconnect is None else None
            await self._manager.post_inbox(connection).take(headers, receive, on_client_disconnect)
            self.connections.find(id, principal)  # raises if it has ended in the meantime
        return 202, b"", []

    def _connection_headers(
        self, connection: RemoteConnection, is_negotiated: bool
    ) -> list[Header]:
        fields = [(CONNECTION_ID, connection.id.encode())]
        if is_negotiated:
            fields.append((RESUME, format_resume({"grace": int(self._limits.grace)})))
        return fields

    async def _get(
        self, principal: str, headers: Headers, cors_headers: list[Header]
    ) -> EventStreamReader:
        if not _accepts_events(headers):
            raise HttpError(
                406,
                "not_acceptable",
                "GET returns text/event-stream, which the Accept header must allow",
            )
        id = headers.one(CONNECTION_ID)
        connection = self.connections.find(id, principal)
        router = self._manager.router(connection)
        session, cursor = headers.one(SESSION_ID), headers.one(LAST_EVENT_ID)
        if session is not None and session not in router.sessions:
            await self._check_session(principal, session)
            self.connections.find(id, principal)
        number = None if cursor is None else parse_number(cursor, "Last-Event-ID")
        reader = router.open(session, number)
        reader.headers = cors_headers
        reader.on_end = connection.release
        connection.hold()
        return reader

    async def _check_session(self, principal: str, session: str) -> None:
        if self._knows_session is not None and not await self._knows_session(principal, session):
            raise HttpError(404, "unknown_session", "There is no session with that id")
        self.connections.check_sessions(principal)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope["headers"])
        if (await receive())["type"] != "websocket.connect":
            return
        try:
            self._access.check_host_and_origin(scope, headers)
            principal = self._access.principal(scope, headers)
            self._check_path(scope)
            endpoint, fields = self._open_websocket(
                _client_address_info(principal, scope, headers), headers
            )
        except HttpError as error:
            await reject_upgrade(scope, send, error)
            return
        extensions: dict[str, Any] = scope.get("extensions") or {}
        skip_oversized: SkipOversized | None = extensions.get(SKIP_OVERSIZED)
        if skip_oversized is not None:
            skip_oversized(EDGE_BYTES)
        await endpoint.run(receive, send, fields, _on_disconnect(scope))

    def _open_websocket(
        self, client: ClientAddressInfo, headers: Headers
    ) -> tuple[WebSocketEndpoint, list[Header]]:
        """Create a connection on a WebSocket, or resume the one that the client names."""
        resume = parse_resume(headers.one(RESUME))
        id = headers.one(CONNECTION_ID)
        if id is None:
            connection = self._manager.connect_socket(client, is_negotiated=resume is not None)
            fields = self._connection_headers(connection, resume is not None)
            received = 0  # the connection is new, whatever the header says
        else:
            connection = self.connections.find(id, client.principal)
            received = (resume or {}).get("received", 0)
            fields = [
                (CONNECTION_ID, connection.id.encode()),
                (RESUME, format_resume({"received": _received(connection, resume)})),
            ]
        endpoint = WebSocketEndpoint(connection, self._limits.body_bytes, self._guard)
        endpoint.attach(received)
        return endpoint, fields


async def lifespan(
    receive: Receive, send: Send, on_shutdown: Callable[[], Awaitable[None]]
) -> None:
    """Handle the ASGI lifespan protocol until the server shuts down."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.shutdown":
            await on_shutdown()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


def _received(connection: RemoteConnection, resume: dict[str, int] | None) -> int:
    """Return how many messages have been received on a connection that is being resumed.

    Raises:
        HttpError: The connection cannot be resumed.
    """
    sink = connection.sink
    if not isinstance(sink, WebSocketSink) or not sink.is_negotiated or resume is None:
        raise HttpError(404, "not_resumable", "This connection cannot be resumed; open a new one")
    return sink.received_count


def _on_disconnect(scope: Scope) -> OnDisconnect | None:
    """Return the server extension that reports a disconnected client, if there is one."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    found: OnDisconnect | None = extensions.get(ON_DISCONNECT)
    return found


def _client_address_info(principal: str, scope: Scope, headers: Headers) -> ClientAddressInfo:
    client = scope.get("client")
    shown = {name: value for name, value in headers if name not in _SECRETS}
    return ClientAddressInfo(principal, str(client[0]) if client else "", shown)


def _accepts_events(headers: Headers) -> bool:
    """Return whether a client accepts events: by name, `text/*` or `*/*`, and not with q=0."""
    for part in ",".join(headers.get_all(b"accept")).lower().split(","):
        kind, *parameters = (each.strip() for each in part.split(";"))
        is_refused = any(each.replace(" ", "").rstrip("0.") == "q=" for each in parameters)
        if kind in ("text/event-stream", "text/*", "*/*") and not is_refused:
            return True
    return False
