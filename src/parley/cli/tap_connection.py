"""The tap: an agent between three pipes, whose bytes are passed on and recorded.

The program that starts the tap must not notice it. So the agent gets the environment, the working
directory, the process group and the signal settings that the tap got. A thread for each stream
passes on what it reads, before anything else happens with it. It reads again only when the receiver
has taken everything, so a slow receiver slows the sender down as it would without a tap. The ends
of streams are passed on in both directions, and so are signals and the exit status.

There is no event loop and no non-blocking mode: that mode would also apply to the other programs
that have the same files open, such as the terminal behind stderr.

This module loads nothing of Parley that takes time, so that the agent starts at once.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from parley import _watchdog as watchdog

if TYPE_CHECKING:
    from parley.recording import ActiveRecording, Source

__all__ = ["TappedAgent", "end_like"]

_CHUNK_BYTES = 64 * 1024
"""The maximum number of bytes of each stream that the tap holds: the capacity of a pipe."""
_MAX_LEFT_BYTES = 1024 * 1024
"""The maximum number of bytes that are passed on after the agent has ended: what a pipe can hold. A
process that the agent has left behind may write to it forever."""
_FAILED = select.POLLERR | select.POLLHUP | select.POLLNVAL
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH")


class TappedAgent:
    """An agent whose streams are passed on and recorded.

    The constructor starts the process, `run` passes on its streams until it ends.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start the agent.

        From now on, this thread blocks the signals that are passed on.

        Raises:
            OSError: The command cannot be started.
        """
        _open_missing_files()
        ignored = signal.SIG_IGN
        signals = (getattr(signal, name) for name in _FORWARDED if hasattr(signal, name))
        forwarded = {each for each in signals if signal.getsignal(each) is not ignored}
        signal.signal(signal.SIGCHLD, _do_nothing)  # a signal that is ignored cannot be waited for
        self._signals = {*forwarded, signal.SIGCHLD}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
        self._devnull = os.open(os.devnull, os.O_RDWR)
        (theirs_in, self._stdin), (self._stdout, theirs_out) = os.pipe(), os.pipe()
        self._stderr, theirs_err = os.pipe()
        self._exit, self._exited = os.pipe()
        """A pipe that is closed when the agent has ended."""
        theirs = (theirs_in, theirs_out, theirs_err)
        try:
            self.pid = os.posix_spawnp(
                command[0],
                list(command),
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(theirs)],
                setsigmask=mask,
                setsigdef=_changed_by_python(),
            )
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            raise
        for fd in theirs:
            os.close(fd)
        self._outputs: set[Source] = {"agent", "stderr"}
        """The outputs of the agent that are still passed on."""
        watchdog.watch_process(self.pid)

    def run(self, recording: ActiveRecording) -> int:
        """Pass on and record everything until the agent ends; return its wait status."""
        recording.write_event("started", pid=self.pid)
        # A short interval: a stream must not wait for the thread that writes the recording.
        sys.setswitchinterval(0.0005)
        _start_thread(self._pass_input, recording)
        _start_thread(self._pass_output, recording, "agent", self._stdout, 1)
        _start_thread(self._pass_output, recording, "stderr", self._stderr, 2)
        status: int | None = None
        while status is None or self._outputs:
            number, is_from_terminal = _wait_for_signal(self._signals)
            if number != signal.SIGCHLD:
                recording.write_event("signal", signal=signal.Signals(number).name)
                if status is not None:
                    break  # the agent has ended, and nobody takes the rest of its output
                if not is_from_terminal:
                    os.kill(self.pid, number)  # it was not reaped, so the number is still its own
            elif status is None and (status := self._reap()) is not None:
                os.close(self._exited)
        _record_exit(recording, status)
        return status

    def _reap(self) -> int | None:
        """Return the wait status of the agent if it has ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        watchdog.forget_process(self.pid)
        return status

    def _pass_input(self, recording: ActiveRecording) -> None:
        _pass_on(recording, "client", 0, self._stdin, None)
        os.dup2(self._devnull, 0)  # the client notices that nobody reads
        os.close(self._stdin)

    def _pass_output(self, recording: ActiveRecording, source: Source, fd: int, to: int) -> None:
        _pass_on(recording, source, fd, to, self._exit)
        os.close(fd)
        if to == 1:  # stderr is still needed for a message of our own
            os.dup2(self._devnull, to)
        self._outputs.discard(source)
        os.kill(os.getpid(), signal.SIGCHLD)  # wakes `run`


def _pass_on(
    recording: ActiveRecording, source: Source, fd: int, to: int, exited: int | None
) -> None:
    """Pass on a stream until it ends, the receiver is gone, or the agent has ended.

    Args:
        recording: Records what was passed on.
        source: The stream.
        fd: The file to read.
        to: The file to write; only its errors are polled.
        exited: Becomes readable when the agent has ended; what the pipe still holds is passed on.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(to, 0)
    if exited is not None:
        poll.register(exited, select.POLLIN)
    left = _MAX_LEFT_BYTES
    reason = None
    while left > 0:
        events = dict(poll.poll())
        if to in events:
            reason = "the agent stopped reading" if source == "client" else "the client is gone"
            break
        if fd not in events or not (data := _read(fd)):
            break
        read_at = time.monotonic()
        _write(to, data)
        recording.write(source, data, read_at)
        if exited in events:
            left -= len(data)
    recording.write_event("closed", source=source, reason=reason)


def _read(fd: int) -> bytes:
    """Read what is there; nothing at the end of the stream, and if it cannot be read."""
    try:
        return os.read(fd, _CHUNK_BYTES)
    except OSError:  # such as a terminal that is gone
        return b""


def _write(fd: int, data: bytes) -> None:
    """Write everything, as long as somebody reads; waits for the reader."""
    try:
        size = os.write(fd, data)
        while size < len(data):
            size += os.write(fd, memoryview(data)[size:])
    except OSError:
        pass  # the next poll reports it


def _wait_for_signal(signals: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal; return it, and whether the terminal has sent it."""
    if not hasattr(signal, "sigwaitinfo"):  # macOS
        return signal.sigwait(signals), False
    info = signal.sigwaitinfo(signals)
    return info.si_signo, info.si_code > 0


def _record_exit(recording: ActiveRecording, status: int) -> None:
    if os.WIFSIGNALED(status):
        recording.write_event("exited", signal=signal.Signals(os.WTERMSIG(status)).name)
    else:
        recording.write_event("exited", code=os.WEXITSTATUS(status))


def end_like(status: int) -> int:
    """Return the exit code of a wait status; a signal ends this process in the same way."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the agent has left its core already
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number


def _changed_by_python() -> set[int]:
    """Return the signals that Python ignores; the agent gets the default."""
    names = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")
    return {getattr(signal, name) for name in names if hasattr(signal, name)}


def _open_missing_files() -> None:
    """Open stdin, stdout and stderr where they are closed, so that no pipe gets their number."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _start_thread(target: Callable[..., None], *arguments: object) -> None:
    """Start a thread that does not keep the process alive."""
    threading.Thread(target=target, args=arguments, daemon=True).start()


def _do_nothing(*_: object) -> None:
    pass
