"""A transport to a child process, over its stdin and stdout.

Theory of operation. The child (`_child_process.py`) leads its own process group. Its stderr is
always drained, and the tail is kept. The connection ends in one of three ways, all through
`_finish`: we close it (close stdin, then SIGTERM, then SIGKILL, each after a grace period), the
child exits (its last output is read first), or the child closes its stdout or stdin but keeps
running (it is ended as if we had closed). Then the rest of its group is killed, and the receiver
gets `ProcessExited`, with the exit code and the tail of stderr, exactly once. Frames that are sent
after the end has begun are dropped, and their senders wait until they get the same error.

A grandchild that creates its own process group is no longer in ours: it keeps running, but even if
it holds our pipes open, we do not wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from parley._redaction import hide_in_command
from parley._user_code import reraise_if_ending
from parley.errors import ConnectFailed, ConnectionClosed, ProcessExited
from parley.rpc._framing import Frame

from ._base import MAX_MESSAGE_BYTES, Receiver
from ._child_process import (
    SIGKILL,
    ChildProcess,
    child_environment,
    describe_spawn_error,
    pipe_between,
    signal_group,
)
from ._fd_reader import FdReader
from ._frame_head import FrameHead
from ._pipe import PipeTransport

logger = logging.getLogger(__name__)

_STDERR_TAIL_BYTES = 16 * 1024


class ProcessTransport:
    """A transport to a child process, over its stdin and stdout.

    Create one with `await ProcessTransport.spawn(["my-agent"])`; `parley.connect` does so for a
    command line. `aclose` ends the child with its process group; `terminate` and `kill` only send
    a signal. When the child exits, the receiver gets `ProcessExited`.
    """

    def __init__(
        self,
        command: Sequence[str],
        child: ChildProcess,
        *,
        pipe: PipeTransport,
        stderr: _StderrReader,
        grace_after: float,
    ) -> None:
        self.command = " ".join(hide_in_command(command)[0])
        """The command line, for messages; secrets in it are masked."""
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
        on_stderr: Callable[[bytes], object] | None = None,
        grace_after: float = 2.0,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> ProcessTransport:
        """Start a command, given as its argument vector; no shell is involved.

        Args:
            command: The program and its arguments.
            cwd: The directory where it runs; None for the current one.
            env: Variables to set, in addition to the inherited ones.
            inherit: Names of variables of this process to pass on, besides the default ones (see
                `child_environment`).
            on_stderr: Called with each piece that it writes to stderr.
            grace_after: How many seconds each step of ending it may take.
            max_message_bytes: The limit on the size of a message from it.

        Raises:
            ConnectFailed: It could not be started.
        """
        with ExitStack() as ours, ExitStack() as theirs:
            try:
                child_in, our_out = pipe_between(theirs, ours)
                our_in, child_out = pipe_between(ours, theirs)
                our_err, child_err = pipe_between(ours, theirs)
                child = await ChildProcess.start(
                    command,
                    cwd=cwd,
                    env=child_environment(env, inherit),
                    files=(child_in, child_out, child_err),
                )
            except (OSError, ValueError) as error:
                raise ConnectFailed(describe_spawn_error(command, cwd, error)) from error
            ours.pop_all()
        pipe = PipeTransport(our_in, our_out, max_message_bytes=max_message_bytes)
        stderr = _StderrReader(our_err, on_stderr)
        return cls(command, child, pipe=pipe, stderr=stderr, grace_after=grace_after)

    @property
    def stderr_tail(self) -> str:
        """The last 16 KiB that the child has written to stderr so far."""
        return self._stderr.tail.decode("utf-8", "replace")

    def start(self, receiver: Receiver) -> None:
        """Begin reading, and deliver frames to the receiver."""
        self._receiver = receiver
        if self._ended is not None:
            self._loop.call_soon(receiver.connection_lost, self._ended)
            return
        self._child.exited.add_done_callback(lambda _: self._begin_end())
        self._pipe.start(_PipeReceiver(receiver.frames_received, self._begin_end))

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Queue a frame to be sent; drop it if the child is being ended.

        Raises:
            ProcessExited: The child has exited.
        """
        if self._ended is not None:
            raise self._ended
        if self._ending is None:
            self._pipe.send(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more; None while there is room."""
        if self._ending is None:
            return self._pipe.drained()
        return None if self._ended is not None else asyncio.shield(self._ending)

    def pause_reading(self) -> None:
        """Stop reading; the child blocks once the pipe is full."""
        self._pipe.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        self._pipe.resume_reading()

    async def aclose(self) -> None:
        """End the child, gracefully first, and kill the rest of its process group."""
        try:
            await self._pipe.flush()
        finally:  # end the child even if this task is cancelled during the flush
            ending = self._begin_end()
        await asyncio.shield(ending)

    def terminate(self) -> None:
        """Send SIGTERM to the child's process group; `aclose` waits for the exit."""
        if self._ended is None:
            signal_group(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the child's process group immediately."""
        if self._ended is None:
            signal_group(self.pid, SIGKILL)

    def _begin_end(self) -> asyncio.Task[None]:
        """Start ending the child, once: when a pipe closes, the child has exited, or we close."""
        if self._ending is None:
            self._ending = self._loop.create_task(self._finish())
        return self._ending

    async def _finish(self) -> None:
        try:
            self._pipe.read_available()
            self._pipe.close_writing()
            await self._wait_for_exit()
        finally:  # also if cancelled, because the event loop is shutting down
            self.kill()
            code = await asyncio.shield(self._child.exited)
            await self._pipe.read_to_eof(self._grace)
            await self._stderr.reader.read_to_eof(self._grace)
            self._stderr.reader.close()
            self._child.close()
            self._ended = ProcessExited(self.command, code, self.stderr_tail)
            self._pipe.lose(self._ended)
            if self._receiver is not None:
                self._receiver.connection_lost(self._ended)

    async def _wait_for_exit(self) -> None:
        """Wait for the child to exit, send SIGTERM after the grace period, and wait once more."""
        for number in (None, signal.SIGTERM):
            if number is not None:
                signal_group(self.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._grace):
                    await asyncio.shield(self._child.exited)
                    return


class _PipeReceiver:
    """A receiver that forwards frames and reports the end of the pipe to the process transport.

    The process transport can give a better reason for the end than the pipe can.
    """

    def __init__(
        self, frames_received: Callable[[Sequence[Frame]], None], ended: Callable[[], object]
    ) -> None:
        self.frames_received = frames_received
        self._ended = ended

    def connection_lost(self, reason: ConnectionClosed) -> None:
        del reason
        self._ended()


class _StderrReader:
    """A reader that drains the child's stderr and keeps the tail."""

    def __init__(self, fd: int, on_data: Callable[[bytes], object] | None) -> None:
        self.tail = b""
        self._on_data = on_data
        self.reader = FdReader(fd, self._keep, lambda _: None)
        self.reader.start()

    def _keep(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_STDERR_TAIL_BYTES:]
        if self._on_data is not None:
            try:
                self._on_data(data)
            except (
                BaseException
            ) as error:  # raised by the program; keep reading stderr, or the agent would block
                reraise_if_ending(error)
                logger.exception("the on_stderr callback failed")
