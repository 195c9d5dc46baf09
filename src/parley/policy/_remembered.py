"""Answers that the user wants to be remembered: one line of JSON each, in the user's state.

An answer belongs to one agent, known by its command line or its address. It holds for one opening
of a session, or for one project. Ids of sessions and names of agents identify nothing here: agents
choose the former, and the latter may be shared. An answer for a session lives in memory, because
its opening ends with the process; only those for a project are written to the file.

It fits only what was asked: the same tool and kind, the same commands and paths. What names neither
command nor path fits by its tool, and is not remembered where the tool has no name. The newest
answer counts.

Several processes may write at once: a line is appended by one write, under a lock. A line that
cannot be read is left out, and a file that somebody else may write to is not believed. Where the
system does not tell whose a file is, as on Windows, nothing is remembered in one.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from parley._user_dirs import private_dir

from ._command import same
from ._subject import Subject

if sys.platform != "win32":
    import fcntl


logger = logging.getLogger(__name__)

Scope: TypeAlias = Literal["session", "project"]
"""The scope of a remembered answer."""


class Answer(Struct, frozen=True, kw_only=True):
    """An answer and what it is about."""

    decision: Literal["allow", "deny"]
    scope: Scope
    project: str
    """The project's directory, without symlinks."""
    subject: Subject
    at: float
    """The time of the answer."""

    def fits(self, subject: Subject, project: str) -> bool:
        """Return whether it is an answer to this."""
        own = self.subject
        if self.project != project or not self.is_bound or own.agent_id != subject.agent_id:
            return False
        if self.scope == "session" and own.opening != subject.opening:
            return False
        if not (own.commands or own.paths or own.tool) or own.unclear or subject.unclear:
            return False
        return (
            (own.kind, own.also, own.tool, own.cwd) == _bare(subject)
            and sorted(own.paths) == sorted(subject.paths)
            and len(own.commands) == len(subject.commands)
            and all(map(same, own.commands, subject.commands))
            and _rest(own) == _rest(subject)
        )

    @property
    def is_bound(self) -> bool:
        """Return whether it says whose it is; earlier versions wrote answers that do not."""
        own = self.subject
        return own.agent_id != "" and (self.scope == "project" or own.opening != "")

    @property
    def reason(self) -> str:
        """Its origin, for people."""
        day = time.strftime("%Y-%m-%d", time.localtime(self.at))
        return f"remembered for this {self.scope} on {day}"


def _bare(subject: Subject) -> tuple[str, tuple[str, ...], str, str]:
    return subject.kind, subject.also, subject.tool, subject.cwd


def _rest(subject: Subject) -> tuple[object, ...]:
    """Return what else decides about a command, such as its stdin, or about files."""
    if not (subject.commands or subject.paths):
        return ()
    return (subject.unknown, subject.possible, subject.texts if subject.unknown else ())


_decoder = msgspec.json.Decoder(Answer)


class Remembered:
    """The user's answers: those for projects from a file, those for sessions from memory.

    Without a file all of them are in memory. What other processes add to the file is seen at once.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._in_memory: list[Answer] = []
        self._answers: list[Answer] = []
        self._state: tuple[int, ...] | None = None
        self._problem = ""
        self._lock = Lock()

    def find(self, subject: Subject, project: str) -> Answer | None:
        """Return the newest answer to this; policies decide in several threads."""
        with self._lock:
            answers = reversed(self.answers())
        return next((each for each in answers if each.fits(subject, project)), None)

    def answers(self, project: str | None = None) -> list[Answer]:
        """Return all answers, or those of one project, the oldest first."""
        self._refresh()
        known = sorted([*self._answers, *self._in_memory], key=lambda each: each.at)
        return [each for each in known if project is None or each.project == project]

    def add(self, answer: Answer) -> bool:
        """Keep an answer; False: it is not kept, because nothing distinguishes it from others.

        Raises:
            OSError: It cannot be written.
        """
        if not answer.fits(answer.subject, answer.project):
            return False
        bare = replace(answer.subject, mentioned=())
        if self._path is None or answer.scope == "session":
            self._in_memory.append(replace(answer, subject=bare))
            return True
        try:
            line = msgspec.json.encode(replace(answer, subject=bare)) + b"\n"
        except UnicodeEncodeError:  # a file name that is not valid text
            return False
        with self._locked() as handle:
            size = os.fstat(handle).st_size
            is_torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            data = b"\n" + line if is_torn else line
            if os.write(handle, data) < len(data):
                raise OSError(f"{self._path}: it cannot be written to the end")
        return True

    def forget(self, project: str | None = None) -> int:
        """Drop the answers of a project, or all; returns how many.

        Raises:
            OSError: The file cannot be written.
        """
        dropped = self.answers(project)
        self._in_memory = [each for each in self._in_memory if each not in dropped]
        if self._path is not None and dropped:
            with self._locked() as handle:
                lines = _read(handle).splitlines()
                kept = [line for line in lines if not _is_of(line, project)]
                os.ftruncate(handle, 0)
                os.write(handle, b"".join(line + b"\n" for line in kept))
        return len(dropped)

    def _refresh(self) -> None:
        """Read the file, if it has changed."""
        if self._path is None:
            return
        try:
            handle = os.open(self._path, os.O_RDONLY | _CAREFULLY)
        except FileNotFoundError:
            self._answers, self._state = [], None
            return
        except OSError as error:
            self._disbelieve(error.strerror or "it cannot be opened")
            return
        try:
            now = os.fstat(handle)
            state = (now.st_ino, now.st_size, now.st_mtime_ns, now.st_mode)
            if state == self._state:
                return
            self._state = state
            problem = _problem(now)
            if problem is not None:
                self._disbelieve(problem)
                return
            self._answers = list(self._parsed(_read(handle)))
        finally:
            os.close(handle)

    def _parsed(self, content: bytes) -> Iterator[Answer]:
        for number, line in enumerate(content.splitlines(), 1):
            try:
                if line.strip():
                    yield _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                logger.warning("%s: line %d cannot be read and is left out", self._path, number)

    def _disbelieve(self, problem: str) -> None:
        if problem != self._problem:
            logger.warning("%s: %s; no answer is taken from it", self._path, problem)
        self._answers, self._problem = [], problem

    @contextmanager
    def _locked(self) -> Generator[int]:
        assert self._path is not None
        private_dir(self._path.parent)
        handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _CAREFULLY, 0o600)
        try:
            problem = _problem(os.fstat(handle))
            if problem is not None:
                raise OSError(f"{self._path}: {problem}")
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)


_CAREFULLY = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


def _problem(status: os.stat_result) -> str | None:
    """Return why a file is not the user's own."""
    if sys.platform == "win32":
        return "its owner cannot be determined on this system"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a file"
    if status.st_uid != os.geteuid():
        return "it belongs to somebody else"
    if status.st_mode & 0o022:
        return "others may write to it"
    return None


def _read(handle: int) -> bytes:
    size = os.fstat(handle).st_size
    return os.pread(handle, size, 0)


def _is_of(line: bytes, project: str | None) -> bool:
    try:
        return project is None or _decoder.decode(line).project == project
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
