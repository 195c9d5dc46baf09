"""A journal's file as the tests of the disk need it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from parley.journal import SqliteJournal


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Keep others from writing, as a program does that hangs."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def numbers(journal: SqliteJournal, key: str) -> list[int]:
    return [int(entry.data) for entry in journal.entries(key)]
