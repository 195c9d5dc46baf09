"""The file of the SQLite journal: its tables, how they came to be, and how it is opened.

`sessions` has a row per session, `blocks` the entries: one row for all that a session got between
two commits, as deflated MessagePack of `[[at, kind, data], …]`. That takes a fraction of the space
and of the calls of a row per frame, and its checksum tells a damaged block. `messages` are the
texts that can be searched, and `texts` their index; both can be made again from the rest.

`user_version` counts the steps of `STEPS` that a file has taken. A new file takes all of them, an
old one those it lacks, in one transaction: a process that is killed there leaves the old file.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from parley._user_dirs import private_dir
from parley.errors import JournalError

if sys.platform != "win32":
    import fcntl


logger = logging.getLogger(__name__)

BUSY_SECONDS = 10.0
"""The time to wait for other processes that write."""
APPLICATION_ID = 0x5061726C
"""Distinguishes our files from those of other programs: "Parl"."""


class Damaged(sqlite3.DatabaseError):
    """The file has contents that this program cannot have written."""


STEPS: tuple[str, ...] = (
    # 1: sessions and their entries.
    """
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL,
        agent TEXT NOT NULL,
        session_id TEXT NOT NULL,
        cwd TEXT NOT NULL,
        additional_directories TEXT NOT NULL,
        name TEXT,
        title TEXT,
        protocol INTEGER NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        state TEXT NOT NULL,
        process TEXT NOT NULL,
        is_archived INTEGER NOT NULL,
        data TEXT NOT NULL,
        entries INTEGER NOT NULL DEFAULT 0,
        size_bytes INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX sessions_by_time ON sessions (updated_at);
    CREATE INDEX sessions_by_id ON sessions (session_id);
    CREATE TABLE blocks (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        first INTEGER NOT NULL,
        count INTEGER NOT NULL,
        entries BLOB NOT NULL
    );
    CREATE UNIQUE INDEX blocks_by_session ON blocks (session, first)
    """,
    # 2: the search. How far a session is in it, and which ones are not wholly.
    """
    ALTER TABLE sessions ADD COLUMN searchable INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX sessions_to_search ON sessions (id) WHERE searchable < entries;
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        number INTEGER NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX messages_by_session ON messages (session)
    """,
)

_SEARCH = """CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (
    text, content = messages, content_rowid = id, tokenize = "unicode61 remove_diacritics 2")"""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file for reading and writing; make it, or bring it up to date.

    Raises:
        JournalError: It is another program's, or of a later version of Parley.
        sqlite3.Error, OSError: It cannot be opened; see `is_broken`.
    """
    if not path.exists():
        private_dir(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = _open(path, "rw")
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA journal_size_limit = 16777216")
        if _steps_taken(connection, path) < len(STEPS):
            with only_one(path):
                _bring_up_to_date(connection, path)
        _prepare_search(connection)
        _look_at_the_end(connection)
    except BaseException:  # whatever it is, the file is not kept open
        connection.close()
        raise
    return connection


def connect_for_reading(path: Path) -> sqlite3.Connection:
    """Open a file that cannot be written, such as one on a disk mounted for reading.

    Raises:
        JournalError: It is another program's, or of another version of Parley.
        sqlite3.Error: It cannot be opened.
    """
    try:
        connection = _open(path, "ro")
    except sqlite3.OperationalError:
        connection = _open(path, "ro&immutable=1")  # there is no place for what readers share
    try:
        taken = _steps_taken(connection, path)
        if taken < len(STEPS):
            raise JournalError(
                f"{path} is from an older version of Parley, and cannot be brought up to date "
                "where it is: copy it to a place that can be written"
            )
    except BaseException:  # likewise
        connection.close()
        raise
    return connection


def _open(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:  # likewise
        connection.close()
        raise
    return connection


def _steps_taken(connection: sqlite3.Connection, path: Path) -> int:
    """Return how many steps a file has taken, or refuse it."""
    (taken,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if owner != APPLICATION_ID and (tables or taken):
        raise JournalError(f"{path} is a database, but no journal of Parley's: name another file")
    if taken > len(STEPS):
        raise JournalError(
            f"{path} is from a later version of Parley (format {taken}; this one knows up to "
            f"{len(STEPS)}): upgrade Parley, or name another file"
        )
    return int(taken)


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Take the steps that a file lacks."""
    if not _steps_taken(connection, path):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
    with transaction(connection):
        taken = _steps_taken(connection, path)
        for step in STEPS[taken:]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(STEPS)}")


def _prepare_search(connection: sqlite3.Connection) -> None:
    """Make the index, unless it is there or cannot be made with this Python's SQLite."""
    is_there = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'texts'").fetchone()
    if not is_there and has_search(connection):
        with transaction(connection):
            connection.execute(_SEARCH)


def _look_at_the_end(connection: sqlite3.Connection) -> None:
    """Read the latest entries, because a file is damaged most often there."""
    for table in ("blocks", "sessions"):
        connection.execute(f"SELECT * FROM {table} ORDER BY id DESC LIMIT 1").fetchone()


def has_search(connection: sqlite3.Connection) -> bool:
    """Return whether this Python's SQLite has full-text search."""
    with suppress(sqlite3.OperationalError):
        connection.execute("SELECT fts5(?)", (None,)).fetchone()
        return True
    return False


def give_back_space(connection: sqlite3.Connection) -> None:
    """Shrink the file to its content."""
    connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page


def is_broken(error: Exception) -> bool:
    """Return whether an error means that the file is damaged or not a database."""
    if isinstance(error, Damaged):
        return True
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Write something as a whole or not at all, with no other process writing meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:  # also when cancelled or interrupted: all or nothing
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def only_one(path: Path) -> Generator[None]:
    """Keep others from making or mending the file at the same time.

    Raises:
        TimeoutError: They take too long.
    """
    if sys.platform == "win32":  # no directory can be locked there; SQLite's own locks have to do
        yield
        return
    directory = os.open(path.parent, os.O_RDONLY)
    until = time.monotonic() + BUSY_SECONDS
    try:
        while True:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TimeoutError(errno.ETIMEDOUT, "another program is at it") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(directory)
