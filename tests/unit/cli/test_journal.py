"""The journal, as commands open it: what the configuration wants forgotten is forgotten then."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from parley.cli.journal import open_journal
from parley.cli.reporting import Exit, Failure
from parley.journal import Record, SqliteJournal


def configure(places: Path, text: str) -> None:
    file = places / "config" / "parley" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)


async def keep(*days_ago: int) -> None:
    journal = SqliteJournal()
    for days in days_ago:
        at = time.time() - days * 24 * 60 * 60
        journal.put(Record(key=f"{days}", agent="demo", session_id=f"{days}", updated_at=at))
    await journal.aclose()


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        ("", ["1", "7", "14", "21", "28", "34"]),
        ("max_age_days = 30", ["1", "7", "14", "21", "28"]),
        ("max_sessions = 1", ["1"]),
    ],
)
async def test_what_is_too_old_or_too_much_is_forgotten(
    limit: str, kept: list[str], places: Path
) -> None:
    configure(places, f"[journal]\n{limit}\n")
    await keep(1, 7, 14, 21, 28, 34)
    async with open_journal() as journal:
        assert journal is not None
        assert [each.key for each in journal.list()] == kept


@pytest.mark.parametrize(("setting", "is_wanted"), [("enabled = false", True), ("", False)])
async def test_nothing_is_kept_and_nothing_forgotten_where_no_journal_is_wanted(
    setting: str, is_wanted: bool, places: Path
) -> None:
    configure(places, f"[journal]\nmax_sessions = 1\n{setting}\n")
    await keep(1, 20)
    async with open_journal(is_wanted=is_wanted) as journal:
        assert journal is None
    kept = SqliteJournal()
    assert len(kept.list()) == 2
    await kept.aclose()


async def test_a_configuration_that_cannot_be_read_stops_the_command(places: Path) -> None:
    configure(places, "[journal\n")
    with pytest.raises(Failure, match=r"config\.toml") as failed:
        async with open_journal():
            pass
    assert failed.value.code == Exit.USAGE
