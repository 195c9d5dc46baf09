"""The history: it follows the end, keeps the reader's place, and paints only what is near."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from rich.style import Style
from tests.unit.tui.history_app import HistoryApp
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import SELECT_ALL
from textual.strip import Strip

from parley.tui.render.blocks import Note, UserBlock
from parley.tui.render.cards import ThoughtCard
from parley.tui.render.history import History
from parley.tui.render.markdown_block import MarkdownBlock
from parley.tui.render.theme import Theme


class Counted(MarkdownBlock):
    """Prose that counts how often it is painted."""

    painted = 0

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        Counted.painted += 1
        return super().lines(width, theme)


class Broken(MarkdownBlock):
    """Prose with a mistake of ours in it."""

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        raise ZeroDivisionError


@asynccontextmanager
async def staged(
    blocks: int = 0, size: tuple[int, int] = (40, 10)
) -> AsyncGenerator[tuple[HistoryApp, History, Pilot[None]]]:
    app = HistoryApp()
    async with app.run_test(size=size) as pilot:
        app.history.add(*(MarkdownBlock(f"block {n}") for n in range(blocks)))
        await pilot.pause()
        yield app, app.history, pilot


def words(count: int) -> str:
    return " ".join(f"word{n}" for n in range(count))


async def test_it_shows_the_end_and_follows_it() -> None:
    async with staged(50) as (app, history, pilot):
        assert app.screen_lines()[-1] == " block 49"
        history.add(MarkdownBlock("the newest"))
        await pilot.pause()
        assert app.screen_lines()[-1] == " the newest"
        assert history.is_at_end


async def test_a_block_that_cannot_be_painted_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged(2) as (app, history, pilot):
        history.add(Broken("what was said"), MarkdownBlock("the newest"))
        await pilot.pause()
        shown = [line for line in app.screen_lines() if line]
        assert shown == [" block 0", " block 1", " ✗ this part cannot be shown", " the newest"]
    assert "ZeroDivisionError" in caplog.text


async def test_it_stays_where_the_reader_scrolled_until_the_end_is_asked_for() -> None:
    async with staged(50) as (app, history, pilot):
        await pilot.press("pageup")
        before = app.screen_lines()
        assert before[-1] != " block 49"
        assert not history.is_at_end
        history.add(*(MarkdownBlock(words(30)) for _ in range(20)))
        await pilot.pause()
        assert app.screen_lines() == before
        await pilot.press("G")
        assert history.is_at_end
        assert app.screen_lines()[-1].endswith("word29")


async def test_scrolling_down_to_the_end_follows_it_again() -> None:
    async with staged(50) as (app, history, pilot):
        await pilot.press("up", "up", "down", "down")
        assert history.is_at_end
        history.add(MarkdownBlock("the newest"))
        await pilot.pause()
        assert app.screen_lines()[-1] == " the newest"


async def test_pages_overlap_nothing_and_skip_nothing_though_heights_were_guessed() -> None:
    async with staged() as (app, history, pilot):
        history.add(*(MarkdownBlock(f"n{n} {words(n % 40)}") for n in range(60)))
        await pilot.pause()
        pages = [app.screen_lines()]
        while history.scroll_offset.y > 0:
            await pilot.press("pageup")
            pages.append(app.screen_lines())
        seen = [
            line.split()[0] for page in reversed(pages[:-1]) for line in page if line[:2] == " n"
        ]
        numbers = [int(name[1:]) for name in seen]
        assert numbers == list(range(numbers[0], 60))


async def test_a_resize_keeps_the_block_at_the_top_of_the_view() -> None:
    async with staged() as (app, history, pilot):
        history.add(*(MarkdownBlock(f"n{n} {words(60)}") for n in range(300)))
        await pilot.pause()
        history.go_to(history.blocks[150])
        await pilot.pause()
        assert app.screen_lines()[1].startswith(" n150 ")
        for width in (70, 25, 120, 40):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            assert app.screen_lines()[1].startswith(" n150 ")


async def test_a_resize_at_the_end_stays_at_the_end() -> None:
    async with staged() as (app, history, pilot):
        history.add(*(MarkdownBlock(words(60)) for _ in range(100)), MarkdownBlock("last"))
        await pilot.pause()
        await pilot.resize_terminal(25, 8)
        await pilot.pause()
        assert app.screen_lines()[-1] == " last"


async def test_a_block_that_grows_above_the_view_moves_nothing() -> None:
    async with staged() as (app, history, pilot):
        card = ThoughtCard()
        card.append(words(20))
        history.add(card, *(MarkdownBlock(f"block {n}") for n in range(50)))
        await pilot.pause()
        history.go_to(history.blocks[5])
        await pilot.pause()
        before = app.screen_lines()
        history.fold(card, is_folded=False)
        await pilot.pause()
        assert app.screen_lines() == before
        await pilot.press("home")
        assert any("word19" in line for line in app.screen_lines())


async def test_only_what_is_near_is_painted() -> None:
    async with staged() as (_, history, pilot):
        Counted.painted = 0
        history.add(*(Counted(f"block {n}") for n in range(5_000)))
        await pilot.pause()
        assert Counted.painted < 50
        history.scroll_to(y=5_000)
        await pilot.pause()
        assert Counted.painted < 100


async def test_a_hundred_thousand_lines_stay_small() -> None:
    async with staged(size=(80, 24)) as (_, history, pilot):
        history.add(*(MarkdownBlock(f"block {n}") for n in range(1_000)))
        await pilot.pause()
        tracemalloc.start()
        try:
            history.add(*(MarkdownBlock(f"block {n}\nline two\nline three") for n in range(25_000)))
            await pilot.pause()
            for y in range(0, 100_000, 9_973):
                history.scroll_to(y=y)
            await pilot.pause()
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert history.virtual_size.height > 100_000
        assert history.painted_lines < 24 * 10
        assert grown / 100_000 < 200  # bytes for each line


async def test_thoughts_unfold_with_a_key_and_fold_again() -> None:
    async with staged() as (app, history, pilot):
        card = ThoughtCard()
        card.append("first thought\n\nsecond thought")
        history.add(Note("before"), card, Note("after"))
        await pilot.pause()
        assert [line for line in app.screen_lines() if line] == [
            " · before",
            " ∴ second thought",
            " · after",
        ]
        await pilot.press("enter")
        assert "▌  first thought" in app.screen_lines()
        await pilot.press("enter")
        assert "▌∴ second thought" in app.screen_lines()


async def test_keys_step_through_cards_and_one_unfolds_them_all() -> None:
    async with staged() as (_, history, pilot):
        cards = [ThoughtCard() for _ in range(3)]
        for card in cards:
            card.append("a\n\nb")
        history.add(*cards)
        await pilot.press("K")
        assert history.current is cards[2]
        await pilot.press("K", "K", "K")
        assert history.current is cards[0]
        await pilot.press("J")
        assert history.current is cards[1]
        await pilot.press("ctrl+o")
        assert not any(card.is_folded for card in cards)
        await pilot.press("ctrl+o")
        assert all(card.is_folded for card in cards)


async def test_a_click_on_the_head_of_a_card_unfolds_it() -> None:
    async with staged() as (_, history, pilot):
        card = ThoughtCard()
        card.append("a\n\nb")
        history.add(card)
        await pilot.pause()
        await pilot.click(History, offset=(3, 1))
        assert not card.is_folded


async def test_words_are_found_and_marked() -> None:
    async with staged(100) as (_app, history, pilot):
        found = history.find("BLOCK 42")
        assert [block.plain() for block in found] == ["block 42"]
        history.go_to(found[0])
        await pilot.pause()
        marked = [
            segment.text
            for y in range(10)
            for segment in history.render_line(y)
            if segment.style and segment.style.bgcolor and "e6b450" in segment.style.bgcolor.name
        ]
        assert marked == ["block 42"]
        assert history.find("") == []


async def test_the_mouse_selects_text_and_it_can_be_copied() -> None:
    async with staged() as (app, history, pilot):
        history.add(
            MarkdownBlock("first **bold** words"),
            MarkdownBlock("in the *middle*"),
            UserBlock("and the last"),
        )
        await pilot.pause()
        await pilot.mouse_down(History, offset=(7, 1))
        await pilot.hover(History, offset=(6, 5))
        await pilot.mouse_up(History, offset=(6, 5))
        await pilot.pause()
        assert app.screen.get_selected_text() == "bold words\n\nin the *middle*\n\n▌ and"
        history.add(*(MarkdownBlock(words(40)) for _ in range(30)))
        await pilot.pause()
        assert app.screen.get_selected_text() == "bold words\n\nin the *middle*\n\n▌ and"


async def test_everything_can_be_selected() -> None:
    async with staged(3) as (_, history, _pilot):
        text, _ = history.get_selection(SELECT_ALL) or ("", "")
        assert text.split() == ["block", "0", "block", "1", "block", "2"]


async def test_what_is_selected_looks_so() -> None:
    async with staged(3) as (app, history, pilot):
        plain = {segment.style for segment in history.render_line(1)}
        await pilot.mouse_down(History, offset=(1, 1))
        await pilot.hover(History, offset=(4, 1))
        await pilot.pause()
        assert history.text_selection is not None
        chosen = [s for s in history.render_line(1) if s.style and s.style not in plain]
        selection = app.screen.get_component_rich_style("screen--selection")
        assert any(s.style and s.style.bgcolor == selection.bgcolor for s in chosen)


async def test_painting_carries_no_offsets_but_the_mouse_gets_them() -> None:
    async with staged(3) as (app, history, _pilot):
        painted = history.render_lines(history.size.region)
        assert not any((segment.style or Style()).meta for strip in painted for segment in strip)
        widget, offset = app.screen.get_widget_and_offset_at(3, 1)
        assert widget is history
        assert offset == Offset(3, 1)


async def test_blocks_are_replaced_dropped_and_cleared() -> None:
    async with staged(3) as (app, history, pilot):
        history.replace(history.blocks[1:2], MarkdownBlock("new one"), MarkdownBlock("new two"))
        await pilot.pause()
        assert [line for line in app.screen_lines() if line] == [
            " block 0",
            " new one",
            " new two",
            " block 2",
        ]
        history.drop(history.blocks[0])
        await pilot.pause()
        assert app.screen_lines()[1] == " new one"
        history.clear()
        await pilot.pause()
        assert not any(app.screen_lines())


async def test_another_theme_paints_anew() -> None:
    async with staged(3) as (app, history, pilot):
        before = history.render_line(1)
        app.theme = "parley-light"
        await pilot.pause()
        after = history.render_line(1)
        assert after.text == before.text
        assert after != before


async def test_blocks_are_taken_away_together_and_the_reader_stays() -> None:
    async with staged(60) as (app, history, pilot):
        history.go_to(history.blocks[30])
        await pilot.pause()
        assert app.screen_lines()[1] == " block 30"
        history.drop(*history.blocks[5:10], history.blocks[20], *history.blocks[50:])
        await pilot.pause()
        assert app.screen_lines()[1] == " block 30"
        left = [each.plain() for each in history.blocks]
        assert left == [f"block {n}" for n in range(60) if n not in {*range(5, 10), 20} and n < 50]
