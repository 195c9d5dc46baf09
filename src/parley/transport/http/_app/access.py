"""Access control: Host, Origin and token are checked before anything is created or started.

A browser on the same machine is the adversary that loopback does not stop: a page from another
site can send requests to it, even under its own host name that resolves to this machine (DNS
rebinding). So the Host must be one of our names, and an Origin, which every browser sends, must be
ours or explicitly allowed.

Without tokens, every user of this machine is the same local user, whose principal is empty. In that
case, requests from other machines are rejected, and `check_address` refuses to listen on an address
that they can reach.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import cast

from parley.errors import ConnectFailed
from parley.transport.http._asgi_types import Scope

from .responses import Header, Headers, HttpError

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z_.-]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"null|[a-z][a-z0-9+.-]*://[^\s/?#@]+/?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CHALLENGE = ((b"www-authenticate", b"Bearer"),)
_METHODS = b"GET, POST, DELETE"
ALLOW = ((b"allow", _METHODS),)
"""The `Allow` header of a 405 response."""
_REQUEST_HEADERS = (
    b"authorization, content-type, acp-connection-id, acp-session-id, acp-protocol-version, "
    b"last-event-id, parley-resume, parley-message"
)
_EXPOSED_HEADERS = b"acp-connection-id, parley-resume, parley-message"


def is_loopback(address: str) -> bool:
    """Return whether an address or a name can only be reached from this machine."""
    if address == "localhost":
        return True
    try:
        found = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return found.is_loopback or (mapped is not None and mapped.is_loopback)


def warnings_about(addresses: Iterable[str], *, tls: str, hosts: str) -> list[str]:
    """Return security warnings about the addresses, one sentence each; none for loopback.

    Args:
        addresses: The addresses that the server listens on.
        tls: The option that sets a certificate; empty if one is set.
        hosts: The option that allows a host name; empty if one is allowed.
    """
    if all(map(is_loopback, addresses)):
        return []
    warnings: list[str] = []
    if tls:
        warnings.append(
            "without TLS, others on the network can read the token and the whole conversation; set "
            f"{tls}, or listen on 127.0.0.1 behind a proxy with TLS"
        )
    if hosts:
        warnings.append(f"clients must use an IP address; to allow a host name, set {hosts}")
    return warnings


class Access:
    """The access rules of a server: check each request and identify its principal.

    Pass one to `serve` or `HttpApp`. Without tokens, digests and a trusted header, only the local
    user has access.
    """

    def __init__(
        self,
        tokens: Mapping[str, str] | None = None,
        *,
        digests: Mapping[bytes, str] | None = None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        trusted_header: str | None = None,
        proxies: Iterable[str] = (),
        allow_local_servers: bool = False,
    ) -> None:
        """Set the access rules.

        Args:
            tokens: The principal of each bearer token; None turns authentication off, which
                limits access to loopback.
            digests: The principal of each token of which only the SHA-256 digest is known.
            hosts: Host names, without a port, that clients may use for this server, in addition to
                the loopback names and the address itself.
            origins: Origins of other sites whose pages may use it, such as `https://chat.example`;
                `null` is allowed.
            trusted_header: A header in which a reverse proxy names the principal.
            proxies: The addresses from which that header is trusted, in addition to loopback.
            allow_local_servers: Whether clients may name MCP servers that are commands, and MCP
                servers and providers on this machine or its network; see `local_server_guard.py`.

        Raises:
            ValueError: A token or a principal is empty, or a name could never match a request.
        """
        hosts, origins, proxies = [*hosts], [*origins], [*proxies]
        _check_names(hosts, origins, trusted_header, proxies)
        if tokens is not None and (not tokens or not all(map(str.strip, tokens))):
            raise ValueError(
                "an empty token would give everybody access; set one, or turn authentication off"
            )
        known = {_digest(token): name for token, name in (tokens or {}).items()}
        known.update(digests or {})
        if not all(known.values()):
            raise ValueError("the principal of a token must not be empty")
        self._principals = known if tokens is not None or digests else None
        self._hosts = _LOCAL_NAMES | {_host_name(host) for host in hosts} - {""}
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._header = trusted_header.lower().encode() if trusted_header else None
        self._proxies = frozenset(proxies)
        self.allow_local_servers = allow_local_servers
        """Whether clients may name commands and local addresses for the agent to use."""

    @property
    def is_open(self) -> bool:
        """Whether authentication is off."""
        return self._principals is None and self._header is None

    @property
    def is_single(self) -> bool:
        """Whether there is at most one principal."""
        return self._header is None and len({*(self._principals or {}).values()}) <= 1

    def replace_tokens(self, other: Access) -> None:
        """Replace the accepted tokens with those of another `Access`."""
        self._principals = other._principals

    def check_address(self, host: str) -> None:
        """Refuse to listen on an address where everybody would have access.

        Raises:
            ConnectFailed: The address is not loopback, and authentication is off.
        """
        if self.is_open and not is_loopback(host):
            raise ConnectFailed(
                f"{host or 'every address'} can be reached from other machines; set a token first, "
                "or listen on 127.0.0.1"
            )

    def check_host_and_origin(self, scope: Scope, headers: Headers) -> None:
        """Reject a request for another host name or from a page of another origin.

        Raises:
            HttpError: Host or Origin is missing, repeated or not allowed.
        """
        hosts = headers.get_all(b"host")
        if len(hosts) != 1 or not hosts[0].strip():
            raise HttpError(400, "bad_host", "A request must have exactly one Host header")
        if not self._is_allowed_host(hosts[0], scope):
            raise HttpError(
                403,
                "foreign_host",
                "This host name is not allowed; add it to the allowed hosts of the server",
            )
        origins = headers.get_all(b"origin")
        if origins and (len(origins) > 1 or not self._is_allowed_origin(origins[0], hosts[0])):
            raise HttpError(
                403, "foreign_origin", "Pages of that origin are not allowed to use this server"
            )

    def principal(self, scope: Scope, headers: Headers) -> str:
        """Return the principal that makes a request.

        Raises:
            HttpError: The request is not authenticated, or is remote while authentication is off.
        """
        peer = _address(scope.get("client"))
        if self._header is not None and (is_loopback(peer or "") or peer in self._proxies):
            names = headers.get_all(self._header)
            if len(names) == 1 and names[0].strip():
                return names[0].strip()
        if self._principals is not None:
            return self._principal_by_token(headers)
        if self._header is not None:
            raise HttpError(401, "unauthorized", "The reverse proxy did not name the user")
        if peer is not None and not is_loopback(peer):
            raise HttpError(
                403, "not_local", "Without a token, only requests from this machine are allowed"
            )
        return ""

    def preflight(self, headers: Headers) -> list[Header]:
        """Return the response headers of a CORS preflight request.

        Call `check_host_and_origin` first.

        Raises:
            HttpError: The request has no Origin, so it does not come from a browser.
        """
        if not headers.get_all(b"origin"):
            raise HttpError(
                405,
                "method_not_allowed",
                "OPTIONS is only for CORS preflight requests of browsers",
                headers=ALLOW,
            )
        return [
            *self.cors_headers(headers),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _REQUEST_HEADERS),
            (b"access-control-max-age", b"600"),
        ]

    def cors_headers(self, headers: Headers) -> list[Header]:
        """Return the CORS headers that let a page of an allowed origin read a response."""
        origins = headers.get_all(b"origin")
        if len(origins) != 1 or origins[0].lower() not in self._origins:
            return []
        return [
            (b"access-control-allow-origin", origins[0].encode()),
            (b"access-control-expose-headers", _EXPOSED_HEADERS),
            (b"vary", b"origin"),
        ]

    def _is_allowed_host(self, host: str, scope: Scope) -> bool:
        name = _host_name(host)
        own = _address(scope.get("server"))
        return name in self._hosts or (own is not None and name == own and _is_ip_address(name))

    def _is_allowed_origin(self, origin: str, host: str) -> bool:
        """Return whether an origin matches the Host of the request, or is explicitly allowed."""
        origin = origin.strip().lower()
        if origin in self._origins:
            return True
        scheme, _, authority = origin.partition("://")
        return scheme in ("http", "https") and authority == host.strip().lower()

    def _principal_by_token(self, headers: Headers) -> str:
        values = headers.get_all(b"authorization")
        scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        digest = _digest(token.strip())
        found: str | None = None
        for known, principal in (self._principals or {}).items():
            if hmac.compare_digest(known, digest):  # compares all of them: constant time
                found = principal
        if found is None or scheme.lower() != "bearer":
            raise HttpError(
                401, "unauthorized", "A valid bearer token is required", headers=_CHALLENGE
            )
        return found


def _check_names(
    hosts: Iterable[str], origins: Iterable[str], header: str | None, proxies: Iterable[str]
) -> None:
    """Reject names that can never match a request, so that a mistake shows at startup."""
    for each in hosts:
        if not _host_name(each):
            raise ValueError(f"{each!r} is not a host name; write it as agents.example.com")
    for each in origins:
        if not _ORIGIN.fullmatch(each):
            raise ValueError(f"{each!r} is not an origin; write it as https://chat.example")
    if header is not None and not _HEADER_NAME.fullmatch(header):
        raise ValueError(f"{header!r} is not a header name; write it as X-User")
    for each in proxies:
        if not _is_ip_address(each):
            raise ValueError(f"{each!r} is not an IP address; a proxy must be given by its address")


def _digest(token: str) -> bytes:
    """Return a digest of fixed length, so that comparing it reveals nothing about the token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _host_name(host: str) -> str:
    """Return the name in a Host header, without its port; empty if it is malformed."""
    found = _HOST.fullmatch(host.strip().lower())
    return "" if found is None else found[1].strip("[]").rstrip(".")


@lru_cache(256)
def _is_ip_address(name: str) -> bool:
    """Return whether a name is an IP address, which DNS rebinding cannot change."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _address(end: object) -> str | None:
    """Return the IP address of one end of a connection; None if it has none (a Unix socket).

    Servers differ in what they report for a Unix socket, such as its path or no port.
    """
    first = cast(Sequence[object], end)[0] if isinstance(end, tuple | list) and end else None
    return first if isinstance(first, str) and _is_ip_address(first.partition("%")[0]) else None
