"""A hosted agent: starting its processes, sharing them between clients, and ending them.

A command is started for each connection. A *shared* one is started once for all connections of a
principal whose `initialize` is alike: same version, same capabilities. The first response is then
used for all of them, so the agent never asks a client for what it does not offer. When a process
ends, so do its connections, and every pending request fails with the reason. A shared process is
started again for the next connection, after a pause that grows while it keeps failing. It is ended
when it has been unused for a while (`shared_idle`), and each principal may have only some of them
(`shared_per_principal`): then an unused one makes room, or the new connection is rejected. An
`Agent` of this process serves every connection itself.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from asyncio import sleep
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Any, TypeAlias, Unpack

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from parley._interpreter import replace_parley
from parley.errors import (
    AcpError,
    ConnectionClosed,
    InternalError,
    InvalidParams,
    Overloaded,
    ProcessExited,
    RequestError,
)
from parley.proxy import PendingRequest, Switch
from parley.proxy._switch.disconnect import disconnect_error
from parley.rpc._codec import DECODE_ERRORS, to_exception
from parley.rpc._codec import decode as decode_frame
from parley.rpc._message import Failure
from parley.transport._base import Transport
from parley.transport._target import (
    Servable,
    Target,
    TargetOptions,
    command_of,
    open_target,
)

from .agent_process import AgentProcess
from .client_connection import ClientConnection
from .events import Event, EventBus, short_id
from .history_budget import HistoryBudget
from .initialize import add_reopening, check_response
from .limits import HostLimits
from .live_session import SessionRegistry
from .metered_transport import MeteredTransport, TrafficTotals
from .owners import MemoryOwners, Owners
from .version2_transport import Version2Transport

__all__ = ["AgentHost"]

logger = logging.getLogger(__name__)

_LOOK_AFTER = 0.05
_FAILED_FOR = 30.0
"""The seconds for which a failed start is reported."""


class _Success(Struct):
    result: Raw = Raw(b"{}")


class AgentHost:
    """One agent by name, served to many clients: `await host.serve(transport)`."""

    def __init__(  # noqa: PLR0913 - an agent, and the options of a host
        self,
        name: str,
        target: Target,
        *,
        is_shared: bool = False,
        has_attaching: bool = True,
        versions: Sequence[int] = (),
        limits: HostLimits | None = None,
        owners: Owners | None = None,
        histories: HistoryBudget | None = None,
        **options: Unpack[TargetOptions],
    ) -> None:
        """Host an agent; nothing is started before a client initializes a connection.

        Args:
            name: Its name.
            target: A command, or an `Agent` of this process.
            is_shared: Whether the connections of a principal share one process.
            has_attaching: Whether further clients of the same principal may join a session.
            versions: The only versions of the protocol to speak with it; none: any.
            limits: Its limits.
            owners: Remembers the owners of its sessions; in memory by default.
            histories: The limit of the histories that it shares with other agents; by default, it
                has its own.
            options: How a command is started, or a remote agent spoken to.
        """
        self.name = name
        self.limits = limits or HostLimits()
        self.has_attaching = has_attaching
        self.versions = versions
        self.is_common = is_shared or isinstance(target, Servable)
        """Whether connections share an agent, so that their access to sessions must be checked."""
        self.switch = Switch(in_flight=self.limits.in_flight)
        self.sessions = SessionRegistry()
        self.histories = histories or HistoryBudget(self.limits.total_history_bytes)
        """Limits the histories of all sessions."""
        self.is_draining = False
        """Whether new clients are rejected."""
        self.connections: set[ClientConnection] = set()
        self._target = target
        self._options = options
        self.is_shared = is_shared
        self._rate = SpawnRate(self.limits)
        self._shared = ProcessPool(self.limits, self._end)
        self._processes: set[AgentProcess] = set()
        self._owners = MemoryOwners() if owners is None else owners
        self.totals = TrafficTotals()
        """The traffic between the agent and its clients."""
        self.events = EventBus()
        """Reports what happens to the agent and its clients."""
        self._failure: tuple[float, str] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def command(self) -> Sequence[str]:
        """The command that is started; empty for an agent that is not a command."""
        return command_of(self._target) or ()

    async def serve(self, transport: Transport, *, has_one_principal: bool = False) -> None:
        """Serve one client until it disconnects.

        Args:
            transport: Carries the frames; its `principal` identifies the client.
            has_one_principal: Whether there is only one principal, which owns every session that
                was never opened through the gateway.
        """
        client = MeteredTransport(transport, self.totals)
        connection = ClientConnection(
            self,
            Version2Transport(client),
            client.principal,
            has_one_principal=has_one_principal,
        )
        self.connections.add(connection)
        opened = Event(
            event="connection_opened",
            principal=client.principal,
            connection=short_id(client.id),
            remote=client.remote,
        )
        self.emit(opened)
        began = monotonic()
        try:
            await connection.serve()
        finally:
            self.connections.discard(connection)
            lasted, reason = monotonic() - began, connection.reason
            self.emit(replace(opened, event="connection_closed", seconds=lasted, reason=reason))

    def emit(self, event: Event) -> None:
        """Report an event of the agent or its clients."""
        self.events.emit(replace(event, agent=self.name))

    @property
    def process_count(self) -> int:
        """The number of running processes."""
        return len(self._processes)

    @property
    def start_error(self) -> str:
        """Why the agent cannot be started, if that is known; else empty."""
        command = command_of(self._target)
        if command is not None and shutil.which(replace_parley(command)[0]) is None:
            return f"{command[0]} was not found"
        if self._failure is not None and monotonic() - self._failure[0] < _FAILED_FOR:
            return self._failure[1]
        return ""

    def _record_failure(self, reason: str) -> None:
        self._failure = (monotonic(), reason)
        self.emit(Event(event="agent_failed", reason=reason))

    # Starting

    async def acquire(
        self, connection: ClientConnection, initialize: PendingRequest
    ) -> AgentProcess:
        """Return the process for a connection, and start it if necessary.

        Raises:
            Overloaded: There are too many starts, or nobody new is taken.
            ConnectFailed: It cannot be started.
        """
        if self.is_draining:
            raise Overloaded(f"{self.name} is being shut down; try again later")
        if not self.is_shared:
            return await self._start()
        async with self._shared.acquire(connection.principal, initialize.params) as shared:
            if shared.process is None:
                await sleep(shared.pause)
                shared.started_at = monotonic()
                shared.answer = None
                try:
                    shared.process = await self._start()
                except AcpError:
                    shared.failures += 1
                    raise
            return shared.process

    async def _start(self) -> AgentProcess:
        if not isinstance(self._target, Servable):
            self._rate.check()
        began = monotonic()
        try:
            async with AsyncExitStack() as reached:
                transport = await reached.enter_async_context(
                    open_target(self._target, **self._options)
                )
                process = AgentProcess(self, transport, reached.pop_all())
        except AcpError as error:
            self._record_failure(str(error))
            raise
        self._processes.add(process)
        pid: int = getattr(transport, "pid", 0)
        self.emit(Event(event="agent_started", pid=pid, seconds=monotonic() - began))
        return process

    def initialize(
        self, process: AgentProcess, call: PendingRequest, on_result: Callable[[bytes], None]
    ) -> None:
        """Have a connection initialized: by the agent, or as the agent was once before."""
        shared = self._shared.find(process)
        first = shared is None or shared.answer is None

        def on_response(call: PendingRequest, frame: bytes, is_result: bool) -> bool:
            result = bytes(msgspec.json.decode(frame, type=_Success).result)
            wrong = check_response(self.name, result, self.versions) if is_result else None
            offered = add_reopening(result) if is_result and self.has_attaching else None
            if is_result and wrong is None:
                self._failure = None
                process.record_initialize(call, frame)
                process.reopens = offered is None
                result = offered or result
                on_result(result)
                if shared is not None and shared.answer is not None:
                    shared.answer.set_result(result)
            elif shared is not None and shared.answer is not None:
                answer, shared.answer = shared.answer, None
                answer.set_exception(wrong or _refusal(frame))
                answer.exception()  # perhaps nobody waits for it
            if wrong is not None:
                self._record_failure(wrong.message)
                call.refuse(wrong)
            elif offered is not None:
                call.respond(offered)
            return wrong is not None or offered is not None

        if first:
            if shared is not None:
                shared.answer = asyncio.get_running_loop().create_future()
            call.on_response = on_response
            call.follow(process.port)
            return
        assert shared is not None
        assert shared.answer is not None
        shared.answer.add_done_callback(
            lambda done: _respond_with_shared_result(done, call, on_result)
        )

    # Ending

    def release(self, process: AgentProcess) -> None:
        """End a process that has no clients; a shared one stays for a while for the next client."""
        if self.is_shared:
            self._shared.release(process)
        elif not process.is_in_use:
            self._end(process)

    def process_lost(self, process: AgentProcess, reason: ConnectionClosed) -> None:
        """Handle the end of a process."""
        code = reason.code if isinstance(reason, ProcessExited) else None
        how = str(disconnect_error(self.name, reason).message)
        self.emit(Event(event="agent_exited", code=code, reason=how))
        if not process.is_initialized and process in self._processes:  # we did not end it
            self._record_failure(f"{how} before it was initialized")
        self._shared.process_lost(process)
        self._end(process)

    def _end(self, process: AgentProcess) -> None:
        if process in self._processes:
            self._processes.discard(process)
            self._spawn(process.aclose())

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s: an agent did not end well", self.name, exc_info=task.exception())

    async def drain(self, grace_after: float) -> None:
        """Reject new clients, and let pending work end within some seconds."""
        self.is_draining = True
        for _ in range(int(grace_after / _LOOK_AFTER)):
            if not any(process.is_busy for process in self._processes):
                break
            await sleep(_LOOK_AFTER)

    async def aclose(self) -> None:
        """Close all connections and end the agents."""
        self.is_draining = True
        for connection in list(self.connections):
            connection.close(f"{self.name} is shut down")
        self._shared.close()
        for process in list(self._processes):
            self._end(process)
        while self._tasks:
            await asyncio.wait(self._tasks)

    # Whose session it is: also agents of their own may keep their sessions in the same place

    def claim_session(self, session_id: str, principal: str) -> None:
        """Record the principal that opened a session first."""
        self._owners.claim(self.name, session_id, principal)

    def forget_session(self, session_id: str) -> None:
        """Forget the owner of a deleted session."""
        self._owners.forget(self.name, session_id)

    def owner_of(
        self, session_id: str, principal: str, *, has_one_principal: bool = False
    ) -> str | None:
        """Return the owner of a session that a principal asks for; None if nobody owns it.

        A session that was never opened here belongs to the only principal, or to the local user if
        there are no principals. If there are several, it belongs to nobody.
        """
        owner = self._owners.find(self.name, session_id)
        if owner is None and (has_one_principal or not principal):
            return principal
        return owner

    def __repr__(self) -> str:
        clients, sessions = len(self.connections), len(self.sessions)
        return f"AgentHost({self.name!r}, {clients} clients, {sessions} sessions)"


def _respond_with_shared_result(
    done: asyncio.Future[bytes], call: PendingRequest, on_result: Callable[[bytes], None]
) -> None:
    error = done.exception()
    if isinstance(error, RequestError):
        call.refuse(error)
    else:
        on_result(done.result())
        call.respond(Raw(done.result()))


def _refusal(frame: bytes) -> RequestError:
    """Return the error of a failed `initialize`: the agent's, or how the agent ended."""
    answer = decode_frame(frame)
    if not isinstance(answer, Failure):
        return InternalError("The agent rejected initialize")
    return to_exception(answer.error)


