"""The first start: nothing is configured."""

from __future__ import annotations

import pytest
from tests.unit.tui.running_app import talking

from parley.testing.demo import PROMPTS, demo_agent
from parley.tui.render.theme import DARK
from parley.tui.render.welcome import TRY, Welcome


def test_what_to_try_is_what_the_demo_agent_knows() -> None:
    assert set(TRY) - set(PROMPTS) == set()


async def test_the_demo_agent_greets_and_tells_how_to_add_a_real_one() -> None:
    async with talking(None) as talk:
        await talk.until_state("idle")
        await talk.until_shown("Welcome to Parley")
        for words in ("No agent is configured", "parley agents add", "parley chat", "F1", *TRY):
            await talk.until_painted(words)
        assert talk.shown.count("Welcome") == 1
        await talk.say("plan")
        await talk.until_shown("plan:done")
        assert "Welcome" in talk.shown


async def test_who_has_an_agent_is_not_greeted() -> None:
    async with talking(demo_agent()) as talk:
        await talk.until_state("idle")
        await talk.say("hello")
        await talk.until_shown("echo: hello")
        assert "Welcome" not in talk.shown


async def test_a_new_session_begins_without_the_greeting() -> None:
    async with talking(None) as talk:
        await talk.until_shown("Welcome")
        await talk.until_state("idle")
        await talk.press("ctrl+n")
        await talk.until(lambda: not talk.shown)


@pytest.mark.parametrize("width", [1, 20, 38, 78, 120])
def test_the_greeting_fits_every_width(width: int) -> None:
    welcome = Welcome()
    lines = welcome.lines(width, DARK)
    assert width < 20 or max(each.cell_length for each in lines) <= width
    words = "".join(each.text for each in lines).split()
    assert width < 20 or {"elicit", "acp", "leaves."} - set(words) == set()
    assert width < 78 or abs(welcome.guess(width) - len(lines)) <= 2
