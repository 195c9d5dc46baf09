from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.unit.conversation.recording_view import DEMO, is_alive
from tests.unit.tui.running_app import Clock, Talk, talking
from textual.command import CommandPalette
from textual.widgets import Input, OptionList, TextArea

from parley.conversation.playback import Playback, load_recording
from parley.export import to_jsonl
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.session._transcript import Transcript
from parley.testing.demo import demo_agent
from parley.tui.actions import ACTIONS, links_in
from parley.tui.app import ChatApp
from parley.tui.commands import COMMANDS, command_list
from parley.tui.dialogs.picker import ListPicker
from parley.tui.dialogs.pickers import AgentPicker, OptionPicker, SessionPicker
from parley.tui.help import Help
from parley.tui.player import Player
from parley.tui.tab_bar import TabBar


def is_open(talk: Talk, screen: type[object]) -> bool:
    return isinstance(talk.app.screen, screen)


def says(talk: Talk, text: str) -> bool:
    return text in talk.status


def test_every_command_is_done_by_something() -> None:
    assert set(ACTIONS) == {each.name for each in COMMANDS}
    assert [each.name for each in command_list() if isinstance(each, v2.Command)] == list(ACTIONS)


def test_no_key_means_two_commands() -> None:
    keys = [each.key for each in COMMANDS if each.key]
    assert len(keys) == len(set(keys))


# The way out


async def test_ctrl_c_empties_the_input_says_how_to_leave_and_leaves() -> None:
    clock = Clock()
    async with talking(clock=clock) as talk:
        await talk.until_state("idle")
        await talk.write("a draft")
        await talk.press("ctrl+c")
        assert talk.chat.composer.text == ""
        clock.now += 10
        await talk.press("ctrl+c")
        assert "again to leave" in talk.status
        clock.now += 1
        await talk.press("ctrl+c")
        await talk.until(lambda: talk.app.return_value == 0)


async def test_who_empties_the_input_twice_does_not_leave() -> None:
    async with talking(clock=Clock()) as talk:
        await talk.until_state("idle")
        for draft in ("one", "two"):
            await talk.write(draft)
            await talk.press("ctrl+c")
            assert talk.chat.composer.text == ""
        assert "ending the agent" not in talk.status
        await talk.press("ctrl+c")
        await talk.until(lambda: talk.app.return_value == 0)


async def test_ctrl_d_on_an_empty_input_leaves_and_ends_the_agent() -> None:
    async with talking(DEMO) as talk:
        await talk.until_state("idle")
        connection = talk.chat.conversation.connection
        assert connection is not None
        await talk.press("ctrl+d")
        await talk.until(lambda: talk.app.return_value == 0)
        assert not is_alive(connection.pid)


async def test_ctrl_c_closes_a_screen_first() -> None:
    async with talking() as talk:
        await talk.press("f1")
        await talk.until(lambda: isinstance(talk.app.screen, Help))
        await talk.press("ctrl+c")
        assert not isinstance(talk.app.screen, Help)
        assert talk.app.return_value is None


# Commands


async def test_the_help_lists_every_command() -> None:
    async with talking(size=(80, 80)) as talk:
        await talk.press("f1")
        await talk.until(lambda: isinstance(talk.app.screen, Help))
        for each in COMMANDS:
            await talk.until_painted(f"/{each.name}")
            await talk.until_painted(f"{each.title.rstrip('…')}: ")
        await talk.press("escape")
        assert not isinstance(talk.app.screen, Help)


async def test_the_palette_finds_a_command_and_runs_it() -> None:
    async with talking() as talk:
        theme = talk.app.theme
        await talk.press("ctrl+p")
        await talk.until(lambda: isinstance(talk.app.screen, CommandPalette))
        await talk.write("toggle theme")
        await talk.until(lambda: "switch between dark and light" in talk.painted)
        await talk.press("enter")
        await talk.until(lambda: talk.app.theme != theme)


async def test_the_palette_shows_its_mark_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with talking() as talk:
        await talk.press("ctrl+p")
        await talk.until(lambda: "list all commands" in talk.painted)
        found = talk.app.screen.query_one(OptionList)
        await talk.press("down")
        await talk.until(lambda: found.highlighted == 1)
        marked, other = found.render_line(2), found.render_line(0)
        assert any(each.style and each.style.underline for each in marked)
        assert not any(each.style and each.style.underline for each in other)


