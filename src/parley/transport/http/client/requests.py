"""Requests to one server, over whichever version of HTTP it speaks.

On TLS the version is agreed on in the handshake. Without TLS the server is spoken to in HTTP/2 at
once; one that does not know it answers in HTTP/1.1, hangs up, or says nothing, which is remembered.
One that says nothing for a moment is asked on a second connection, in HTTP/1.1, for a sign of life,
`OPTIONS *`; what it answers first is what it speaks.
HTTP/2 has one connection for everything, and a further one when the server allows no more streams
on those that there are; of HTTP/1.1 there are as many as there are requests under way. There are no
redirects and no proxies.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, cast

from parley.errors import ConnectFailed, TransportError

from .address import KEEP_ALIVE_AFTER, Address
from .cookies import CookieJar
from .h1 import H1Client
from .h2 import H2Client
from .response import Headers, Response

__all__ = ["CONNECT_TIMEOUT", "HttpClient", "dial", "hand_over"]

CONNECT_TIMEOUT = 10.0
"""How many seconds it may take to reach a server."""
_ATTEMPTS = 4
_UNKNOWN_ISSUERS = (18, 19, 20, 21)
"""What OpenSSL says of certificates that nobody whom we trust has signed."""
_ASK_AFTER = 0.2
"""So many seconds a server may be silent before it is asked whether it speaks HTTP/1.1."""
_SPEAK_TIMEOUT = 2.0
"""How many seconds a server has to say that it speaks HTTP/2, if it says nothing else."""


class HttpClient:
    """A server, the connections to it, and its cookies."""

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
        """What the server wants to be sent back."""
        self._speaks_h2: bool | None = None
        self._is_closed = False
        self._h2: list[H2Client] = []
        """Also those that the server has said goodbye to: what they have begun, they may finish."""
        self._h1: list[H1Client] = []
        self._connecting: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @property
    def http_version(self) -> str:
        """What is spoken, as "2" or "1.1"; empty before it is known."""
        return {None: "", True: "2", False: "1.1"}[self._speaks_h2]

    async def connect(self) -> None:
        """Reach the server.

        Raises:
            ConnectFailed: It cannot be reached; the text says why.
        """
        if not self._has_room():
            await self._connect()

    async def request(
        self, method: str, path: bytes, headers: Headers, body: bytes = b""
    ) -> Response:
        """Send a request, and return its answer as soon as it begins.

        Args:
            method: As `POST`.
            path: Where to, with the query.
            headers: Names in lower case; cookies and what every request carries are added.
            body: What to send.

        Raises:
            ConnectFailed: The server cannot be reached.
            Interrupted: The connection was lost before there was an answer.
        """
        attempts = 0
        while attempts < _ATTEMPTS:
            response = self.begin(method, path, headers, body)
            while response is None and self._is_busy():
                await self._turn()
                response = self.begin(method, path, headers, body)
            if response is not None:
                return await response.head()
            attempts += all(each.lost is not None for each in self._h2)
            await self._connect()
        raise ConnectFailed(f"{self._address.shown} hangs up before it is asked anything")

    def begin(
        self, method: str, path: bytes, headers: Headers, body: bytes = b""
    ) -> Response | None:
        """Send a request if there is a connection with room for it, else return None."""
        connection = self._with_room()
        if connection is None:
            return None
        headers = [*self._address.headers, *headers]
        if self.cookies.header:
            headers.append((b"cookie", self.cookies.header))
        response = connection.begin(method.encode(), path, headers, body)
        response.on_headers = self.cookies.store
        return response

    async def room(self) -> None:
        """Wait until `begin` may succeed.

        Raises:
            ConnectFailed: The server cannot be reached.
        """
        while self._is_busy() and not self._has_room():
            await self._turn()
        if not self._has_room():
            await self._connect()

    def close(self) -> None:
        """End all connections; what is under way fails."""
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        connections: list[H2Client | H1Client] = [*self._h2, *self._h1]
        for connection in connections:
            connection.close()

    def _has_room(self) -> bool:
        return self._with_room() is not None

    def _with_room(self) -> H2Client | H1Client | None:
        for each in self._h2:
            if each.has_room():
                return each
        return next((each for each in self._h1 if each.has_room()), None)

    def _is_busy(self) -> bool:
        """Tell whether there is a connection that will soon have room."""
        return any(each.lost is None and not each.is_crowded for each in self._h2)

    async def _turn(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _connect(self) -> None:
        if self._is_closed:
            raise ConnectFailed("the connection was closed by us")
        if self._speaks_h2 is False:
            await self._connect_in_time()
            return
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._connect_in_time())
        await asyncio.shield(self._connecting)

    async def _connect_in_time(self) -> None:
        try:
            async with asyncio.timeout(self._connect_timeout):
                await (self._connect_tls() if self._address.tls else self._connect_plain())
        except TimeoutError as error:
            raise ConnectFailed(
                f"{self._address.shown} was not reached in {self._connect_timeout:g} seconds"
            ) from error
        self._h1 = [each for each in self._h1 if each.lost is None]

    async def _connect_tls(self) -> None:
        offers = ["http/1.1"] if self._speaks_h2 is False else ["h2", "http/1.1"]
        transport = await dial(self._address, offers)
        tls: ssl.SSLObject = transport.get_extra_info("ssl_object")
        if tls.selected_alpn_protocol() == "h2":
            await self._adopt_h2(transport)
        else:
            self._speaks_h2 = False
            self._adopt_h1(transport)

    async def _connect_plain(self) -> None:
        if self._speaks_h2 is not False:
            if await self._adopt_h2(await dial(self._address)):
                return
            self._speaks_h2 = False
        self._adopt_h1(await dial(self._address))

    async def _adopt_h2(self, transport: asyncio.Transport) -> bool:
        connection = H2Client(
            self._scheme,
            self._address.authority,
            on_change=self._changed.set,
            keep_alive_after=self._keep_alive_after,
        )
        hand_over(transport, connection)
        try:
            speaks = await self._hear(connection)
        except BaseException:  # also when cancelled: the socket is not left open
            connection.close()
            raise
        if not speaks:
            connection.close()
            if self._speaks_h2:
                raise ConnectFailed(f"{self._address.shown} hung up at once")
            return False
        self._speaks_h2 = True
        self._h2 = [each for each in self._h2 if each.lost is None or not each.is_idle]
        self._h2.append(connection)
        return True

    async def _hear(self, connection: H2Client) -> bool:
        """Tell whether a server speaks HTTP/2."""
        speaks = connection.speaks
        if self._speaks_h2 is not None:
            return await asyncio.shield(speaks)
        await asyncio.wait({speaks}, timeout=_ASK_AFTER)
        if not speaks.done():
            asking: asyncio.Future[bool] = asyncio.create_task(self._ask_in_h1())
            left = _SPEAK_TIMEOUT - _ASK_AFTER
            try:
                await asyncio.wait(
                    {speaks, asking}, timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                asking.cancel()
        return speaks.done() and speaks.result()

    async def _ask_in_h1(self) -> bool:
        """Return when a server has answered in HTTP/1.1; never, if it does not."""
        if self._address.tls is None:
            asked = H1Client(self._address.authority, on_change=_ignore)
            try:
                hand_over(await dial(self._address), asked)
                await asked.begin(b"OPTIONS", b"*", [], b"").head()
                return True
            except TransportError:
                pass
            finally:
                asked.close()
        never: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        return await never

    def _adopt_h1(self, transport: asyncio.Transport) -> None:
        connection = H1Client(self._address.authority, on_change=self._changed.set)
        hand_over(transport, connection)
        self._h1.append(connection)


def _ignore() -> None:
    """Do nothing: nobody waits for it."""


class _Dialled(asyncio.Protocol):
    """Reads nothing until it is known who is to read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).pause_reading()


