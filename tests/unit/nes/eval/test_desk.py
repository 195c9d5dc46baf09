from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes.documents.document import Document
from parley.nes.engine import Spot
from parley.nes.eval.desk import Desk

from .made import commit_of

LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "é𝒳\n"]), max_size=12).map("".join)


@given(LINES, LINES, st.randoms(use_true_random=False))
def test_in_whatever_order_changes_are_made_the_file_becomes_what_it_was(
    old: str, new: str, chance: random.Random
) -> None:
    commit = commit_of(a=(old, new))
    desk, document = Desk(commit), Document("", "", 0, old)
    hunks = list(commit.hunks)
    chance.shuffle(hunks)
    for each in hunks:
        assert each in desk.left("a.py")
        assert "".join(desk.with_made("a.py", desk.left())) == new
        made = desk.make(each)
        document.edit(made.span, made.text)
        assert document.text == "".join(desk.files["a.py"])
    assert "".join(desk.files["a.py"]) == new
    assert desk.left() == []


def test_a_change_is_found_where_it_is_by_now() -> None:
    commit = commit_of(a=("1\n2\n3\n4\n5\n", "1\nx\ny\n3\n4\nz\n"))
    desk = Desk(commit)
    first, second = commit.hunks
    assert (desk.start(first), desk.start(second)) == (1, 4)
    made = desk.make(first)
    assert (desk.start(second), made.cursor) == (5, Spot(2, 1))
    assert desk.without(first) == ["1\n", "2\n", "3\n", "4\n", "5\n"]


def test_a_part_of_a_change_leaves_the_rest() -> None:
    commit = commit_of(a=("1\n2\n3\n", "x\ny\nz\n2\n4\n"))
    desk = Desk(commit)
    rest = desk.make_part(commit.hunks[0], ["x\n", "y\n"])
    assert (rest.old, rest.new) == (("x\n", "y\n"), ("x\n", "y\n", "z\n"))
    assert desk.left()[0] == rest
    assert desk.start(commit.hunks[1]) == 3
    desk.make(rest)
    assert desk.files["a.py"][:3] == ["x\n", "y\n", "z\n"]


@pytest.mark.parametrize(("new", "cursor"), [("1\n3\n", Spot(1, 0)), ("1\nab\n3\n", Spot(1, 2))])
def test_the_cursor_is_where_a_change_ends(new: str, cursor: Spot) -> None:
    commit = commit_of(a=("1\n2\n3\n", new))
    assert Desk(commit).make(commit.hunks[0]).cursor == cursor


def test_only_files_that_are_looked_at_have_something_left() -> None:
    commit = commit_of(a=("1\n", "2\n"), b=("1\n", "2\n"))
    assert [each.path for each in Desk(commit, ["b.py"]).left()] == ["b.py"]
