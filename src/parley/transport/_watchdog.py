"""A watchdog that ends our child processes if this process dies without ending them.

A short shell script reads from a pipe whose other end only this process holds. We write to it which
process groups exist. When the pipe closes, for whatever reason, the script sends SIGTERM to the
groups that remain, and SIGKILL after a few seconds. There is one watchdog for all groups, started
with the first. There is none on systems without `/bin/sh`, or where it cannot be started in a
session of its own, away from our terminal.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

_SHELL = "/bin/sh"
# Each line of input is "+ GROUP" or "- GROUP". At the end of the input, `groups` are ended.
_SCRIPT = """
groups=
while read -r sign group; do
  rest=
  for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
  groups=$rest
  [ "$sign" = + ] && groups="$groups $group"
done
for each in $groups; do kill -s TERM -- "-$each"; done
for second in 1 2 3 4 5; do
  left=
  for each in $groups; do kill -s 0 -- "-$each" && left="$left $each"; done
  [ -z "$left" ] && exit
  sleep 1
done
for each in $left; do kill -s KILL -- "-$each"; done
"""


class _Watchdog:
    """The shell process, and the process groups that it watches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._pid: int | None = None
        self._pipe = -1

    def watch(self, group: int) -> None:
        with self._lock:
            self._groups.add(group)
            self._send(f"+ {group}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._send(f"- {group}\n")

    def _send(self, line: str) -> None:
        """Write a line to the shell; if it is gone, start another one and send it all groups."""
        if self._pid is not None:
            with suppress(BrokenPipeError):
                os.write(self._pipe, line.encode())
                return
            self.release()
        with suppress(OSError, NotImplementedError):  # then there is no watchdog
            self._start()
            for group in self._groups:
                os.write(self._pipe, f"+ {group}\n".encode())

    def _start(self) -> None:
        read_end, write_end = os.pipe()
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            files = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in ((read_end, 0), (devnull, 1))]
            files.append((os.POSIX_SPAWN_DUP2, devnull, 2))
            arguments = [_SHELL, "-c", _SCRIPT, "parley-watchdog"]
            path = {"PATH": os.defpath}
            self._pid = os.posix_spawn(_SHELL, arguments, path, file_actions=files, setsid=True)
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
    _watchdog.watch(group)


def forget(group: int) -> None:
    """Stop watching a process group, which has ended."""
    _watchdog.forget(group)
