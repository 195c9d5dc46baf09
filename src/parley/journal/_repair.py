"""Repair of a damaged file: everything that can still be read is copied into a new one.

The damaged file is kept beside it. Sessions and blocks are read by their row, so that a broken
index does not matter; the rows of a lost page are lost, and the rest is carried over. The
index of the search is made again when it is needed.

Other processes may have the file open. While it is carried over it is locked against writing, where
it is whole enough for that, and a writer looks after each lock it gets whether the file is still
the one with its name (`is_current`).
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from . import _tables as tables
from ._base import Record, new_key
from ._rows import COLUMNS, put_all, read_record, unpack

logger = logging.getLogger(__name__)

_STEP = 256
"""The number of rows that are read at once, if possible."""
_BEYOND = 100_000
"""The number of rows that are tried one by one after the last that was read."""


def is_current(path: Path, inode: int) -> bool:
    """Return whether the opened file still has this name."""
    try:
        return path.stat().st_ino == inode
    except FileNotFoundError:
        return False


def repair(path: Path, inode: int) -> None:
    """Put a new file in the place of a damaged one, unless somebody has done so already.

    Raises:
        sqlite3.Error, OSError: There is no new file, and the damaged one has not moved.
    """
    fresh = path.with_name(f"{path.name}.new-{os.getpid()}-{threading.get_ident()}")
    try:
        tables.connect(fresh).close()
        with tables.only_one(path):
            if is_current(path, inode):
                _replace(path, fresh)
    finally:
        _remove(fresh)


def _replace(path: Path, fresh: Path) -> None:
    aside = _free_name(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        with suppress(sqlite3.Error):
            old.execute("PRAGMA writable_schema = ON")  # or a file that is too short is refused
            old.execute("BEGIN IMMEDIATE")
        with closing(tables.connect(fresh)) as new:
            sessions, entries = _carry_over(old, new)
        with suppress(FileNotFoundError):  # beside another file than its own, it would destroy that
            Path(f"{path}-wal").rename(f"{aside}-wal")
        Path(f"{path}-shm").unlink(missing_ok=True)
        aside.hardlink_to(path)
        fresh.replace(path)
    logger.warning(
        "the journal %s was damaged: %d sessions with %d entries could be read and were kept; "
        "the damaged file is now %s and can be deleted",
        path,
        sessions,
        entries,
        aside,
    )


def _free_name(path: Path) -> Path:
    date = time.strftime("%Y%m%d-%H%M%S")
    names = (path.with_name(f"{path.name}.broken-{date}{more}") for more in ("", *range(1000)))
    return next(name for name in names if not name.exists())


def _remove(path: Path) -> None:
    for part in ("", "-wal", "-shm"):
        Path(f"{path}{part}").unlink(missing_ok=True)


def _carry_over(old: sqlite3.Connection, new: sqlite3.Connection) -> tuple[int, int]:
    """Copy what can be read; returns how many sessions and entries that were."""
    entries = 0
    ends: dict[int, int] = {}
    sizes: Counter[int] = Counter()
    with tables.transaction(new):
        for id, *row in _rows(old, "sessions", COLUMNS):
            with suppress(sqlite3.IntegrityError, tables.Damaged):
                _put(new, id, read_record(row))
                ends[id] = row[-2]
        for id, session, first, count, block in _rows(
            old, "blocks", "session, first, count, entries"
        ):
            try:
                size = sum(len(entry.data) for entry in unpack(first, block))
                new.execute(
                    "INSERT INTO blocks VALUES (?, ?, ?, ?, ?)", (id, session, first, count, block)
                )
            except (sqlite3.IntegrityError, zlib.error, msgspec.MsgspecError, TypeError):
                continue
            if session not in ends:
                _put(new, session, _nameless(session))
            ends[session] = max(ends.get(session, 0), first + count - 1)
            sizes[session] += size
            entries += count
        new.executemany(
            "UPDATE sessions SET entries = ?, size_bytes = ? WHERE id = ?",
            [(end, sizes[session], session) for session, end in ends.items()],
        )
    return len(ends), entries


def _put(new: sqlite3.Connection, id: int, record: Record) -> None:
    put_all(new, record)
    new.execute("UPDATE sessions SET id = ? WHERE key = ?", (id, record.key))


def _nameless(id: int) -> Record:
    """Return something to find the entries of a session by of which nothing else is left."""
    now = time.time()
    return Record(
        key=new_key(),
        agent="unknown",
        session_id=f"lost-{id}",
        title="recovered from a damaged journal",
        created_at=now,
        updated_at=now,
    )


def _rows(connection: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Read the rows of a table that can be read, in their order; each begins with its id."""
    select = f"SELECT id, {columns} FROM {table} WHERE id"
    last = _last(connection, table)
    position = seen = 0
    while True:
        is_end = False
        try:
            rows = connection.execute(
                f"{select} > ? ORDER BY id LIMIT {_STEP}", (position,)
            ).fetchall()
            is_end = not rows
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                return  # there is no such table, or no database at all
            rows = list[tuple[Any, ...]]()
        rows = [row for row in rows if row[0] > position]  # a damaged table knows no order
        if not rows and not is_end:
            rows = _one_by_one(connection, select, position)
            position += _STEP
            is_end = position > seen + _BEYOND or (last is not None and position >= last)
        yield from rows
        if rows:
            seen = max(row[0] for row in rows)
            position = max(position, seen)
        if is_end:
            return


def _one_by_one(connection: sqlite3.Connection, select: str, after: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for id in range(after + 1, after + _STEP + 1):
        with suppress(sqlite3.DatabaseError):
            found = connection.execute(f"{select} = ?", (id,)).fetchone()
            rows += [] if found is None else [found]
    return rows


def _last(connection: sqlite3.Connection, table: str) -> int | None:
    """Return the id of the last row, if it can be read."""
    with suppress(sqlite3.DatabaseError):
        found: int | None = connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
        return found or 0
    return None
