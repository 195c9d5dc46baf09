"""The tokens and access rules of an agent on the network, for `Agent.run` and `Agent.asgi`.

All clients have the same principal: they are one user, and share the agent's sessions. Several
users of one agent need a gateway (`parley.gateway`).
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from parley.asgi_server.tls import server_tls
from parley.errors import ConfigError
from parley.transport.http._app.access import Access
from parley.transport.http._tokens import (
    MIN_LENGTH,
    load_or_create_token,
    read_token,
    token_path,
)

_PRINCIPAL = "owner"
DRAIN_AFTER = 30.0
"""The default number of seconds that running turns have to end at shutdown."""


class AccessOptions(TypedDict, total=False):
    """Options of `Agent.asgi` and `Agent.run` for serving HTTP and WebSocket clients."""

    token_file: str | Path | None
    """A file with the token that clients need; None generates one in the state directory."""
    hosts: Sequence[str]
    """Host names to accept requests for, besides those of this machine."""
    origins: Sequence[str]
    """Origins of web pages that may connect, such as `https://chat.example`."""
    allow_local_servers: bool
    """Whether clients may name commands and local addresses as MCP servers and providers."""
    drain_after: float
    """The seconds that running turns have to end when the server is stopped; 30 by default."""


def access_from(options: AccessOptions, tokens: Iterable[str]) -> Access:
    """Return the access rules for these options and tokens.

    Raises:
        ConfigError: A host or an origin cannot be used, or there is no token.
    """
    try:
        return Access(
            dict.fromkeys(tokens, _PRINCIPAL),
            hosts=options.get("hosts", ()),
            origins=options.get("origins", ()),
            allow_local_servers=options.get("allow_local_servers", False),
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error


def token_from_file(options: AccessOptions) -> tuple[Path, str]:
    """Return the token file and the token in it, which is generated if no file is given.

    Raises:
        ConfigError: The file cannot be read or written, or the token cannot be used.
    """
    token_file = options.get("token_file")
    if token_file is None:
        file = token_path()
        return file, load_or_create_token(file)
    file = Path(token_file)
    return file, read_token(file, min_length=MIN_LENGTH)


def load_tls(files: tuple[str | Path, str | Path] | None) -> ssl.SSLContext | None:
    """Return the TLS settings for the files of a certificate and its key; None without them.

    Raises:
        ConfigError: The files cannot be used.
    """
    if files is None:
        return None
    try:
        return server_tls(*files)
    except OSError as error:
        raise ConfigError(f"the certificate {files[0]} cannot be used: {error}") from error
