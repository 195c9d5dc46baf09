"""The address of a remote agent and the options for connecting to it: URL, token, TLS.

A token is a secret. It never appears in an address, a log or an error message, and it is not sent
over an unencrypted network connection unless the caller explicitly allows it.
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

KEEP_ALIVE_AFTER = 10.0
"""Seconds of silence after which the server is pinged; it has as long again to reply."""
DEFAULT_PATH = "/acp"
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x1f\x7f]*")

State: TypeAlias = Literal["connected", "away", "gone"]
OnState: TypeAlias = Callable[[State, str], None]
"""Called with the reason when the connection is interrupted, restored (no reason) or given up."""


class RemoteOptions(TypedDict, total=False):
    """Options for connecting to a remote agent; all of them are optional."""

    token: str | None
    """Sent with each request as `Authorization: Bearer`."""
    headers: Mapping[str, str]
    """Additional headers for each request."""
    ca_file: str | Path | None
    """CA certificates to trust instead of the system's."""
    tls: ssl.SSLContext | None
    """The TLS context to use; `ca_file` is then ignored."""
    allows_plain_token: bool
    """Whether a token may be sent to another machine without TLS."""
    on_state: OnState | None
    """Called when the connection is interrupted, restored, or given up."""
    connect_timeout: float
    """Timeout in seconds for connecting to the server."""
    keep_alive_after: float
    """Seconds of silence after which the server is pinged."""
    retry_after: float
    """Seconds before the first attempt to reconnect; doubled after each failed one."""
    max_message_bytes: int
    """Maximum size of an inbound message."""


class Address:
    """The parsed and validated URL of an agent, with the headers and TLS context to use."""

    def __init__(self, url: str, options: RemoteOptions) -> None:
        """Parse a URL, and validate it together with the options.

        Raises:
            ConnectFailed: The URL or an option is invalid; the message says what to do.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ConnectFailed(f"the address is not a valid URL: {error}") from error
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ConnectFailed(
                "an address must start with http://, https://, ws:// or wss://, followed by a host"
            )
        if parts.username is not None or parts.password is not None:
            raise ConnectFailed(
                "an address must not contain a user name or password; "
                "pass remote=Remote(token=…), or --token-file"
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
        """The address for display: without the query, which may contain secrets."""
        self.headers = self._headers(options)
        """The headers sent with each request, names in lower case."""
        self.tls = _tls(options) if self.is_secure else None

    @property
    def is_local(self) -> bool:
        """Whether the host is this machine, so that traffic does not leave it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def _headers(self, options: RemoteOptions) -> list[tuple[bytes, bytes]]:
        headers: list[tuple[bytes, bytes]] = []
        for name, value in options.get("headers", {}).items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
                raise ConnectFailed(
                    f"the header {name!r} cannot be sent: its name or its value is not valid"
                )
            headers.append((name.lower().encode(), value.encode()))
        token = options.get("token")
        if token is not None:
            token = token.strip()  # a file with a token ends with a newline
            if not token or not token.isascii() or not token.isprintable() or " " in token:
                raise ConnectFailed(
                    "the token must be printable ASCII without spaces, and not empty"
                )
            headers.append((b"authorization", b"Bearer " + token.encode()))
        is_guarded = self.is_secure or self.is_local or options.get("allows_plain_token", False)
        if not is_guarded and any(name in _SECRET for name, _ in headers):
            raise ConnectFailed(
                f"a token is not sent to {self.host} without TLS; use https:// or wss://, or pass "
                "remote=Remote(allows_plain_token=True), or --plain-token"
            )
        return headers


_SECRET = (b"authorization", b"cookie")


def _authority(host: str, port: int | None) -> bytes:
    try:
        name = b"[%b]" % host.encode() if ":" in host else host.encode("idna")
    except UnicodeError as error:
        raise ConnectFailed(f"{host} is not a valid host name") from error
    return name if port is None else b"%b:%d" % (name, port)


def _tls(options: RemoteOptions) -> ssl.SSLContext:
    context = options.get("tls")
    if context is not None:
        return context
    file = options.get("ca_file")
    try:
        return ssl.create_default_context(cafile=None if file is None else str(file))
    except (OSError, ssl.SSLError) as error:
        raise ConnectFailed(f"cannot read the certificates in {file}: {error}") from error
