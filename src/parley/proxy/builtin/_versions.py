"""`v1-v2`: a client of one version of the protocol, and an agent of the other.

It forwards nothing: to the client it is an agent, to the agent a client, and what each says is said
to the other in that one's version, by the session layer (what is lost is in `docs/versions.md`).
Extensions (`_…`) and MCP over ACP have the same words in both versions and pass as they are. So do
document events, in order with everything else: a change that cannot be read must reach the agent,
which then knows that its copy is out of date.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from parley.errors import (
    ConnectionClosed,
    InternalError,
    Unsupported,
    UnsupportedProtocolVersion,
    VersionMismatch,
)
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, TypedHandler
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Message, Notification
from parley.proxy._proxy import Proxy
from parley.proxy.builtin._terminating import TerminatingProxy, run_until_first
from parley.schema import v2
from parley.schema.base import Method
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2
from parley.schema.version import SUPPORTED
from parley.session._adapter import (
    AgentAdapter,
    AgentDescription,
    ClientAdapter,
    HandlerTable,
    ProtocolAdapter,
    open_agent_adapter,
    open_client_adapter,
)
from parley.session._capabilities import ClientFeatures
from parley.transport._base import Transport
from parley.transport._memory import memory_pair

_NO_ROUTING_PARAMS = v2.Implementation(name="unknown", version="unknown")
_PLAIN = ("_", "mcp/")
"""How methods begin that pass as they are."""
_NATIVE = ("fs/", "terminal/")
"""How methods begin that only version 1's clients have."""
_TABLE = methods2.TABLE.extended(
    methods2.NES_METHODS + methods2.DOCUMENT_METHODS + methods2.WORKSPACE_METHODS
)
"""The methods that are translated: those of the schema, and those that are served beyond it."""
_SET_OPTION = methods2.SET_SESSION_CONFIG_OPTION.name


class _Versions(TerminatingProxy):
    """Joins two versions."""

    def __init__(self, client: tuple[int, ...], agent: tuple[int, ...]) -> None:
        super().__init__("v1-v2")
        self._client = client
        self._agent = agent

    async def join(self, client: Transport, agent: Transport) -> None:
        """Translate until one side is gone."""
        above, upper = memory_pair()
        lower, below = memory_pair()
        doors = _Doors()
        translation = _Translation(upper, lower, self._client, self._agent)
        await run_until_first(
            doors.upper.join(client, above), translation.run(), doors.lower.join(below, agent)
        )


class _Doors:
    """Two proxies that hand to each other what is not translated."""

    def __init__(self) -> None:
        self.upper = Proxy("v1-v2")
        """Before the client."""
        self.lower = Proxy("v1-v2")
        """Before the agent."""
        loop = asyncio.get_running_loop()
        self._above: asyncio.Future[ProxyConnection] = loop.create_future()
        self._below: asyncio.Future[ProxyConnection] = loop.create_future()
        self.upper.open_connection(_set(self._above))
        self.lower.open_connection(_set(self._below))
        self.upper.from_client("*")(self._to_agent)
        self.lower.from_agent("*")(self._to_client)

    def _to_agent(self, message: Message) -> Awaitable[Any] | None:
        if not message.method.startswith(_PLAIN):
            return None
        return _handed(message, self._below, "agent")

    def _to_client(self, message: Message) -> Awaitable[Any] | None:
        if not message.method.startswith(_PLAIN):
            return None
        return _handed(message, self._above, "client")


def _set(
    connection: asyncio.Future[ProxyConnection],
) -> Callable[[ProxyConnection], Awaitable[None]]:
    async def opened(this: ProxyConnection) -> None:
        connection.set_result(this)

    return opened


async def _handed(message: Message, other: asyncio.Future[ProxyConnection], to: str) -> Any:
    """Pass on what needs no translation."""
    end = getattr(await other, to)
    body = message.raw or b"{}"
    if isinstance(message, Notification):
        message.drop()
        await end.notify(message.method, body)
        return None
    asyncio.get_running_loop().call_soon(message.unblock)  # it is sent by then
    return await end.request(message.method, body)


