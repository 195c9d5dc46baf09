"""What is read piece by piece, or taken over from before, is what would be read at once."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes.embedded._background import Background
from parley.nes.embedded._names import scopes
from parley.nes.embedded._names.table import Limit, Names, is_read, names
from parley.nes.embedded._source import SourceFile

PYTHON = """\
import os

LIMIT = 3


class Thing(Base):
    size = LIMIT

    def grow(self, by=size, *, step: LIMIT = 2):
        def inner(value):
            return value + by + LIMIT + other(self.items[value], step=step)
        return [inner(x) for x in os.listdir(by)]

    def shrink(self, by):
        global LIMIT
        LIMIT = by
        from a import *
        return self.grow(by)
"""
JAVASCRIPT = """\
import { a as b } from './x';

export class Thing extends Base {
  grow(by, step = b) {
    var total = 0;
    const inner = (value) => { total += value + by + this.size; return other(value, step); };
    return [1, 2].map(function named(x) { return inner(x) + named.length + total; });
  }
}
"""
GO = """\
package main

func grow(by int) int {
\ttotal := by
\treturn other(total) + limit
}

func main() {
\tgrow(1)
}
"""
TEXTS = {"a.py": PYTHON, "a.js": JAVASCRIPT, "a.go": GO}


def file(path: str, text: str) -> SourceFile:
    return SourceFile(f"file:///reading/{path}", text.split("\n"))


def seen(found: Names | None) -> object:
    """Everything that there is to know of names."""
    assert found is not None
    places = {
        kind: {name: sorted(table[name]) for name in table}
        for kind, table in (("b", found.bound), ("u", found.used), ("m", found.members))
    }
    calls = {name: sorted(str(x) for x in found.calls(name)) for name in ("other", "grow", "inner")}
    functions = sorted(map(str, found.functions))
    return places, calls, functions, sorted(map(str, found.imports)), found.local, found.is_open


@pytest.mark.parametrize("path", TEXTS)
def test_functions_that_are_read_apart_mean_the_same(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "_kept", type(scopes._kept)())
    monkeypatch.setattr(scopes, "_SMALL", 10**9)
    whole = seen(names(file(path, TEXTS[path])))
    for size in (0, 60, 160):
        monkeypatch.setattr(scopes, "_kept", type(scopes._kept)())
        monkeypatch.setattr(scopes, "_SMALL", size)
        assert seen(names(file(path, TEXTS[path]))) == whole


def test_a_function_elsewhere_is_found_where_it_is_now() -> None:
    first = names(file("a.py", PYTHON))
    moved = names(file("a.py", f"\n\n{PYTHON}"))
    assert first is not None
    assert moved is not None
    assert [x.line + 2 for x in first.functions] == [x.line for x in moved.functions]
    assert [(x.line + 2, x.column) for x in first.used["other"]] == moved.used["other"]


def test_who_has_no_time_reads_a_little_and_goes_on_the_next_time() -> None:
    text = "".join(f"def unheard_of_{n}(a):\n    return a + {n}\n\n\n" for n in range(20))
    long = file("late.py", text)
    assert long.tree is not None
    tries = 0
    while not is_read(long):
        assert names(long, Limit(lambda: 1.0, 0.0)) is None or is_read(long)
        tries += 1
    assert tries >= 20
    found = names(long)
    assert found is not None
    assert len(found.functions) == 20


def test_a_class_of_many_methods_is_read_in_the_end_however_late_it_always_is() -> None:
    method = "    def m{0}(self, one, two):\n" + "        self.other.call(one + {0}, two)\n" * 8
    text = "class Endless:\n" + "".join(method.format(number) for number in range(20))
    file = SourceFile("file:///endless.py", text.splitlines())
    assert file.tree is not None
    for _ in range(30):
        names(file, Limit(lambda: 1.0, 0.0))
    assert is_read(file)


def test_a_file_that_takes_too_long_is_left_for_later() -> None:
    long = file("later.py", PYTHON)
    assert names(long, Limit(lambda: 1.0, 1.0)) is None
    assert not is_read(long)
    assert names(long) is not None


LINES = st.lists(st.sampled_from(["a b", "ab", "a", "", "b a a", "ba"]), max_size=12)


@given(LINES, st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), LINES), max_size=4))
def test_where_texts_stand_is_taken_over(
    lines: list[str], edits: list[tuple[int, int, list[str]]]
) -> None:
    last = SourceFile("file:///a", lines)
    for start, end, fresh in edits:
        for needle in ("a", "b a", "ab"):
            for most in (3, 100):
                last.lines_with(needle, most)
        lines = [*last.lines]
        lines[min(start, end) : max(start, end)] = fresh
        follower, plain = SourceFile("file:///a", lines), SourceFile("file:///a", lines)
        follower.follow(last)
        for needle in ("a", "b a", "ab"):
            for most in (3, 100):
                assert follower.lines_with(needle, most) == plain.lines_with(needle, most)
        last = follower


async def test_work_in_the_background_is_done_in_order_and_a_failure_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[str] = []

    def work(name: str) -> Iterator[None]:
        done.append(name)
        yield
        if name == "second":
            raise ValueError("broken")
        done.append(name.upper())

    background = Background()
    background.add(work("first"))
    background.add(work("second"))
    background.add(work("third"), is_urgent=True)
    with caplog.at_level(logging.ERROR, "parley.nes.embedded._background"):
        await background.finish()
    assert [record.getMessage() for record in caplog.records] == ["work in the background failed"]
    assert done == ["third", "THIRD", "first", "FIRST", "second"]
    assert background.is_idle
    background.close()
