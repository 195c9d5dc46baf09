"""A connection pool for one server, over HTTP/2 or HTTP/1.1.

With TLS, the handshake (ALPN) selects the version. Without TLS, the client starts with HTTP/2 right
away. A server without HTTP/2 responds in HTTP/1.1, closes the connection, or stays silent for two
seconds; the client then connects again in HTTP/1.1. The result is remembered.

HTTP/2 uses one connection for all requests, and another one when the server allows no more streams
on the existing ones. HTTP/1.1 uses one connection per pending request. Redirects and proxies are
not supported. What one connection does is in `h1.py` and `h2.py`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import cast

from parley._task_owner import TaskOwner
from parley.errors import ConnectFailed, TransportError
from parley.transport._notifier import Notifier

from .address import KEEP_ALIVE_AFTER, Address
from .cookies import CookieJar
from .h1 import H1Client
from .h2 import H2Client
from .happy_eyeballs import connect_socket
from .response import Headers, Response

CONNECT_TIMEOUT = 10.0
"""Default timeout in seconds for connecting to a server."""
_ATTEMPTS = 4
_UNKNOWN_ISSUERS = (18, 19, 20, 21)
"""OpenSSL's verification codes for certificates without a trusted issuer."""
_DETECT_TIMEOUT = 2.0
"""Seconds to wait for a first reply in HTTP/2 before HTTP/1.1 is assumed."""


class HttpConnectionPool:
    """The connections to one server, and its cookies."""

    def __init__(
        self,
        address: Address,
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        keep_alive_after: float = KEEP_ALIVE_AFTER,
    ) -> None:
        self._address = address
        self._connect_timeout = connect_timeout
        self._keep_alive_after = keep_alive_after
        self._scheme = b"https" if address.is_secure else b"http"
        self.cookies = CookieJar(is_secure=address.is_secure or address.is_local)
        """The server's cookies."""
        self._is_http2: bool | None = None
        self._is_closed = False
        self._h2: list[H2Client] = []
        """Includes connections that got a GOAWAY: their pending requests may still complete."""
        self._h1: list[H1Client] = []
        self._tasks = TaskOwner(address.shown, expected=(TransportError,))
        self._connecting: asyncio.Task[None] | None = None
        self._changes = Notifier()

    @property
    def http_version(self) -> str:
        """The HTTP version in use: "2" or "1.1", or empty before it is known."""
        return {None: "", True: "2", False: "1.1"}[self._is_http2]

    async def connect(self) -> None:
        """Connect to the server, unless a connection is available.

        Raises:
            ConnectFailed: The server cannot be reached; the message says why.
        """
        if not self._is_any_available():
            await self._connect()

    async def request(
        self, method: str, path: bytes, headers: Headers, body: bytes = b""
    ) -> Response:
        """Send a request, and return the response once its headers have arrived.

        Args:
            method: The HTTP method, such as `POST`.
            path: The path with the query.
            headers: Names in lower case; cookies and the address's headers are added.
            body: The request body.

        Raises:
            ConnectFailed: The server cannot be reached.
            RequestInterrupted: The connection was lost before the response headers arrived.
        """
        attempts = 0
        while attempts < _ATTEMPTS:
            response = self.try_send(method, path, headers, body)
            while response is None and self._is_busy():
                await self._changes.wait()
                response = self.try_send(method, path, headers, body)
            if response is not None:
                return await response.head()
            # Connecting again because of the limit on streams is not a failed attempt.
            attempts += all(each.close_reason is not None for each in self._h2)
            await self._connect()
        raise ConnectFailed(
            f"{self._address.shown} closes every connection before a request is sent"
        )

    def try_send(
        self, method: str, path: bytes, headers: Headers, body: bytes = b""
    ) -> Response | None:
        """Send a request if a connection is available, otherwise return None."""
        connection = self._available_connection()
        if connection is None:
            return None
        headers = [*self._address.headers, *headers]
        if self.cookies.header:
            headers.append((b"cookie", self.cookies.header))
        response = connection.send_request(method.encode(), path, headers, body)
        response.on_headers = self.cookies.store
        return response

    async def wait_until_available(self) -> None:
        """Wait until `try_send` may succeed, connecting if necessary.

        Raises:
            ConnectFailed: The server cannot be reached.
        """
        while self._is_busy() and not self._is_any_available():
            await self._changes.wait()
        if not self._is_any_available():
            await self._connect()

    async def aclose(self) -> None:
        """Close all connections; pending requests fail."""
        self._is_closed = True
        connections: list[H2Client | H1Client] = [*self._h2, *self._h1]
        for connection in connections:
            connection.close()
        await self._tasks.aclose()

    def _is_any_available(self) -> bool:
        return self._available_connection() is not None

    def _available_connection(self) -> H2Client | H1Client | None:
        for each in self._h2:
            if each.is_available():
                return each
        return next((each for each in self._h1 if each.is_available()), None)

    def _is_busy(self) -> bool:
        """Return whether a connection is only briefly unavailable, so that waiting makes sense."""
        return any(each.close_reason is None and not each.is_at_stream_limit for each in self._h2)

    async def _connect(self) -> None:
        if self._is_closed:
            raise ConnectFailed("the connection was closed by us")
        if self._is_http2 is False:
            await self._connect_in_time()
            return
        # HTTP/2, or not known yet: all callers share one attempt, and survive each other's
        # cancellation. On HTTP/1.1 each request needs a connection of its own.
        if self._connecting is None or self._connecting.done():
            self._connecting = self._tasks.create_task(self._connect_in_time())
        await asyncio.shield(self._connecting)

    async def _connect_in_time(self) -> None:
        try:
            async with asyncio.timeout(self._connect_timeout):
                await (self._connect_tls() if self._address.tls else self._connect_plain())
        except TimeoutError as error:
            raise ConnectFailed(
                f"cannot connect to {self._address.shown} within {self._connect_timeout:g} seconds"
            ) from error
        self._h1 = [each for each in self._h1 if each.close_reason is None]

    async def _connect_tls(self) -> None:
        alpn = ["http/1.1"] if self._is_http2 is False else ["h2", "http/1.1"]
        transport = await dial(self._address, alpn)
        tls: ssl.SSLObject = transport.get_extra_info("ssl_object")
        if tls.selected_alpn_protocol() == "h2":
            await self._adopt_h2(transport)
        else:
            self._is_http2 = False
            self._adopt_h1(transport)

    async def _connect_plain(self) -> None:
        if self._is_http2 is not False:
            if await self._adopt_h2(await dial(self._address)):
                return
            self._is_http2 = False
        self._adopt_h1(await dial(self._address))

    async def _adopt_h2(self, transport: asyncio.Transport) -> bool:
        connection = H2Client(
            self._scheme,
            self._address.authority,
            on_change=self._changes.notify_all,
            keep_alive_after=self._keep_alive_after,
        )
        start_protocol(transport, connection)
        try:
            is_http2 = await self._detect_http2(connection)
        except BaseException:  # also when cancelled: do not leave the socket open
            connection.close()
            raise
        if not is_http2:
            connection.close()
            if self._is_http2:
                raise ConnectFailed(f"{self._address.shown} closed the connection immediately")
            return False
        self._is_http2 = True
        self._h2 = [each for each in self._h2 if each.close_reason is None or not each.is_idle]
        self._h2.append(connection)
        return True

    async def _detect_http2(self, connection: H2Client) -> bool:
        """Return whether the server speaks HTTP/2: whether it replies to the preface in time."""
        is_http2 = connection.is_http2
        if self._is_http2 is not None:
            return await asyncio.shield(is_http2)
        await asyncio.wait({is_http2}, timeout=_DETECT_TIMEOUT)
        return is_http2.done() and is_http2.result()

    def _adopt_h1(self, transport: asyncio.Transport) -> None:
        connection = H1Client(self._address.authority, on_change=self._changes.notify_all)
        start_protocol(transport, connection)
        self._h1.append(connection)