# The processes that several connections share

_Key: TypeAlias = tuple[str, bytes]
_STEADY_AFTER = 60.0
_MAX_PAUSE = 30.0


class PooledProcess:
    """An agent that several connections use."""

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.lock = asyncio.Lock()
        self.process: AgentProcess | None = None
        self.answer: asyncio.Future[bytes] | None = None
        """Its result of `initialize`."""
        self.started_at = 0.0
        self.failures = 0
        self.pending_users = 0
        """The number of connections that are about to use it."""
        self.timer: asyncio.TimerHandle | None = None

    @property
    def pause(self) -> float:
        """The seconds to wait before it is started again."""
        if not self.failures:
            return 0.0
        return max(0.0, self.started_at + min(_MAX_PAUSE, 0.25 * 2.0**self.failures) - monotonic())

    @property
    def is_in_use(self) -> bool:
        """Whether a connection uses it, or is about to."""
        return bool(self.pending_users) or (self.process is not None and self.process.is_in_use)


class ProcessPool:
    """The shared agents of one name."""

    def __init__(self, limits: HostLimits, end: Callable[[AgentProcess], None]) -> None:
        self._limits = limits
        self._end = end
        self._known: dict[_Key, PooledProcess] = {}

    def __len__(self) -> int:
        return len(self._known)

    @asynccontextmanager
    async def acquire(self, principal: str, params: Raw) -> AsyncGenerator[PooledProcess]:
        """Yield the process that a connection shares with others, locked for this connection.

        Raises:
            InvalidParams: The params of `initialize` cannot be read.
            Overloaded: The principal uses too many processes.
        """
        key = (principal, _kind(params))
        shared = self._known.get(key)
        if shared is None:
            self._make_room(principal)
            shared = self._known[key] = PooledProcess(key)
        shared.pending_users += 1
        try:
            async with shared.lock:
                yield shared
        finally:
            shared.pending_users -= 1
            self._schedule_expiry(shared)

    def find(self, process: AgentProcess) -> PooledProcess | None:
        """Return the entry of a shared process."""
        return next((each for each in self._known.values() if each.process is process), None)

    def release(self, process: AgentProcess) -> None:
        """Handle the end of a connection's use of a process."""
        shared = self.find(process)
        if shared is not None:
            self._schedule_expiry(shared)

    def process_lost(self, process: AgentProcess) -> None:
        """Handle the unexpected end of a process."""
        shared = self.find(process)
        if shared is not None:
            shared.process = None
            is_steady = monotonic() - shared.started_at > _STEADY_AFTER
            shared.failures = 1 if is_steady else shared.failures + 1
            self._schedule_expiry(shared)

    def close(self) -> None:
        """End all processes."""
        for shared in list(self._known.values()):
            self._forget(shared)

    def _schedule_expiry(self, shared: PooledProcess) -> None:
        """Schedule the end of a process if it is unused."""
        if shared.timer is not None:
            shared.timer.cancel()
            shared.timer = None
        if not shared.is_in_use and self._known.get(shared.key) is shared:
            loop = asyncio.get_running_loop()
            shared.timer = loop.call_later(self._limits.shared_idle, self._expire, shared)

    def _expire(self, shared: PooledProcess) -> None:
        if not shared.is_in_use:
            self._forget(shared)

    def _make_room(self, principal: str) -> None:
        theirs = [each for each in self._known.values() if each.key[0] == principal]
        most = self._limits.shared_per_principal
        if len(theirs) < most:
            return
        unused = [each for each in theirs if not each.is_in_use]
        if not unused:
            raise Overloaded(
                f"{most} kinds of clients use this agent already, and each needs its "
                "own process; try again later"
            )
        self._forget(min(unused, key=lambda each: (each.process is not None, each.started_at)))

    def _forget(self, shared: PooledProcess) -> None:
        del self._known[shared.key]
        if shared.timer is not None:
            shared.timer.cancel()
        process, shared.process = shared.process, None
        if process is not None:
            self._end(process)


def _kind(params: Raw) -> bytes:
    """Return the part of `initialize` in which connections of one process must be equal."""
    try:
        offered = msgspec.json.decode(params, type=dict[str, Any])
    except DECODE_ERRORS as error:
        raise InvalidParams() from error
    names = ("protocolVersion", "clientCapabilities", "capabilities")
    alike = {name: offered.get(name) for name in names}
    return msgspec.json.encode(alike, order="deterministic")


class SpawnRate:
    """Limits how often processes are started."""

    def __init__(self, limits: HostLimits) -> None:
        self._limits = limits
        self._starts: deque[float] = deque()

    def check(self) -> None:
        """Count one more start.

        Raises:
            Overloaded: There were too many starts.
        """
        now, limits = monotonic(), self._limits
        while self._starts and self._starts[0] <= now - limits.spawns_within:
            self._starts.popleft()
        if len(self._starts) >= limits.spawns:
            raise Overloaded(
                f"{limits.spawns} agents were started within {limits.spawns_within:g} seconds; "
                "try again later"
            )
        self._starts.append(now)
