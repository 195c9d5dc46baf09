from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from parley.client._session_format import from_home, state_of, when
from parley.journal import Record
from parley.journal._process import this_process


def record(**fields: Any) -> Record:
    return Record(key="k", agent="a", session_id="s", **fields)


def test_a_session_that_does_something_says_so() -> None:
    assert state_of(record()) == ""
    assert state_of(record(is_archived=True)) == "archived"
    assert state_of(record(state="running", process=this_process())) == "running"
    assert state_of(record(state="running", is_archived=True)) == "interrupted"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3600, "1 h ago"),
        (47 * 3600, "47 h ago"),
    ],
)
def test_a_time_is_formatted_for_people(seconds: float, expected: str) -> None:
    assert when(time.time() - seconds) == expected


def test_a_time_long_ago_is_a_day() -> None:
    assert when(1_000_036_800) == "2001-09-09"


def test_a_time_that_no_calendar_has_is_not_shown() -> None:
    assert when(-1e18) == ""


def test_a_path_begins_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert from_home(str(tmp_path)) == "~"
    assert from_home(f"{tmp_path}/src") == "~/src"
    assert from_home(f"{tmp_path}s/src") == f"{tmp_path}s/src"
