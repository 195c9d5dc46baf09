from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import OptionList, TextArea

from parley.conversation.completion import Completion, completion_at
from parley.conversation.prompt_history import PromptHistory
from parley.schema import v2
from parley.tui.composer import Composer
from parley.tui.render.theme import THEMES

COMMANDS: list[v2.AvailableCommand] = [
    v2.Command(name="plan", description="make a [bold]plan[/bold]"),
    v2.Command(name="play", description="play a game"),
]
FILES = ["src/app.py", "src/my notes.md", "README.md"]


class Desk(App[None]):
    """A composer and nothing else."""

    def __init__(self, *earlier: str, queued: str | None = None) -> None:
        super().__init__()
        for each in THEMES:
            self.register_theme(each)
        self.theme = "parley-dark"
        recall = PromptHistory(None, ".")
        for prompt in earlier:
            recall.add(prompt)
        self.queued = queued
        self.composer = Composer(recall, self._complete, self._take_back)
        self.sent: list[str] = []
        self.has_left = False
        self.pages = 0

    def compose(self) -> ComposeResult:
        yield self.composer

    def on_mount(self) -> None:
        self.composer.focus_input()

    def _complete(self, text: str, cursor: int) -> Completion | None:
        return completion_at(
            text, cursor, COMMANDS, lambda word: [each for each in FILES if word in each]
        )

    def _take_back(self) -> str | None:
        taken, self.queued = self.queued, None
        return taken

    def on_composer_sent(self, event: Composer.Sent) -> None:
        self.sent.append(event.text)

    def on_composer_left(self) -> None:
        self.has_left = True

    def on_composer_turned(self, event: Composer.Turned) -> None:
        self.pages += event.pages


@asynccontextmanager
async def desk(
    *earlier: str, queued: str | None = None
) -> AsyncGenerator[tuple[Desk, Pilot[None]]]:
    app = Desk(*earlier, queued=queued)
    async with app.run_test(size=(60, 20)) as pilot:
        yield app, pilot


async def until(pilot: Pilot[None], is_so: Callable[[], object]) -> None:
    """Wait until something is so: a layout may come later than the keys that cause it."""
    while not is_so():
        await pilot.pause()


def labels(app: Desk) -> list[str]:
    return [each.label for each in app.composer.offered] if app.composer.is_listing else []


async def test_enter_sends_and_empties() -> None:
    async with desk() as (app, pilot):
        await pilot.press(*"hello", "enter")
        assert app.sent == ["hello"]
        assert app.composer.text == ""


async def test_some_keys_begin_a_new_line() -> None:
    async with desk() as (app, pilot):
        await pilot.press("a", "ctrl+j", "b", "alt+enter", "c", "shift+enter", "d")
        await pilot.press("backslash", "enter", "e", "enter")
        assert app.sent == ["a\nb\nc\nd\ne"]


@pytest.mark.parametrize(
    "told",
    ["\x1b\r", "\x1b[13;2u", "\x1b[13;3u", "\x1b[27;2;13~", "\x1b[27;3;13~", "\x1b[27;5;13~", "\n"],
)
async def test_no_terminal_sends_a_prompt_by_a_key_for_a_new_line(told: str) -> None:
    """Alt-Enter, Shift-Enter and Ctrl-Enter, as terminals tell them."""
    async with desk() as (app, pilot):
        await pilot.press("a")
        for each in XTermParser().feed(told):
            assert isinstance(each, events.Key)
            app.post_message(each)
        await pilot.press("b")
        assert app.composer.text == "a\nb"
        assert app.sent == []


async def test_the_input_grows_with_its_lines_up_to_a_bound() -> None:
    async with desk() as (app, pilot):
        low = app.composer.size.height
        await pilot.press("a", "ctrl+j", "b", "ctrl+j", "c")
        await until(pilot, lambda: app.composer.size.height == low + 2)
        await pilot.press(*["ctrl+j"] * 30)
        await until(pilot, lambda: low + 2 < app.composer.size.height < 15)


async def test_on_a_small_screen_the_list_leaves_room_for_what_is_written() -> None:
    app = Desk(*map(str, range(50)))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("1", "ctrl+r")
        await pilot.pause()
        assert app.composer.is_listing
        assert app.query_one(TextArea).region.bottom <= 10
        await pilot.press("escape", *["ctrl+j"] * 20)
        await until(pilot, lambda: 1 < app.composer.size.height <= 6)


async def test_a_slash_offers_commands_and_tab_accepts_one() -> None:
    async with desk() as (app, pilot):
        await pilot.press("slash", "p", "l")
        assert labels(app) == ["/plan", "/play"]
        await pilot.press("down", "tab")
        assert app.composer.text == "/play "
        assert labels(app) == []
        await pilot.press("enter")
        assert app.sent == ["/play "]


