"""One command of a terminal: a child process, its output, its end.

Theory of operation. stdout and stderr are one pipe, or one pseudo-terminal, so that what is written
first is read first; stdin is empty. When the child exits, what it has left behind is killed and
what was written is read; then the command has ended. Who has got away and holds the pipe open does
not hold that up. `end` asks the whole tree to go, and kills it when it does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress

from parley.schema import v2
from parley.session.entries import Terminal
from parley.transport.child import (
    SIGKILL,
    Child,
    Process,
    pipe_between,
    signal_group,
    signal_strays,
    strays_of,
)
from parley.transport.inlet import Inlet

if sys.platform != "win32":
    import termios

__all__ = ["Command"]

logger = logging.getLogger(__name__)

_ROWS_AND_COLUMNS = (24, 80)
_LAST_WORDS_AFTER = 0.5
"""How long the last words of a pseudo-terminal may take: it passes them on in its own time."""


class Command:
    """A command that runs or has run; made by `start`."""

    def __init__(
        self,
        child: Child,
        fd: int,
        terminal: Terminal,
        *,
        on_output: Callable[[bytes], object],
        pty: bool,
    ) -> None:
        self.terminal = terminal
        """What it has written, and how it has ended."""
        self.ended: asyncio.Future[v2.TerminalExitStatus] = (
            asyncio.get_running_loop().create_future()
        )
        """Done when it has exited and its output was read."""
        self._child = child
        self._on_output = on_output
        self._is_read_after = _LAST_WORDS_AFTER if pty else 0
        self._is_read = asyncio.Event()
        self._inlet = Inlet(fd, self._take, lambda _: self._is_read.set(), is_ours=True)
        self._inlet.start()
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        terminal: Terminal,
        *,
        cwd: str,
        env: Mapping[str, str],
        on_output: Callable[[bytes], object],
        pty: bool = False,
    ) -> Command:
        """Start a command.

        Args:
            command: The program and its arguments.
            terminal: Keeps what it writes.
            cwd: Where it runs.
            env: Its whole environment.
            on_output: Called with each piece that it writes.
            pty: Whether it writes to a pseudo-terminal instead of a pipe.

        Raises:
            OSError: It could not be started.
            ValueError: Likewise.
        """
        with ExitStack() as ours, ExitStack() as theirs:
            nothing = os.open(os.devnull, os.O_RDONLY)
            theirs.callback(os.close, nothing)
            here, there = (_terminal_between if pty else pipe_between)(ours, theirs)
            files = (nothing, there, there)
            child = await Child.start(command, cwd=cwd, env=env, files=files)
            ours.pop_all()
        return cls(child, here, terminal, on_output=on_output, pty=pty)

    @property
    def pid(self) -> int:
        """The process that it is, and the group of what it has started."""
        return self._child.pid

    async def end(self, grace_after: float) -> None:
        """End it and all that it has started, politely first; then wait for its last words."""
        if self.ended.done():
            return
        strays = await asyncio.to_thread(strays_of, self.pid)
        try:
            self._signal(strays, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_after):
                    await asyncio.shield(self.ended)
        finally:  # also when we are cancelled
            self._signal(strays, SIGKILL)
        await asyncio.shield(self.ended)

    def _signal(self, strays: Iterable[Process], number: int) -> None:
        if not self._child.exited.done():
            signal_group(self.pid, number)
        signal_strays(strays, number)

    def _take(self, data: bytes) -> None:
        self.terminal.add(data)
        try:
            self._on_output(data)
        except Exception:  # of the program: what was written is kept already
            logger.exception("what wants to see the output of a terminal failed")

    async def _watch(self) -> None:
        strays: set[Process] = set()
        try:
            await asyncio.shield(self._child.exited)
            strays = await asyncio.to_thread(strays_of, self.pid)
        except asyncio.CancelledError:  # the event loop ends
            strays = strays_of(self.pid)
            raise
        finally:
            signal_group(self.pid, SIGKILL)
            signal_strays(strays, SIGKILL)
            code = await asyncio.shield(self._child.exited)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._is_read_after):
                    await self._is_read.wait()
            self._inlet.read_rest()
            self._inlet.close()
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
    except ValueError:  # one of the many without a name
        name = f"SIG{-code}"
    return v2.TerminalExitStatus(signal=name)


def _terminal_between(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """Make a pseudo-terminal whose two ends are closed by different owners.

    It does not control the child: who opens /dev/tty for a password finds none and gives up, where
    it would wait for ever.
    """
    if sys.platform == "win32":
        raise OSError("there are no pseudo-terminals on this system")
    ours, theirs = os.openpty()
    reader.callback(os.close, ours)
    writer.callback(os.close, theirs)
    termios.tcsetwinsize(theirs, _ROWS_AND_COLUMNS)
    return ours, theirs
