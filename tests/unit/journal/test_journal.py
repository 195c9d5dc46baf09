"""What holds for every journal."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from parley.journal import Journal, MemoryJournal, Record, SqliteJournal
from parley.journal._process import this_process

from .frames import chunk, prompt, record, update


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Journal]:
    if request.param == "memory":
        return MemoryJournal
    return lambda: SqliteJournal(tmp_path / "journal.db")


@asynccontextmanager
async def opened(make: Callable[[], Journal]) -> AsyncGenerator[Journal]:
    journal = make()
    try:
        yield journal
    finally:
        await journal.aclose()


async def test_what_was_put_and_appended_is_read(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record(
            role="agent",
            cwd="/work",
            additional_directories=["/more"],
            name="mine",
            title="A title",
            protocol=2,
            created_at=1.5,
            updated_at=2.5,
            state="running",
            process="1:2",
            is_archived=True,
            data={"a": [1, None, "ü"]},
        )
        journal.put(kept)
        assert journal.get(kept.key) == kept
        journal.append(kept.key, "to_agent", b"one", 3.0)
        journal.append(kept.key, "to_client", b"\xff\x00two", 4.0)
        journal.append(kept.key, "note", b'{"note":"x"}', 3.5)
        read = journal.get(kept.key)
        assert read is not None
        assert (read.entries, read.size_bytes, read.updated_at) == (3, 20, 4.0)
        assert [(e.number, e.at, e.kind, e.data) for e in journal.entries(kept.key)] == [
            (1, 3.0, "to_agent", b"one"),
            (2, 4.0, "to_client", b"\xff\x00two"),
            (3, 3.5, "note", b'{"note":"x"}'),
        ]


async def test_many_entries_can_be_appended_at_once(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record()
        journal.put(kept)
        journal.append(kept.key, "to_agent", b"0", 1.0)
        journal.extend(kept.key, "to_client", [b"1", b"2", b"3"], 2.0)
        journal.extend(kept.key, "to_client", [], 5.0)
        journal.extend("nobody", "to_client", [b"x"])
        journal.append(kept.key, "note", b"4", 3.0)
        assert [(e.number, e.at, e.kind, e.data) for e in journal.entries(kept.key)] == [
            (1, 1.0, "to_agent", b"0"),
            (2, 2.0, "to_client", b"1"),
            (3, 2.0, "to_client", b"2"),
            (4, 2.0, "to_client", b"3"),
            (5, 3.0, "note", b"4"),
        ]


async def test_entries_can_be_read_from_a_number_on(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record()
        journal.put(kept)
        for number in range(1, 101):
            journal.append(kept.key, "to_client", b"%d" % number)
            if number % 7 == 0:
                await journal.commit()
        for after in (0, 1, 6, 7, 8, 50, 99, 100, 200):
            numbers = [int(entry.data) for entry in journal.entries(kept.key, after)]
            assert numbers == list(range(after + 1, 101))


async def test_an_entry_of_a_session_that_is_not_there_is_dropped(
    make: Callable[[], Journal],
) -> None:
    async with opened(make) as journal:
        journal.append("nobody", "to_client", b"x")
        await journal.commit()
        assert journal.get("nobody") is None
        assert list(journal.entries("nobody")) == []
        assert journal.list() == []


async def test_only_the_fields_that_are_named_change(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record(title="old", name="old")
        journal.put(kept)
        journal.append(kept.key, "note", b"{}")
        other = record(key=kept.key, title="new", name="new", cwd="/elsewhere")
        journal.put(other, "title")
        await journal.commit()
        journal.put(record(key=kept.key, name="newest"), "name")
        read = journal.get(kept.key)
        assert read is not None
        assert (read.title, read.name, read.cwd, read.entries) == ("new", "newest", "", 1)


async def test_a_change_of_a_session_that_is_not_there_makes_none(
    make: Callable[[], Journal],
) -> None:
    async with opened(make) as journal:
        journal.put(record(title="x"), "title")
        assert journal.list() == []


async def test_what_is_changed_after_a_put_is_not_seen(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record(title="before")
        journal.put(kept)
        kept.title = "after"
        read = journal.get(kept.key)
        assert read is not None
        assert read.title == "before"
        read.title = "mine"
        again = journal.get(kept.key)
        assert again is not None
        assert again.title == "before"


async def test_what_the_program_keeps_is_its_own_copy(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record(data={"list": [1]}, additional_directories=["/a"])
        journal.put(kept)
        kept.data["list"].append(2)
        kept.additional_directories.append("/b")
        for read in (journal.get(kept.key), journal.list()[0]):
            assert read is not None
            assert (read.data, read.additional_directories) == ({"list": [1]}, ["/a"])
            read.data["list"].append(3)
        with pytest.raises(TypeError):
            journal.put(record(data={"x": object()}))
        await journal.commit()
        assert len(journal.list()) == 1


async def test_a_path_that_is_no_text_can_be_kept(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record(cwd=os.fsdecode(b"/project/\xff\xfe"))
        journal.put(kept)
        await journal.commit()
        assert [each.key for each in journal.list(cwd=kept.cwd)] == [kept.key]


async def test_whatever_is_asked_for_is_an_answer(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record()
        journal.put(kept)
        journal.append(kept.key, "to_client", chunk("s", "walnut"))
        for odd in ("\udcff", "\0", "", "'"):
            assert journal.get(odd) is None
            assert list(journal.entries(odd)) == []
            assert journal.list(name=odd) == []
        assert journal.list(limit=2**70) == [journal.get(kept.key)]
        assert [len(journal.search("walnut", limit=limit)) for limit in (0, 1, 2**70)] == [0, 1, 1]


async def test_sessions_are_listed_newest_first_and_as_asked(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        journal.put(record("a", updated_at=1.0, name="first"))
        journal.put(record("b", updated_at=3.0, agent="other", cwd="/x"))
        journal.put(record("c", updated_at=2.0, role="agent"))

        def ids(found: list[Record]) -> str:
            return "".join(each.session_id for each in found)

        assert ids(journal.list()) == "bca"
        assert ids(journal.list(limit=2)) == "bc"
        assert ids(journal.list(limit=0)) == ""
        assert ids(journal.list(role="agent")) == "c"
        assert ids(journal.list(agent="other")) == "b"
        assert ids(journal.list(cwd="/x")) == "b"
        assert ids(journal.list(name="first")) == "a"
        assert ids(journal.list(session_id="c")) == "c"
        assert ids(journal.list(session_id="c", role="client")) == ""
        journal.append(journal.list(name="first")[0].key, "note", b"{}", 4.0)
        assert ids(journal.list()) == "abc"


async def test_a_copy_has_what_the_other_has_and_goes_its_own_way(
    make: Callable[[], Journal],
) -> None:
    async with opened(make) as journal:
        first, second = record("a"), record("b", title="copy")
        journal.put(first)
        journal.append(first.key, "to_client", b"1", 1.0)
        journal.copy(first.key, second)
        journal.append(first.key, "to_client", b"2", 2.0)
        journal.append(second.key, "to_client", b"3", 3.0)
        assert [entry.data for entry in journal.entries(first.key)] == [b"1", b"2"]
        assert [entry.data for entry in journal.entries(second.key)] == [b"1", b"3"]
        read = journal.get(second.key)
        assert read is not None
        assert (read.session_id, read.title, read.entries, read.size_bytes) == ("b", "copy", 2, 2)
        journal.copy("nobody", record("c"))
        assert len(journal.list()) == 2


async def test_what_is_deleted_is_gone(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        first, second = record("a"), record("b")
        for each in (first, second):
            journal.put(each)
            journal.append(each.key, "to_client", chunk(each.session_id, "walnut"))
        assert len(journal.search("walnut")) == 2
        journal.delete(first.key)
        journal.delete("nobody")
        journal.append(first.key, "to_client", b"late")
        assert [each.key for each in journal.list()] == [second.key]
        assert list(journal.entries(first.key)) == []
        assert [hit.record.key for hit in journal.search("walnut")] == [second.key]


async def test_the_oldest_go_until_the_rest_is_within_limits(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        for number in range(6):
            each = record(str(number), updated_at=float(number))
            journal.put(each)
            journal.append(each.key, "note", b"x" * 10, float(number))
        assert journal.prune() == 0
        assert journal.prune(max_sessions=5) == 1
        assert [each.session_id for each in journal.list()] == list("54321")
        assert journal.prune(max_bytes=35) == 2
        assert [each.session_id for each in journal.list()] == list("543")
        assert journal.prune(max_sessions=0, role="agent") == 0
        assert journal.prune(max_age=10**12) == 0
        assert journal.prune(max_age=10**6, trust_clock=True) == 3
        assert journal.list() == []


DAY = 24 * 60 * 60.0


def daily(journal: Journal, days: int) -> list[str]:
    """Write down one session a day, up to now; returns their ids, the newest first."""
    now = time.time()
    for number in range(days):
        moment = now - number * DAY
        journal.put(record(str(number), created_at=moment, updated_at=moment))
    return [str(number) for number in range(days)]


@pytest.mark.requirement("SAFE-COST-02")
async def test_a_clock_that_is_years_ahead_deletes_nothing_and_says_so(
    make: Callable[[], Journal],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(make) as journal:
        ids = daily(journal, 20)
        wrong = time.time() + 55 * 365 * DAY
        with monkeypatch.context() as patched:
            patched.setattr("parley.journal._retention.time.time", lambda: wrong)
            assert journal.prune(max_age=30 * DAY) == 0
            assert "20075 days ahead" in caplog.text
            assert "older than 30 days was kept because of that: 20 sessions" in caplog.text
            assert "parley sessions prune --trust-clock" in caplog.text
            caplog.clear()

            journal.put(record("wrong", created_at=wrong, updated_at=wrong))
            assert journal.prune(max_age=30 * DAY) == 0, "a second run with the wrong clock"
        assert journal.prune(max_age=30 * DAY) == 0, "the clock is right again"
        assert [each.session_id for each in journal.list()] == ["wrong", *ids]
        assert not caplog.text


@pytest.mark.requirement("SAFE-COST-02")
@pytest.mark.parametrize("max_age", [2 * DAY, 30 * DAY], ids=["2 days", "30 days"])
async def test_clocks_that_are_wrong_again_and_again_delete_nothing(
    make: Callable[[], Journal], monkeypatch: pytest.MonkeyPatch, max_age: float
) -> None:
    async with opened(make) as journal:
        ids = daily(journal, 2)
        wrong = time.time()
        for number in range(10):
            wrong += (100 + 365 * number) * DAY
            monkeypatch.setattr("parley.journal._retention.time.time", lambda now=wrong: now)
            assert journal.prune(max_age=max_age) == 0
            journal.put(record(f"wrong {number}", created_at=wrong, updated_at=wrong))
            assert journal.prune(max_age=max_age) == 0
        assert [each.session_id for each in journal.list()][-2:] == ids


async def test_a_clock_that_is_behind_deletes_nothing(
    make: Callable[[], Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(make) as journal:
        daily(journal, 5)
        monkeypatch.setattr("parley.journal._retention.time.time", lambda: 1000.0)
        assert journal.prune(max_age=2 * DAY) == 0


async def test_sessions_that_are_used_regularly_go_on_the_day_that_the_limit_says(
    make: Callable[[], Journal], caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(make) as journal:
        ids = daily(journal, 40)
        assert journal.prune(max_age=30.5 * DAY) == 9
        assert [each.session_id for each in journal.list()] == ids[:31]
        assert not caplog.text


async def test_a_long_gap_counts_as_a_week(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        now = time.time()
        for number, age in enumerate((0, 85, 95, 110)):
            moment = now - age * DAY
            journal.put(record(str(number), created_at=moment, updated_at=moment))
        assert journal.prune(max_age=30 * DAY) == 0
        assert journal.prune(max_age=20 * DAY) == 1
        assert journal.prune(max_age=20 * DAY, trust_clock=True) == 2


async def test_an_age_of_less_than_a_day_is_measured_by_the_clock(
    make: Callable[[], Journal],
) -> None:
    async with opened(make) as journal:
        journal.put(record("old", created_at=1.0, updated_at=1.0))
        assert journal.prune(max_age=60) == 1
        assert journal.prune(max_age=60 * DAY) == 0, "there is none left"


async def test_a_session_whose_turn_runs_in_a_living_process_stays(
    make: Callable[[], Journal],
) -> None:
    async with opened(make) as journal:
        journal.put(record("alive", state="running", process=this_process()))
        journal.put(record("dead", state="running", process=f"{os.getpid()}:1"))
        journal.put(record("idle"))
        assert journal.prune(max_sessions=0) == 2
        (left,) = journal.list()
        assert left.session_id == "alive"
        assert not left.is_interrupted


async def test_words_are_found_across_the_pieces_of_a_message(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record()
        journal.put(kept)
        journal.append(kept.key, "to_agent", prompt(1, "s", "Look for the Wal-nut, please"))
        for text in ("The pea", "nut is in the ", "pan", "try."):
            journal.append(kept.key, "to_client", chunk("s", text))
        (hit,) = journal.search("peanut")
        assert (hit.record.key, hit.number) == (kept.key, 2)
        assert "\2peanut\3 is in the pantry" in hit.text
        assert [each.number for each in journal.search("PANTRY")] == [2]
        assert [each.number for each in journal.search("wal-nut please")] == [1]
        assert journal.search("nut walnut") == []
        assert journal.search("peanut walrus") == []


async def test_the_last_word_may_be_just_begun(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record()
        journal.put(kept)
        journal.append(kept.key, "to_client", chunk("s", "an elephant in the Métro"))
        assert len(journal.search("elephant met")) == 1
        assert len(journal.search("eleph")) == 1
        assert journal.search("eleph metro") == []


@pytest.mark.parametrize(
    "words",
    ['"', "*", "AND", "a OR", "NOT x", "(", "text:x", "^a", "a*b", "-", "", " ", "\0x", "\ud800",
     'say "hi', "NEAR(a b)", "a + b", "{a}:b", "…", "ü\u0301"],
)  # fmt: skip
async def test_whatever_is_typed_is_words(make: Callable[[], Journal], words: str) -> None:
    async with opened(make) as journal:
        kept = record()
        journal.put(kept)
        journal.append(kept.key, "to_client", chunk("s", "nothing of the kind"))
        assert journal.search(words) == []


async def test_hits_are_newest_first_and_few_per_session(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        for number in range(4):
            each = record(str(number))
            journal.put(each)
            for turn in range(5):
                sent = prompt(turn, "s", f"common word {number} {turn}")
                journal.append(each.key, "to_agent", sent, 10.0 * number + turn)
        hits = journal.search("common")
        assert [hit.record.session_id for hit in hits] == [*"333", *"222", *"111", *"000"]
        assert [hit.number for hit in hits[:3]] == [5, 4, 3]
        assert [hit.record.session_id for hit in journal.search("common", limit=4)] == [*"333", "2"]


async def test_a_search_is_for_one_role(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record(role="agent")
        journal.put(kept)
        journal.append(kept.key, "to_client", chunk("s", "walnut"))
        assert journal.search("walnut") == []
        assert len(journal.search("walnut", role="agent")) == 1


async def test_what_comes_after_a_search_is_found_by_the_next(make: Callable[[], Journal]) -> None:
    async with opened(make) as journal:
        kept = record(state="running", process=this_process())
        journal.put(kept)
        journal.append(kept.key, "to_agent", prompt(1, "s", "hazel"))
        journal.append(kept.key, "to_client", chunk("s", "an al"))
        assert [hit.number for hit in journal.search("hazel")] == [1]
        journal.append(kept.key, "to_client", chunk("s", "mond"))
        journal.append(kept.key, "to_client", update("s", "plan", entries=[{"content": "eat"}]))
        kept.state = "idle"
        journal.put(kept, "state")
        assert [hit.number for hit in journal.search("almond")] == [2]
        assert [hit.number for hit in journal.search("hazel")] == [1]
        assert [hit.number for hit in journal.search("eat")] == [4]
