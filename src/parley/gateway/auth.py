"""Authentication of a gateway's clients, from its settings: tokens, principals, hosts, TLS."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

from msgspec import Struct

from parley.asgi_server.tls import server_tls
from parley.errors import ConfigError
from parley.transport.http._app.access import Access, warnings_about
from parley.transport.http._tokens import (
    MIN_LENGTH,
    load_or_create_token,
    read_token,
    token_path,
)

from .config import Settings

__all__ = ["OWNER", "AuthSetup", "open_auth", "open_tls", "warnings"]

OWNER = "owner"
"""The principal of the generated token."""


class AuthSetup(Struct, frozen=True, kw_only=True):
    """The access rules, and the file of the user's token."""

    access: Access
    token_file: Path | None = None
    """The file of the token, if there is only one."""


def open_auth(settings: Settings) -> AuthSetup:
    """Return the access rules; generates a token if none exists.

    Raises:
        ConfigError: A token cannot be used.
    """
    digests: dict[bytes, str] = {}
    file: Path | None = None
    for each in settings.principals:
        digest = each.digest
        if each.token_file is not None:
            digest = _digest(read_token(each.token_file, min_length=MIN_LENGTH))
            file = each.token_file if len(settings.principals) == 1 else None
        if digest in digests:
            raise ConfigError(
                f"{digests[digest]} and {each.name} have the same token; give each their own"
            )
        digests[digest] = each.name
    if not digests and settings.token_file is not None:
        file = settings.token_file
        digests[_digest(read_token(file, min_length=MIN_LENGTH))] = OWNER
    elif not digests and settings.has_token and settings.trusted_header is None:
        file = token_path()
        digests[_digest(load_or_create_token(file))] = OWNER
    if settings.proxies and settings.trusted_header is None:
        raise ConfigError("--proxy requires --trusted-header")
    try:
        access = Access(
            digests=digests,
            hosts=settings.hosts,
            origins=settings.origins,
            trusted_header=settings.trusted_header,
            proxies=settings.proxies,
            allow_local_servers=settings.allow_local_servers,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return AuthSetup(access=access, token_file=file)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def open_tls(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context for https; None without TLS.

    Raises:
        ConfigError: The certificate or its key cannot be used.
    """
    if settings.tls is None:
        return None
    certificate, key = settings.tls
    try:
        return server_tls(certificate, key)
    except ssl.SSLError as error:
        raise ConfigError(
            f"{certificate} and {key} are not a certificate and its key in PEM: {error.reason}"
        ) from error
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"{error.filename or certificate} cannot be read: {why}") from error


def warnings(settings: Settings, host: str) -> list[str]:
    """Return warnings about settings that let other machines in."""
    return warnings_about(
        [host],
        tls="" if settings.tls else "--tls-cert and --tls-key",
        hosts="" if settings.hosts else "--allow-host NAME",
    )