class _Translation:
    """An agent for the client, and a client for the agent."""

    def __init__(
        self,
        client: Transport,
        agent: Transport,
        client_versions: tuple[int, ...],
        agent_versions: tuple[int, ...],
    ) -> None:
        self._client = Peer(client, "agent", name="client")
        self._agent = Peer(agent, "client", name="agent")
        self._versions = agent_versions
        self._below: ClientAdapter | None = None
        self._above: asyncio.Future[AgentAdapter] = asyncio.get_running_loop().create_future()
        open_agent_adapter(self._client, self._describe, self._begin, client_versions)

    async def run(self) -> None:
        """Translate until one side is gone."""
        async with self._agent, self._client:
            await run_until_first(_closed(self._client), _closed(self._agent))

    async def _describe(
        self, features: ClientFeatures, info: v2.Implementation | None
    ) -> AgentDescription:
        """Begin with the agent when the client begins, and offer what it offers."""
        try:
            if self._below is None:
                self._below = await open_client_adapter(
                    self._agent,
                    info=info or _NO_ROUTING_PARAMS,
                    features=features,
                    program=self._asked_by_agent(),
                    versions=self._versions,
                )
        except VersionMismatch as error:
            raise UnsupportedProtocolVersion(str(error)) from error
        except ConnectionClosed as error:
            raise InternalError(str(error)) from error
        return self._below.agent

    def _begin(self, above: AgentAdapter) -> HandlerTable:
        self._above.set_result(above)

        async def below() -> ProtocolAdapter:
            assert self._below is not None
            return self._below

        return _program(below, "agent")

    def _asked_by_agent(self) -> HandlerTable:
        async def above() -> ProtocolAdapter:
            return await self._above

        return _program(above, "client")


async def _closed(peer: Peer) -> None:
    await peer.wait_closed()


def _program(other: Callable[[], Awaitable[ProtocolAdapter]], role: Any) -> HandlerTable:
    """Return handlers that say everything to the other side."""
    requests = dict(_TABLE.requests(role))
    if _SET_OPTION in requests:
        # An agent without conversations may have options of next edit suggestions.
        requests[_SET_OPTION] = replace(requests[_SET_OPTION], capability=None)
    native = methods1.TABLE.requests("client").items()
    if role == "client":
        requests |= {name: each for name, each in native if name.startswith(_NATIVE)}
    notifications = _TABLE.notifications(role)
    return HandlerTable(
        requests={
            name: _asking(other, method)
            for name, method in requests.items()
            if not name.startswith(("initialize", "proxy/", *_PLAIN))
        },
        notifications={
            name: _telling(other, method)
            for name, method in notifications.items()
            if not name.startswith(("$", "proxy/", *_PLAIN))
        },
    )


def _asking(
    other: Callable[[], Awaitable[ProtocolAdapter]], method: Method[Any, Any]
) -> RequestHandler:
    async def ask(params: Any, request: RequestContext) -> Any:
        del request
        return await (await other()).request(method, params)

    return ask


def _telling(
    other: Callable[[], Awaitable[ProtocolAdapter]], method: Method[Any, None]
) -> NotificationHandler | TypedHandler:
    async def tell(params: Any) -> None:
        # Nobody is told that a notification is of no use to the other side.
        with suppress(Unsupported):
            await (await other()).notify(method, params)

    return TypedHandler(tell, Raw) if method.name.startswith("document/") else tell


def versions(
    *, client: tuple[int, ...] = SUPPORTED, agent: tuple[int, ...] = SUPPORTED
) -> TerminatingProxy:
    """Return a component that joins a client and an agent of different versions.

    Args:
        client: The versions that it speaks with the client.
        agent: Those that it speaks with the agent; the newest is offered.

    Raises:
        ValueError: There is no such version.
    """
    if not client or not agent or not {*client, *agent}.issubset(SUPPORTED):
        raise ValueError(f"the versions are {' and '.join(map(str, SUPPORTED))}")
    return _Versions(client, agent)


def add_arguments(parser: ArgumentParser) -> None:
    """Say what the command line takes."""
    for side in ("client", "agent"):
        parser.add_argument(
            f"--{side}",
            type=int,
            choices=SUPPORTED,
            help=f"speak only this version with the {side}",
        )


def from_options(options: Namespace) -> TerminatingProxy:
    """Return what a command line means."""
    return versions(client=_only(options.client), agent=_only(options.agent))


def _only(version: int | None) -> tuple[int, ...]:
    return SUPPORTED if version is None else (version,)
