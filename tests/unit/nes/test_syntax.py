"""A file that takes too long to parse is plain text from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from parley.nes import _syntax as syntax
from parley.nes._documents.document import Document
from parley.nes._syntax import BEFORE, forget, growing, is_parsed, parse
from parley.nes.embedded import EmbeddedEngine
from parley.nes.engine import Workspace

TEXT = "class A:\n    y = 2\n\n"
Slow = Callable[[float], None]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """Let each parse take so many seconds."""

    def take(seconds: float) -> None:
        clock = count()
        monkeypatch.setattr(syntax, "thread_time", lambda: next(clock) * seconds)

    yield take
    for name in ("slow.py", "long.py", "file:///w/slow.py"):
        forget(name)


def test_a_slow_file_is_not_parsed_again_until_it_is_forgotten(slow: Slow) -> None:
    slow(0.2)
    assert parse("slow.py", "python", TEXT) is None
    slow(0.0)
    assert parse("slow.py", "python", f"{TEXT}x = 1\n") is None
    assert parse(f"slow.py{BEFORE}", "python", TEXT) is None
    assert parse("other.py", "python", TEXT) is not None
    forget("slow.py")
    assert parse("slow.py", "python", TEXT) is not None


def test_nothing_is_kept_of_a_file_that_was_closed() -> None:
    parse("closed.py", "python", TEXT)
    parse(f"closed.py{BEFORE}", "python", TEXT)
    parse("closed.py.bak", "python", TEXT)
    forget("closed.py")
    assert not is_parsed("closed.py", "python")
    assert is_parsed("closed.py.bak", "python")
    forget("closed.py.bak")
    assert not is_parsed("closed.py.bak", "python")


def test_the_trees_have_a_bound_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "_kept", syntax._Kept())
    for number in range(syntax._MOST_KEPT + 1):
        parse(f"{number}.py", "python", TEXT)
    assert not is_parsed("0.py", "python")
    assert is_parsed("1.py", "python")
    monkeypatch.setattr(syntax, "_MOST_KEPT_BYTES", 3 * len(TEXT))
    parse("last.py", "python", TEXT)
    last = range(syntax._MOST_KEPT - 2, syntax._MOST_KEPT + 1)
    assert [is_parsed(f"{number}.py", "python") for number in last] == [False, True, True]


def test_a_slow_text_without_a_name_hinders_no_other(slow: Slow) -> None:
    slow(0.2)
    assert parse("", "python", TEXT, keep=False) is None
    slow(0.0)
    assert parse("", "python", TEXT, keep=False) is not None


def test_growing_ends_with_the_first_slow_piece(slow: Slow) -> None:
    slow(0.2)
    assert list(growing("long.py", "python", TEXT * 2_000)) == []
    slow(0.0)
    assert not is_parsed("long.py", "python")
    assert list(growing("long.py", "python", TEXT * 2_000)) == []


@pytest.mark.parametrize("ends", ["document", "session"])
async def test_a_slow_file_that_is_closed_gets_another_chance(slow: Slow, ends: str) -> None:
    slow(0.2)
    predictor = EmbeddedEngine().begin(Workspace())
    document = Document("file:///w/slow.py", "python", 1, TEXT)
    predictor.opened(document)
    await predictor.settled()
    slow(0.0)
    assert parse(document.uri, "python", TEXT) is None
    if ends == "document":
        predictor.closed(document)
    predictor.close()
    assert parse(document.uri, "python", TEXT) is not None
