"""How a connection begins: which version of the protocol is spoken on it.

One of the two places that look at the number. A client offers the newest version it has, in a body
that an agent of an older one can read too; an agent answers with the version it was asked for, or,
if it does not have that one, with the newest it has. A 2 is believed only when the body of the
answer is version 2's: some agents echo the number and then speak version 1.
https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from parley.errors import InvalidParams, MalformedValue, VersionMismatch
from parley.schema.base import U16, Method, Table
from parley.schema.codec import decode
from parley.schema.version import SUPPORTED

from .outbound import read_result
from .peer import Peer
from .request import RequestContext

__all__ = ["Agreement", "answer_initialize", "initialize", "table_of"]


class Agreement(Struct, frozen=True):
    """What the two sides have agreed on."""

    version: int
    table: Table
    params: Any
    """The initialize request, typed by that version."""
    result: Any
    """Its answer, typed by that version."""


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


async def initialize(peer: Peer, offers: Mapping[int, Any]) -> Agreement:
    """Initialize a connection as its client.

    Args:
        peer: A started peer with the role `client`.
        offers: The initialize params for each version we speak. The newest is offered; where the
            fields of an older one have other names, they go along.

    Raises:
        VersionMismatch: The agent speaks none of these versions.
    """
    body: dict[str, Any] = {}
    for version in sorted(offers):
        body |= msgspec.to_builtins(offers[version])
    raw = await peer.request(_RAW, body)
    answered = read_result(_Answered, "initialize", raw)
    version = answered.version
    if version == 2 and not len(answered.info):
        version = 1
    if version not in offers:
        raise VersionMismatch(
            f"the {peer.name} speaks version {answered.version} of the protocol; "
            f"we speak {' and '.join(map(str, sorted(offers)))}"
        )
    table = table_of(version)
    result = read_result(table.requests("agent")["initialize"].result, "initialize", raw)
    peer.use(table)
    return Agreement(version, table, offers[version], result)


def answer_initialize(
    peer: Peer,
    answer: Callable[[int, Any], Awaitable[Any]],
    agreed: Callable[[Agreement], None],
    versions: tuple[int, ...] = SUPPORTED,
) -> None:
    """Make a peer with the role `agent` answer initialize, once.

    Args:
        peer: The connection, not yet started.
        answer: Called with the chosen version and the request typed by it; returns the result.
        agreed: Called before the result is sent; it calls `peer.use` with the handlers.
        versions: The versions to speak.
    """

    async def handle(params: Raw, request: RequestContext) -> Any:
        del request
        try:
            version = _choose(decode(_Asked, params).version, versions)
            table = table_of(version)
            typed = decode(table.requests("agent")["initialize"].params, params)
        except MalformedValue as error:
            raise InvalidParams(data={"problem": str(error)}) from error
        result = await answer(version, typed)
        agreed(Agreement(version, table, typed, result))
        return result

    peer.use(None, requests={"initialize": handle})


def _choose(asked: int, versions: tuple[int, ...]) -> int:
    """Return the version to speak: the one asked for, else the newest below it, else the newest."""
    return max((each for each in versions if each <= asked), default=max(versions))
