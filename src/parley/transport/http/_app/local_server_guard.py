"""Commands and local addresses that a client on the network asks the agent to use.

`session/new` and its relatives carry MCP servers. One with a `command` is started as a process on
the agent's machine, and one with a URL is connected to from there, behind that machine's firewall.
On stdio the client is the user who started the agent. Over HTTP and WebSocket it is anyone with a
token, who must not choose what runs on this machine. `LocalServerGuard` therefore
refuses such requests unless the operator allows them. The agent also connects to the URL of a
provider (`providers/set`), so the same rule applies. Servers in the client itself (`type: acp`)
need nothing on the agent's machine and are always allowed.

The guard is an allow-list: it accepts only servers that it can show to be harmless. JSON readers
differ in how they treat duplicate members, upper case, `_meta` and unusual spellings of addresses.
So a server is found at any depth of the params, every duplicate counts, and a URL must be written
plainly. Only methods that carry servers, and extensions, are checked: prompts, responses and
everything that the agent sends cost nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import (
    IPv4Address,
    IPv6Address,
    IPv6Network,
    ip_address,
)
from typing import (
    Any,
    NamedTuple,
    TypeAlias,
    TypeGuard,
)

import msgspec
from msgspec import Raw

from parley._task_owner import TaskOwner
from parley.errors import InvalidParams
from parley.rpc._codec import DECODE_ERRORS, decode, encode_failure
from parley.rpc._framing import OversizedFrame
from parley.rpc._message import ErrorObject, Notification, Request
from parley.schema.v1.methods import TABLE as V1
from parley.schema.v2.methods import DOCUMENT_METHODS, NES_METHODS
from parley.schema.v2.methods import TABLE as V2

logger = logging.getLogger(__name__)

SETTING = "allow_local_servers"
"""The name of the operator's setting in the configuration and in the API."""

_MAX_BYTES = 1024 * 1024
"""Larger params are refused: checking them would block the event loop."""
_MAX_LOOKUPS = 32
"""The number of host names that are looked up for one request."""
_LOOKUPS_AT_ONCE = 4
_LOOKUP_TIMEOUT = 5.0
_MAX_SHOWN_CHARS = 80

_METHODS = (*V1.methods, *V2.methods, *NES_METHODS, *DOCUMENT_METHODS)


def _with_field(name: str) -> frozenset[str]:
    return frozenset(
        each.name for each in _METHODS if name in getattr(each.params, "__struct_fields__", ())
    )


_WITH_URL = _with_field("base_url")
_WRAPPERS = frozenset({"proxy/successor"})
_HARMLESS = (
    frozenset(each.name for each in _METHODS) - _with_field("mcp_servers") - _WITH_URL - _WRAPPERS
)
"""Methods whose definition has no field for a server. Extensions are not among them."""
_SERVERS_KEY = re.compile(rb"mcp[_-]*(?:s|\xc5\xbf)erver|\\u", re.IGNORECASE)
"""Text that the params must contain for a reader to find servers in them."""