async def test_keys_of_the_app_rest_while_a_screen_is_over_it() -> None:
    async with talking() as talk:
        await talk.press("f1")
        await talk.until(lambda: isinstance(talk.app.screen, Help))
        await talk.press("ctrl+t")
        assert len(talk.app.tabs) == 1


async def test_a_session_is_found_and_gone_on_with(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with talking(journal=journal, cwd=tmp_path) as talk:
        await talk.say("an old story")
        await talk.until_shown("echo: an old story")
        await talk.until_state("idle")
        await talk.press("ctrl+n")
        await talk.until(lambda: "an old story" not in talk.shown)
        await talk.until_state("idle")
        await talk.press("f3")
        await talk.until(lambda: isinstance(talk.app.screen, SessionPicker))
        await talk.until(lambda: "an old story" in talk.painted)
        await talk.press("enter")
        await talk.until_shown("echo: an old story")
        assert len(talk.app.tabs) == 1


async def test_pickers_open_by_their_keys() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        for key, screen in (("f2", OptionPicker), ("f4", AgentPicker)):
            await talk.press(key)
            await talk.until(partial(is_open, talk, screen))
            await talk.press("escape")
            await talk.until(lambda: len(talk.app.screen_stack) == 1)


async def test_an_option_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        values = [
            v2.SessionConfigSelectOption(value=each, name=each.title()) for each in ("ask", "code")
        ]
        mode = v2.SessionConfigSelect(
            config_id="mode", name="Mode", category="mode", current_value="ask", options=values
        )
        transcript = talk.chat.conversation.transcript
        transcript.fold(v2.ConfigOptionUpdate(config_options=[mode]))
        asked: list[tuple[str, str | bool]] = []

        async def set_option(config_id: str, value: str | bool) -> None:
            asked.append((config_id, value))

        monkeypatch.setattr(talk.chat.conversation, "set_config_option", set_option)
        await talk.press("f2")
        await talk.until(lambda: isinstance(talk.app.screen, OptionPicker))
        await talk.press("enter", "down", "enter")
        await talk.until(lambda: asked)
        assert asked == [("mode", "code")]


async def test_a_session_is_exported(tmp_path: Path) -> None:
    async with talking(journal=MemoryJournal(), cwd=tmp_path) as talk:
        await talk.say("keep this")
        await talk.until_shown("echo: keep this")
        await talk.until_state("idle")
        for name in ("it.md", "it.html", "it.jsonl"):
            await talk.say(f"/export {name}")
            await talk.until((tmp_path / name).exists)
            await talk.until_shown(f"written to {tmp_path / name}")
            assert "keep this" in (tmp_path / name).read_text()
            assert (tmp_path / name).stat().st_mode & 0o077 == 0
        await talk.say("/export it.md")
        await talk.until_shown(f"{tmp_path / 'it.md'}: File exists")
        talk.chat.composer.text = "/export ~nobody-at-all/it.md"
        await talk.press("enter")
        await talk.until_shown("No such file or directory")


async def test_a_session_gets_a_name(tmp_path: Path) -> None:
    async with talking(journal=MemoryJournal(), cwd=tmp_path) as talk:
        await talk.say("hello")
        await talk.until_shown("echo: hello")
        await talk.say("/name the fix")
        await talk.until(lambda: talk.chat.label == "the fix")
        assert "`parley chat --session 'the fix'`" in talk.status


async def test_words_are_found_in_the_history() -> None:
    async with talking() as talk:
        for word in ("apple", "pear", "apples"):
            await talk.say(word)
            await talk.until_shown(f"echo: {word}")
        await talk.press("ctrl+f")
        await talk.write("apple")
        await talk.until(lambda: "of 4" in talk.painted)
        await talk.press("up", "escape")
        await talk.write("x")
        assert talk.chat.composer.text == "x"


async def test_no_cursor_blinks() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        inputs = [*talk.app.screen.query(Input), *talk.app.screen.query(TextArea)]
        assert len(inputs) >= 2
        assert not any(each.cursor_blink for each in inputs), "it would be painted for ever"


async def test_the_last_answer_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    async with talking() as talk:
        monkeypatch.setattr(talk.app, "copy_to_clipboard", copied.append)
        await talk.say("one")
        await talk.until_shown("echo: one")
        await talk.press("alt+c")
        await talk.until(lambda: copied)
        assert copied == ["echo: one"]


async def test_a_link_of_the_conversation_is_opened_when_it_is_chosen() -> None:
    opened: list[str] = []

    def open_it(url: str) -> bool:
        opened.append(url)
        return url.endswith("/b")

    async with talking(opener=open_it) as talk:
        await talk.until_state("idle")
        talk.chat.composer.text = "see https://example.org/a and https://example.org/b"
        await talk.press("enter")
        await talk.until_shown("echo: see")
        for keys, told in ((["enter"], "opened in the browser"), (["down", "enter"], "no browser")):
            await talk.press("alt+o")
            await talk.until(partial(is_open, talk, ListPicker))
            await talk.press(*keys)
            await talk.until(partial(says, talk, told))
        assert opened == ["https://example.org/b", "https://example.org/a"]


async def test_where_no_page_is_named_there_is_none_to_open() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        await talk.press("alt+o")
        await talk.until(lambda: "names no page" in talk.painted)
        await talk.press("enter", "escape")
        await talk.until(lambda: len(talk.app.screen_stack) == 1)


def test_links_are_pages_of_the_conversation_the_last_first() -> None:
    transcript = Transcript()
    text = "see http://a.example/x, [b](https://b.example/y) file:///etc/passwd javascript:alert(1)"
    said = v2.AgentMessage(message_id="m", content=[v2.TextContent(text=text)])
    transcript.fold(said)
    assert links_in(transcript) == ["https://b.example/y", "http://a.example/x"]


# Tabs


async def test_tabs_are_conversations_of_their_own() -> None:
    async with talking() as talk:
        await talk.say("in the first")
        await talk.until_shown("echo: in the first")
        assert not talk.app.query_one(TabBar).display
        await talk.press("ctrl+t")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        await talk.until_state("idle")
        await talk.say("in the second")
        await talk.until_shown("echo: in the second")
        assert "in the first" not in talk.shown
        assert talk.app.query_one(TabBar).display
        await talk.press("f7")
        await talk.until_shown("echo: in the first")
        await talk.press("alt+w")
        await talk.until(lambda: len(talk.app.tabs) == 1)
        assert "in the second" in talk.shown


async def test_a_tab_that_waits_for_the_user_has_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking() as talk:
        rung: list[bool] = []
        monkeypatch.setattr(talk.app, "bell", lambda: rung.append(True))
        await talk.until_state("idle")
        await talk.say("perm")
        await talk.until_state("waiting")
        assert not rung
        await talk.press("ctrl+t")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        bar = talk.app.query_one(TabBar)
        await talk.until(lambda: "1 ? perm" in bar.text)
        first = talk.app.tabs[0]
        assert first.is_waiting
        await talk.press("f8")
        assert talk.app.tab is first
        await talk.until(lambda: talk.app.focused is not None)
        await talk.answer("n")
        await talk.until_shown("perm:")
        await talk.until(lambda: "?" not in bar.text)


async def test_closing_the_last_tab_leaves() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        await talk.press("alt+w")
        await talk.until(lambda: talk.app.return_value == 0)


# Replays


async def test_a_record_is_played_paused_and_stepped(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with talking(demo_agent(), journal=journal, cwd=tmp_path) as talk:
        await talk.say("plan")
        await talk.until_shown("plan:done")
        await talk.until_state("idle")
        record = talk.chat.conversation.record
    assert record is not None
    file = tmp_path / "it.jsonl"
    file.write_bytes(to_jsonl(journal.entries(record.key)))
    playback = Playback(load_recording(str(file)), 1.0)
    playback.pause()
    app = ChatApp(Player(playback, file.name), theme="light")
    async with app.run_test(size=(80, 24)) as pilot:
        talk = Talk(app, pilot)
        await talk.until(lambda: "paused" in talk.status)
        assert "Space resumes" in talk.status
        assert playback.played == 0
        await talk.press("right", "right")
        await talk.until(lambda: playback.played == 2)
        await talk.press("plus")
        assert playback.speed == 2.0
        await talk.press("minus", "minus")
        assert playback.speed == 0.5
        await talk.press("ctrl+f")
        await talk.write("plan n p")
        assert playback.played == 2
        assert playback.is_paused
        await talk.until_painted("plan n p")
        await talk.press("escape")
        await talk.press("e")
        await talk.until_shown("end of the recording")
        assert "plan:done" in talk.shown
        await talk.until(lambda: "Ctrl-Q leaves" in talk.status)
        await talk.press("ctrl+n")
        assert "a replay has no agent" in talk.status
