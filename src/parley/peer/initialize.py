"""How a connection begins: which version of the protocol is spoken on it.

One of the two places that look at the number. A client offers the newest version it has, in a body
that an agent of an older one can read too; an agent answers with the version it was asked for, or,
if it does not have that one, with the newest it has. A 2 is believed only when the body of the
answer is version 2's: some agents echo the number and then speak version 1.
https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from parley.errors import InvalidParams, InvalidRequest, MalformedValue, VersionMismatch
from parley.schema.base import U16, Method, Table
from parley.schema.codec import decode
from parley.schema.version import SUPPORTED

from .outbound import read_result
from .peer import Peer
from .request import RequestContext

__all__ = [
    "Agreement",
    "answer_initialize",
    "choose_version",
    "initialize",
    "table_of",
    "version_of",
]


class Agreement(Struct, frozen=True):
    """What the two sides have agreed on."""

    version: int
    table: Table
    params: Any
    """The initialize request, typed by that version."""
    result: Any
    """Its answer, typed by that version."""


Agreed: TypeAlias = Callable[[Agreement], None]


class _Asked(Struct):
    version: U16 = msgspec.field(name="protocolVersion")


class _Answered(Struct):
    version: U16 = msgspec.field(name="protocolVersion")
    info: Raw = Raw()


_RAW: Method[Any, Raw] = Method(
    name="initialize", to="agent", kind="request", params=Raw, result=Raw
)


def table_of(version: int) -> Table:
    """Load the method table of one version, and with it that version's types."""
    if version == 1:
        from parley.schema.v1 import methods as v1_methods

        return v1_methods.TABLE
    from parley.schema.v2 import methods as v2_methods

    return v2_methods.TABLE


async def initialize(
    peer: Peer, offers: Mapping[int, Any], agreed: Agreed | None = None
) -> Agreement:
    """Initialize a connection as its client.

    Args:
        peer: A started peer with the role `client`.
        offers: The initialize params for each version we speak. The newest is offered; where the
            fields of an older one have other names, they go along.
        agreed: Called as soon as the answer arrives; it calls `peer.use` with the handlers, so that
            nothing comes before them. Without it, the peer speaks the version without handlers.

    Raises:
        VersionMismatch: The agent speaks none of these versions.
        RemoteProtocolError: The agent's answer is malformed.
        RequestError: The agent refused.
    """
    agreements: list[Agreement] = []

    def answered(raw: Raw) -> None:
        agreement = _agree(peer.name, offers, raw)
        peer.use(agreement.table)
        if agreed is not None:
            agreed(agreement)
        agreements.append(agreement)

    body: dict[str, Any] = {}
    for version in sorted(offers):
        body |= msgspec.to_builtins(offers[version])
    await peer.request(_RAW, body, on_result=answered)
    return agreements[0]


def _agree(name: str, offers: Mapping[int, Any], raw: Raw) -> Agreement:
    """Read an agent's answer."""
    version = version_of(raw)
    if version not in offers:
        raise VersionMismatch(
            f"the {name} speaks version {version} of the protocol; "
            f"we speak {' and '.join(map(str, sorted(offers)))}"
        )
    table = table_of(version)
    result = read_result(table.requests("agent")["initialize"].result, "initialize", raw)
    return Agreement(version, table, offers[version], result)


def version_of(result: Raw) -> int:
    """Return the version that an agent's answer is in, whatever number it says.

    Raises:
        RemoteProtocolError: The answer is malformed.
    """
    answered = read_result(_Answered, "initialize", result)
    return 1 if answered.version == 2 and not len(answered.info) else answered.version


def answer_initialize(
    peer: Peer,
    answer: Callable[[int, Any], Awaitable[Any]],
    agreed: Agreed,
    versions: tuple[int, ...] = SUPPORTED,
) -> None:
    """Make a peer with the role `agent` answer initialize, once; after an error, once more.

    Args:
        peer: The connection, not yet started.
        answer: Called with the chosen version and the request typed by it; returns the result.
        agreed: Called before the result is sent; it calls `peer.use` with the handlers.
        versions: The versions to speak.
    """
    is_answering = False

    async def handle(params: Raw, request: RequestContext) -> Any:
        nonlocal is_answering
        del request
        if is_answering:
            raise InvalidRequest("The connection is being initialized already")
        is_answering = True
        try:
            version, table, typed = _read_request(params if len(params) else None, versions)
            result = await answer(version, typed)
            agreed(Agreement(version, table, typed, result))
        except BaseException:  # also when cancelled: the client may try again
            is_answering = False
            raise
        return result

    peer.use(None, requests={"initialize": handle})


def _read_request(params: Raw | None, versions: tuple[int, ...]) -> tuple[int, Table, Any]:
    """Return the version to speak, its table, and the request typed by it."""
    try:
        asked = decode(_Asked, params).version
        version = choose_version(asked, versions)
        table = table_of(version)
        tp = table.requests("agent")["initialize"].params
        try:
            return version, table, decode(tp, params)
        except MalformedValue:
            if version == asked:
                raise
        # A client of another version cannot know our names, and still has to learn our version.
        return version, table, decode(tp, _NAMELESS)
    except MalformedValue as error:
        raise InvalidParams(data={"problem": str(error)}) from error


_NAMELESS = b'{"protocolVersion":2,"info":{"name":"unknown","version":"unknown"}}'


def choose_version(asked: int, versions: Sequence[int]) -> int:
    """Return the version to speak: the one asked for, else the newest below it, else the newest."""
    return max((each for each in versions if each <= asked), default=max(versions))
