from __future__ import annotations

import pytest

from parley.nes._eval.corpus import Commit
from parley.nes._eval.editor_session import EditorSession
from parley.nes._eval.scoring import Verdict, judge
from parley.nes.engine import (
    EditProposal,
    JumpProposal,
    Proposal,
    RenameProposal,
    ReplaceProposal,
    Span,
    Spot,
    TextEdit,
)

from .made_repository import commit_of

OLD = "one = call(1)\n\nkeep\n\ntwo = call(2)\nmore = 2\n\nkeep\n\nthree = call(3)\n"
NEW = "one = call(1, x)\n\nkeep\n\ntwo = call(2, x)\nless = 2\n\nkeep\n\nthree = call(3, x)\n"
COMMIT = commit_of(a=(OLD, NEW))


def _edit(*changes: tuple[int, int, str]) -> EditProposal:
    """Return an edit of whole lines: from a line to a line, and what stands there then."""
    edits = (TextEdit(Span(Spot(a, 0), Spot(b, 0)), text) for a, b, text in changes)
    return EditProposal(uri="file:///a.py", edits=tuple(edits), score=1.0, rule="test")


def _judged(proposal: Proposal, commit: Commit = COMMIT, made: int = 1) -> Verdict:
    """Judge a suggestion after the first changes of a commit."""
    editor = EditorSession(commit)
    for each in commit.hunks[:made]:
        editor.make(each)
    following = commit.hunks[made] if made < len(commit.hunks) else None
    return judge(proposal, editor, "a.py", following)


def test_a_remaining_change_is_exact_whether_it_is_the_next_one_or_not() -> None:
    following = _judged(_edit((4, 6, "two = call(2, x)\nless = 2\n")))
    assert following == Verdict(exact=True, step=True, location=True, next=True)
    other = _judged(_edit((9, 10, "three = call(3, x)\n")))
    assert other == Verdict(exact=True, step=True, location=True, next=False)


def test_an_edit_within_a_line_is_as_good_as_the_line() -> None:
    end = Spot(9, len("three = call(3"))
    edit = EditProposal(
        uri="file:///a.py", edits=(TextEdit(Span(end, end), ", x"),), score=1.0, rule="test"
    )
    assert _judged(edit).exact


def test_several_remaining_changes_at_once_are_exact() -> None:
    both = _edit((4, 6, "two = call(2, x)\nless = 2\n"), (9, 10, "three = call(3, x)\n"))
    assert _judged(both) == Verdict(exact=True, step=True, location=True, next=True)


def test_a_part_of_a_remaining_change_is_a_step() -> None:
    assert _judged(_edit((4, 5, "two = call(2, x)\n"))) == Verdict(step=True, location=True)


def test_what_has_to_be_undone_is_only_at_the_right_place() -> None:
    assert _judged(_edit((4, 5, "two = call(2, y)\n"))) == Verdict(location=True)
    beside = _edit((4, 5, "two = call(2, x)\n"), (7, 8, "lost\n"))
    assert _judged(beside) == Verdict(location=True)


def test_what_is_elsewhere_is_wrong() -> None:
    assert _judged(_edit((2, 3, "lost\n"))) == Verdict()


def test_blanks_alone_and_nothing_at_all_are_no_step() -> None:
    assert _judged(_edit((4, 5, "two  =  call(2)\n"))) == Verdict(location=True)
    assert _judged(_edit((4, 5, "two = call(2)\n"))) == Verdict()


def test_at_the_end_everything_is_wrong() -> None:
    assert _judged(_edit((2, 3, "lost\n")), made=len(COMMIT.hunks)) == Verdict()


def test_what_was_done_must_not_be_taken_back() -> None:
    back = _judged(_edit((0, 1, "one = call(1)\n")))
    assert back == Verdict(reverses=True)
    assert not _judged(_edit((0, 1, "one = call(1, x, y)\n"))).reverses


@pytest.mark.parametrize(
    ("line", "is_there"), [(4, True), (5, True), (6, False), (9, True), (0, False)]
)
def test_a_jump_is_right_where_something_changes(line: int, is_there: bool) -> None:
    jump = JumpProposal(uri="file:///a.py", spot=Spot(line, 3), score=1.0, rule="test")
    assert _judged(jump) == Verdict(step=is_there, location=is_there)


def test_a_jump_to_where_lines_come_is_right_beside_them() -> None:
    commit = commit_of(a=("a\n\nb\nc\nd\n", "x\n\nb\nc\nnew\nd\n"))
    found = [
        line
        for line in range(5)
        if _judged(JumpProposal(uri="", spot=Spot(line, 0), score=1, rule=""), commit).location
    ]
    assert found == [3, 4]


def test_lines_that_come_before_or_behind_their_likes_are_the_same() -> None:
    commit = commit_of(a=("x\nk\n}\n\n}\n", "y\nk\n}\n\n}\n\n}\n"))
    above = _edit((2, 2, "}\n\n"))
    below = _edit((5, 5, "\n}\n"))
    assert _judged(above, commit).exact
    assert _judged(below, commit).exact


def test_some_of_the_lines_that_come_are_a_step_and_others_are_not() -> None:
    commit = commit_of(a=("x\n\nb\n", "y\n\nfirst(1)\nsecond(2)\nthird(3)\nb\n"))
    assert _judged(_edit((2, 2, "second(2)\n")), commit) == Verdict(step=True, location=True)
    assert _judged(_edit((2, 2, "first(1)\nthird(3)\n")), commit).step
    assert not _judged(_edit((2, 2, "third(3)\nfirst(1)\n")), commit).step


def test_a_rename_counts_as_the_replacement_of_its_words() -> None:
    old, new = "def old():\n\n\n    older\n\n\nold()\n", "def new():\n\n\n    older\n\n\nnew()\n"
    commit = commit_of(a=(old, new))
    rename = RenameProposal(uri="file:///a.py", spot=Spot(6, 1), new_name="new", score=1.0)
    assert _judged(rename, commit).exact
    nowhere = RenameProposal(uri="file:///a.py", spot=Spot(1, 0), new_name="new", score=1.0)
    assert _judged(nowhere, commit) == Verdict()


@pytest.mark.parametrize(
    ("search", "replace", "is_regex", "is_exact"),
    [
        ("old(", "new(", False, True),
        (r"old\((\d)\)", r"new(\1)", True, True),
        (r"old\((\d)\)", r"new(\2)", True, False),
        ("(", "[", True, False),
    ],
)
def test_a_replacement_is_made_everywhere_in_its_file(
    search: str, replace: str, is_regex: bool, is_exact: bool
) -> None:
    commit = commit_of(a=("old(0)\n\nold(1)\n\nold(2)\n", "new(0)\n\nnew(1)\n\nnew(2)\n"))
    proposal = ReplaceProposal(
        uri="", search=search, replace=replace, is_regex=is_regex, score=1.0, rule="test"
    )
    assert _judged(proposal, commit).exact is is_exact


def test_more_syntax_errors_than_before_are_told() -> None:
    assert _judged(_edit((4, 5, "two = call(2, x\n"))).breaks
    assert not _judged(_edit((4, 5, "two = call(2, y)\n"))).breaks


def test_a_file_outside_the_commit_is_wrong_and_may_be_broken() -> None:
    editor = EditorSession(COMMIT)
    editor.make(COMMIT.hunks[0])
    edit = _edit((0, 1, "def (\n"))
    assert judge(edit, editor, "b.py", None, lambda: ["x = 1\n"]) == Verdict(breaks=True)
    assert judge(edit, editor, "b.py", None, lambda: None) == Verdict()
    assert judge(edit, editor, None, None) == Verdict()
