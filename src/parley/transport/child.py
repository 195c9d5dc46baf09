"""Child processes: their environment, how they start, and how all of what they start is ended.

A child is the leader of a group and a session of its own, so that what it starts can be ended with
it and a Ctrl-C in our terminal does not reach it. One that nobody ends is killed with its group
when it is forgotten, at the latest when the interpreter ends. If that is killed too, the watchdog
ends the group.
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

from . import watchdog

__all__ = [
    "DEFAULT_ENVIRONMENT",
    "SIGKILL",
    "Child",
    "Process",
    "child_environment",
    "pipe_between",
    "signal_group",
    "signal_strays",
    "strays_of",
    "why_not",
]

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

SIGKILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
"""The signal that nobody survives."""

_ADDRESS = re.compile(
    r"(\[[0-9a-f:]+\]|[\w.-]+):[0-9]{1,5}(/.*)?|[\w-]+(\.[\w-]+)+(/.*)?/acp(/.*)?", re.IGNORECASE
)
"""What looks like an address of a remote agent whose scheme was left out."""


def child_environment(
    extra: Mapping[str, str] | None = None, inherit: Iterable[str] = ()
) -> dict[str, str]:
    """Return a child's environment: the default names, those to inherit, and the extra ones."""
    names = DEFAULT_ENVIRONMENT.union(inherit)
    kept = {name: value for name, value in os.environ.items() if name in names}
    return {**kept, **(extra or {})}


class Child:
    """A child process; make one with `start`."""

    def __init__(self, process: asyncio.SubprocessTransport, exited: asyncio.Future[int]) -> None:
        pid = process.get_pid()
        assert pid is not None
        self.pid = pid
        """Its process id, which is also the id of its group and of its session."""
        self.exited = exited
        """Done when it has exited; the exit code, or the number of a signal as a negative one."""
        self._process = process
        self._forgotten = weakref.finalize(self, _kill_forgotten, pid, os.getpid())
        watchdog.watch(pid)

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str | Path | None,
        env: Mapping[str, str],
        files: tuple[int, int, int],
    ) -> Child:
        """Start a command, given as its argument vector; no shell is involved.

        Args:
            command: The program and its arguments.
            cwd: Where it runs.
            env: Its whole environment.
            files: The descriptors that become its stdin, stdout and stderr.

        Raises:
            OSError: It could not be started; `why_not` says it in a sentence.
            ValueError: Likewise.
        """
        _check(command, env)
        loop = asyncio.get_running_loop()
        exited: asyncio.Future[int] = loop.create_future()
        starting = loop.subprocess_exec(
            lambda: _Exit(exited),
            *command,
            stdin=files[0],
            stdout=files[1],
            stderr=files[2],
            cwd=cwd,
            env=env,
            start_new_session=True,
            preexec_fn=_inherit_nothing if _leaves_files_open(loop) else None,
        )
        return cls(await _started(loop.create_task(starting), exited), exited)

    def close(self) -> None:
        """Let go of a child that has exited."""
        self._process.close()
        if self._forgotten.detach() is not None:
            watchdog.forget(self.pid)


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
            signal_group(process.get_pid(), SIGKILL)
            await exited
            process.close()
        raise


def _check(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse what cannot be passed on as it is; uvloop would cut it off at a NUL."""
    if not command:
        raise ValueError("the list is empty")
    if any("\0" in text for text in (*command, *environment, *environment.values())):
        raise ValueError("there is a NUL in an argument or a variable")


def pipe_between(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
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


def signal_group(pid: int, number: int) -> None:
    """Send a signal to what is left of a group; on Windows to the process, which is ended by it."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)


class Process(NamedTuple):
    """A process of somebody's; the number alone may be another one's a moment later."""

    pid: int
    started: int
    """When, in the kernel's own time."""


def strays_of(pid: int) -> set[Process]:
    """Find what a child has started that is not in its group: in its session, or below it.

    Where the system does not list processes in `/proc`, nothing is found; nor is what has left and
    has lost its parent.
    """
    facts = [each for each in map(_facts, Path("/proc").glob("[0-9]*/stat")) if each is not None]
    tree, size = {pid}, 0
    while len(tree) > size:
        size = len(tree)
        tree |= {each.pid for each in facts if each.parent in tree or each.session == pid}
    return {
        Process(each.pid, each.started)
        for each in facts
        if each.pid in tree and each.pid != pid and each.group != pid
    }


def signal_strays(strays: Iterable[Process], number: int) -> None:
    """Send a signal to processes that are still the same."""
    for pid, started in strays:
        facts = _facts(Path(f"/proc/{pid}/stat"))
        if facts is not None and facts.started == started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


class _Facts(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    started: int


def _facts(stat: Path) -> _Facts | None:
    """Return what the kernel tells of a process; None if it is gone."""
    try:
        words = stat.read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return _Facts(int(stat.parent.name), *(int(words[place]) for place in (1, 2, 3, 19)))


def _kill_forgotten(pid: int, parent: int) -> None:
    """Leave nothing behind; a fork of the parent has a copy of the child, and no such duty."""
    if os.getpid() == parent:
        signal_group(pid, SIGKILL)
        watchdog.forget(pid)


def why_not(command: Sequence[str], cwd: str | Path | None, error: Exception) -> str:
    """Say in a sentence why a command could not be started."""
    if not command:
        return f"there is no command to start: {error}"
    program = command[0]
    if cwd is not None and not Path(cwd).is_dir():
        return f"{program} could not be started: the directory {cwd} does not exist"
    if isinstance(error, FileNotFoundError):
        if shutil.which(program) is not None:
            return f"{program} could not be started: the program in its first line was not found"
        if _ADDRESS.fullmatch(program):
            return f"{program} was not found; if it is an address, give http://{program}"
        return f"{program} was not found; is it installed and on PATH?"
    if isinstance(error, PermissionError):
        return f"{program} may not be executed"
    return f"{program} could not be started: {error}"
