"""Hostile text in every place of the whole app where text is shown: it stays text."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.tui.dialog_app import EVIL, FORBIDDEN
from tests.unit.tui.running_app import Talk, talking
from tests.unit.tui.sample_chat import say
from textual.screen import Screen

from parley.agent import Agent, AgentSession, Turn
from parley.errors import RequestError
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.tui.dialogs.form_card import FormCard
from parley.tui.dialogs.pickers import OptionPicker, SessionPicker

SIZE = (140, 60)
PIECE = "[/etc/passwd]"


async def inert_words(talk: Talk, count: int = 1) -> None:
    """Wait until the words are there so often; nothing of them may be obeyed."""
    await talk.until(lambda: talk.painted.count(PIECE) >= count)
    assert not set(FORBIDDEN) & set(talk.painted)


async def over(talk: Talk, kind: type[Screen[Any]]) -> None:
    await talk.until(lambda: isinstance(talk.app.screen, kind))
    await talk.until(lambda: PIECE in talk.painted)


def devil() -> tuple[Agent, asyncio.Event]:
    """An agent that says it in every way there is; then it waits, and fails with it."""
    agent, go_on = Agent("devil", title=EVIL), asyncio.Event()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        choice = v2.SessionConfigSelectOption(value="a", name=EVIL, description=EVIL)
        mode = v2.SessionConfigSelect(
            config_id="mode",
            name=EVIL,
            description=EVIL,
            category="mode",
            current_value="a",
            options=[choice],
        )
        await session.set_config_options([mode])
        command = v2.Command(
            name=f"x{PIECE}", description=EVIL, input=v2.TextCommandInput(hint=EVIL)
        )
        await session.set_commands([command])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        session = turn.session
        await session.set_title(EVIL)
        await session.usage(1, 2, v2.Cost(amount=1.0, currency=EVIL))
        await turn.think(EVIL)
        await turn.plan([EVIL])
        async with turn.tool(EVIL, kind="edit", locations=[f"/{EVIL}"]) as call:
            await call.diff(f"/{EVIL}", f"{EVIL}\n", f"{EVIL} \n")
        async with turn.terminal(EVIL) as terminal:
            await terminal.write(f"{EVIL}\n")
            await terminal.exit(1, signal=EVIL)
        await turn.say(f"{EVIL}\n\n```{EVIL}\n{EVIL}\n```\n")
        await session.notice(EVIL, EVIL)
        field = v2.StringPropertySchema(title=EVIL, description=EVIL, default=EVIL)
        await turn.elicit(EVIL, {EVIL: field})
        await go_on.wait()
        raise RequestError(EVIL, {"detail": EVIL})

    return agent, go_on


async def test_all_that_an_agent_says_and_asks(tmp_path: Path) -> None:
    agent, go_on = devil()
    journal = MemoryJournal()
    async with talking(agent, size=SIZE, journal=journal, cwd=tmp_path) as talk:
        await talk.until_state("idle")
        await inert_words(talk)  # the name and the mode
        await say(talk, EVIL)
        await talk.until(lambda: isinstance(talk.chat.dock.card, FormCard))
        await inert_words(talk, 8)
        await talk.answer("escape")
        go_on.set()
        await talk.until_state("idle")
        await talk.until(lambda: talk.shown.count(PIECE) >= 14)
        await inert_words(talk, 8)
        talk.chat.history.scroll_home()
        await talk.pilot.pause()
        await inert_words(talk, 8)
        await talk.press("f2")
        await over(talk, OptionPicker)
        await inert_words(talk, 2)
        await talk.press("escape", "f3")
        await over(talk, SessionPicker)
        await inert_words(talk)
        await talk.press("escape")
        talk.chat.composer.text = "/x["
        await talk.until(lambda: talk.chat.composer.is_listing)
        await inert_words(talk, 2)
        await talk.press("escape", "ctrl+t")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        await inert_words(talk)


async def test_names_of_files(tmp_path: Path) -> None:
    (tmp_path / f"a {EVIL.replace('/', '_')}").write_text("x")
    (tmp_path / "a [@click=app.bell]now[bold red]").write_text("x")
    async with talking(size=SIZE, cwd=tmp_path) as talk:
        await talk.until_state("idle")
        await talk.write("see @a")
        await talk.until(lambda: talk.chat.composer.is_listing)
        await talk.until(lambda: "a [@click=app.bell]now[bold red]" in talk.painted)
        assert "[_etc_passwd]" not in talk.painted  # what no terminal shows cannot be chosen
        assert not set(FORBIDDEN) & set(talk.painted)
        await say(talk, f'see @"a {EVIL.replace("/", "_")}"')
        await talk.until_shown("echo: see")
        assert not set(FORBIDDEN) & set(talk.painted)


@pytest.mark.parametrize("when", ["early", "late"])
async def test_last_words(tmp_path: Path, when: str) -> None:
    words = f"import sys; sys.stderr.write({json.dumps(EVIL)}); sys.exit(3)"
    demo = f"{shlex.quote(sys.executable)} -m parley demo;" if when == "late" else ""
    script = f"{demo} exec {shlex.join([sys.executable, '-c', words])}"
    async with talking(["sh", "-c", script], size=SIZE, cwd=tmp_path) as talk:
        if when == "late":
            await talk.until_state("idle")
            await say(talk, "crash")
        await talk.until_state("dead")
        await talk.until_shown(PIECE)
        await inert_words(talk)
