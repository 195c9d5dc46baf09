"""Ends what we have started when we are gone without having ended it: killed outright, for one.

A shell of a few lines waits at the other end of a pipe that only this process holds. It is told
which process groups there are; when the pipe closes, whatever ended us, it asks those that are left
to go and after a moment kills them. There is one for all groups, started with the first. Where
there is no shell, or no sessions to keep it out of our terminal, there is none.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

__all__ = ["forget", "watch"]

_SHELL = "/bin/sh"
_SCRIPT = """
held=
while read -r sign group; do
  rest=
  for each in $held; do [ "$each" = "$group" ] || rest="$rest $each"; done
  held=$rest
  [ "$sign" = + ] && held="$held $group"
done
for each in $held; do kill -s TERM -- "-$each"; done
for second in 1 2 3 4 5; do
  left=
  for each in $held; do kill -s 0 -- "-$each" && left="$left $each"; done
  [ -z "$left" ] && exit
  sleep 1
done
for each in $left; do kill -s KILL -- "-$each"; done
"""


class _Watchdog:
    """The shell, and what it has been told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._pid: int | None = None
        self._pipe = -1

    def watch(self, group: int) -> None:
        with self._lock:
            self._groups.add(group)
            self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        """Say it to the shell; to another one, with all there is, if that is gone."""
        if self._pid is not None:
            with suppress(BrokenPipeError):
                os.write(self._pipe, line.encode())
                return
            self.leave()
        with suppress(OSError, NotImplementedError):  # then nobody watches
            self._start()
            for group in self._groups:
                os.write(self._pipe, f"+ {group}\n".encode())

    def _start(self) -> None:
        theirs, ours = os.pipe()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            files = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in ((theirs, 0), (nowhere, 1))]
            files.append((os.POSIX_SPAWN_DUP2, nowhere, 2))
            words = [_SHELL, "-c", _SCRIPT, "parley-watchdog"]
            path = {"PATH": os.defpath}
            self._pid = os.posix_spawn(_SHELL, words, path, file_actions=files, setsid=True)
            self._pipe = ours
        except BaseException:  # whatever it is, the pipe is not left open
            os.close(ours)
            raise
        finally:
            os.close(theirs)
            os.close(nowhere)

    def leave(self) -> None:
        """Let go of a shell that is gone, or another process's."""
        if self._pid is not None:
            os.close(self._pipe)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, os.WNOHANG)
            self._pid = None


_watchdog = _Watchdog()


def _after_fork() -> None:
    """Leave the parent's shell to the parent: what a fork starts is its own matter."""
    global _watchdog
    _watchdog.leave()
    _watchdog = _Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def watch(group: int) -> None:
    """Have a process group ended when this process is gone."""
    _watchdog.watch(group)


def forget(group: int) -> None:
    """Leave a process group alone from now on: it has ended."""
    _watchdog.forget(group)
