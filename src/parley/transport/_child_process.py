"""Child processes: their environment, how they start, and how their whole process tree is ended.

A child leads its own process group and session, so that the processes it starts can be ended with
it and a Ctrl-C in our terminal does not reach it. A child that is never ended explicitly is killed
with its group when its `ChildProcess` is garbage-collected, at the latest when the interpreter
exits. If the interpreter itself is killed, the watchdog ends the group.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple, cast

from parley import _watchdog as watchdog

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
"""The variables that every child inherits: paths, the user, and the locale."""

SIGKILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
"""The signal that a process cannot handle; SIGTERM on Windows, where it has the same effect."""

_ADDRESS = re.compile(
    r"(\[[0-9a-f:]+\]|[\w.-]+):[0-9]{1,5}(/.*)?|[\w-]+(\.[\w-]+)+(/.*)?/acp(/.*)?", re.IGNORECASE
)
"""Matches what looks like the URL of a remote agent without its scheme."""


def child_environment(
    extra: Mapping[str, str] | None = None, inherit: Iterable[str] = ()
) -> dict[str, str]:
    """Return the environment of a child process.

    A child does not get the whole environment, which may contain secrets.

    Args:
        extra: Variables to set.
        inherit: Names of variables of this process to pass on, besides `DEFAULT_ENVIRONMENT`.
    """
    names = DEFAULT_ENVIRONMENT.union(inherit)
    kept = {name: value for name, value in os.environ.items() if name in names}
    return {**kept, **(extra or {})}


class ChildProcess:
    """A child process; create one with `start`."""

    def __init__(self, process: asyncio.SubprocessTransport, exited: asyncio.Future[int]) -> None:
        pid = process.get_pid()
        assert pid is not None
        self.pid = pid
        """The process id, which is also the id of its group and session."""
        self.exited = exited
        """Resolved on exit, with the exit code or a negative signal number."""
        self._process = process
        self._finalizer = weakref.finalize(self, _kill_collected, pid, os.getpid())
        watchdog.watch(pid)

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str | Path | None,
        env: Mapping[str, str],
        files: tuple[int, int, int],
    ) -> ChildProcess:
        """Start a command, given as its argument vector; no shell is involved.

        Args:
            command: The program and its arguments.
            cwd: The directory where it runs.
            env: Its whole environment.
            files: The descriptors that become its stdin, stdout and stderr.

        Raises:
            OSError: It could not be started; `describe_spawn_error` explains why.
            ValueError: The command is empty, or an argument or a variable contains a NUL.
        """
        _check(command, env)
        loop = asyncio.get_running_loop()
        exited: asyncio.Future[int] = loop.create_future()
        starting = loop.subprocess_exec(
            lambda: _ExitProtocol(exited),
            *command,
            stdin=files[0],
            stdout=files[1],
            stderr=files[2],
            cwd=cwd,
            env=env,
            start_new_session=True,
            preexec_fn=_close_inherited_fds if _leaks_fds(loop) else None,
        )
        return cls(await _wait_started(loop.create_task(starting), exited), exited)

    def close(self) -> None:
        """Release the resources of a child that has exited."""
        self._process.close()
        if self._finalizer.detach() is not None:
            watchdog.forget(self.pid)


class _ExitProtocol(asyncio.SubprocessProtocol):
    def __init__(self, exited: asyncio.Future[int]) -> None:
        self._exited = exited
        self._process: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast(asyncio.SubprocessTransport, transport)  # uvloop's is not a subclass

    def process_exited(self) -> None:
        assert self._process is not None
        code = self._process.get_returncode()
        assert code is not None
        self._exited.set_result(code)


async def _wait_started(
    starting: asyncio.Task[tuple[asyncio.SubprocessTransport, asyncio.SubprocessProtocol]],
    exited: asyncio.Future[int],
) -> asyncio.SubprocessTransport:
    """Wait until the child has started; if cancelled meanwhile, kill it before propagating."""
    try:
        return (await asyncio.shield(starting))[0]
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            process = (await starting)[0]
            signal_group(process.get_pid(), SIGKILL)
            await exited
            process.close()
        raise


def _check(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise if there is nothing to run, or a NUL in it, at which uvloop would truncate it."""
    if not command:
        raise ValueError("the command is empty")
    if any("\0" in text for text in (*command, *environment, *environment.values())):
        raise ValueError("an argument or a variable contains a NUL")


