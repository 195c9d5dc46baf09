"""A peer that is started as a child process and spoken to over its stdin and stdout.

Theory of operation. The child is the leader of a process group of its own, so that what it starts
can be ended with it and a Ctrl-C in our terminal does not reach it. Its stderr is drained always
and the tail kept. The conversation ends in one of three ways, and all lead through `_finish`: we
close (stdin closed, then SIGTERM, then SIGKILL, each after a grace period), the child exits (what
it said last is read first), or the child closes its stdout and lives (it is ended as if we had
closed). Whatever of the group is left then is killed, and the receiver learns `ProcessExited`, with
the exit code and the tail, exactly once.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast
from weakref import WeakSet

from parley.errors import ConnectFailed, ConnectionClosed, ProcessExited
from parley.rpc.framing import Frame

from .base import MAX_MESSAGE_BYTES, Receiver
from .inlet import Inlet
from .pipe import PipeTransport

if sys.platform == "linux":
    import fcntl

__all__ = ["DEFAULT_ENVIRONMENT", "ProcessTransport", "child_environment"]

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
_PIPE_BYTES = 1024 * 1024


def child_environment(
    extra: Mapping[str, str] | None = None, inherit: Iterable[str] = ()
) -> dict[str, str]:
    """Return a child's environment: the default names, those to inherit, and the extra ones."""
    names = DEFAULT_ENVIRONMENT.union(inherit)
    kept = {name: value for name, value in os.environ.items() if name in names}
    return {**kept, **(extra or {})}


class ProcessTransport:
    """A child process; make one with `spawn`."""

    def __init__(self, command: Sequence[str], pipe: PipeTransport, grace_after: float) -> None:
        self.command = " ".join(command)
        """What was started, for messages."""
        self._pipe = pipe
        self._grace = grace_after
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._process: asyncio.SubprocessTransport | None = None
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._ending: asyncio.Task[None] | None = None
        self._stderr: _Stderr | None = None

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
        child_in, our_out = os.pipe()
        our_in, child_out = os.pipe()
        our_err, child_err = os.pipe()
        _widen(our_in)
        pipe = PipeTransport(our_in, our_out, max_message_bytes=max_message_bytes)
        self = cls(command, pipe, grace_after)
        try:
            self._process, _ = await self._loop.subprocess_exec(
                lambda: _Exit(self._exited),
                *command,
                stdin=child_in,
                stdout=child_out,
                stderr=child_err,
                cwd=cwd,
                env=child_environment(env, inherit),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.close(our_err)
            await pipe.aclose()
            raise ConnectFailed(_why_not(command, cwd, error)) from error
        finally:
            for fd in (child_in, child_out, child_err):
                os.close(fd)
        self._stderr = _Stderr(our_err, on_stderr)
        _alive.add(self)
        return self

    @property
    def pid(self) -> int:
        """The child's process id, which is also the id of its group."""
        assert self._process is not None
        pid = self._process.get_pid()
        assert pid is not None
        return pid

    @property
    def stderr_tail(self) -> str:
        """The end of what it wrote to stderr so far."""
        assert self._stderr is not None
        return self._stderr.tail.decode("utf-8", "replace")

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        self._exited.add_done_callback(lambda _: self._pipe_ended())
        self._pipe.start(_Ends(receiver.frames_received, self._pipe_ended))

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent."""
        self._pipe.send(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more."""
        return self._pipe.drained()

    def pause_reading(self) -> None:
        """Stop reading; the child stalls when the pipe is full."""
        self._pipe.pause_reading()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._pipe.resume_reading()

    async def aclose(self) -> None:
        """End the child, politely first, and wait until nothing of its group is left."""
        await self._pipe.flush()
        await self._end()

    def kill(self) -> None:
        """End the child and its group at once."""
        _signal_group(self.pid, _SIGKILL)

    def _pipe_ended(self) -> None:
        """Begin the end; called when stdout is closed or the child has exited."""
        if self._ending is None:
            self._ending = self._loop.create_task(self._finish())

    async def _end(self) -> None:
        self._pipe_ended()
        assert self._ending is not None
        await asyncio.shield(self._ending)

    async def _finish(self) -> None:
        self._pipe.read_rest()
        self._pipe.close_writing()
        code = await self._exit_code()
        self._pipe.read_rest()
        _signal_group(self.pid, _SIGKILL)
        assert self._stderr is not None
        assert self._process is not None
        self._stderr.close()
        self._process.close()
        _alive.discard(self)
        self._pipe.lose(ConnectionClosed("the process has ended"))
        if self._receiver is not None:
            self._receiver.connection_lost(ProcessExited(self.command, code, self.stderr_tail))

    async def _exit_code(self) -> int:
        """Wait for the exit; ask for it more and more firmly."""
        for number in (None, signal.SIGTERM, _SIGKILL):
            if number is not None:
                _signal_group(self.pid, number)
            try:
                async with asyncio.timeout(self._grace):
                    return await asyncio.shield(self._exited)
            except TimeoutError:
                continue
        return await self._exited


class _Ends:
    """Pass frames on, and the end of the pipe to the process, which knows more about it."""

    def __init__(
        self, frames_received: Callable[[Sequence[Frame]], None], ended: Callable[[], None]
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
        if not self._exited.done():
            self._exited.set_result(-1 if code is None else code)


class _Stderr:
    """Reads everything that comes and keeps the end of it."""

    def __init__(self, fd: int, on_data: Callable[[bytes], None] | None) -> None:
        self.tail = b""
        self._on_data = on_data
        self._inlet = Inlet(fd, self._keep, lambda _: None)
        self._inlet.start()

    def close(self) -> None:
        self._inlet.read_rest()
        self._inlet.close()

    def _keep(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_STDERR_TAIL_BYTES:]
        if self._on_data is not None:
            self._on_data(data)


def _signal_group(pid: int, number: int) -> None:
    """Send a signal to what is left of a group; on Windows to the process, which is ended by it."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)


def _widen(fd: int) -> None:
    """Ask for a larger pipe, where that can be had: fewer switches between the two processes."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _why_not(command: Sequence[str], cwd: str | Path | None, error: Exception) -> str:
    program = command[0] if command else "an empty command"
    if cwd is not None and not Path(cwd).is_dir():
        return f"{program} could not be started: the directory {cwd} does not exist"
    if isinstance(error, FileNotFoundError):
        return f"{program} was not found; is it installed and on PATH?"
    if isinstance(error, PermissionError):
        return f"{program} may not be executed"
    return f"{program} could not be started: {error}"


_alive: WeakSet[ProcessTransport] = WeakSet()


@atexit.register
def _kill_all() -> None:
    """Leave nothing behind when the interpreter ends without closing."""
    for transport in list(_alive):
        transport.kill()
