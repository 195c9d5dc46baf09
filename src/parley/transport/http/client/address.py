"""Where a remote agent is, and how it is spoken to: its URL, the token, TLS.

A token is a secret. It is never part of an address, a log or the text of an error, and it is not
sent where others can read along, unless the caller insists.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict
from urllib.parse import quote, urlsplit

from parley.errors import ConnectFailed

__all__ = ["KEEP_ALIVE_AFTER", "Address", "OnState", "RemoteOptions", "State"]

KEEP_ALIVE_AFTER = 10.0
"""After so many silent seconds the server is asked for a sign of life, and given as long again."""
DEFAULT_PATH = "/acp"
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x1f\x7f]*")

State: TypeAlias = Literal["connected", "away", "gone"]
OnState: TypeAlias = Callable[[State, str], None]
"""Is told when the remote side is away, is back, or is given up, and why."""


class RemoteOptions(TypedDict, total=False):
    """How a remote agent is spoken to."""

    token: str | None
    """Goes with each request as `Authorization: Bearer`."""
    headers: Mapping[str, str]
    """Further headers of each request."""
    ca_file: str | Path | None
    """Certificates to trust instead of the system's."""
    tls: ssl.SSLContext | None
    """How TLS is done; then `ca_file` is not looked at."""
    allows_plain_token: bool
    """Whether a token may go to another machine without TLS."""
    on_state: OnState | None
    """Is told when the remote side is away, is back, or is given up."""
    connect_timeout: float
    """How many seconds it may take to reach the server."""
    keep_alive_after: float
    """After how many silent seconds the server is asked for a sign of life."""
    retry_after: float
    """How many seconds after an interruption it is tried to come back; then twice as long."""
    max_message_bytes: int
    """How long an inbound message may be."""


class Address:
    """A URL of an agent, taken apart and checked."""

    def __init__(self, url: str, options: RemoteOptions) -> None:
        """Check an address and what is to be sent there.

        Raises:
            ConnectFailed: Something is wrong with it; the text says what to do.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ConnectFailed(f"the address cannot be read: {error}") from error
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ConnectFailed("an address begins with http://, https://, ws:// or wss:// HOST")
        if parts.username is not None or parts.password is not None:
            raise ConnectFailed(
                "a name or a password does not belong into an address; give token= (--token-file)"
            )
        self.host = parts.hostname
        self.port = port or _PORTS[parts.scheme]
        self.is_secure = parts.scheme in ("https", "wss")
        path = parts.path if parts.path not in ("", "/") else DEFAULT_PATH
        target = f"{path}?{parts.query}" if parts.query else path
        self.path = quote(target, safe="/?:@!$&'()*+,;=%-._~").encode()
        self.authority = _authority(
            self.host, None if self.port == _PORTS[parts.scheme] else self.port
        )
        self.shown = f"{parts.scheme}://{self.authority.decode()}{path}"
        """The address as it may be shown: without the query, where people put secrets."""
        self.headers = self._headers(options)
        """What goes with each request, names in lower case."""
        self.tls = _tls(options) if self.is_secure else None

    @property
    def is_local(self) -> bool:
        """Whether nothing leaves this machine."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def _headers(self, options: RemoteOptions) -> list[tuple[bytes, bytes]]:
        headers: list[tuple[bytes, bytes]] = []
        for name, value in options.get("headers", {}).items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
                raise ConnectFailed(f"the header {name!r} cannot be sent: not a name, or no value")
            headers.append((name.lower().encode(), value.encode()))
        token = options.get("token")
        if token is not None:
            if not token or not token.isascii() or not token.isprintable() or " " in token:
                raise ConnectFailed("the token is empty or has characters that no token has")
            headers.append((b"authorization", b"Bearer " + token.encode()))
        is_guarded = self.is_secure or self.is_local or options.get("allows_plain_token", False)
        if not is_guarded and any(name in _SECRET for name, _ in headers):
            raise ConnectFailed(
                f"a token is not sent to {self.host} without TLS: use https:// or wss://, or say "
                "allows_plain_token=True (--plain-token)"
            )
        return headers


_SECRET = (b"authorization", b"cookie")


def _authority(host: str, port: int | None) -> bytes:
    try:
        name = b"[%b]" % host.encode() if ":" in host else host.encode("idna")
    except UnicodeError as error:
        raise ConnectFailed(f"{host} is no name of a host") from error
    return name if port is None else b"%b:%d" % (name, port)


def _tls(options: RemoteOptions) -> ssl.SSLContext:
    given = options.get("tls")
    if given is not None:
        return given
    file = options.get("ca_file")
    try:
        return ssl.create_default_context(cafile=None if file is None else str(file))
    except (OSError, ssl.SSLError) as error:
        raise ConnectFailed(f"the certificates in {file} cannot be read: {error}") from error
