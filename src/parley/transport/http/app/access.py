"""Who gets in: Host, Origin and token are checked before anything is made or started.

A browser on the same machine is the adversary that loopback does not stop: a page from elsewhere
can send requests to it, also under a name of its own that points here (DNS rebinding). So the Host
must be a name of ours, and an Origin, which every browser sends, must be ours or allowed by name.

Without tokens everybody on this machine is the one local user, whose principal is empty. Then
nothing is answered that comes from another machine, and `check_address` refuses to listen there.
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
from parley.transport.http.asgi_types import Scope

from .answers import Header, Headers, Refused

__all__ = ["ALLOW", "Access", "is_loopback", "warnings_about"]

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z_.-]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"null|[a-z][a-z0-9+.-]*://[^\s/?#@]+/?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CHALLENGE = ((b"www-authenticate", b"Bearer"),)
_METHODS = b"GET, POST, DELETE"
ALLOW = ((b"allow", _METHODS),)
"""The header that says what may be done."""
_ASKED_HEADERS = (
    b"authorization, content-type, acp-connection-id, acp-session-id, acp-protocol-version, "
    b"last-event-id, parley-resume, parley-message"
)
_SHOWN_HEADERS = b"acp-connection-id, parley-resume, parley-message"


def is_loopback(address: str) -> bool:
    """Tell whether an address, or a name, is of this machine alone."""
    if address == "localhost":
        return True
    try:
        found = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return found.is_loopback or (mapped is not None and mapped.is_loopback)


def warnings_about(addresses: Iterable[str], *, tls: str, hosts: str) -> list[str]:
    """Return what to think about before others are let in, a sentence each.

    Args:
        addresses: Where is listened.
        tls: How the user would give a certificate; empty if there is one.
        hosts: How the user would allow a name; empty if one is allowed.
    """
    if all(map(is_loopback, addresses)):
        return []
    told: list[str] = []
    if tls:
        told.append(
            "without TLS whoever is on the way can read the token and all that is said; give "
            f"{tls}, or listen on 127.0.0.1 behind a proxy that has TLS"
        )
    if hosts:
        told.append(f"only addresses in numbers are answered; give {hosts} for a name")
    return told


class Access:
    """Decides about each request, and names who makes it."""

    def __init__(
        self,
        tokens: Mapping[str, str] | None = None,
        *,
        digests: Mapping[bytes, str] | None = None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        trusted_header: str | None = None,
        proxies: Iterable[str] = (),
    ) -> None:
        """State who gets in.

        Args:
            tokens: The principal of each bearer token; None switches authentication off, which
                leaves loopback.
            digests: Likewise for tokens of which only the SHA-256 is known.
            hosts: Names, without a port, under which this server may be asked for, besides those
                of loopback and the address itself.
            origins: Pages elsewhere that may use it, as `https://chat.example`; `null` is one.
            trusted_header: A header in which a proxy in front of us names the principal.
            proxies: The addresses from which that header is believed, besides loopback.

        Raises:
            ValueError: A token or a principal is empty, or something could never be fitted.
        """
        hosts, origins, proxies = [*hosts], [*origins], [*proxies]
        _check_names(hosts, origins, trusted_header, proxies)
        if tokens is not None and (not tokens or not all(map(str.strip, tokens))):
            raise ValueError("an empty token lets everybody in; give one, or switch tokens off")
        known = {_digest(token): name for token, name in (tokens or {}).items()}
        known.update(digests or {})
        if not all(known.values()):
            raise ValueError("a token needs a principal, which is not empty")
        self._principals = known if tokens is not None or digests else None
        self._hosts = _LOCAL_NAMES | {_name(host) for host in hosts} - {""}
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._header = trusted_header.lower().encode() if trusted_header else None
        self._proxies = frozenset(proxies)

    @property
    def is_open(self) -> bool:
        """Whether nobody has to say who he is."""
        return self._principals is None and self._header is None

    @property
    def is_single(self) -> bool:
        """Whether there is one principal at most."""
        return self._header is None and len({*(self._principals or {}).values()}) <= 1

    def renew(self, other: Access) -> None:
        """Let those in from now on whose tokens another one knows, and no others."""
        self._principals = other._principals

    def check_address(self, host: str) -> None:
        """Refuse to listen where everybody would be let in.

        Raises:
            ConnectFailed: The address is not of loopback, and there is no authentication.
        """
        if self.is_open and not is_loopback(host):
            raise ConnectFailed(
                f"{host or 'every address'} can be reached from other machines: set a token first, "
                "or listen on 127.0.0.1"
            )

    def check_source(self, scope: Scope, headers: Headers) -> None:
        """Refuse a request to another name, or from another's page.

        Raises:
            Refused: Host or Origin is not ours.
        """
        hosts = headers.every(b"host")
        if len(hosts) != 1 or not hosts[0].strip():
            raise Refused(400, "bad_host", "A request has one Host header")
        if not self._is_our_host(hosts[0], scope):
            raise Refused(
                403, "foreign_host", "This server does not answer to that name; allow the host"
            )
        origins = headers.every(b"origin")
        if origins and (len(origins) > 1 or not self._is_our_origin(origins[0], hosts[0])):
            raise Refused(403, "foreign_origin", "Pages of that origin are not allowed here")

    def principal(self, scope: Scope, headers: Headers) -> str:
        """Return who makes a request.

        Raises:
            Refused: It does not say so, or not rightly.
        """
        peer = _address(scope.get("client"))
        if self._header is not None and (is_loopback(peer or "") or peer in self._proxies):
            names = headers.every(self._header)
            if len(names) == 1 and names[0].strip():
                return names[0].strip()
        if self._principals is not None:
            return self._by_token(headers)
        if self._header is not None:
            raise Refused(401, "unauthorized", "The proxy in front did not say who this is")
        if peer is not None and not is_loopback(peer):
            raise Refused(403, "not_local", "Without a token only this machine is answered")
        return ""

    def preflight(self, headers: Headers) -> list[Header]:
        """Return what a browser is told that asks before it sends; `check_source` has let it in."""
        if not headers.every(b"origin"):
            raise Refused(405, "method_not_allowed", "OPTIONS is for browsers", headers=ALLOW)
        return [
            *self.shared(headers),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _ASKED_HEADERS),
            (b"access-control-max-age", b"600"),
        ]

    def shared(self, headers: Headers) -> list[Header]:
        """Return the headers by which a browser lets an allowed page read an answer."""
        origins = headers.every(b"origin")
        if len(origins) != 1 or origins[0].lower() not in self._origins:
            return []
        return [
            (b"access-control-allow-origin", origins[0].encode()),
            (b"access-control-expose-headers", _SHOWN_HEADERS),
            (b"vary", b"origin"),
        ]

    def _is_our_host(self, host: str, scope: Scope) -> bool:
        name = _name(host)
        own = _address(scope.get("server"))
        return name in self._hosts or (own is not None and name == own and _is_number(name))

    def _is_our_origin(self, origin: str, host: str) -> bool:
        """Tell whether a page may speak to us: our own, of an allowed Host, or one by name."""
        origin = origin.strip().lower()
        if origin in self._origins:
            return True
        scheme, _, authority = origin.partition("://")
        return scheme in ("http", "https") and authority == host.strip().lower()

    def _by_token(self, headers: Headers) -> str:
        given = headers.every(b"authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        digest = _digest(token.strip())
        found: str | None = None
        for known, principal in (self._principals or {}).items():
            if hmac.compare_digest(known, digest):  # all of them, whichever it is
                found = principal
        if found is None or scheme.lower() != "bearer":
            raise Refused(
                401, "unauthorized", "A valid bearer token is needed here", headers=_CHALLENGE
            )
        return found


def _check_names(
    hosts: Iterable[str], origins: Iterable[str], header: str | None, proxies: Iterable[str]
) -> None:
    """Refuse what no request can ever have, so that nobody wonders why nothing gets in."""
    for each in hosts:
        if not _name(each):
            raise ValueError(f"{each!r} is no name of a host; give it as agents.example.com")
    for each in origins:
        if not _ORIGIN.fullmatch(each):
            raise ValueError(f"{each!r} is no origin of a page; give it as https://chat.example")
    if header is not None and not _HEADER_NAME.fullmatch(header):
        raise ValueError(f"{header!r} is no name of a header; give it as X-User")
    for each in proxies:
        if not _is_number(each):
            raise ValueError(f"{each!r} is no address of a proxy; give it in numbers")


def _digest(token: str) -> bytes:
    """Return something of equal length for each token, so that comparing tells nothing."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _name(host: str) -> str:
    """Return the name in a Host header, without its port; empty for what is none."""
    found = _HOST.fullmatch(host.strip().lower())
    return "" if found is None else found[1].strip("[]").rstrip(".")


@lru_cache(256)
def _is_number(name: str) -> bool:
    """Tell whether a name is an address, which nobody can point elsewhere."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _address(end: object) -> str | None:
    """Return the address of an end of a connection; None where there is none, as on a Unix socket.

    Servers name no port, or the path of the socket, in different ways.
    """
    first = cast(Sequence[object], end)[0] if isinstance(end, tuple | list) and end else None
    return first if isinstance(first, str) and _is_number(first.partition("%")[0]) else None
