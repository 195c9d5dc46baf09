"""A peer that is started as a child process and spoken to over its stdin and stdout.

Theory of operation. The child is the leader of a process group of its own, so that what it starts
can be ended with it and a Ctrl-C in our terminal does not reach it. Its stderr is drained always
and the tail kept. The conversation ends in one of three ways, and all lead through `_finish`: we
close (stdin closed, then SIGTERM, then SIGKILL, each after a grace period), the child exits (what
it said last is read first), or the child closes its stdout or its stdin and lives (it is ended as
if we had closed). Whatever of the group is left then is killed, and the receiver learns
`ProcessExited`, with the exit code and the tail, exactly once. What is sent between the beginning
of the end and that moment is let go, and its senders wait: they learn the same.

A child that nobody closes is killed with its group when the interpreter ends, if not before. A
grandchild that makes a group of its own has left ours: it lives on, but that it holds our pipes
open does not hold us up.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

from parley.errors import ConnectFailed, ConnectionClosed, ProcessExited
from parley.rpc.framing import Frame

from .base import MAX_MESSAGE_BYTES, Receiver
from .inlet import Inlet
from .pipe import PipeTransport

__all__ = ["DEFAULT_ENVIRONMENT", "ProcessTransport", "child_environment"]

logger = logging.getLogger(__name__)

DEFAULT_ENVIRONMENT = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR"),
        *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
        *("XDG_RUNTIME_DIR", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP"),
        *("APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "USERPROFILE", "USERNAME"),
        *("HOMEDRIVE", "HOMEPATH"),
    }
)
"""The variables that a child gets without being named: where things are, and in which language."""

_SIGKILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
_STDERR_TAIL_BYTES = 16 * 1024


def child_environment(
    extra: Mapping[str, str] | None = None, inherit: Iterable[str] = ()
) -> dict[str, str]:
    """Return a child's environment: the default names, those to inherit, and the extra ones."""
    names = DEFAULT_ENVIRONMENT.union(inherit)
    kept = {name: value for name, value in os.environ.items() if name in names}
    return {**kept, **(extra or {})}


