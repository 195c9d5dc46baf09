"""A peer that is started as a child process and spoken to over its stdin and stdout.

Theory of operation. The child (`child.py`) leads a process group of its own. Its stderr is drained
always and the tail kept. The conversation ends in one of three ways, and all lead through
`_finish`: we close (stdin closed, then SIGTERM, then SIGKILL, each after a grace period), the child
exits (what it said last is read first), or the child closes its stdout or its stdin and lives (it
is ended as if we had closed). Whatever of the group is left then is killed, and the receiver learns
`ProcessExited`, with the exit code and the tail, exactly once. What is sent between the beginning
of the end and that moment is let go, and its senders wait: they learn the same.

A grandchild that makes a group of its own has left ours: it lives on, but that it holds our pipes
open does not hold us up.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from parley.errors import ConnectFailed, ConnectionClosed, ProcessExited
from parley.rpc.framing import Frame

from .base import MAX_MESSAGE_BYTES, Receiver
from .child import SIGKILL, Child, child_environment, pipe_between, signal_group, why_not
from .inlet import Inlet
from .pipe import PipeTransport

__all__ = ["ProcessTransport"]

logger = logging.getLogger(__name__)

_STDERR_TAIL_BYTES = 16 * 1024


class ProcessTransport:
    """A child process; make one with `spawn`."""

    def __init__(
        self,
        command: Sequence[str],
        child: Child,
        *,
        pipe: PipeTransport,
        stderr: _Stderr,
        grace_after: float,
    ) -> None:
        self.command = " ".join(command)
        """What was started, for messages."""
        self.pid = child.pid
        """The child's process id, which is also the id of its group."""
        self._child = child
        self._pipe = pipe
        self._stderr = stderr
        self._grace = grace_after
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._ending: asyncio.Task[None] | None = None
        self._ended: ProcessExited | None = None

    @classmethod
    async def spawn(
        cls,
        command: Sequence[str],
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        inherit: Iterable[str] = (),
        on_stderr: Callable[[bytes], None] | None = None,
        grace_after: float = 2.0,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> ProcessTransport:
        """Start a command, given as its argument vector; no shell is involved.

        Args:
            command: The program and its arguments.
            cwd: Where it runs.
            env: Variables it gets in addition to `child.DEFAULT_ENVIRONMENT`.
            inherit: Names of further variables of ours that it gets.
            on_stderr: Called with each piece that it writes to stderr.
            grace_after: How long each step of ending it may take, in seconds.
            max_message_bytes: How long a message of its may be.

        Raises:
            ConnectFailed: It could not be started.
        """
        with ExitStack() as ours, ExitStack() as theirs:
            try:
                child_in, our_out = pipe_between(theirs, ours)
                our_in, child_out = pipe_between(ours, theirs)
                our_err, child_err = pipe_between(ours, theirs)
                child = await Child.start(
                    command,
                    cwd=cwd,
                    env=child_environment(env, inherit),
                    files=(child_in, child_out, child_err),
                )
            except (OSError, ValueError) as error:
                raise ConnectFailed(why_not(command, cwd, error)) from error
            ours.pop_all()
        pipe = PipeTransport(our_in, our_out, max_message_bytes=max_message_bytes)
        stderr = _Stderr(our_err, on_stderr)
        return cls(command, child, pipe=pipe, stderr=stderr, grace_after=grace_after)

    @property
    def stderr_tail(self) -> str:
        """The end of what it wrote to stderr so far."""
        return self._stderr.tail.decode("utf-8", "replace")

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        if self._ended is not None:
            self._loop.call_soon(receiver.connection_lost, self._ended)
            return
        self._child.exited.add_done_callback(lambda _: self._begin_end())
        self._pipe.start(_Ends(receiver.frames_received, self._begin_end))

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent."""
        if self._ended is not None:
            raise self._ended
        if self._ending is None:
            self._pipe.send(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more."""
        if self._ending is None:
            return self._pipe.drained()
        return None if self._ended is not None else asyncio.shield(self._ending)

    def pause_reading(self) -> None:
        """Stop reading; the child stalls when the pipe is full."""
        self._pipe.pause_reading()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._pipe.resume_reading()

    async def aclose(self) -> None:
        """End the child, politely first; what is left of its group is killed."""
        try:
            await self._pipe.flush()
        finally:  # who loses patience with the flush still wants the child to end
            ending = self._begin_end()
        await asyncio.shield(ending)

    def terminate(self) -> None:
        """Ask the child and its group to go; `aclose` waits for it."""
        if self._ended is None:
            signal_group(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the child and its group at once."""
        if self._ended is None:
            signal_group(self.pid, SIGKILL)

    def _begin_end(self) -> asyncio.Task[None]:
        """Begin the end; called when stdout is closed, the child has exited, or we close."""
        if self._ending is None:
            self._ending = self._loop.create_task(self._finish())
        return self._ending

    async def _finish(self) -> None:
        try:
            self._pipe.read_rest()
            self._pipe.close_writing()
            await self._ask_to_exit()
        finally:  # also when we are cancelled, because the event loop ends
            self.kill()
            code = await asyncio.shield(self._child.exited)
            await self._pipe.read_out(self._grace)
            await self._stderr.inlet.read_out(self._grace)
            self._stderr.inlet.close()
            self._child.close()
            self._ended = ProcessExited(self.command, code, self.stderr_tail)
            self._pipe.lose(self._ended)
            if self._receiver is not None:
                self._receiver.connection_lost(self._ended)

    async def _ask_to_exit(self) -> None:
        """Wait for the exit, in the end with a signal."""
        for number in (None, signal.SIGTERM):
            if number is not None:
                signal_group(self.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._grace):
                    await asyncio.shield(self._child.exited)
                    return


class _Ends:
    """Pass frames on, and the end of the pipe to the process, which knows more about it."""

    def __init__(
        self, frames_received: Callable[[Sequence[Frame]], None], ended: Callable[[], object]
    ) -> None:
        self.frames_received = frames_received
        self._ended = ended

    def connection_lost(self, reason: ConnectionClosed) -> None:
        del reason
        self._ended()


class _Stderr:
    """Reads everything that comes and keeps the end of it."""

    def __init__(self, fd: int, on_data: Callable[[bytes], None] | None) -> None:
        self.tail = b""
        self._on_data = on_data
        self.inlet = Inlet(fd, self._keep, lambda _: None)
        self.inlet.start()

    def _keep(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_STDERR_TAIL_BYTES:]
        if self._on_data is not None:
            try:
                self._on_data(data)
            except Exception:  # of the program: stderr is read on, or the agent would stall
                logger.exception("what wants to see stderr failed")
