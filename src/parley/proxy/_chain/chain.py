"""A run of a conductor: its components, started when the client begins, and their end.

The client is at the top, the agent at the bottom. A component that is reached by a transport, such
as a process, is a pipe with two channels (`mux.py`); a `Proxy` of this process joins what is above
it and what is below. A `Relay` joins two pipes, a pair of transports in memory two proxies of this
process.

A chain lives as long as all of its components: the first one that is lost ends it, and is named.
What a lost agent sent before is still on its way through the proxies, followed by the errors of
pending requests. So the chain stays for a moment, until the client has its responses and nothing
more comes.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from parley.errors import (
    ConnectFailed,
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    ProcessExited,
    RequestError,
)
from parley.proxy._handling.connection import ConnectionOptions, ProxyConnection
from parley.proxy._proxy import Proxy
from parley.proxy._switch.disconnect import disconnect_error
from parley.proxy._switch.messages import error_response
from parley.proxy._switch.port import Port
from parley.proxy._transports.initializing import InitializingTransport, conductor_depth
from parley.proxy._transports.mux import MuxTransport
from parley.proxy._transports.peeked import PeekedTransport
from parley.proxy._transports.relay import Relay
from parley.proxy._transports.timeout import ComponentTimeout
from parley.proxy._transports.wrapping import INITIALIZE, successor_for
from parley.recording import RecordingWriter
from parley.rpc._message import Request
from parley.transport._base import Transport, send_close_reason
from parley.transport._memory import MemoryTransport, memory_pair
from parley.transport._pipe import PipeTransport
from parley.transport._process import ProcessTransport
from parley.transport._target import (
    Servable,
    TargetOptions,
    is_on_other_host,
    open_target,
)

from .component import ComponentSpec
from .hop_recorder import HopRecorder
from .mcp_bridge import mcp_bridge_proxy
from .terminating import TerminatingProxy

logger = logging.getLogger(__name__)

MAX_COMPONENTS = 16
"""How many proxies a chain may have."""
MAX_DEPTH = 8
"""How many conductors may be inside each other."""
_DEPTH_VARIABLE = "PARLEY_DEPTH"
_END_GRACE = 10.0
_FLUSH_TIMEOUT = 2.0
"""How long nothing may reach the client while messages of a lost component are on their way."""
_WHOLE_FLUSH_TIMEOUT = 30.0
"""How long all of that may take; a proxy may send forever."""
_QUIET_AFTER = 0.1
"""After which silence nothing more is expected."""
_ANSWER_TIMEOUT = 10.0
"""How long a client that has closed its side waits for responses."""
_POLL_INTERVAL = 0.02
_TERMINATE_TIMEOUT = 0.5
"""How long components have to end before they are killed."""


class _External(Struct, frozen=True):
    """A component that is reached by a transport."""

    label: str
    front: Transport
    back: Transport


class _InProcess(Struct, frozen=True):
    """A proxy of this process."""

    label: str
    proxy: Proxy
    timeout: ComponentTimeout


class _RelayPlan(Struct, frozen=True):
    """Two transports that a relay joins, and the names of what they lead to."""

    upper: Transport
    lower: Transport
    names: tuple[str, str]


class _ProxyPlan(Struct, frozen=True):
    """A proxy of this process between two transports."""

    component: _InProcess
    client: Transport
    agent: Transport
    agent_name: str


_Plan: TypeAlias = _RelayPlan | _ProxyPlan


def _plan(
    top: Transport, parts: Sequence[_InProcess | _External], bottom: InitializingTransport
) -> list[_Plan]:
    """Return what joins the components of a chain, from the client down.

    Two proxies of this process that follow each other get a pair of transports in memory. A relay
    joins two transports between which no proxy of this process stands.
    """
    plans: list[_Plan] = []
    upper, above = top, "the client"
    has_joined = False
    for place, part in enumerate(parts):
        if isinstance(part, _External):
            if not has_joined:
                plans.append(_RelayPlan(upper, part.front, (above, part.label)))
            upper, above, has_joined = part.back, part.label, False
            continue
        following = parts[place + 1] if place + 1 < len(parts) else None
        if isinstance(following, _InProcess):
            near, far = memory_pair()
            plans.append(_ProxyPlan(part, upper, near, following.label))
            upper, above = far, part.label
            continue
        lower = bottom if following is None else following.front
        name = bottom.name if following is None else following.label
        plans.append(_ProxyPlan(part, upper, lower, name))
        has_joined = True
    if not has_joined:
        plans.append(_RelayPlan(upper, bottom, (above, bottom.name)))
    return plans


def _recorded(plans: Sequence[_Plan], hops: HopRecorder) -> Iterator[_Plan]:
    """Yield the plans with transports that record each hop once."""
    above = "client"
    is_recorded = False
    for plan in plans:
        if isinstance(plan, _RelayPlan):
            below = plan.names[1]
            yield structs.replace(plan, lower=hops.record(plan.lower, above, below, peer="agent"))
            above, is_recorded = below, False
            continue
        name = plan.component.label
        client = plan.client
        if not is_recorded:
            client = hops.record(client, above, name, peer="client")
        agent = hops.record(plan.agent, name, plan.agent_name, peer="agent")
        yield structs.replace(plan, client=client, agent=agent)
        # Two proxies of this process have a pair in memory between them, and this was one end.
        is_recorded = isinstance(plan.agent, MemoryTransport)
        above = name if is_recorded else plan.agent_name


class Chain:
    """A connection through proxies to an agent, or to the successor of the chain."""

    def __init__(
        self,
        components: Sequence[ComponentSpec],
        agent: ComponentSpec | None,
        transport: Transport,
        *,
        component_timeout: float,
        recordings: RecordingWriter | None = None,
    ) -> None:
        self._components = components
        self._recordings = recordings
        self._agent = agent
        self._transport = transport
        self._opening = PeekedTransport(transport)
        if isinstance(transport, PipeTransport):
            transport.on_end = self._ended
        self._seconds = component_timeout
        self._waiting: list[ComponentTimeout] = []
        self._connections: dict[ComponentTimeout, asyncio.Task[None]] = {}
        self._stack = AsyncExitStack()
        self._initializing: list[InitializingTransport] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._over = asyncio.get_running_loop().create_future()
        self._first: Request | None = None
        self._client: Port | None = None
        self._ending: list[asyncio.Task[None]] = []
        self._processes: list[ProcessTransport] = []
        self._is_nested = False
        self._is_ending = False
        self.failure: RequestError | None = None
        """Why the chain has ended; None if the client disconnected."""

    async def run(self) -> None:
        """Serve the client until it disconnects or a component is lost."""
        try:
            first = self._first = await self._opening.first()
            if first is not None and await self._begin(first):
                await self._over
        finally:
            await self._end()

    # The beginning

    async def _begin(self, first: Request) -> bool:
        """Start everything; return whether the chain runs."""
        is_nested = first.method in INITIALIZE
        received = conductor_depth(first.params) if is_nested else 0
        try:
            self._check(is_nested, received)
            await self._open(is_nested, received, first.method)
        except (ConnectFailed, RequestError) as error:
            refused = error if isinstance(error, RequestError) else InternalError(str(error))
            self.failure = refused
            self._opening.send(error_response(msgspec.json.encode(first.id), refused))
            return False
        return True

    def _check(self, is_nested: bool, received: int) -> None:
        if len(self._components) > MAX_COMPONENTS:
            raise InvalidRequest(f"A chain has at most {MAX_COMPONENTS} proxies")
        if received >= MAX_DEPTH or _process_depth() >= MAX_DEPTH:
            raise InvalidRequest(
                f"More than {MAX_DEPTH} conductors are inside each other; does one start itself?"
            )
        if is_nested and self._agent is not None:
            raise InvalidRequest(
                "This chain has an agent of its own, so it cannot be part of another one; remove it"
            )
        if not is_nested and self._agent is None:
            raise InvalidRequest(
                "This chain ends without an agent; give it one, or make it part of another chain"
            )

    async def _open(self, is_nested: bool, received: int, method: str) -> None:
        self._is_nested = is_nested
        depth = received + 1 if is_nested else 0
        parts = [await self._part(each, depth) for each in self._components]
        if self._agent is None:
            mux = MuxTransport(self._opening, successor=successor_for(method))
            bottom = self._initialize(mux.back, "the successor", ("initialize",), received)
            self._connect(_plan(mux.front, parts, bottom))
            return
        if not isinstance(self._agent.target, str) or not is_on_other_host(self._agent.target):
            parts.append(self._in_process(mcp_bridge_proxy()))
        reached = await self._reach(self._agent)
        bottom = self._initialize(reached, self._agent.label, ("initialize",), None)
        self._connect(_plan(self._opening, parts, bottom))

    async def _part(self, component: ComponentSpec, depth: int) -> _InProcess | _External:
        if isinstance(component.target, Proxy):
            return self._in_process(component.target)
        if isinstance(component.target, TerminatingProxy):
            return self._terminating(component.target)
        timeout = ComponentTimeout(component.label, self._seconds, self._stalled)
        mux = MuxTransport(await self._reach(component), is_through=True, timeout=timeout)
        front = self._initialize(
            mux.front, component.label, INITIALIZE, depth, on_method=mux.use_spelling
        )
        return _External(component.label, front, mux.back)

    def _in_process(self, proxy: Proxy) -> _InProcess:
        return _InProcess(proxy.name, proxy, self._new_timeout(proxy.name))

    def _new_timeout(self, name: str) -> ComponentTimeout:
        timeout = ComponentTimeout(name, self._seconds, self._silent)
        self._waiting.append(timeout)
        return timeout

    def _terminating(self, component: TerminatingProxy) -> _External:
        """Start a component of this process that is a peer of both sides."""
        front, client = memory_pair()
        agent, back = memory_pair()
        self._spawn(component.join(client, agent), component.name)
        initializing = self._initialize(front, component.name, ("initialize",), None)
        return _External(component.name, initializing, back)

    async def _reach(self, component: ComponentSpec) -> Transport:
        target = component.target
        assert isinstance(target, Servable) or not isinstance(target, Proxy | TerminatingProxy)
        options: TargetOptions = {**component.options}
        env = {**(options.get("env") or {}), _DEPTH_VARIABLE: str(_process_depth() + 1)}
        options["env"] = env
        try:
            reached = await self._stack.enter_async_context(open_target(target, **options))
        except ConnectFailed as error:
            raise ConnectFailed(f"{component.label} cannot be started: {error}") from error
        if isinstance(reached, ProcessTransport):
            self._processes.append(reached)
        return reached

    def _initialize(
        self,
        transport: Transport,
        name: str,
        methods: tuple[str, ...],
        depth: int | None,
        *,
        on_method: Callable[[str], None] | None = None,
    ) -> InitializingTransport:
        initializing = InitializingTransport(
            transport,
            name,
            methods,
            depth=depth,
            timeout=self._new_timeout(name),
            on_method=on_method,
            on_lost=self._lost,
        )
        self._initializing.append(initializing)
        return initializing

    def _connect(self, plans: Sequence[_Plan]) -> None:
        """Build what was planned; the first plan is that at the client."""
        if self._recordings is not None:
            name = "chain" if self._agent is None else self._agent.label
            plans = list(_recorded(plans, HopRecorder(self._recordings, name)))
        for plan in plans:
            is_proxied = self._is_nested and self._client is None
            if isinstance(plan, _RelayPlan):
                self._connect_relay(plan, is_proxied=is_proxied)
            else:
                self._connect_proxy(plan, is_proxied=is_proxied)

    def _connect_relay(self, plan: _RelayPlan, *, is_proxied: bool) -> None:
        relay = Relay(
            plan.upper,
            plan.lower,
            plan.names,
            is_proxied=is_proxied,
            stays_open=True,
            explain=self._explain,
        )
        self._client = self._client or relay.upper
        self._spawn(relay.run(), plan.names[1])

    def _connect_proxy(self, plan: _ProxyPlan, *, is_proxied: bool) -> None:
        component = plan.component
        options = ConnectionOptions(
            agent_name=plan.agent_name,
            is_proxied=is_proxied,
            timeout=component.timeout,
            stays_open=True,
            on_failed=lambda: self._failed(component.label),
            explain=self._explain,
        )
        connection = ProxyConnection(component.proxy, plan.client, plan.agent, options=options)
        self._client = self._client or connection.client.port
        self._connections[component.timeout] = self._spawn(connection.run(), component.label)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(self._joined)
        self._tasks.append(task)
        return task

    # The end

    def _joined(self, task: asyncio.Task[None]) -> None:
        """Record that a joint has ended because one of its neighbors is gone."""
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s failed", task.get_name(), exc_info=task.exception())
            self._failed(task.get_name())
        elif self.failure is None or self._client is None or self._client.lost is not None:
            self._finish()

    def _finish(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def _explain(self, name: str, reason: ConnectionClosed) -> RequestError:
        """Return the error for a lost component: what ended the chain, if that is known."""
        return self.failure or disconnect_error(name, reason)

    def _failed(self, name: str) -> None:
        self._fail(InternalError(f"{name} failed"))

    def _lost(self, name: str, reason: ConnectionClosed) -> None:
        if self._client is None or self._client.lost is None:
            has_talked = self._client is not None and self._opening.is_taken
            self._fail(disconnect_error(name, reason), _named(name, reason), stays=has_talked)

    def _silent(self, patience: ComponentTimeout) -> None:
        """End the chain for a component that does not answer, unless a later one delays it."""
        place = self._waiting.index(patience)
        if any(each.is_waiting for each in self._waiting[place + 1 :]):
            patience.begin()
            return
        text = f"{patience.name} did not answer initialize within {self._seconds:g} seconds"
        self._fail(InternalError(text))
        if patience in self._connections:
            self._connections[patience].cancel()

    def _stalled(self, patience: ComponentTimeout) -> None:
        """End the chain because of a component that sends more than its neighbours accept.

        Its answers come after the flood, so a request to it would never be answered. While the
        client itself does not read, the chain waits for the client.
        """
        if self._transport.drained() is not None:
            patience.begin()
            return
        text = f"{patience.name} sends too much: nothing of it was accepted for {self._seconds:g}"
        self._fail(InternalError(f"{text} seconds"))

    def _fail(
        self, error: RequestError, reason: ConnectionClosed | None = None, *, stays: bool = False
    ) -> None:
        """End the chain because of a component.

        The client gets the reason in its pending requests, and with the disconnect where the
        transport has reasons. It gets both at once, or after what was sent before the end.
        """
        if self._is_ending or self.failure is not None:
            return
        self.failure = error
        logger.error("the chain ends: %s", error.message)
        send_close_reason(self._transport, reason or ConnectionClosed(error.message))
        if self._client is not None and stays:
            self._ending.append(asyncio.create_task(self._wind_down(self._client, error)))
            return
        if self._client is not None:
            self._client.reject_pending(error)
        if self._first is not None and not self._opening.is_taken:
            self._opening.send(error_response(msgspec.json.encode(self._first.id), error))
        self._finish()

    async def _wind_down(self, client: Port, error: RequestError) -> None:
        await _flush_pending(client, self._opening)
        client.reject_pending(error)
        self._finish()

    def _ended(self) -> None:
        """Note that the client has closed its side, though it may still read."""
        if self._client is None:
            self._opening.connection_lost(ConnectionClosed("the peer closed the connection"))
        else:
            self._ending.append(asyncio.create_task(self._end_after_responses(self._client)))

    async def _end_after_responses(self, client: Port) -> None:
        await _wait_for_responses(client)
        if self.failure is None:
            self._finish()

    async def _end(self) -> None:
        self._is_ending = True
        for task in self._ending:
            task.cancel()
        for patience in self._waiting:
            patience.end()
        await self._opening.aclose()
        closing = [asyncio.create_task(each.aclose()) for each in self._initializing]
        waiting = {*closing, *self._tasks}
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=_END_GRACE)
        except asyncio.CancelledError:  # the process may be killed next
            await _terminate_soon(self._processes, waiting)
            raise
        finally:
            for task in waiting:
                task.cancel()
            await self._stack.aclose()


def _named(name: str, reason: ConnectionClosed) -> ConnectionClosed:
    """Return the reason of a disconnect with the name of the component."""
    if isinstance(reason, ProcessExited):
        return reason.with_prefix(name)
    return ConnectionClosed(f"{name} is gone: {reason}")


def _process_depth() -> int:
    depth = os.environ.get(_DEPTH_VARIABLE, "0")
    return int(depth) if depth.isdecimal() and depth.isascii() else 0


async def _terminate_soon(processes: list[ProcessTransport], ends: set[asyncio.Task[None]]) -> None:
    """Terminate processes that have not ended in time, and kill them soon after."""
    for process in processes:
        process.terminate()
    await asyncio.wait(ends, timeout=_TERMINATE_TIMEOUT)
    for process in processes:
        process.kill()


async def _flush_pending(client: Port, opening: PeekedTransport) -> None:
    """Wait until what was sent before the end has reached the client."""
    sent, seen = opening.count_sent(), -1
    silent, ends = 0.0, _now() + _WHOLE_FLUSH_TIMEOUT
    while client.lost is None and _now() < ends and (client.pending or seen != sent()):
        if seen != sent():
            seen, silent = sent(), _now() + _FLUSH_TIMEOUT
        elif _now() > silent:
            break
        await asyncio.sleep(_POLL_INTERVAL if client.pending else _QUIET_AFTER)


async def _wait_for_responses(client: Port) -> None:
    """Wait until a client that has closed its side has its responses, except to prompts."""
    ends = _now() + _ANSWER_TIMEOUT
    while client.lost is None and _now() < ends:
        if not _asks(client):
            break
        await asyncio.sleep(_POLL_INTERVAL)


def _asks(client: Port) -> bool:
    return any(call.method != "session/prompt" for call in client.pending_requests)


def _now() -> float:
    return asyncio.get_running_loop().time()
