"""`v1-v2`: a client of one version of the protocol, and an agent of the other.

It forwards nothing: to the client it is an agent, to the agent a client, and each message is sent
to the other in that one's version, by the session layer (what is lost is in
`docs/reference/versions.md`). Extensions (`_…`) and MCP over ACP are the same in both versions and
pass as they are. So do document events, in order with everything else: a change that cannot be read
must reach the agent, which then knows that its copy is out of date.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from parley.errors import (
    ConnectionClosed,
    InternalError,
    RequestCancelled,
    Unsupported,
    UnsupportedProtocolVersion,
    VersionMismatch,
)
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, TypedHandler
from parley.proxy._chain.terminating import TerminatingProxy, run_until_first
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Message, Notification
from parley.proxy._proxy import Proxy
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
from parley.session._session_follower import prompt_response_ends_turn
from parley.transport._base import Transport
from parley.transport._memory import memory_pair

_UNKNOWN_CLIENT = v2.Implementation(name="unknown", version="unknown")
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
        translation = VersionTranslator(
            upper, lower, client_versions=self._client, agent_versions=self._agent
        )
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


class VersionTranslator:
    """Joins a client and an agent of different versions: an agent for one, a client for the other.

    An agent of version 1 gets one prompt of a session at a time, as version 1 requires: a prompt
    that arrives during a turn is sent, and accepted, when that turn has ended. Cancelling the turn
    rejects the prompts that wait.
    """

    def __init__(
        self,
        client: Transport,
        agent: Transport,
        *,
        client_versions: tuple[int, ...] = SUPPORTED,
        agent_versions: tuple[int, ...] = SUPPORTED,
    ) -> None:
        """Prepare a translation; nothing is read before `run`.

        Args:
            client: Carries the frames of the client.
            agent: Carries the frames of the agent.
            client_versions: The versions to speak with the client.
            agent_versions: The versions to speak with the agent; the newest is offered.
        """
        self._client = Peer(client, "agent", name="client")
        self._agent = Peer(agent, "client", name="agent")
        self._versions = agent_versions
        self._below: ClientAdapter | None = None
        self._above: asyncio.Future[AgentAdapter] = asyncio.get_running_loop().create_future()
        self._turns: dict[str, _SessionTurns] = {}
        """The sessions in which a turn runs, with an agent of version 1."""
        open_agent_adapter(self._client, self._describe, self._begin, client_versions)

    async def run(self) -> None:
        """Translate until one side is gone; the client still gets what the agent sent before."""
        async with self._client, self._agent:  # the agent is closed first, and its messages handled
            await run_until_first(_closed(self._client), _closed(self._agent))

    async def _describe(
        self, features: ClientFeatures, info: v2.Implementation | None
    ) -> AgentDescription:
        """Begin with the agent when the client begins, and offer what it offers."""
        try:
            if self._below is None:
                self._below = await open_client_adapter(
                    self._agent,
                    info=info or _UNKNOWN_CLIENT,
                    features=features,
                    program=self._client_handlers(),
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

        handlers = _program(below, "agent")
        if self._below is None or not prompt_response_ends_turn(self._below):
            return handlers
        queued = {methods2.PROMPT.name: self._prompt}
        cancelling = {methods2.CANCEL_SESSION.name: self._cancel}
        return HandlerTable(
            requests={**handlers.requests, **queued},
            notifications={**handlers.notifications, **cancelling},
        )

    def _client_handlers(self) -> HandlerTable:
        async def above() -> ProtocolAdapter:
            return await self._above

        handlers = _program(above, "client")
        updates = {methods2.UPDATE_SESSION.name: self._update}
        return HandlerTable(
            requests=handlers.requests, notifications={**handlers.notifications, **updates}
        )

    # The turns of an agent of version 1

    async def _prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        del request
        assert self._below is not None
        turns = self._turns.setdefault(params.session_id, _SessionTurns())
        await turns.begin()
        try:
            return await self._below.request(methods2.PROMPT, params)
        except BaseException:  # also when cancelled: no turn has begun that could end
            self._end_turn(params.session_id)
            raise

    async def _cancel(self, params: v2.CancelSessionNotification) -> None:
        assert self._below is not None
        if (turns := self._turns.get(params.session_id)) is not None:
            turns.reject_waiting()
        await self._below.notify(methods2.CANCEL_SESSION, params)

    async def _update(self, params: v2.UpdateSessionNotification) -> None:
        with suppress(Unsupported):
            await (await self._above).notify(methods2.UPDATE_SESSION, params)
        if isinstance(params.update, v2.StateUpdated) and params.update.state == "idle":
            self._end_turn(params.session_id)

    def _end_turn(self, session_id: str) -> None:
        turns = self._turns.get(session_id)
        if turns is not None and not turns.end():
            del self._turns[session_id]


class _SessionTurns:
    """The running turn of a session, and the prompts that wait for its end."""

    def __init__(self) -> None:
        self._is_running = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def begin(self) -> None:
        """Wait until no other turn runs.

        Raises:
            RequestCancelled: The client has cancelled the session's work.
        """
        if not self._is_running:
            self._is_running = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was this one's turn already
                self.end()
            raise

    def end(self) -> bool:
        """Start the next prompt; return whether there is one."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return True
        self._is_running = False
        return False

    def reject_waiting(self) -> None:
        """Reject the prompts that wait, because the client has cancelled the session's work."""
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if not turn.done():
                turn.set_exception(RequestCancelled("The session was cancelled before this turn"))


async def _closed(peer: Peer) -> None:
    await peer.wait_closed()


def _program(other: Callable[[], Awaitable[ProtocolAdapter]], role: Any) -> HandlerTable:
    """Return handlers that forward everything to the other side."""
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
    async def notify(params: Any) -> None:
        # A notification that the other side cannot use is dropped silently.
        with suppress(Unsupported):
            await (await other()).notify(method, params)

    return TypedHandler(notify, Raw) if method.name.startswith("document/") else notify


def versions(
    *, client: tuple[int, ...] = SUPPORTED, agent: tuple[int, ...] = SUPPORTED
) -> TerminatingProxy:
    """Return a component that joins a client and an agent of different versions.

    Args:
        client: The versions that it speaks with the client.
        agent: Those that it speaks with the agent; the newest is offered.

    Raises:
        ValueError: The version is unknown.
    """
    if not client or not agent or not {*client, *agent}.issubset(SUPPORTED):
        raise ValueError(f"the versions are {' and '.join(map(str, SUPPORTED))}")
    return _Versions(client, agent)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    for side in ("client", "agent"):
        parser.add_argument(
            f"--{side}",
            type=int,
            choices=SUPPORTED,
            help=f"speak only this version with the {side}",
        )


def from_options(options: Namespace) -> TerminatingProxy:
    """Return the component that parsed options describe."""
    return versions(client=_only(options.client), agent=_only(options.agent))


def _only(version: int | None) -> tuple[int, ...]:
    return SUPPORTED if version is None else (version,)