def pipe_between(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """Open a pipe whose two ends are closed by different owners."""
    read_fd, write_fd = os.pipe()
    reader.callback(os.close, read_fd)
    writer.callback(os.close, write_fd)
    return read_fd, write_fd


def _leaks_fds(loop: asyncio.AbstractEventLoop) -> bool:
    return type(loop).__module__.partition(".")[0] == "uvloop"


def _close_inherited_fds() -> None:
    """Leave the child only stdin, stdout and stderr; runs between fork and exec.

    asyncio does this itself. uvloop leaves copies of the three open, so that we would not notice
    when the child closes one.
    """
    files = Path("/dev/fd")
    for fd in [int(file.name) for file in files.iterdir()] if files.exists() else []:
        with suppress(OSError):  # one was the descriptor of the listing itself
            os.set_inheritable(fd, fd <= 2)


def signal_group(pid: int, number: int) -> None:
    """Send a signal to the rest of a process group; on Windows, end the process."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)


class ProcessIdentity(NamedTuple):
    """A process id with its start time, because the id alone may be reused at any time."""

    pid: int
    started: int
    """The start time, in clock ticks since boot."""


def escaped_descendants(pid: int) -> set[ProcessIdentity]:
    """Return the processes in a child's session, or descended from it, that left its group.

    Nothing is found where the system does not list processes in `/proc`. A process that left the
    session and whose parent has exited is not found either.
    """
    stats = [
        each for each in map(_read_stat, Path("/proc").glob("[0-9]*/stat")) if each is not None
    ]
    tree, size = {pid}, 0
    while len(tree) > size:  # add children until nothing changes
        size = len(tree)
        tree |= {each.pid for each in stats if each.parent in tree or each.session == pid}
    return {
        ProcessIdentity(each.pid, each.started)
        for each in stats
        if each.pid in tree and each.pid != pid and each.group != pid
    }


def signal_processes(processes: Iterable[ProcessIdentity], number: int) -> None:
    """Send a signal to each process, unless its id has been reused."""
    for pid, started in processes:
        current = _read_stat(Path(f"/proc/{pid}/stat"))
        if current is not None and current.started == started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


class _ProcessStat(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    started: int


def _read_stat(stat: Path) -> _ProcessStat | None:
    """Parse `/proc/PID/stat`; None if the process is gone."""
    try:
        # The program's name is in parentheses and may itself contain spaces and parentheses.
        fields = stat.read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return _ProcessStat(int(stat.parent.name), *(int(fields[index]) for index in (1, 2, 3, 19)))


def _kill_collected(pid: int, parent: int) -> None:
    """Kill the group of a child whose object was garbage-collected.

    A fork of the parent has a copy of that object, but must leave the child alone.
    """
    if os.getpid() == parent:
        signal_group(pid, SIGKILL)
        watchdog.forget(pid)


def describe_spawn_error(command: Sequence[str], cwd: str | Path | None, error: Exception) -> str:
    """Return a sentence that explains why a command could not be started."""
    if not command:
        return f"no command to start: {error}"
    program = command[0]
    if cwd is not None and not Path(cwd).is_dir():
        return f"{program} could not be started: the directory {cwd} does not exist"
    if isinstance(error, FileNotFoundError):
        if shutil.which(program) is not None:
            return (
                f"{program} could not be started: the interpreter in its first line was not found"
            )
        if _ADDRESS.fullmatch(program):
            return f"{program} was not found. For a remote agent, use http://{program}"
        return f"{program} was not found. Is it installed and on PATH?"
    if isinstance(error, PermissionError):
        return f"{program} is not executable"
    return f"{program} could not be started: {error}"
