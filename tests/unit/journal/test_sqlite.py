"""The journal on disk: durable and shared."""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import pytest

from parley._user_dirs import state_dir
from parley.journal import SqliteJournal
from parley.journal import _sqlite as sqlite

from .disk import locked, numbers
from .frames import chunk, prompt, record, update

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.db"


def looked_up(look: Callable[[], T]) -> T:
    """Return what another thread writes, as soon as it is there; nothing if it does not come."""
    for pause in [0.001, *[0.05] * 1000]:
        if found := look():
            return found
        Event().wait(pause)
    return look()


def size(path: Path) -> int:
    return path.stat().st_size


@pytest.mark.requirement("SAFE-USER-07")
async def test_the_file_is_in_the_state_directory_and_the_owners_alone() -> None:
    journal = SqliteJournal()
    assert journal.path == state_dir() / "journal.db"
    assert journal.list() == []
    assert not journal.path.exists()
    journal.put(record())
    await journal.commit()
    made = sorted(journal.path.parent.iterdir())
    assert [each.name for each in made] == ["journal.db", "journal.db-shm", "journal.db-wal"]
    assert {each.stat().st_mode & 0o777 for each in made} == {0o600}
    assert journal.path.parent.stat().st_mode & 0o777 == 0o700
    await journal.aclose()
    assert [each.name for each in journal.path.parent.iterdir()] == ["journal.db"]


async def test_what_was_committed_is_there_for_others(path: Path) -> None:
    first, second = SqliteJournal(path), SqliteJournal(path)
    kept = record(title="x")
    first.put(kept)
    first.append(kept.key, "note", b"1")
    await first.commit()
    read = second.get(kept.key)
    assert read is not None
    assert read.title == "x"
    second.append(kept.key, "note", b"2")
    await second.commit()
    first.append(kept.key, "note", b"3")
    assert numbers(first, kept.key) == [1, 2, 3]
    assert [entry.number for entry in second.entries(kept.key)] == [1, 2, 3]
    await first.aclose()
    await second.aclose()


async def test_many_commits_share_one_transaction(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    original = sqlite._SqliteWriter.write

    def counting(scribe: Any, steps: Any) -> None:
        written.append(len(steps))
        original(scribe, steps)

    monkeypatch.setattr(sqlite._SqliteWriter, "write", counting)
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    await journal.commit()
    async with asyncio.TaskGroup() as group:
        for number in range(100):
            journal.append(kept.key, "note", b"%d" % number)
            group.create_task(journal.commit())
    assert len(written) <= 3
    await journal.commit()  # there is nothing to write
    assert len(written) <= 3
    assert numbers(journal, kept.key) == list(range(100))
    await journal.aclose()


async def test_a_commit_that_nobody_waits_for_any_more_harms_nobody(path: Path) -> None:
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    waiting = asyncio.create_task(journal.commit())
    await asyncio.sleep(0)
    waiting.cancel()
    journal.append(kept.key, "note", b"1")
    await journal.commit()
    assert numbers(journal, kept.key) == [1]
    await journal.aclose()


async def test_nothing_waits_for_ever_when_nobody_commits(path: Path) -> None:
    journal, other = SqliteJournal(path), SqliteJournal(path)
    kept = record()
    journal.put(kept)
    found = await asyncio.to_thread(looked_up, lambda: other.get(kept.key))
    assert found is not None, "what was put is written without a commit"
    assert found.key == kept.key
    await journal.aclose()
    await other.aclose()


async def test_reading_goes_on_while_another_writes(path: Path) -> None:
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    journal.append(kept.key, "note", b"1")
    await journal.commit()
    with locked(path):
        assert numbers(journal, kept.key) == [1]
        assert len(journal.list()) == 1
    await journal.aclose()


async def test_after_the_end_nothing_is_kept(path: Path) -> None:
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    await journal.aclose()
    for _ in range(10):
        journal.append(kept.key, "note", b"1")
    await journal.commit()
    await journal.aclose()
    other = SqliteJournal(path)
    assert numbers(other, kept.key) == []
    await other.aclose()


async def test_the_words_of_a_deleted_session_are_not_in_the_file_any_more(path: Path) -> None:
    journal = SqliteJournal(path)
    for session_id in ("kept", "gone"):
        each = record(session_id, title=f"{session_id}title")
        journal.put(each)
        journal.append(each.key, "to_agent", prompt(1, session_id, f"{session_id}marker"))
        assert len(journal.search(f"{session_id}marker")) == 1
    journal.delete(each.key)
    await journal.aclose()
    (left,) = path.parent.iterdir()
    data = left.read_bytes()
    assert b"keptmarker" in data
    assert b"gonemarker" not in data
    assert b"gonetitle" not in data
    connection = sqlite3.connect(path)
    terms = connection.execute("SELECT * FROM sqlite_schema WHERE name = 'texts'").fetchall()
    assert terms
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, texts, row)")
    words = {row[0] for row in connection.execute("SELECT term FROM words")}
    assert words == {"keptmarker"}
    connection.close()


async def test_space_is_given_back(path: Path) -> None:
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    for _ in range(200):
        journal.append(kept.key, "to_client", chunk("s", secrets.token_hex(5_000)))
    await journal.commit()
    journal.search("x")
    await journal.aclose()
    full = size(path)
    assert journal.prune(max_sessions=0) == 0  # it is closed
    journal = SqliteJournal(path)
    assert journal.prune(max_sessions=0) == 1
    await journal.aclose()
    assert size(path) < full / 4


async def test_a_turn_that_ended_is_indexed_without_a_search(path: Path) -> None:
    journal = SqliteJournal(path)
    kept = record(state="running")
    journal.put(kept)
    journal.append(kept.key, "to_client", chunk("s", "walnut"))
    kept.state = "idle"
    journal.put(kept, "state")
    await journal.commit()

    def look() -> Any:
        with closing(sqlite3.connect(path)) as connection:
            return looked_up(lambda: connection.execute("SELECT text FROM messages").fetchall())

    assert await asyncio.to_thread(look) == [("walnut",)]
    await journal.aclose()


@pytest.mark.parametrize("bound", [("_PIECE", 10), ("_PIECE_BYTES", 1500)])
async def test_a_long_session_is_indexed_piece_by_piece(
    path: Path, monkeypatch: pytest.MonkeyPatch, bound: tuple[str, int]
) -> None:
    monkeypatch.setattr(f"parley.journal._search.{bound[0]}", bound[1])
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    for number in range(35):
        journal.append(kept.key, "to_client", chunk("s", f"one{number} "))
    for number in range(12):
        journal.append(kept.key, "to_agent", prompt(number, "s", f"two{number:02}"))
        journal.append(kept.key, "to_client", chunk("s", "thr"))
        journal.append(kept.key, "to_client", chunk("s", f"ee{number:02}"))
    assert len(journal.search("one34", limit=1)) == 1
    for number in range(12):
        assert [hit.number for hit in journal.search(f"two{number:02}")][:1] == [36 + 3 * number]
        assert [hit.number for hit in journal.search(f"three{number:02}")][-1:] == [37 + 3 * number]
    await journal.aclose()


async def test_an_unread_iterator_holds_up_nobody(path: Path) -> None:
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    for number in range(100):
        journal.append(kept.key, "note", b"%d" % number)
        await journal.commit()
    entries = journal.entries(kept.key)
    assert next(entries).number == 1
    journal.append(kept.key, "to_client", update("s", "plan", entries=[]))
    await journal.commit()
    assert journal.prune(max_sessions=0) == 1
    assert len(list(entries)) < 100
    await journal.aclose()
