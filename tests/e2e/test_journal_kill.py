"""A journal whose writers are killed at any moment: what was acknowledged is there afterwards."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.unit.journal.test_file import VERSION_1

from parley.journal import SqliteJournal
from parley.journal import _tables as tables

WRITER = str(Path(__file__).with_name("journal_writer.py"))
OPENS = """
import sys
from parley.journal import SqliteJournal
journal = SqliteJournal(sys.argv[1])
print("ready", flush=True)
print(len(journal.list()), flush=True)
"""
LEAVES = """
import sys
from parley.journal import Record, SqliteJournal
journal = SqliteJournal(sys.argv[1])
journal.put(Record(key="k", agent="demo", session_id="s"))
for number in range(1, 101):
    journal.append("k", "note", b"%d" % number)
"""


@contextmanager
def child(*arguments: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], lines: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(lines)]


def kill(process: subprocess.Popen[str]) -> list[str]:
    """Kill a child outright; return what it has still said."""
    process.kill()
    said, _ = process.communicate(timeout=300)
    return said.splitlines()


def numbers(path: Path, key: str) -> list[int]:
    async def read() -> list[int]:
        journal = SqliteJournal(path)
        try:
            return [int(entry.data) for entry in journal.entries(key)]
        finally:
            await journal.aclose()

    return asyncio.run(read())


def check(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.requirement("SAFE-LIVE-03")
def test_nothing_that_was_committed_is_lost(tmp_path: Path) -> None:
    path, moments = tmp_path / "journal.db", random.Random(1)
    for _ in range(12):
        with child(WRITER, str(path), "k") as writer:
            said = wait_for(writer, moments.randrange(1, 40))
            time.sleep(moments.random() / 100)  # any moment of a commit, not only its end
            said += kill(writer)
        there = numbers(path, "k")
        assert there == list(range(1, len(there) + 1))
        assert len(there) >= max(int(each) for each in ["0", *said] if each != "ready")
    assert len(numbers(path, "k")) > 100
    check(path)


@pytest.mark.requirement("SAFE-LIVE-03")
def test_several_processes_write_to_one_file_and_are_killed(tmp_path: Path) -> None:
    path, moments = tmp_path / "journal.db", random.Random(2)
    for _ in range(4):
        with (
            child(WRITER, str(path), "a", "shared") as first,
            child(WRITER, str(path), "b", "shared") as second,
            child(WRITER, str(path), "c") as third,
        ):
            writers = {"a": first, "b": second, "c": third}
            said = {key: wait_for(each, moments.randrange(2, 12)) for key, each in writers.items()}
            for key, each in writers.items():
                time.sleep(moments.random() / 100)
                said[key] += kill(each)
        counts: list[int] = []
        for key in writers:
            there = numbers(path, key)
            assert there == list(range(1, len(there) + 1))
            assert len(there) >= max(int(each) for each in said[key] if each != "ready")
            counts.append(len(there))
        assert len(numbers(path, "shared")) == counts[0] + counts[1]
    check(path)


def test_a_kill_in_the_middle_of_a_migration_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    old, moments = tmp_path / "old.db", random.Random(3)
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(VERSION_1)
        columns = ", ".join(
            f"'{value}'" if isinstance(value, str) else "NULL" if value is None else str(value)
            for value in connection.execute("SELECT * FROM sessions").fetchone()[2:]
        )
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
            f"INSERT INTO sessions SELECT i, 'key' || i, {columns} FROM n"
        )
        connection.commit()
    versions: set[int] = set()
    for number in range(12):
        path = tmp_path / f"{number}" / "journal.db"
        path.parent.mkdir()
        shutil.copy(old, path)
        with child("-c", OPENS, str(path)) as opener:
            assert wait_for(opener, 1) == ["ready"]
            time.sleep(moments.random() / 20)
            kill(opener)
        with closing(sqlite3.connect(path)) as connection:
            versions.add(connection.execute("PRAGMA user_version").fetchone()[0])
            tables_there = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        assert tables_there[0] > 0
        assert len(asyncio.run(_list(path))) == 19902
        check(path)
    assert versions <= {1, len(tables.STEPS)}


async def _list(path: Path) -> list[str]:
    journal = SqliteJournal(path)
    found = [each.key for each in journal.list()]
    await journal.aclose()
    return found


def test_a_kill_while_the_file_is_made_leaves_one_that_works(tmp_path: Path) -> None:
    moments = random.Random(4)
    for number in range(6):
        path = tmp_path / f"{number}" / "journal.db"
        with child(WRITER, str(path), "k") as writer:
            while not path.exists() and writer.poll() is None:
                pass
            time.sleep(moments.random() / 100)
            said = kill(writer)
        with child(WRITER, str(path), "k") as writer:
            more = wait_for(writer, 3)
            kill(writer)
        assert more[0] == "ready"
        assert len(numbers(path, "k")) >= max(int(each) for each in said[1:] + more[1:])
        check(path)


def test_a_disk_that_is_full_ends_no_program_and_costs_nothing_committed(tmp_path: Path) -> None:
    path = tmp_path / "small.db"
    with child(WRITER, str(path), "k") as writer:
        said, complaint = writer.communicate(timeout=300)
        assert writer.returncode == 0
    *acknowledged, failure = said.splitlines()
    assert "cannot be written: the disk" in failure
    assert complaint.count("cannot be written") == 1
    there = numbers(path, "k")
    assert len(there) >= int(acknowledged[-1]) > 10
    check(path)


def test_a_program_that_just_ends_leaves_nothing_unwritten(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    done = subprocess.run(
        [sys.executable, "-c", LEAVES, str(path)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert numbers(path, "k") == list(range(1, 101))
