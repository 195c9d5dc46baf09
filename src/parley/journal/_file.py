"""The file of the journal in use: opened when needed, opened again when replaced, mended.

One thread at a time uses a `File`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

from parley.errors import JournalError

from . import _tables as tables
from ._repair import is_current, repair

T = TypeVar("T")

_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full: make room on it",
    sqlite3.SQLITE_READONLY: "it may only be read: look at its permissions",
    sqlite3.SQLITE_PERM: "access is denied: look at its permissions",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: look at the permissions of its directory",
    sqlite3.SQLITE_BUSY: "another program keeps it locked: find out which, and end it",
    sqlite3.SQLITE_IOERR: "the disk reports an error: look after it",
}


_MISTAKES = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError)
"""Errors that are not caused by the file, but by an impossible request."""

_IMPATIENT_SECONDS = 0.5
"""The time to wait for other processes after waiting in vain."""


class _Replaced(Exception):
    """Another file has taken the name."""


class File:
    """The file with one name."""

    def __init__(self, path: Path, purpose: Literal["read", "written"]) -> None:
        self.path = path
        self._purpose = purpose
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._is_patient = True

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the file.

        Raises:
            JournalError: It cannot be done; the text says why.
        """
        return self._attempt(work)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Change the file, as a whole or not at all.

        Raises:
            JournalError: It cannot be done, and nothing has changed; the text says why.
        """

        def change(connection: sqlite3.Connection) -> T:
            with tables.transaction(connection):
                if not is_current(self.path, self._inode):
                    raise _Replaced
                return work(connection)

        done = self._attempt(change)
        self._wait_longer(is_wanted=True)
        return done

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._is_patient = True

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        for is_last in (False, False, True):
            try:
                return work(self._open())
            except _Replaced:
                self.close()
            except _MISTAKES:
                raise
            except (sqlite3.Error, OSError) as error:
                if is_last or not tables.is_broken(error):
                    if _code(error) == sqlite3.SQLITE_BUSY:
                        self._wait_longer(is_wanted=False)
                    raise self._explained(error) from error
                self._mend(error)
        raise JournalError(f"the journal {self.path} is replaced again and again: leave it alone")

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and not is_current(self.path, self._inode):
            self.close()
        if self._connection is None:
            with suppress(OSError):
                self._inode = self.path.stat().st_ino
            self._connection = self._connect()
            self._inode = self.path.stat().st_ino
        return self._connection

    def _wait_longer(self, *, is_wanted: bool) -> None:
        """Be patient with others again, or no more: each of many commits would wait as long."""
        if self._connection is None or is_wanted is self._is_patient:
            return
        seconds = tables.BUSY_SECONDS if is_wanted else min(_IMPATIENT_SECONDS, tables.BUSY_SECONDS)
        with suppress(sqlite3.Error):
            self._connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            self._is_patient = is_wanted

    def _connect(self) -> sqlite3.Connection:
        try:
            return tables.connect(self.path)
        except (sqlite3.OperationalError, OSError):
            if self._purpose == "written":
                raise
            return tables.connect_for_reading(self.path)

    def _mend(self, error: Exception) -> None:
        """Put what can be read of a damaged file into a new one."""
        self.close()
        try:
            repair(self.path, self._inode)
        except (sqlite3.Error, OSError) as problem:
            raise JournalError(
                f"the journal {self.path} is damaged ({error}) and cannot be mended ({problem}): "
                "move it away, or copy it to a disk with room and name that copy"
            ) from problem

    def _explained(self, error: Exception) -> JournalError:
        reason = _ADVICE.get(_code(error))
        if isinstance(error, OSError):
            reason = f"{os.strerror(error.errno or 0)}: look at its permissions and its disk"
        return JournalError(f"the journal {self.path} cannot be {self._purpose}: {reason or error}")


def _code(error: Exception) -> int:
    """Return what SQLite calls an error, without the details; 0 if it is none of its."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF
