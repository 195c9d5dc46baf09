"""The journal on disk: one SQLite file for all sessions, which several processes share.

Writing is the work of a thread (`_writer.py`); what is committed outlasts the process and, with an
honest disk, the machine. Reading first waits for what this process has not written yet, and then
reads the file while others write to it. The layout of the file is in `_tables.py`; what is done
about a damaged one in `_repair.py`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from parley._user_dirs import state_dir
from parley.errors import JournalError

from . import _search as search
from . import _tables as tables
from ._base import Entry, Hit, Kind, Record, Role, snapshot
from ._file import File
from ._retention import Limits, too_many
from ._rows import (
    COLUMNS,
    KINDS,
    legible,
    put_all,
    put_some,
    read_entries,
    read_record,
    session_of,
    write_entries,
)
from ._writer import Batch, Step, Writer

logger = logging.getLogger(__name__)

T = TypeVar("T")

Records: TypeAlias = list[Record]

_KINDS = {kind: number for number, kind in enumerate(KINDS)}
_ALL = 2**63 - 1
"""The greatest number that SQLite knows."""
_SETTLE_SECONDS = 30.0
"""The time that a reader waits for unwritten entries of this process."""


class SqliteJournal:
    """Keeps sessions in a file."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Name the file; it is opened, or made, when it is needed.

        Args:
            path: Where; None is `journal.db` in the user's state directory.
        """
        self.path = state_dir() / "journal.db" if path is None else Path(path)
        self._reader = File(self.path, "read")
        self._reading = threading.Lock()
        self._writes = _SqliteWriter(self.path)
        self._writer = Writer(self._writes.write, self._writes.tidy)
        self._finalizer = weakref.finalize(
            self, _end, self._writer, self._writes.file, self._reader
        )

    def put(self, record: Record, *fields: str) -> None:
        """Create the record of a session, or change it."""
        self._writer.put(snapshot(record), fields)

    def append(self, key: str, kind: Kind, data: bytes, at: float | None = None) -> None:
        """Add an entry to a session."""
        self.extend(key, kind, (data,), at)

    def extend(self, key: str, kind: Kind, data: Iterable[bytes], at: float | None = None) -> None:
        """Add entries of one kind to a session."""
        when, number = time.time() if at is None else at, _KINDS[kind]
        self._writer.extend(key, when, number, list(data))

    async def commit(self) -> None:
        """Wait until everything appended so far is on the disk."""
        if not self._writer.is_behind:
            return
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()

        def on_written(problem: JournalError | None) -> None:
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(_resolve, written, problem)

        self._writer.tell(on_written)
        await written

    def get(self, key: str) -> Record | None:
        """Return the record of a session."""
        found = self._records("WHERE key = ?", (legible(key),))
        return found[0] if found else None

    def entries(self, key: str, after: int = 0) -> Iterator[Entry]:
        """Go through the entries of a session."""
        self._settle()
        rows = self._look("SELECT id FROM sessions WHERE key = ?", (legible(key),))
        if rows:
            yield from read_entries(self._look, rows[0][0], after)

    def search(self, words: str, *, role: Role = "client", limit: int = 20) -> list[Hit]:
        """Find messages with all of these words.

        Raises:
            JournalError: The file cannot be read, or this Python's SQLite cannot search.
        """
        self._catch_up()
        if not self.path.exists():
            return []
        return self._read(partial(_find, words=words, role=role, limit=limit))

    def copy(self, key: str, to: Record) -> None:
        """Begin a session that has the entries of another."""
        self._writer.do(partial(_copy, key=key, to=snapshot(to)))

    def delete(self, key: str) -> None:
        """Delete a session; once this is committed, its text is no longer in the file."""
        self._writer.do(partial(_delete, keys=[key]))

    def prune(
        self,
        *,
        max_age: float | None = None,
        max_sessions: int | None = None,
        max_bytes: int | None = None,
        role: Role | None = None,
        trust_clock: bool = False,
    ) -> int:
        """Forget the oldest sessions, and give back the space.

        Raises:
            JournalError: The file cannot be written.
        """
        limits = Limits(max_age, max_sessions, max_bytes, trust_clock)
        gone: list[Record] = []

        def forget(connection: sqlite3.Connection) -> None:
            rows = connection.execute(f"SELECT {COLUMNS} FROM sessions ORDER BY updated_at DESC")
            records = (read_record(row) for row in rows)
            gone[:] = too_many([each for each in records if role in (None, each.role)], limits)
            _delete(connection, keys=[record.key for record in gone])

        if self._writer.is_behind or self.path.exists():
            self._writer.do(forget)
            self._writer.flush()
        return len(gone)

    async def aclose(self) -> None:
        """Write the rest, and let go of the file."""
        with suppress(JournalError):  # the log has it
            await self.commit()
        await asyncio.to_thread(self._finalizer)

    def list(
        self,
        *,
        role: Role | None = None,
        agent: str | None = None,
        cwd: str | None = None,
        name: str | None = None,
        session_id: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """Return the sessions that fit, newest first."""
        wanted = {"role": role, "agent": agent, "cwd": cwd, "name": name, "session_id": session_id}
        query = {field: value for field, value in wanted.items() if value is not None}
        where = " AND ".join(f"{field} = ?" for field in query) or "1"
        return self._records(
            f"WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?",
            (*map(legible, query.values()), -1 if limit is None else min(limit, _ALL)),
        )

    def _records(self, rest: str, values: tuple[Any, ...]) -> Records:
        def read(connection: sqlite3.Connection) -> Records:
            rows = connection.execute(f"SELECT {COLUMNS} FROM sessions {rest}", values)
            return [read_record(row) for row in rows]

        self._settle()
        return self._read(read) if self.path.exists() else []

    def _settle(self) -> None:
        """Wait until everything from this process is in the file, if that is possible."""
        with suppress(JournalError):
            self._writer.flush(_SETTLE_SECONDS)

    def _look(self, query: str, values: tuple[Any, ...]) -> Sequence[Any]:
        if not self.path.exists():
            return ()
        return self._read(lambda connection: connection.execute(query, values).fetchall())

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._reading:
            return self._reader.read(work)

    def _catch_up(self) -> None:
        """Index what is new; do nothing without the right to write."""
        self._settle()
        rows = self._look("SELECT id FROM sessions WHERE searchable < entries", ())
        with suppress(JournalError), self._reading:
            for (session,) in rows:
                while self._reader.write(partial(_index, session=session)):
                    pass


class _SqliteWriter:
    """Writes to the file, in the writer's thread."""

    def __init__(self, path: Path) -> None:
        self.file = File(path, "written")
        self._ended: list[str] = []
        """Sessions whose turn has ended, and which can be searched wholly now."""

    def write(self, steps: Sequence[Step]) -> None:
        """Write some steps, all or none."""
        self.file.write(partial(_write, steps=steps))
        if not all(isinstance(step, Batch) for step in steps):
            with suppress(JournalError):  # the space is used again at least
                self.file.read(tables.give_back_space)
        for step in steps:
            if isinstance(step, Batch):
                idle = (key for key, record in step.records.items() if record.state == "idle")
                self._ended += (key for key in idle if key not in self._ended)

    def tidy(self) -> bool:
        """Index a part of a session; return whether there is more."""
        if not self._ended:
            return False
        try:
            if not self.file.write(partial(_index, key=self._ended[0])):
                self._ended.pop(0)
        except JournalError as problem:
            logger.debug("not indexed yet: %s", problem)
            self._ended.clear()  # the next search does it
        except Exception:  # of ours: the thread must continue to write
            logger.exception("a session could not be indexed")
            self._ended.clear()
        return bool(self._ended)


def _end(writer: Writer, *files: File) -> None:
    writer.stop()
    for file in files:
        file.close()


def _resolve(written: asyncio.Future[None], problem: JournalError | None) -> None:
    if written.done():
        return
    if problem is None:
        written.set_result(None)
    else:
        written.set_exception(problem)


def _write(connection: sqlite3.Connection, steps: Sequence[Step]) -> None:
    for step in steps:
        if not isinstance(step, Batch):
            step(connection)
            continue
        for key, record in step.records.items():
            fields = step.fields[key]
            if fields is None:
                put_all(connection, record)
            else:
                put_some(connection, record, sorted(fields))
        for key, entries in step.entries.items():
            write_entries(connection, key, entries)


def _index(
    connection: sqlite3.Connection, session: int | None = None, key: str | None = None
) -> bool:
    if key is not None:
        found = session_of(connection, key)
        session = None if found is None else found[0]
    if session is None or not tables.has_search(connection):
        return False
    return search.index(connection, session)


def _find(connection: sqlite3.Connection, words: str, role: Role, limit: int) -> list[Hit]:
    if not tables.has_search(connection):
        raise JournalError(
            "the SQLite of this Python has no full-text search (FTS5): use a Python that has it"
        )
    return search.find(connection, words, role, limit)


def _copy(connection: sqlite3.Connection, key: str, to: Record) -> None:
    source = session_of(connection, key)
    if source is None:
        return
    put_all(connection, to)
    copy = session_of(connection, to.key)
    assert copy is not None
    connection.execute(
        "INSERT INTO blocks (session, first, count, entries) "
        "SELECT ?, first, count, entries FROM blocks WHERE session = ? ORDER BY first",
        (copy[0], source[0]),
    )
    connection.execute(
        "UPDATE sessions SET (entries, size_bytes) = "
        "(SELECT entries, size_bytes FROM sessions WHERE id = ?) WHERE id = ?",
        (source[0], copy[0]),
    )


def _delete(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    has_search = tables.has_search(connection)
    is_less = False
    for key in keys:
        found = session_of(connection, key)
        if found is None:
            continue
        session, is_less = found[0], True
        if has_search:
            search.forget(connection, session)
        connection.execute("DELETE FROM blocks WHERE session = ?", (session,))
        connection.execute("DELETE FROM sessions WHERE id = ?", (session,))
    if is_less and has_search:
        search.tidy(connection)
