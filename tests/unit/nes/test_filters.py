"""The filters that both engines share."""

from __future__ import annotations

import pytest

from parley.nes._filters import changes_space_only, undoes


@pytest.mark.parametrize(
    ("old", "new", "is_undone"),
    [
        (["b"], ["a"], True),
        ([], ["a"], True),
        (["b", "c"], ["a", "c"], True),
        (["  b"], ["  a"], True),
        (["c"], ["a"], False),
        (["b"], ["c"], False),
        (["b"], ["b"], False),
        ([""], [" "], False),
    ],
)
def test_an_edit_is_undone_by_lines_that_go_as_they_came(
    old: list[str], new: list[str], is_undone: bool
) -> None:
    assert undoes(old, new, ["a"], ["b"]) is is_undone


def test_next_to_an_edit_its_old_lines_do_not_come_back_for_anything() -> None:
    assert undoes(["c"], ["a"], ["a"], ["b"], is_adjacent=True)
    assert not undoes(["c"], ["d"], ["a"], ["b"], is_adjacent=True)
    assert not undoes(["c"], [], [], ["b"], is_adjacent=True)


def test_space_alone_is_no_change() -> None:
    assert changes_space_only(["a b", ""], ["a", "b"])
    assert not changes_space_only(["a b"], ["a", "c"])