def hand_over(transport: asyncio.Transport, protocol: asyncio.Protocol) -> None:
    """Let a protocol have what was dialled."""
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    transport.resume_reading()


async def dial(address: Address, alpn: list[str] | None = None) -> asyncio.Transport:
    """Reach a server by TCP, and by TLS if it is to be; nothing is read yet.

    Raises:
        ConnectFailed: It cannot be reached; the text says why.
    """
    tls = address.tls
    if tls is not None and alpn is not None:
        tls.set_alpn_protocols(alpn)
    loop = asyncio.get_running_loop()
    is_uvloop = type(loop).__module__.startswith("uvloop")  # which tries one address after another
    options: dict[str, Any] = {} if is_uvloop else {"happy_eyeballs_delay": 0.25}
    try:
        transport, _ = await loop.create_connection(
            _Dialled, address.host, address.port, ssl=tls, **options
        )
    except ssl.SSLCertVerificationError as error:
        why = error.verify_message.rstrip(".")
        raise ConnectFailed(
            f"the certificate of {address.shown} is not trusted: {why}{_mend_of(error)}"
        ) from error
    except OSError as error:
        raise ConnectFailed(f"{address.shown} cannot be reached: {_why(error)}") from error
    _keep_alive(transport.get_extra_info("socket"))
    return transport


def _mend_of(error: ssl.SSLCertVerificationError) -> str:
    """Return what to do about a certificate; nothing helps if it is for another name."""
    is_unknown = error.verify_code in _UNKNOWN_ISSUERS
    return "; give ca_file= (--ca-file) if it is your own" if is_unknown else ""


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "there is no TLS there; is it http:// or ws://?"
    if isinstance(error, socket.gaierror):
        return "there is no such host"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there"
    return error.strerror or str(error) or type(error).__name__


def _keep_alive(sock: socket.socket | None) -> None:
    """Have the system notice a peer that is gone without a word."""
    if sock is None:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
