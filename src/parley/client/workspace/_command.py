"""The command of a terminal: a child process, its output, and its exit.

Theory of operation. stdout and stderr share one pipe, or one pseudo-terminal, so that output is
read in the order in which it is written; stdin is empty. When the child exits, its remaining
processes are killed and the remaining output is read; then the command has ended. A process that
escaped and still holds the pipe open does not delay this. `end` sends SIGTERM to the whole tree,
and SIGKILL after the grace period.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress

from parley._user_code import reraise_if_ending
from parley.schema import v2
from parley.session._transcript_entries import TerminalEntry
from parley.transport._child_process import (
    SIGKILL,
    ChildProcess,
    ProcessIdentity,
    escaped_descendants,
    pipe_between,
    signal_group,
    signal_processes,
)
from parley.transport._fd_reader import FdReader

if sys.platform != "win32":
    import termios


logger = logging.getLogger(__name__)

_ROWS_AND_COLUMNS = (24, 80)
_FINAL_OUTPUT_TIMEOUT = 0.5
"""Seconds to wait for final output from a pseudo-terminal, which forwards it asynchronously."""


class RunningCommand:
    """A command that is running or has ended; create one with `start`."""

    def __init__(
        self,
        child: ChildProcess,
        fd: int,
        terminal: TerminalEntry,
        *,
        on_output: Callable[[bytes], object],
        pty: bool,
    ) -> None:
        self.terminal = terminal
        """Its output and exit status."""
        self.ended: asyncio.Future[v2.TerminalExitStatus] = (
            asyncio.get_running_loop().create_future()
        )
        """Resolved when it has exited and its output has been read."""
        self._child = child
        self._on_output = on_output
        self._is_read_after = _FINAL_OUTPUT_TIMEOUT if pty else 0
        self._is_read = asyncio.Event()
        self._reader = FdReader(fd, self._take, lambda _: self._is_read.set(), is_exclusive=True)
        self._reader.start()
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        terminal: TerminalEntry,
        *,
        cwd: str,
        env: Mapping[str, str],
        on_output: Callable[[bytes], object],
        pty: bool = False,
    ) -> RunningCommand:
        """Start a command.

        Args:
            command: The program and its arguments.
            terminal: Stores its output.
            cwd: The directory where it runs.
            env: Its whole environment.
            on_output: Called with each piece of output.
            pty: Whether it writes to a pseudo-terminal instead of a pipe.

        Raises:
            OSError: It could not be started.
            ValueError: It could not be started, for example because an argument contains a NUL.
        """
        with ExitStack() as ours, ExitStack() as theirs:
            stdin = os.open(os.devnull, os.O_RDONLY)
            theirs.callback(os.close, stdin)
            own_end, child_end = (_terminal_between if pty else pipe_between)(ours, theirs)
            files = (stdin, child_end, child_end)
            child = await ChildProcess.start(command, cwd=cwd, env=env, files=files)
            ours.pop_all()
        return cls(child, own_end, terminal, on_output=on_output, pty=pty)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its process group."""
        return self._child.pid

    async def end(self, grace_after: float) -> None:
        """Terminate the process tree, kill it after the grace period, and read its last output."""
        if self.ended.done():
            return
        escaped = await asyncio.to_thread(escaped_descendants, self.pid)
        try:
            self._signal(escaped, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_after):
                    await asyncio.shield(self.ended)
        finally:  # also if this task is cancelled
            self._signal(escaped, SIGKILL)
        await asyncio.shield(self.ended)

    def _signal(self, escaped: Iterable[ProcessIdentity], number: int) -> None:
        if not self._child.exited.done():
            signal_group(self.pid, number)
        signal_processes(escaped, number)

    def _take(self, data: bytes) -> None:
        self.terminal.add(data)
        try:
            self._on_output(data)
        except BaseException as error:  # raised by the program; the output is already stored
            reraise_if_ending(error)
            logger.exception("the on_output callback of a terminal failed")

    async def _watch(self) -> None:
        """Wait for the exit, kill the rest of the tree, read the last output, set the status."""
        escaped: set[ProcessIdentity] = set()
        try:
            await asyncio.shield(self._child.exited)
            escaped = await asyncio.to_thread(escaped_descendants, self.pid)
        except asyncio.CancelledError:  # the event loop is shutting down, so do not use a thread
            escaped = escaped_descendants(self.pid)
            raise
        finally:
            signal_group(self.pid, SIGKILL)
            signal_processes(escaped, SIGKILL)
            code = await asyncio.shield(self._child.exited)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._is_read_after):
                    await self._is_read.wait()
            self._reader.read_available()
            self._reader.close()
            self._child.close()
            status = _exit_status(code)
            id = self.terminal.id
            self.terminal.apply(v2.TerminalUpdate(terminal_id=id, exit_status=status))
            self.ended.set_result(status)


def _exit_status(code: int) -> v2.TerminalExitStatus:
    if code >= 0:
        return v2.TerminalExitStatus(exit_code=code)
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a signal without a name, such as a real-time one
        name = f"SIG{-code}"
    return v2.TerminalExitStatus(signal=name)


def _terminal_between(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """Open a pseudo-terminal whose two ends are closed by different owners.

    It is not the child's controlling terminal: a program that opens /dev/tty to read a password
    fails instead of waiting forever.
    """
    if sys.platform == "win32":
        raise OSError("this system has no pseudo-terminals")
    ours, theirs = os.openpty()
    reader.callback(os.close, ours)
    writer.callback(os.close, theirs)
    termios.tcsetwinsize(theirs, _ROWS_AND_COLUMNS)
    return ours, theirs
