from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.gateway.owners import MemoryOwners, SqliteOwners, owners_path


def test_the_first_owner_stays_the_owner_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state" / "gateway.db"
    owners = SqliteOwners(path)
    owners.claim("agent", "s", "ann")
    owners.claim("agent", "s", "bob")
    owners.claim("other", "s", "bob")
    restarted = SqliteOwners(path)
    for each in (owners, restarted):
        assert each.find("agent", "s") == "ann"
        assert each.find("other", "s") == "bob"
        assert each.find("agent", "t") is None
        each.claim("agent", "s", "bob")
        assert each.find("agent", "s") == "ann"
    restarted.close()
    owners.forget("agent", "s")
    owners.close()
    again = SqliteOwners(path)
    assert again.find("agent", "s") is None
    again.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_memory_keeps_the_newest() -> None:
    owners = MemoryOwners(2)
    for id in "abc":
        owners.claim("agent", id, "ann")
    assert [owners.find("agent", id) for id in "abc"] == [None, "ann", "ann"]


def test_a_file_that_cannot_be_used_is_told_and_one_that_breaks_belongs_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database, but long enough to be looked at" * 100)
    with pytest.raises(ConfigError, match="move it away"):
        SqliteOwners(broken)
    owners = SqliteOwners(tmp_path / "gateway.db")
    with closing(sqlite3.connect(owners.path, isolation_level=None)) as other:
        other.execute("DROP TABLE owners")
    owners.claim("agent", "s", "ann")
    assert "cannot be looked up" in caplog.text
    assert owners.find("agent", "s") not in (None, "ann")
    owners.forget("agent", "s")
    assert "cannot be stored" in caplog.text
    owners.close()


def test_it_is_in_the_state_directory(places: Path) -> None:
    assert owners_path() == places / "state" / "parley" / "gateway.db"
