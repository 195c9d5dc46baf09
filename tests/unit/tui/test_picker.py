"""A list to choose from, alone over the screen, and how it is filtered."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.tui.dialog_app import DialogApp, press, screen_text, settled

from parley.tui.dialogs.fuzzy import best_matches, rank
from parley.tui.dialogs.picker import ListPicker
from parley.tui.dialogs.rows import Row


def _list(*labels: str) -> ListPicker[str]:
    return ListPicker("Pick", [Row(label, label) for label in labels])


async def _picked(picker: ListPicker[Any], *keys: str) -> list[Any]:
    app = DialogApp(picker=picker)
    async with app.run_test() as pilot:
        await press(pilot, *keys)
        return app.picked


# Filtering


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", [0, 1, 2, 3]),
        ("open", [0, 1]),
        ("code", [2, 1, 0]),
        ("oc", [3, 0, 1]),
        ("code open", [1, 0]),
        ("xyz", []),
    ],
)
def test_what_begins_with_the_words_comes_before_what_has_only_the_letters(
    typed: str, found: list[int]
) -> None:
    assert best_matches(typed, ["opencode", "open code", "codex", "demo oc"]) == found


def test_filtering_takes_no_time_on_text_that_is_made_for_that() -> None:
    assert rank(["a" * 200], f"{'ab' * 50_000}") == 3
    assert rank([f"{'a' * 200}c"], f"{'ab' * 50_000}") is None


# Any list


async def test_enter_chooses_the_first_and_arrows_move() -> None:
    assert await _picked(_list("a", "b", "c"), "enter") == ["a"]
    assert await _picked(_list("a", "b", "c"), "down", "enter") == ["b"]
    assert await _picked(_list("a", "b", "c"), "up", "enter") == ["c"]


async def test_escape_leaves() -> None:
    assert await _picked(_list("a"), "escape") == [None]


async def test_typing_filters_and_enter_takes_the_best() -> None:
    app = DialogApp(picker=_list("build", "test all", "check"))
    async with app.run_test() as pilot:
        await press(pilot, *"tst")
        assert "▸ test all" in screen_text(app)
        assert "build" not in screen_text(app)
        assert "1 of 3" in screen_text(app)
        await press(pilot, "enter")
    assert app.picked == ["test all"]


async def test_nothing_is_chosen_where_nothing_fits() -> None:
    app = DialogApp(picker=_list("a", "b"))
    async with app.run_test() as pilot:
        await press(pilot, "x", "enter")
        assert "Nothing fits." in screen_text(app)
        await press(pilot, "backspace", "enter")
    assert app.picked == ["a"]


async def test_an_empty_list_says_so() -> None:
    app = DialogApp(picker=ListPicker[str]("Pick", [], nothing="Nobody is here."))
    async with app.run_test() as pilot:
        await press(pilot, "down", "enter")
        assert "Nobody is here." in screen_text(app)
        assert "Enter" not in screen_text(app)
        await press(pilot, "escape")
    assert app.picked == [None]


async def test_a_row_that_cannot_be_chosen_is_passed_over() -> None:
    rows = [Row("a", "a", can_choose=False), Row("b", "b"), Row("c", "c", can_choose=False)]
    assert await _picked(ListPicker("Pick", rows), "enter") == ["b"]
    assert await _picked(ListPicker("Pick", rows), "down", "enter") == ["b"]


async def test_headings_stand_above_their_rows_until_something_is_typed() -> None:
    rows = [Row("a", "apple", group="Fruit"), Row("b", "beet", group="Roots")]
    app = DialogApp(picker=ListPicker("Pick", rows))
    async with app.run_test() as pilot:
        await settled(pilot)
        lines = [line.strip(" │") for line in screen_text(app).split("\n")]
        assert lines.index("Fruit") + 1 == lines.index("▸ apple")
        assert lines.index("Roots") + 1 == lines.index("beet")
        await press(pilot, *"roo")
        assert "▸ beet  Roots" in screen_text(app)
        await press(pilot, "enter")
    assert app.picked == ["b"]


async def test_the_mark_stays_in_view_in_ten_thousand_rows() -> None:
    app = DialogApp(picker=_list(*(f"row {number}" for number in range(10_000))))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "up")
        assert "▸ row 9999" in screen_text(app)
        await press(pilot, "pageup")
        assert "▸ row 9985" in screen_text(app)
        await press(pilot, *"w 77", "pagedown")
        assert "10,000" in screen_text(app)
        await press(pilot, "enter")
    assert app.picked[0].startswith("row 77")


async def test_only_the_rows_in_view_are_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: set[str] = set()
    paint = Row[str].lines

    def lines(self: Row[str], *arguments: Any, **options: Any) -> Any:
        painted.add(self.label)
        return paint(self, *arguments, **options)

    monkeypatch.setattr(Row, "lines", lines)
    app = DialogApp(picker=_list(*(f"row {number}" for number in range(10_000))))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, *"row")
        assert 0 < len(painted) < 50


async def test_a_click_chooses() -> None:
    picker = _list("a", "b", "c")
    app = DialogApp(picker=picker)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.click(picker.list, offset=(3, 1))
    assert app.picked == ["b"]


async def test_wide_characters_keep_the_frame_in_its_place() -> None:
    app = DialogApp(picker=_list("日本語" * 60, "👩‍👩‍👧" * 60))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        strips = app.screen._compositor.render_strips()
        assert {strip.cell_length for strip in strips} == {80}
        assert "…" in screen_text(app)
