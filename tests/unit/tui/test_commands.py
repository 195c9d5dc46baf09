"""Everything that can be done is a command or a key: in the palette, and in the help."""

from __future__ import annotations

import re

import pytest
from tests.unit.tui.dialog_app import EVIL, FORBIDDEN
from tests.unit.tui.running_app import Talk, talking
from textual.binding import Binding
from textual.command import CommandPalette, DiscoveryHit, Hit
from textual.widget import Widget

from parley.agent import Agent, Turn
from parley.conversation.playback import Playback
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.tui.app import ChatApp
from parley.tui.chat import Chat
from parley.tui.commands import COMMANDS, Palette
from parley.tui.find_bar import FindBar
from parley.tui.help import Help, help_sections
from parley.tui.keys import KEYS, key_label, widget_keys
from parley.tui.player import Player
from parley.tui.render.history import History
from parley.tui.tab import Tab

PLACES: dict[str, list[type[Widget] | type[ChatApp]]] = {
    "In the input": [Chat],
    "Everywhere": [ChatApp],
    "In the history": [History],
    "While finding": [FindBar],
    "In a replay": [Player],
}


async def offered(app: ChatApp) -> list[DiscoveryHit]:
    """All that the palette offers before anything is typed."""
    palette = Palette(app.screen)
    return [each async for each in palette.discover() if isinstance(each, DiscoveryHit)]


async def found(app: ChatApp, query: str) -> set[str]:
    """What the palette finds for some words."""
    palette = Palette(app.screen)
    return {each.text or "" async for each in palette.search(query) if isinstance(each, Hit)}


async def test_every_command_is_in_the_palette_and_found_by_its_title_and_its_name() -> None:
    async with talking() as talk:
        shown = {str(each.display) for each in await offered(talk.app)}
        for command in COMMANDS:
            key = f"  {key_label(command.key)}" if command.key else ""
            assert f"{command.title}{key}" in shown
            assert command.title in await found(talk.app, command.title)
            assert command.title in await found(talk.app, f"/{command.name}")


async def test_every_key_that_is_bound_is_in_the_palette() -> None:
    async with talking() as talk:
        await check_keys(talk.app)


async def test_every_key_of_a_replay_is_in_the_palette() -> None:
    app = ChatApp(Player(Playback([], None), "it"))
    async with app.run_test():
        await check_keys(app)


async def check_keys(app: ChatApp) -> None:
    shown = [str(each.display) for each in await offered(app)]
    for owner in (app, app.tab, app.tab.history):
        bound = list(widget_keys(owner))
        assert bound
        for keys, _, what in bound:
            assert any(each.endswith(f"  {keys}") for each in shown), (keys, what)


async def test_a_key_that_is_chosen_in_the_palette_does_what_it_does() -> None:
    async with talking(size=(60, 12)) as talk:
        await talk.say("help")
        await talk.until_shown("repeats what you say")
        await talk.until_state("idle")
        await talk.press("ctrl+p")
        await talk.until(lambda: isinstance(talk.app.screen, CommandPalette))
        await talk.write("go to the beginning")
        await talk.until(lambda: "in the history" in talk.painted)
        await talk.press("enter")
        await talk.until(lambda: talk.chat.history.scroll_offset.y == 0)
        assert not talk.chat.history.is_at_end


async def test_commands_of_the_agent_are_in_the_palette_and_begin_a_prompt() -> None:
    agent = Agent("commander")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        commands = [
            v2.Command(name="review", description="looks at changes"),
            v2.Command(name=f"x{EVIL}", description=EVIL),
        ]
        await turn.session.set_commands(commands)
        await turn.say("done")

    async with talking(agent) as talk:
        await talk.say("go")
        await talk.until_shown("done")
        await talk.press("ctrl+p")
        await talk.until(lambda: isinstance(talk.app.screen, CommandPalette))
        await talk.write("/x")
        await talk.until(lambda: "/etc/passwd" in talk.painted)
        assert not set(FORBIDDEN) & set(talk.painted)
        await talk.press(*["backspace"] * 2)
        await talk.write("looks at")
        await talk.until(lambda: "/review" in talk.painted)
        await talk.press("enter")
        await talk.until(lambda: talk.chat.composer.text == "/review ")


async def test_earlier_prompts_are_searched_by_a_command() -> None:
    async with talking(journal=MemoryJournal()) as talk:
        for word in ("apple", "pear"):
            await talk.say(word)
            await talk.until_shown(f"echo: {word}")
            await talk.until_state("idle")
        await talk.say("/earlier")
        await talk.until(lambda: talk.chat.composer.is_listing)
        await talk.write("app")
        await talk.press("enter")
        assert talk.chat.composer.text == "apple"


async def test_the_screen_is_painted_anew_by_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        painted: list[object] = []

        def refresh(**how: object) -> None:
            painted.append(how)

        monkeypatch.setattr(talk.app, "refresh", refresh)
        await talk.press("ctrl+l")
        await talk.until(lambda: painted)


async def test_enter_handle_key_what_is_written_now_and_not_what_was_offered_before() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        theme, composer = talk.app.theme, talk.chat.composer
        await talk.write("/")
        await talk.until(lambda: composer.is_listing)
        composer._area.insert("theme")
        composer._handle_key("enter")  # before anybody has looked at what was inserted
        await talk.until(lambda: talk.app.theme != theme or composer.text)
        assert composer.text == ""


# The help


def test_every_key_that_is_bound_is_in_the_help_at_its_place() -> None:
    for place, kinds in PLACES.items():
        told = {key for keys, _ in KEYS[place] for key in keys.split(", ")}
        told |= {"Shift-Tab", "Esc", *(key_label(each.key) for each in COMMANDS)}
        for kind in kinds:
            bound = [each for each in kind.BINDINGS if isinstance(each, Binding)]
            keys = {key_label(key) for each in bound for key in each.key.split(",")}
            assert keys - told == set(), place
    assert {each.key for each in Tab.BINDINGS if isinstance(each, Binding)} == {"escape"}


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_all_of_the_help_can_be_read(size: tuple[int, int]) -> None:
    async with talking(size=size) as talk:
        await talk.press("f1")
        await talk.until(lambda: isinstance(talk.app.screen, Help))
        seen = read = await page(talk)
        await talk.press("pagedown")
        while (now := await page(talk)) != seen:
            seen = now
            read += now
            await talk.press("pagedown")
    words = set(re.findall(r"\S+", read))
    for heading, rows in help_sections():
        for row in rows:
            assert set(f"{heading} {' '.join(row)}".split()) - words == set()


async def page(talk: Talk) -> str:
    await talk.pilot.pause()
    return re.sub(r"[│╭╮╰╯─▁▂▃▄▅▆▇█▔]", " ", talk.painted)


@pytest.mark.parametrize(
    ("key", "called"),
    [("ctrl+t", "Ctrl-T"), ("k", "k"), ("K", "K"), ("plus", "+"), ("shift+up", "Shift-Up")],
)
def test_a_key_is_called_as_on_a_keyboard(key: str, called: str) -> None:
    assert key_label(key) == called
