"""The file of the journal: old ones, later ones, damaged ones, and those that may only be read."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from parley.errors import JournalError
from parley.journal import SqliteJournal
from parley.journal import _tables as tables

from .frames import chunk, prompt, record

VERSION_1 = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1348563564;
PRAGMA user_version = 1;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, role TEXT NOT NULL, agent TEXT NOT NULL,
    session_id TEXT NOT NULL, cwd TEXT NOT NULL, additional_directories TEXT NOT NULL, name TEXT,
    title TEXT, protocol INTEGER NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL,
    state TEXT NOT NULL, process TEXT NOT NULL, is_archived INTEGER NOT NULL, data TEXT NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0, size_bytes INTEGER NOT NULL DEFAULT 0);
CREATE INDEX sessions_by_time ON sessions (updated_at);
CREATE INDEX sessions_by_id ON sessions (session_id);
CREATE TABLE blocks (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, first INTEGER NOT NULL,
    count INTEGER NOT NULL, entries BLOB NOT NULL);
CREATE UNIQUE INDEX blocks_by_session ON blocks (session, first);
INSERT INTO sessions VALUES (
    7, 'abc', 'client', 'demo', 's1', '/work', '["/more"]', NULL, 'Old', 1, 1.5, 2.5, 'idle', '', 0,
    '{"a":1}', 2, 200);
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def read(path: Path) -> bytes:
    return path.read_bytes()


def overwrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def old_file(path: Path) -> None:
    entries = [(1.5, 0, prompt(1, "s1", "where is the walnut")), (2.5, 1, chunk("s1", "there"))]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
        block = zlib.compress(msgspec.msgpack.encode(entries))
        connection.execute("INSERT INTO blocks VALUES (1, 7, 1, 2, ?)", (block,))
        connection.commit()


async def test_a_file_of_the_first_version_is_brought_up_to_date(path: Path) -> None:
    old_file(path)
    journal = SqliteJournal(path)
    (old,) = journal.list()
    assert (old.key, old.title, old.additional_directories, old.entries) == (
        "abc",
        "Old",
        ["/more"],
        2,
    )
    assert [entry.kind for entry in journal.entries("abc")] == ["to_agent", "to_client"]
    assert [hit.record.key for hit in journal.search("walnut")] == ["abc"]
    journal.append("abc", "note", b"{}")
    assert [entry.number for entry in journal.entries("abc")] == [1, 2, 3]
    await journal.aclose()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(tables.STEPS),)


async def test_an_old_and_a_new_file_have_the_same_tables(tmp_path: Path) -> None:
    old_file(tmp_path / "old.db")

    def layout(path: Path) -> dict[str, str]:
        with closing(tables.connect(path)) as connection:
            rows = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
        return {name: "".join((sql or "").split()) for name, sql in rows}

    assert layout(tmp_path / "old.db") == layout(tmp_path / "new.db")


async def test_a_migration_that_fails_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_file(path)
    with monkeypatch.context() as patched:
        patched.setattr(tables, "STEPS", (*tables.STEPS, "CREATE TABLE x (a); NONSENSE"))
        journal = SqliteJournal(path)
        with pytest.raises(JournalError, match="cannot be brought up to date"):
            journal.list()
        await journal.aclose()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    journal = SqliteJournal(path)
    assert len(journal.list()) == 1
    await journal.aclose()


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ("PRAGMA user_version = 99", "from a later version of Parley .* upgrade"),
        ("PRAGMA application_id = 7", "no journal of Parley's: name another file"),
    ],
)
async def test_a_file_that_is_not_for_us_is_not_touched(
    path: Path, change: str, advice: str
) -> None:
    old_file(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    before = read(path)
    journal = SqliteJournal(path)
    with pytest.raises(JournalError, match=advice):
        journal.list()
    with pytest.raises(JournalError, match=advice):
        journal.search("x")
    journal.put(record())
    with pytest.raises(JournalError, match=advice):
        await journal.commit()
    await journal.aclose()
    assert read(path) == before


async def filled(path: Path, sessions: int = 30, turns: int = 20) -> dict[str, list[bytes]]:
    """Make a file of some size; return what is in it."""
    noise = random.Random(1)
    journal = SqliteJournal(path)
    told: dict[str, list[bytes]] = {}
    for number in range(sessions):
        each = record(f"s{number}", title=f"session {number}")
        journal.put(each)
        told[each.key] = []
    for turn in range(turns):
        for key, frames in told.items():
            text = " ".join(str(noise.random()) for _ in range(20))
            frames.append(chunk(key, f"turn{turn} {text}"))
            journal.append(key, "to_client", frames[-1])
        await journal.commit()
    journal.search("turn1")
    await journal.aclose()
    return told


def broken_files(path: Path) -> list[Path]:
    found = path.parent.glob("journal.db.broken-*")
    return [each for each in found if not each.name.endswith("-wal")]


def truncate(path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, size * 2 // 3)


def pages(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[at : at + 4096] for at in range(0, len(data), 4096)]


def overwrite_the_end(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5 * 4096 :] = random.Random(2).randbytes(5 * 4096)
    path.write_bytes(data)


def overwrite_the_middle(path: Path) -> None:
    """Destroy pages amid the entries, wherever SQLite has put them."""
    with closing(sqlite3.connect(path)) as connection:
        amid = "SELECT entries FROM blocks ORDER BY id LIMIT 1 OFFSET 300"
        (block,) = connection.execute(amid).fetchone()
    data = bytearray(path.read_bytes())
    middle = data.index(block) // 4096 * 4096
    data[middle : middle + 10 * 4096] = bytes(10 * 4096)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [truncate, overwrite_the_end, overwrite_the_middle])
async def test_what_can_be_read_of_a_damaged_file_stays(
    path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    told = await filled(path)
    whole = pages(path)
    damage(path)
    broken = pages(path)
    journal = SqliteJournal(path)
    for each in journal.list():
        list(journal.entries(each.key))
    journal.search("turn3")
    extra = record("new")
    journal.put(extra)
    journal.append(extra.key, "to_client", chunk("new", "walnut"))
    await journal.commit()
    assert len(journal.search("walnut")) == 1
    found = {each.key: [e.data for e in journal.entries(each.key)] for each in journal.list()}
    await journal.aclose()
    saved = [frame for key, frames in found.items() if key in told for frame in frames]
    assert set(saved) <= {frame for frames in told.values() for frame in frames}
    assert len(saved) > 0.3 * sum(map(len, told.values()))
    (aside,) = broken_files(path)
    left = pages(aside)  # what was written before the damage was met may be in it
    assert len(left) >= len(broken)
    assert all(old == bad or now == bad for old, bad, now in zip(whole, broken, left, strict=False))
    assert "was damaged" in caplog.text
    assert str(aside) in caplog.text
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert mode(path) == 0o600


async def test_what_is_no_database_is_moved_aside(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    overwrite(path, b"Dear diary, " * 1000)
    journal = SqliteJournal(path)
    assert journal.list() == []
    kept = record()
    journal.put(kept)
    await journal.commit()
    assert [each.key for each in journal.list()] == [kept.key]
    await journal.aclose()
    (aside,) = broken_files(path)
    assert aside.read_bytes() == b"Dear diary, " * 1000
    assert len(caplog.records) == 1


async def test_a_writer_alone_notices_the_damage(path: Path) -> None:
    await filled(path)
    overwrite(path, b"x" * 100_000)
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    await journal.commit()
    assert [each.key for each in journal.list()] == [kept.key]
    await journal.aclose()


async def test_a_log_full_of_garbage_costs_only_what_was_in_it(path: Path) -> None:
    journal, other = SqliteJournal(path), SqliteJournal(path)
    kept = record()
    journal.put(kept)
    await journal.commit()
    assert other.get(kept.key) is not None
    copy = path.with_name("copy.db")
    overwrite(copy, read(path))
    log = read(path.with_name("journal.db-wal"))
    half = len(log) // 2
    overwrite(path.with_name("copy.db-wal"), log[:half] + random.Random(3).randbytes(half))
    await journal.aclose()
    await other.aclose()
    journal = SqliteJournal(copy)
    extra = record()
    journal.put(extra)
    await journal.commit()
    assert extra.key in [each.key for each in journal.list()]
    await journal.aclose()


async def test_who_has_the_damaged_file_open_goes_on_with_the_new_one(path: Path) -> None:
    await filled(path)
    one = SqliteJournal(path)
    first = record("first")
    one.put(first)
    await one.commit()
    overwrite_the_middle(path)
    two = SqliteJournal(path)
    for each in two.list():
        list(two.entries(each.key))
    (aside,) = broken_files(path)
    one.append(first.key, "note", b"1")
    one.put(record("second"))
    await one.commit()
    assert {each.session_id for each in two.list()} >= {"first", "second"}
    assert [entry.data for entry in two.entries(first.key)] == [b"1"]
    assert not aside.samefile(path)
    await one.aclose()
    await two.aclose()


READS = """
import os, sys
from parley.journal import SqliteJournal

if not os.getuid():
    os.setuid(65534)  # root may write anything
journal = SqliteJournal(sys.argv[1])
(kept,) = journal.list()
texts = [entry.data for entry in journal.entries(kept.key)]
print(kept.title, texts, len(journal.search("walnut")))
"""


@pytest.mark.parametrize("rights", [0o555, 0o755])
def test_history_can_be_read_where_nothing_can_be_written(rights: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "state" / "journal.db"
        asyncio.run(one_session(path))
        path.chmod(0o444)
        path.parent.chmod(rights)
        before = sorted(path.parent.iterdir())
        done = subprocess.run(
            [sys.executable, "-c", READS, str(path)], capture_output=True, text=True, timeout=300
        )
        assert done.stdout == "mine [b'walnut'] 0\n", done.stderr
        assert done.stderr == ""
        assert sorted(path.parent.iterdir()) == before
        path.parent.chmod(0o755)


async def one_session(path: Path) -> None:
    journal = SqliteJournal(path)
    kept = record(title="mine")
    journal.put(kept)
    journal.append(kept.key, "to_client", b"walnut")
    await journal.aclose()
