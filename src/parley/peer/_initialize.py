"""The `initialize` handshake: which protocol version a connection speaks.

One of the two places that look at the version number. A client offers its newest version, in params
that an agent of an older version can read too. An agent responds with the requested version, or
with the newest it has if it does not support that one. Some agents echo the number 2 and then speak
version 1; `version_of` recognizes them by their `agentCapabilities`.
https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from parley.errors import InvalidParams, InvalidRequest, MalformedValue, VersionMismatch
from parley.schema._codec import decode
from parley.schema.base import U16, Method, MethodTable
from parley.schema.version import SUPPORTED

from ._outbound import read_result
from ._peer import Peer
from ._peer_name import with_article
from ._request import RequestContext


class Negotiated(Struct, frozen=True):
    """The result of `initialize`: the version and method table that both sides use.

    `initialize` returns one on the client side; the callback `on_negotiated` gets it on both sides.
    """

    version: int
    table: MethodTable
    params: Any
    """The initialize params, as a type of that version."""
    result: Any
    """The initialize result, as a type of that version."""


OnNegotiated: TypeAlias = Callable[[Negotiated], None]


class _InitializeRequest(Struct):
    version: U16 = msgspec.field(name="protocolVersion")


class _InitializeResponse(Struct):
    version: U16 = msgspec.field(name="protocolVersion")
    info: Raw = Raw(b"null")
    agent_capabilities: Raw = msgspec.field(name="agentCapabilities", default=Raw(b"null"))


_RAW: Method[Any, Raw] = Method(
    name="initialize", to="agent", kind="request", params=Raw, result=Raw
)


def table_of(version: int) -> MethodTable:
    """Return the method table of a version; imports the types of that version."""
    if version == 1:
        from parley.schema.v1 import methods as v1_methods

        return v1_methods.TABLE
    from parley.schema.v2 import methods as v2_methods

    return v2_methods.TABLE


async def initialize(
    peer: Peer, offers: Mapping[int, Any], on_negotiated: OnNegotiated | None = None
) -> Negotiated:
    """Initialize a connection as its client.

    Args:
        peer: A started peer with the role `client`.
        offers: The initialize params for each version that we speak. The newest version is offered;
            fields that have other names in an older version are included too.
        on_negotiated: Called as soon as the response arrives. It calls `peer.set_handlers`, so
            that no message arrives before the handlers are set. By default, the peer has none.

    Raises:
        VersionMismatch: The agent speaks none of these versions.
        RemoteProtocolError: The agent's response is malformed.
        RequestError: The agent responded with an error.
    """
    results: list[Negotiated] = []

    def on_result(raw: Raw) -> None:
        negotiated = _negotiate(peer.name, offers, raw)
        peer.set_handlers(negotiated.table)
        if on_negotiated is not None:
            on_negotiated(negotiated)
        results.append(negotiated)

    body: dict[str, Any] = {}
    for version in sorted(offers):
        body |= msgspec.to_builtins(offers[version])
    await peer.request(_RAW, body, on_result=on_result)
    return results[0]


def _negotiate(name: str, offers: Mapping[int, Any], raw: Raw) -> Negotiated:
    """Return the negotiated version from an agent's response."""
    version = version_of(raw)
    if version not in offers:
        raise VersionMismatch(
            f"{with_article(name)} supports protocol version {version}; "
            f"we support {' and '.join(map(str, sorted(offers)))}"
        )
    table = table_of(version)
    result = read_result(table.requests("agent")["initialize"].result, "initialize", raw)
    return Negotiated(version, table, offers[version], result)


def version_of(result: Raw) -> int:
    """Return the version that an agent's response is written in, whatever number it contains.

    An agent that only echoes the client's 2 lists its capabilities like version 1, in
    `agentCapabilities`, and has no `info`. With neither member, it speaks version 2: earlier drafts
    of version 2 allow a response without `info`.

    Raises:
        RemoteProtocolError: The response is malformed.
    """
    response = read_result(_InitializeResponse, "initialize", result)
    is_echo = bytes(response.info) == b"null" != bytes(response.agent_capabilities)
    return 1 if response.version == 2 and is_echo else response.version


def respond_to_initialize(
    peer: Peer,
    respond: Callable[[int, Any], Awaitable[Any]],
    on_negotiated: OnNegotiated,
    versions: tuple[int, ...] = SUPPORTED,
) -> None:
    """Set the `initialize` handler of a peer with the role `agent`.

    A connection is initialized once; after an error, the client may try again.

    Args:
        peer: The connection, not yet started.
        respond: Called with the chosen version and the params in its types; returns the result.
        on_negotiated: Called before the result is sent; it calls `peer.set_handlers`.
        versions: The supported versions.
    """
    is_initializing = False

    async def handle(params: Raw, request: RequestContext) -> Any:
        nonlocal is_initializing
        del request
        if is_initializing:
            raise InvalidRequest("The connection is already being initialized")
        is_initializing = True
        try:
            version, table, typed = _read_request(params if len(params) else None, versions)
            result = await respond(version, typed)
            on_negotiated(Negotiated(version, table, typed, result))
        except BaseException:  # also when cancelled: the client may try again
            is_initializing = False
            raise
        return result

    peer.set_handlers(None, requests={"initialize": handle})


def _read_request(params: Raw | None, versions: tuple[int, ...]) -> tuple[int, MethodTable, Any]:
    """Return the version to speak, its method table, and the params in its types."""
    try:
        requested = _requested_version(params, versions)
        version = choose_version(requested, versions)
        table = table_of(version)
        tp = table.requests("agent")["initialize"].params
        try:
            return version, table, decode(tp, params)
        except MalformedValue:
            if version == requested:
                raise
        # A client of another version cannot know our field names, but must still get our version.
        return version, table, decode(tp, _NAMELESS)
    except MalformedValue as error:
        raise InvalidParams(data={"problem": str(error)}) from error


def _requested_version(params: Raw | None, versions: tuple[int, ...]) -> int:
    """Return the version that a client requests.

    Raises:
        MalformedValue: The params contain no version.
        InvalidParams: The version is something else, such as a date, which MCP uses.
    """
    try:
        return decode(_InitializeRequest, params).version
    except MalformedValue as error:
        if error.path != "params.protocolVersion" or error.problem == "required":
            raise
        supported = " and ".join(map(str, sorted(versions)))
        hint = "ACP versions are numbers, not dates"
        problem = f"{error}; {hint}; this agent supports {supported}"
        raise InvalidParams(data={"problem": problem}) from error


_NAMELESS = b'{"protocolVersion":2,"info":{"name":"unknown","version":"unknown"}}'


def choose_version(requested: int, versions: Sequence[int]) -> int:
    """Return the requested version, else the newest older one, else the newest."""
    return max((each for each in versions if each <= requested), default=max(versions))