_URL = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?(?:[/?#][!-~]*)?", re.I)
"""A URL that every parser reads in the same way: no user, no escapes in the host, no spaces."""
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""All public IPv6 addresses; `is_global` misses others, and which ones depends on the Python."""

_Address: TypeAlias = IPv4Address | IPv6Address


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object in their order, duplicates included."""


class _Problem(NamedTuple):
    server: str
    reason: str


class LocalServerGuard:
    """A filter for requests that name servers which remote clients may not choose."""

    def __init__(self, *, is_off: bool = False) -> None:
        """Create a guard.

        Args:
            is_off: Whether the operator allows commands and local addresses.
        """
        self._is_off = is_off
        self._lookups = asyncio.Semaphore(_LOOKUPS_AT_ONCE)
        self._tasks = TaskOwner("the lookups of host names", expected=(OSError, UnicodeError))

    async def aclose(self) -> None:
        """Give up the lookups that are still running."""
        await self._tasks.aclose()

    async def filter(self, frame: bytes) -> tuple[list[bytes], list[bytes]]:
        """Split a frame into frames for the agent and error responses for the client.

        A batch is split only if one of its messages is refused. A refused notification is dropped.
        """
        if self._is_off or isinstance(frame, OversizedFrame):
            return [frame], []
        if frame.lstrip()[:1] != b"[":
            entries = [frame]
        else:
            try:
                entries = [bytes(each) for each in msgspec.json.decode(frame, type=list[Raw])]
            except DECODE_ERRORS:
                return [frame], []
        accepted: list[bytes] = []
        responses: list[bytes] = []
        for entry in entries:
            message = decode(entry)
            error = None
            if isinstance(message, Request | Notification):
                error = await self.refusal(message)
            if error is None:
                accepted.append(entry)
            elif isinstance(message, Request):
                responses.append(encode_error_response(message, error))
        return ([frame], []) if len(accepted) == len(entries) else (accepted, responses)

    async def refusal(self, message: Request | Notification) -> InvalidParams | None:
        """Return the error for a message that must not reach the agent; None if it may."""
        if self._is_off or message.method in _HARMLESS:
            return None
        params = bytes(message.params)
        has_url = message.method in _WITH_URL
        if not has_url and _SERVERS_KEY.search(params) is None:
            return None
        if len(params) > _MAX_BYTES:
            limit = f"{_MAX_BYTES // 1024} KiB"
            text = f"the params of {message.method} that name servers must not exceed {limit}"
            return InvalidParams(text, {"setting": SETTING})
        problem = await self._problem(params, has_url=has_url)
        if problem is None:
            return None
        logger.warning("refused %s: a server %s", message.method, problem.reason)
        return InvalidParams(
            f'Server "{problem.server}" {problem.reason}. Clients on the network may not name such '
            f"servers unless the operator of this agent sets {SETTING} "
            f"(parley serve --{SETTING.replace('_', '-')}).",
            {"server": problem.server, "setting": SETTING},
        )

    async def _problem(self, params: bytes, *, has_url: bool) -> _Problem | None:
        try:
            members = json.loads(params, object_pairs_hook=_Members)
        except (ValueError, RecursionError):
            return _Problem("?", "cannot be read")
        hosts: dict[str, str] = {}
        for name, server in _find_servers(members, has_url=has_url):
            reason = _check_server(server, hosts, name)
            if reason:
                return _Problem(name, reason)
        if len(hosts) > _MAX_LOOKUPS:
            return _Problem(hosts.popitem()[1], f"is one of more than {_MAX_LOOKUPS}")
        for host, name in hosts.items():
            reason = await self._check_name(host)
            if reason:
                return _Problem(name, reason)
        return None

    async def _check_name(self, host: str) -> str:
        """Look up a host name, and return the problem with its addresses; empty if there is none.

        A name that does not exist passes: the agent cannot reach it either. A name that resolves
        differently a moment later passes, too; only a firewall helps against that.
        """
        await self._lookups.acquire()
        loop = asyncio.get_running_loop()
        lookup = self._tasks.create_task(loop.getaddrinfo(host, None, type=socket.SOCK_STREAM))
        # Not earlier: a thread that waits for a slow name server cannot be cancelled.
        lookup.add_done_callback(lambda _: self._lookups.release())
        await asyncio.wait({lookup}, timeout=_LOOKUP_TIMEOUT)
        if not lookup.done():
            return f"is at {host}, which could not be looked up in time"
        with suppress(OSError, UnicodeError):
            for *_, address in lookup.result():
                if not is_public_address(str(address[0])):
                    return f"is at {host}, which is an address of this machine or its network"
        return ""


def encode_error_response(request: Request, error: InvalidParams) -> bytes:
    """Return the encoded error response to a refused request."""
    data = Raw(msgspec.json.encode(error.data))
    return encode_failure(request.id, ErrorObject(error.code, error.message, data))


def is_public_address(text: str) -> bool:
    """Return whether an IP address, and any IPv4 address embedded in it, is public."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(_is_public(each) for each in _embedded(found))


def _is_public(address: _Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast


def _embedded(address: _Address) -> Iterator[_Address]:
    """Yield the addresses that an address leads to: itself, or the IPv4 addresses in it."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            yield address.ipv4_mapped
            return
        if address in _NAT64:
            yield IPv4Address(int(address) & 0xFFFFFFFF)
            return
        if address.sixtofour is not None:
            yield address.sixtofour
        if address.teredo is not None:
            yield from address.teredo
    yield address


def _find_servers(members: Any, *, has_url: bool) -> Iterator[tuple[str, Any]]:
    """Yield everything that a reader could interpret as a server, with its name."""
    stack: list[Any] = [members]
    while stack:
        value = stack.pop()
        if isinstance(value, _Members):
            for name, inner in value:
                normalized = _normalize_name(name)
                if normalized == "mcpservers":
                    yield from _server_list(inner)
                elif normalized == "baseurl" and has_url:
                    yield "provider", _Members([("type", "http"), ("url", inner)])
                else:
                    stack.append(inner)
        elif _is_array(value):
            stack += value


def _server_list(servers: Any) -> Iterator[tuple[str, Any]]:
    """Yield the servers of a list, or of an object keyed by name as in configuration files."""
    if isinstance(servers, _Members):
        for name, server in servers:
            yield _shorten(name), server
    elif _is_array(servers):
        for server in servers:
            members = server if isinstance(server, _Members) else _Members()
            names = [value for key, value in members if _normalize_name(key) == "name"]
            yield _shorten(names[-1] if names else "?"), server
    elif servers is not None:
        yield "?", servers


def _is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _check_server(server: Any, hosts: dict[str, str], name: str) -> str:
    """Return the problem with a server, empty if none; add names to look up to `hosts`."""
    if not isinstance(server, _Members):
        return "is not an object"
    fields: dict[str, list[Any]] = {}
    for key, value in server:
        if value is not None:
            fields.setdefault(_normalize_name(key), []).append(value)
    kinds, urls = fields.get("type", []), fields.get("url", [])
    if "command" in fields or not kinds or "stdio" in kinds:
        return "is started as a command"
    if any(kind not in ("http", "sse", "acp") for kind in kinds):
        return f"has the unknown type {_shorten(kinds[0])}"
    if not urls and kinds != ["acp"]:
        return "has no URL"
    for url in urls:
        found = _URL.fullmatch(url) if isinstance(url, str) else None
        if found is None:
            return "has a URL that cannot be checked; write it as https://HOST/PATH"
        reason = _check_host(found[1].lower().rstrip("."), hosts, name)
        if reason:
            return reason
    return ""


def _check_host(host: str, hosts: dict[str, str], name: str) -> str:
    is_number = host.startswith("[") or _NUMBER.fullmatch(host.rpartition(".")[2]) is not None
    is_own_name = host in ("", "localhost") or host.endswith((".localhost", ".localdomain"))
    if is_own_name or (is_number and not is_public_address(host.strip("[]"))):
        return f"is at {_shorten(host)}, which is not a public address"
    if not is_number:
        hosts.setdefault(host, name)
    return ""


def _normalize_name(name: str) -> str:
    """Return the name of a member, normalized as the most lenient reader would compare it."""
    return name.casefold().replace("_", "").replace("-", "")


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