class ProcessTransport:
    """A child process; make one with `spawn`."""

    def __init__(
        self,
        command: Sequence[str],
        process: asyncio.SubprocessTransport,
        exited: asyncio.Future[int],
        *,
        pipe: PipeTransport,
        stderr: _Stderr,
        grace_after: float,
    ) -> None:
        self.command = " ".join(command)
        """What was started, for messages."""
        pid = process.get_pid()
        assert pid is not None
        self.pid = pid
        """The child's process id, which is also the id of its group."""
        self._process = process
        self._exited = exited
        self._pipe = pipe
        self._stderr = stderr
        self._grace = grace_after
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._ending: asyncio.Task[None] | None = None
        self._ended: ProcessExited | None = None
        self._forgotten = weakref.finalize(self, _kill_forgotten, pid, os.getpid())

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
            env: Variables it gets in addition to `DEFAULT_ENVIRONMENT`.
            inherit: Names of further variables of ours that it gets.
            on_stderr: Called with each piece that it writes to stderr.
            grace_after: How long each step of ending it may take, in seconds.
            max_message_bytes: How long a message of its may be.

        Raises:
            ConnectFailed: It could not be started.
        """
        environment = child_environment(env, inherit)
        _check(command, environment)
        loop = asyncio.get_running_loop()
        exited: asyncio.Future[int] = loop.create_future()
        with ExitStack() as ours, ExitStack() as theirs:
            try:
                child_in, our_out = _pipe(theirs, ours)
                our_in, child_out = _pipe(ours, theirs)
                our_err, child_err = _pipe(ours, theirs)
                starting = loop.subprocess_exec(
                    lambda: _Exit(exited),
                    *command,
                    stdin=child_in,
                    stdout=child_out,
                    stderr=child_err,
                    cwd=cwd,
                    env=environment,
                    start_new_session=True,
                    preexec_fn=_inherit_nothing if _leaves_files_open(loop) else None,
                )
                process = await _started(loop.create_task(starting), exited)
            except (OSError, ValueError) as error:
                raise ConnectFailed(_why_not(command, cwd, error)) from error
            ours.pop_all()
        pipe = PipeTransport(our_in, our_out, max_message_bytes=max_message_bytes)
        stderr = _Stderr(our_err, on_stderr)
        return cls(command, process, exited, pipe=pipe, stderr=stderr, grace_after=grace_after)

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
        self._exited.add_done_callback(lambda _: self._begin_end())
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

    def kill(self) -> None:
        """End the child and its group at once."""
        if self._ended is None:
            _signal_group(self.pid, _SIGKILL)

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
            code = await asyncio.shield(self._exited)
            await self._pipe.read_out(self._grace)
            await self._stderr.inlet.read_out(self._grace)
            self._stderr.inlet.close()
            self._process.close()
            self._forgotten.detach()
            self._ended = ProcessExited(self.command, code, self.stderr_tail)
            self._pipe.lose(self._ended)
            if self._receiver is not None:
                self._receiver.connection_lost(self._ended)

    async def _ask_to_exit(self) -> None:
        """Wait for the exit, in the end with a signal."""
        for number in (None, signal.SIGTERM):
            if number is not None:
                _signal_group(self.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._grace):
                    await asyncio.shield(self._exited)
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


class _Exit(asyncio.SubprocessProtocol):
    def __init__(self, exited: asyncio.Future[int]) -> None:
        self._exited = exited
        self._process: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast(asyncio.SubprocessTransport, transport)  # uvloop's is no subclass

    def process_exited(self) -> None:
        assert self._process is not None
        code = self._process.get_returncode()
        assert code is not None
        self._exited.set_result(code)


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
            except Exception:
                logger.exception("what wants to see stderr failed")


async def _started(
    starting: asyncio.Task[tuple[asyncio.SubprocessTransport, asyncio.SubprocessProtocol]],
    exited: asyncio.Future[int],
) -> asyncio.SubprocessTransport:
    """Wait for the start; one that is cancelled is awaited all the same, and the child ended."""
    try:
        return (await asyncio.shield(starting))[0]
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            process = (await starting)[0]
            _signal_group(process.get_pid(), _SIGKILL)
            await exited
            process.close()
        raise


def _check(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse what cannot be passed on as it is; uvloop would cut it off at a NUL."""
    if not command:
        raise ConnectFailed("there is no command to start: the list is empty")
    if any("\0" in text for text in (*command, *environment, *environment.values())):
        problem = "there is a NUL in an argument or a variable"
        raise ConnectFailed(f"{command[0]} could not be started: {problem}")


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """Make a pipe whose two ends are closed by different owners."""
    read_fd, write_fd = os.pipe()
    reader.callback(os.close, read_fd)
    writer.callback(os.close, write_fd)
    return read_fd, write_fd


def _leaves_files_open(loop: asyncio.AbstractEventLoop) -> bool:
    return type(loop).__module__.partition(".")[0] == "uvloop"


def _inherit_nothing() -> None:
    """Do between fork and exec what asyncio does itself: leave the child its three files only.

    uvloop leaves copies of the three open as well, which hide that the child closes one.
    """
    files = Path("/dev/fd")
    for fd in [int(file.name) for file in files.iterdir()] if files.exists() else []:
        with suppress(OSError):  # one of them was the listing itself
            os.set_inheritable(fd, fd <= 2)


def _signal_group(pid: int, number: int) -> None:
    """Send a signal to what is left of a group; on Windows to the process, which is ended by it."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)


def _kill_forgotten(pid: int, parent: int) -> None:
    """Leave nothing behind; a fork of the parent has a copy of the transport, and no such duty."""
    if os.getpid() == parent:
        _signal_group(pid, _SIGKILL)


def _why_not(command: Sequence[str], cwd: str | Path | None, error: Exception) -> str:
    program = command[0]
    if cwd is not None and not Path(cwd).is_dir():
        return f"{program} could not be started: the directory {cwd} does not exist"
    if isinstance(error, FileNotFoundError):
        if shutil.which(program) is not None:
            return f"{program} could not be started: the program in its first line was not found"
        return f"{program} was not found; is it installed and on PATH?"
    if isinstance(error, PermissionError):
        return f"{program} may not be executed"
    return f"{program} could not be started: {error}"
