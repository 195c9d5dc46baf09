"""A watchdog that ends our child processes if this process dies without ending them.

A short shell script reads from a pipe whose other end only this process holds. We write to it which
process groups and processes exist. When the pipe closes, for whatever reason, the script sends
SIGTERM to those that remain, and SIGKILL after a few seconds. There is one watchdog for all,
started with the first. There is none on systems without `/bin/sh`, or where it cannot be started
in a session of its own, away from our terminal.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

_SHELL = "/bin/sh"
# Each line of input is "+ TARGET" or "- TARGET", where a target is a number as `kill` takes it: a
# process, or a group with a minus sign. At the end of the input, `targets` are ended.
_SCRIPT = """
targets=
while read -r sign target; do
  rest=
  for each in $targets; do [ "$each" = "$target" ] || rest="$rest $each"; done
  targets=$rest
  [ "$sign" = + ] && targets="$targets $target"
done
for each in $targets; do kill -s TERM -- "$each"; done
for second in 1 2 3 4 5; do
  left=
  for each in $targets; do kill -s 0 -- "$each" && left="$left $each"; done
  [ -z "$left" ] && exit
  sleep 1
done
for each in $left; do kill -s KILL -- "$each"; done
"""


class _Watchdog:
    """The shell process, and the process groups and processes that it watches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._targets: set[int] = set()
        """Process groups as negative numbers, processes as positive ones."""
        self._pid: int | None = None
        self._pipe = -1

    def watch(self, target: int) -> None:
        with self._lock:
            self._targets.add(target)
            self._send(f"+ {target}\n")

    def forget(self, target: int) -> None:
        with self._lock:
            if target in self._targets:
                self._targets.discard(target)
                self._send(f"- {target}\n")

    def _send(self, line: str) -> None:
        """Write a line to the shell; if it is gone, start another one and send it all targets."""
        if self._pid is not None:
            with suppress(BrokenPipeError):
                os.write(self._pipe, line.encode())
                return
            self.release()
        with suppress(OSError, NotImplementedError):  # then there is no watchdog
            self._start()
            for target in self._targets:
                os.write(self._pipe, f"+ {target}\n".encode())

    def _start(self) -> None:
        read_end, write_end = os.pipe()
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            files = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in ((read_end, 0), (devnull, 1))]
            files.append((os.POSIX_SPAWN_DUP2, devnull, 2))
            arguments = [_SHELL, "-c", _SCRIPT, "parley-watchdog"]
            path = {"PATH": os.defpath}
            self._pid = os.posix_spawn(
                _SHELL, arguments, path, file_actions=files, setsid=True, setsigmask=()
            )
            self._pipe = write_end
        except BaseException:  # do not leak the pipe
            os.close(write_end)
            raise
        finally:
            os.close(read_end)
            os.close(devnull)

    def release(self) -> None:
        """Release the shell because it is gone or, after a fork, belongs to the parent."""
        if self._pid is not None:
            os.close(self._pipe)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, os.WNOHANG)
            self._pid = None


_watchdog = _Watchdog()


def _after_fork() -> None:
    """Give a forked process its own watchdog, and leave the shell to the parent."""
    global _watchdog
    _watchdog.release()
    _watchdog = _Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def watch(group: int) -> None:
    """End a process group when this process dies."""
    _watchdog.watch(-group)


def forget(group: int) -> None:
    """Stop watching a process group, which has ended."""
    _watchdog.forget(-group)


def watch_process(pid: int) -> None:
    """End a single process when this process dies."""
    _watchdog.watch(pid)


def forget_process(pid: int) -> None:
    """Stop watching a single process, which has ended."""
    _watchdog.forget(pid)
