"""Screens that are too small for everything: nothing breaks, and what matters is seen."""

from __future__ import annotations

from functools import partial

import pytest
from tests.unit.tui.running_app import Talk, talking
from textual.command import CommandPalette
from textual.geometry import Size

from parley.tui.chat import Chat
from parley.tui.dialogs.pickers import AgentPicker
from parley.tui.help import Help

SIZES = [(40, 10), (12, 4), (1, 1)]


def is_open(talk: Talk, kind: type[object]) -> bool:
    return isinstance(talk.app.screen, kind)


def is_waiting(talk: Talk) -> bool:
    """Whether something is asked, and keys count as answers."""
    card = talk.chat.dock.card
    return card is not None and card.has_focus and card.input_guard.has_begun


@pytest.mark.parametrize("size", SIZES)
async def test_everything_can_be_opened_on_a_small_screen(size: tuple[int, int]) -> None:
    async with talking(None, size=size) as talk:
        await talk.until_state("idle")
        for prompt in ("plan", "diff", "tool"):
            await talk.say(prompt)
            await talk.until_shown(f"{prompt}:done")
            await talk.until_state("idle")
        for key, kind in (("f1", Help), ("f4", AgentPicker), ("ctrl+p", CommandPalette)):
            await talk.press(key)
            await talk.until(partial(is_open, talk, kind))
            await talk.press("down", "escape")
            await talk.until(lambda: len(talk.app.screen_stack) == 1)
        await talk.press("ctrl+f", "x", "escape", "ctrl+t")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        await talk.press("alt+w")
        await talk.until(lambda: len(talk.app.tabs) == 1)
        assert isinstance(talk.app.tab, Chat)


@pytest.mark.parametrize("size", SIZES[:-1])  # what cannot be seen is not answered
async def test_questions_are_answered_on_a_small_screen(size: tuple[int, int]) -> None:
    async with talking(size=size) as talk:
        await talk.say("perm")
        await talk.until(lambda: is_waiting(talk))
        await talk.answer("y")
        await talk.until_shown('"optionId":"yes"')
        await talk.say("elicit")
        await talk.until(lambda: is_waiting(talk))
        await talk.answer("tab", *"Ada", "ctrl+s")
        await talk.until_shown('"name":"Ada"')


async def test_a_question_shows_its_options_on_forty_columns_and_ten_lines() -> None:
    async with talking(size=(40, 10)) as talk:
        await talk.say("perm")
        await talk.until(lambda: is_waiting(talk))
        await talk.until(lambda: "No" in talk.painted and "Yes" in talk.painted)
        await talk.until_painted("May I?")


async def test_a_screen_may_shrink_and_grow_while_something_is_asked() -> None:
    async with talking(size=(120, 40)) as talk:
        await talk.say("perm")
        await talk.until(lambda: is_waiting(talk))
        for width, height in ((1, 1), (30, 8), (200, 60)):
            await talk.pilot.resize_terminal(width, height)
            await talk.pilot.pause()
            assert talk.app.size == Size(width, height)
        await talk.until(lambda: "May I?" in talk.painted)
        await talk.answer("n")
        await talk.until_shown('"optionId":"no"')


async def test_what_a_new_session_says_is_painted_for_the_width_of_the_screen() -> None:
    async with talking(size=(40, 20)) as talk:
        await talk.until_state("idle")
        for _ in range(2):
            words = " ".join(f"word{number}" for number in range(10))
            talk.chat.composer.text = words
            await talk.press("enter")
            await talk.until_shown(f"echo: {words}")
            await talk.until(lambda: talk.painted.count("word9") == 2)
            await talk.until_state("idle")
            await talk.press("ctrl+n")
            await talk.until(lambda: not talk.shown)
            await talk.until_state("idle")
