from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.document import Document
from parley.nes._eval.editor_session import EditorSession
from parley.nes.engine import Spot

from .made_repository import commit_of

LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "é𝒳\n"]), max_size=12).map("".join)


@given(LINES, LINES, st.randoms(use_true_random=False))
def test_in_whatever_order_changes_are_made_the_file_becomes_what_it_was(
    old: str, new: str, chance: random.Random
) -> None:
    commit = commit_of(a=(old, new))
    editor, document = EditorSession(commit), Document("", "", 0, old)
    hunks = list(commit.hunks)
    chance.shuffle(hunks)
    for each in hunks:
        assert each in editor.left("a.py")
        assert "".join(editor.with_made("a.py", editor.left())) == new
        made = editor.make(each)
        document.edit(made.span, made.text)
        assert document.text == "".join(editor.files["a.py"])
    assert "".join(editor.files["a.py"]) == new
    assert editor.left() == []


def test_a_change_is_found_where_it_is_by_now() -> None:
    commit = commit_of(a=("1\n2\n3\n4\n5\n", "1\nx\ny\n3\n4\nz\n"))
    editor = EditorSession(commit)
    first, second = commit.hunks
    assert (editor.start(first), editor.start(second)) == (1, 4)
    made = editor.make(first)
    assert (editor.start(second), made.cursor) == (5, Spot(2, 1))
    assert editor.without(first) == ["1\n", "2\n", "3\n", "4\n", "5\n"]


def test_a_part_of_a_change_leaves_the_rest() -> None:
    commit = commit_of(a=("1\n2\n3\n", "x\ny\nz\n2\n4\n"))
    editor = EditorSession(commit)
    rest = editor.make_part(commit.hunks[0], ["x\n", "y\n"])
    assert (rest.old, rest.new) == (("x\n", "y\n"), ("x\n", "y\n", "z\n"))
    assert editor.left()[0] == rest
    assert editor.start(commit.hunks[1]) == 3
    editor.make(rest)
    assert editor.files["a.py"][:3] == ["x\n", "y\n", "z\n"]


@pytest.mark.parametrize(("new", "cursor"), [("1\n3\n", Spot(1, 0)), ("1\nab\n3\n", Spot(1, 2))])
def test_the_cursor_is_where_a_change_ends(new: str, cursor: Spot) -> None:
    commit = commit_of(a=("1\n2\n3\n", new))
    assert EditorSession(commit).make(commit.hunks[0]).cursor == cursor


def test_only_files_that_are_looked_at_have_something_left() -> None:
    commit = commit_of(a=("1\n", "2\n"), b=("1\n", "2\n"))
    assert [each.path for each in EditorSession(commit, ["b.py"]).left()] == ["b.py"]
