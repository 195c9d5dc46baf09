"""The journal on a disk that fails: honest, bounded, and none of the program's trouble."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.errors import JournalError
from parley.journal import SqliteJournal
from parley.journal import _file as file
from parley.journal import _tables as tables
from parley.journal import _writer as writer

from .disk import locked, numbers
from .frames import chunk, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.db"


async def test_a_disk_that_fails_is_reported_once_and_nothing_is_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tables, "BUSY_SECONDS", 0.05)
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    await journal.commit()
    with locked(path):
        for number in range(3):
            journal.append(kept.key, "note", b"%d" % number)
            with pytest.raises(JournalError, match=r"another program keeps it locked: .* end it"):
                await journal.commit()
        assert numbers(journal, kept.key) == []
    reports = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert [str(path) in each.getMessage() for each in reports] == [True]
    await journal.commit()
    assert numbers(journal, kept.key) == [0, 1, 2]
    assert "written again" in caplog.records[-1].getMessage()
    await journal.aclose()


def test_who_has_waited_in_vain_for_a_lock_does_not_wait_as_long_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def patience() -> int:
        found: int = kept.read(lambda each: each.execute("PRAGMA busy_timeout").fetchone()[0])
        return found

    monkeypatch.setattr(tables, "BUSY_SECONDS", 0.2)
    monkeypatch.setattr(file, "_IMPATIENT_SECONDS", 0.01)
    kept = file.File(path, "written")
    kept.write(lambda _: None)
    assert patience() == 200
    with locked(path):
        for _ in range(2):
            with pytest.raises(JournalError, match="locked"):
                kept.write(lambda _: None)
            assert patience() == 10
    kept.write(lambda _: None)
    assert patience() == 200
    kept.close()


def test_what_can_wait_does_not_hold_up_what_has_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "ENOUGH_BYTES", 100)
    is_written = threading.Semaphore(0)

    def write(steps: Sequence[writer.Step]) -> None:
        del steps
        is_written.release()

    kept = writer.Writer(write, lambda: True)
    for _ in range(3):
        kept.extend("key", 0.0, 0, [bytes(200)])
        assert is_written.acquire(timeout=300)
    kept.stop()


@pytest.mark.parametrize("at_once", [1, 9])
async def test_while_writing_fails_memory_stays_bounded_and_a_note_says_what_is_missing(
    path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(tables, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(writer, "MAX_BYTES", 1000)
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    await journal.commit()
    with locked(path):
        journal.append(kept.key, "to_client", b"0")
        with pytest.raises(JournalError):
            await journal.commit()
        for number in range(1, 1000, at_once):
            data = [b"%d" % each for each in range(number, number + at_once)]
            journal.extend(kept.key, "to_client", data)
    await journal.commit()
    *there, note = journal.entries(kept.key)
    assert len(there) < 20
    assert [int(entry.data) for entry in there] == list(range(len(there)))
    assert note.kind == "note"
    assert msgspec.json.decode(note.data) == {"note": "lost", "entries": 1000 - len(there)}
    await journal.aclose()


async def test_what_can_never_be_written_does_not_hold_up_the_rest(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = SqliteJournal(path)
    odd: Any = 7
    journal.put(record(title=odd, agent=None))
    with pytest.raises(JournalError, match="could not be written"):
        await journal.commit()
    assert "has lost something" in caplog.text
    kept = record()
    journal.put(kept)
    await journal.commit()
    assert [each.key for each in journal.list()] == [kept.key]
    await journal.aclose()


async def test_above_the_bound_an_append_waits_for_the_writer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_BYTES", 1000)
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    await journal.commit()
    is_done = threading.Event()

    def flood() -> None:
        for number in range(100):
            journal.append(kept.key, "note", b"%d" % number)
        is_done.set()

    thread = threading.Thread(target=flood)
    with locked(path):
        thread.start()
        assert not is_done.wait(0.3)
    assert await asyncio.to_thread(is_done.wait, 300)
    thread.join()
    assert numbers(journal, kept.key) == list(range(100))
    await journal.aclose()


async def test_a_file_that_cannot_be_made_is_an_error_of_the_commit_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    journal = SqliteJournal(tmp_path / "file" / "journal.db")
    journal.put(record())
    with pytest.raises(JournalError, match="cannot be written"):
        await journal.commit()
    assert journal.list() == []
    await journal.aclose()
    assert len([each for each in caplog.records if each.levelno == logging.ERROR]) == 1


async def test_a_file_that_was_deleted_is_made_anew(path: Path) -> None:
    journal = SqliteJournal(path)
    gone, kept = record("gone"), record("kept")
    journal.put(gone)
    await journal.commit()
    for each in path.parent.iterdir():
        each.unlink()
    journal.append(gone.key, "note", b"1")
    journal.put(kept)
    await journal.commit()
    assert [each.session_id for each in journal.list()] == ["kept"]
    await journal.aclose()


async def test_without_full_text_search_everything_else_works(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "has_search", lambda connection: False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    journal.append(kept.key, "to_client", chunk("s", "walnut"))
    with pytest.raises(JournalError, match="no full-text search"):
        journal.search("walnut")
    journal.delete(kept.key)
    assert journal.list() == []
    monkeypatch.undo()
    await journal.aclose()
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    journal.append(kept.key, "to_client", chunk("s", "walnut"))
    assert len(journal.search("walnut")) == 1
    await journal.aclose()


async def test_a_damaged_block_is_passed_over(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal = SqliteJournal(path)
    kept = record()
    journal.put(kept)
    for number in range(3):
        journal.append(kept.key, "note", b"%d" % number)
        await journal.commit()
    await journal.aclose()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE blocks SET entries = x'789c00' WHERE first = 2")
    connection.commit()
    connection.close()
    journal = SqliteJournal(path)
    assert numbers(journal, kept.key) == [0, 2]
    assert "from number 2 on are damaged" in caplog.text
    await journal.aclose()