class _DialedConnection(asyncio.Protocol):
    """A placeholder that pauses reading until `start_protocol` sets the real protocol."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).pause_reading()


def start_protocol(transport: asyncio.Transport, protocol: asyncio.Protocol) -> None:
    """Give a dialed connection to its protocol, and start reading."""
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    transport.resume_reading()


async def dial(address: Address, alpn: list[str] | None = None) -> asyncio.Transport:
    """Connect to a server by TCP, and TLS if the address requires it, with reading paused.

    Raises:
        ConnectFailed: The server cannot be reached; the message says why.
    """
    tls = address.tls
    if tls is not None and alpn is not None:
        tls.set_alpn_protocols(alpn)
    try:
        # From here on asyncio owns the socket: it closes it if the handshake fails or is cancelled.
        transport, _ = await asyncio.get_running_loop().create_connection(
            _DialedConnection,
            sock=await connect_socket(address.host, address.port),
            ssl=tls,
            server_hostname=address.host if tls else None,
        )
    except ssl.SSLCertVerificationError as error:
        problem = error.verify_message.rstrip(".")
        raise ConnectFailed(
            f"the certificate of {address.shown} is not trusted: {problem}"
            f"{_certificate_hint(error)}"
        ) from error
    except OSError as error:
        raise ConnectFailed(
            f"{address.shown} cannot be reached: {_describe_os_error(error)}"
        ) from error
    _configure_socket(transport.get_extra_info("socket"))
    return transport


def _certificate_hint(error: ssl.SSLCertVerificationError) -> str:
    """Return a hint for an untrusted certificate; empty if a CA file would not help."""
    is_unknown = error.verify_code in _UNKNOWN_ISSUERS
    return "; if it is your own, set ca_file= (--ca-file)" if is_unknown else ""


def _describe_os_error(error: OSError) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "the server does not use TLS; try http:// or ws://"
    if isinstance(error, socket.gaierror):
        return "the host name does not exist"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused; is the server running?"
    return error.strerror or str(error) or type(error).__name__


def _configure_socket(sock: socket.socket | None) -> None:
    """Disable Nagle's algorithm, and enable TCP keep-alive to detect a vanished peer."""
    if sock is None:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