async def test_enter_accepts_and_sends_what_is_written_out() -> None:
    async with desk() as (app, pilot):
        await pilot.press("slash", "p", "enter")
        assert app.composer.text == "/plan "
        assert app.sent == []
        app.composer.text = ""
        await pilot.press("slash", *"plan", "enter")
        assert app.sent == ["/plan"]


async def test_an_at_sign_offers_files_anywhere() -> None:
    async with desk() as (app, pilot):
        await pilot.press(*"see", "space", "at", *"no")
        assert labels(app) == ["src/my notes.md"]
        await pilot.press("tab")
        assert app.composer.text == 'see @"src/my notes.md" '


async def test_a_completion_in_the_middle_keeps_what_follows() -> None:
    async with desk() as (app, pilot):
        app.composer.text = "see @app please"
        await pilot.press(*["left"] * len(" please"))
        assert labels(app) == ["src/app.py"]
        await pilot.press("tab", "x")
        assert app.composer.text == "see @src/app.pyx please"


async def test_escape_closes_the_list_until_something_else_is_written() -> None:
    async with desk() as (app, pilot):
        await pilot.press("slash", "p", "escape")
        assert labels(app) == []
        assert app.composer.text == "/p"
        await pilot.press("l")
        assert labels(app) == ["/plan", "/play"]


async def test_what_an_agent_says_of_a_command_is_no_markup() -> None:
    async with desk() as (app, pilot):
        await pilot.press("slash", "p", "l", "a", "n")
        await pilot.pause()
        assert "make a [bold]plan[/bold]" in app.export_screenshot().replace("&#160;", " ")


async def test_an_earlier_prompt_can_be_gone_on_with_at_its_end() -> None:
    async with desk("one", "two\nlines") as (app, pilot):
        await pilot.press("up", "up", "s")
        assert app.composer.text == "ones"


async def test_what_is_marked_is_seen_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with desk() as (app, pilot):
        await pilot.press("slash", "down")
        offered = app.query_one(OptionList)
        marked, other = (offered.render_line(number) for number in (1, 0))
        assert all(each.style and each.style.underline for each in marked if each.text.strip())
        assert not any(each.style and each.style.underline for each in other)


async def test_up_and_down_go_through_earlier_prompts() -> None:
    async with desk("first", "second") as (app, pilot):
        await pilot.press(*"new", "up")
        assert app.composer.text == "second"
        await pilot.press("up", "up")
        assert app.composer.text == "first"
        await pilot.press("down", "down")
        assert app.composer.text == "new"
        await pilot.press("down")
        assert app.composer.text == "new"


async def test_an_earlier_command_opens_no_list() -> None:
    async with desk("/plan") as (app, pilot):
        await pilot.press("up")
        assert app.composer.text == "/plan"
        assert labels(app) == []


async def test_up_in_a_long_prompt_moves_the_cursor_first() -> None:
    async with desk("earlier") as (app, pilot):
        await pilot.press("a", "ctrl+j", "b", "up", "x")
        assert app.composer.text == "ax\nb"
        await pilot.press("up")
        assert app.composer.text == "earlier"


async def test_up_takes_back_what_waits_before_it_recalls() -> None:
    async with desk("earlier", queued="waits") as (app, pilot):
        await pilot.press("up")
        assert app.composer.text == "waits"
        assert app.queued is None
        app.composer.text = ""
        await pilot.press("up")
        assert app.composer.text == "earlier"


async def test_ctrl_r_searches_earlier_prompts() -> None:
    async with desk("fix the test", "write docs", "fix the lint") as (app, pilot):
        await pilot.press(*"draft", "ctrl+r")
        assert labels(app) == []
        await pilot.press(*["backspace"] * 5, "f", "i", "x")
        assert labels(app) == ["fix the lint", "fix the test"]
        await pilot.press("ctrl+r", "enter")
        assert app.composer.text == "fix the test"
        assert app.sent == []


async def test_escape_ends_a_search_and_gives_back_the_draft() -> None:
    async with desk("one") as (app, pilot):
        await pilot.press(*"draft", "ctrl+r", "x", "escape")
        assert app.composer.text == "draft"
        await pilot.press("enter")
        assert app.sent == ["draft"]


async def test_ctrl_d_leaves_only_an_empty_input() -> None:
    async with desk() as (app, pilot):
        await pilot.press("a", "b", "home", "ctrl+d")
        assert app.composer.text == "b"
        assert not app.has_left
        await pilot.press("ctrl+d", "ctrl+d")
        assert app.has_left


async def test_page_keys_are_for_the_history() -> None:
    async with desk() as (app, pilot):
        await pilot.press("pageup", "pageup", "pagedown")
        assert app.pages == -1


async def test_what_is_typed_fast_is_obeyed_in_order() -> None:
    async with desk() as (app, pilot):
        for key in ("a", "b", "backspace", "c", "home", "d", "ctrl+k", "e", "enter", "f"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.sent == ["de"]
        assert app.composer.text == "f"
