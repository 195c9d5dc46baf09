from __future__ import annotations

import asyncio
import shlex
from functools import partial
from pathlib import Path

import pytest
from rich.color import Color
from tests.unit.conversation.recording_view import (
    DEMO,
    END,
    PROMPT,
    is_alive,
    opening,
    scripted,
)
from tests.unit.tui.dialog_app import EVIL, FORBIDDEN
from tests.unit.tui.running_app import Talk, talking
from textual import events

from parley.agent import Agent, Turn
from parley.client._resolve import Resolved
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.testing.demo import demo_agent
from parley.testing.scripted import Expect, ScriptedPeer, Send, Stderr
from parley.tui.dialogs.permission_card import PermissionCard
from parley.tui.render.theme import DARK, LIGHT
from parley.tui.render.tool_card import ToolCard


def card(talk: Talk) -> PermissionCard | None:
    found = talk.chat.query(PermissionCard)
    return found.first() if found else None


def asks(talk: Talk, title: str) -> bool:
    shown = card(talk)
    return shown is not None and shown.request.title == title


async def test_a_prompt_is_answered_in_the_history() -> None:
    async with talking() as talk:
        await talk.say("hello there")
        await talk.until_shown("echo: hello there")
        assert talk.chat.composer.text == ""
        await talk.until_painted("hello there")


async def test_a_tool_call_and_a_plan_are_cards() -> None:
    async with talking() as talk:
        await talk.say("tool")
        await talk.until_shown("tool:done")
        await talk.say("plan")
        await talk.until_shown("plan:done")
        assert any(isinstance(each, ToolCard) for each in talk.chat.history.blocks)
        await talk.until_painted("[x] Follow it")


async def test_what_is_sent_while_a_turn_runs_waits_and_can_be_taken_back() -> None:
    async with talking() as talk:
        await talk.say("slow")
        await talk.until_state("running")
        await talk.say("one")
        await talk.say("two")
        await talk.until(lambda: "2 queued" in talk.status)
        await talk.until_painted("two")
        await talk.press("up")
        assert talk.chat.composer.text == "two"
        assert [each.text for each in talk.chat.conversation.queue] == ["one"]
        await talk.press("escape")
        await talk.until_shown("echo: one")
        assert "cancelled" in talk.shown


async def test_escape_stops_the_agent() -> None:
    async with talking() as talk:
        await talk.say("slow")
        await talk.until(lambda: "working" in talk.status)
        await talk.press("escape")
        await talk.until_state("idle")
        await talk.until_shown("cancelled")


async def test_a_question_is_answered_by_a_key_and_becomes_a_line() -> None:
    async with talking() as talk:
        await talk.say("perm")
        await talk.until(lambda: card(talk) is not None)
        await talk.until(lambda: "Waiting for you" in talk.status)
        await talk.answer("y")
        await talk.until_shown('perm:{"outcome":"selected","optionId":"yes"}')
        assert card(talk) is None
        assert "you: Yes (allowed)" in talk.shown
        await talk.write("next")
        assert talk.chat.composer.text == "next"


async def test_a_question_takes_no_key_from_who_is_writing() -> None:
    asked = asyncio.Event()
    agent = Agent("asker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await asked.wait()
        options = [v2.PermissionOption(option_id="y", name="Yes", kind="allow_once")]
        chosen = await turn.ask_permission("May I?", options=options)
        await turn.say(f"chosen {chosen}")

    async with talking(agent) as talk:
        await talk.say("go")
        await talk.until_state("running")
        await talk.write("m")
        asked.set()
        await talk.until(lambda: card(talk) is not None)
        await talk.answer("y")
        assert talk.chat.composer.text == "my"
        await talk.until(lambda: "Press Tab to answer" in talk.status)
        await talk.answer("tab", "y")
        await talk.until_shown("chosen y")


async def test_a_question_is_gone_when_the_turn_is_cancelled() -> None:
    async with talking() as talk:
        await talk.say("perm")
        await talk.until(lambda: card(talk) is not None)
        await talk.chat.conversation.cancel()
        await talk.until(lambda: card(talk) is None)
        await talk.until_state("idle")


async def test_several_questions_come_one_after_the_other() -> None:
    agent = Agent("asker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        options = [v2.PermissionOption(option_id="y", name="Yes", kind="allow_once")]
        both = [turn.ask_permission(title, options=options) for title in ("First?", "Second?")]
        await turn.say(f"answers {await asyncio.gather(*both)}")

    async with talking(agent) as talk:
        await talk.say("go")
        for title in ("First?", "Second?"):
            await talk.until(partial(asks, talk, title))
            await talk.until(lambda: talk.app.focused is card(talk))
            await talk.answer("y")
        await talk.until_shown("answers ['y', 'y']")


async def test_a_form_is_filled_in() -> None:
    async with talking() as talk:
        await talk.say("elicit")
        await talk.until_state("waiting")
        await talk.pilot.pause()
        await talk.answer("tab", *"Ada", "ctrl+s")
        await talk.until_shown('elicit:{"action":"accept","content":{"name":"Ada"}}')


async def test_a_dead_agent_has_its_last_words_and_is_restarted_by_a_key() -> None:
    shell = ["sh", "-c", f"{shlex.join(DEMO)}; echo it is all over >&2; exit 3"]
    async with talking(shell) as talk:
        await talk.say("crash")
        await talk.until_state("dead")
        await talk.until_shown("exited with code 3")
        assert "it is all over" in talk.shown
        await talk.until(lambda: "Press F5 to restart" in talk.status)
        await talk.until_painted("to restart and resume")
        await talk.press("f5")
        await talk.until_state("idle")


async def test_what_only_a_question_names_is_told_with_its_answer() -> None:
    call = {"toolCallId": "pending", "title": "run", "rawInput": {"command": "echo  hi"}}
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    asked = {"sessionId": "s", "toolCall": call, "options": [option]}
    question = Send({"id": 9, "method": "session/request_permission", "params": asked})
    agent = ScriptedPeer(*opening(), PROMPT, question, Expect({"id": 9}), END)
    async with talking(agent) as talk:
        await talk.say("go")
        await talk.until(lambda: asks(talk, "run"))
        await talk.pilot.pause()
        await talk.answer("y")
        await talk.until_shown("run: echo hi — you: Yes (allowed)")
        assert not any(isinstance(each, ToolCard) for each in talk.chat.history.blocks)


async def test_enter_alone_restarts_a_dead_agent() -> None:
    async with talking(DEMO) as talk:
        await talk.until_state("idle")
        await talk.say("crash")
        await talk.until_state("dead")
        await talk.press("enter")
        await talk.until_state("idle")
        await talk.until_shown("runs again, and the session is resumed")
        await talk.say("again")
        await talk.until_shown("echo: again")


async def test_ending_leaves_no_process() -> None:
    async with talking(DEMO) as talk:
        await talk.until_state("idle")
        connection = talk.chat.conversation.connection
        assert connection is not None
        assert is_alive(connection.pid)
    assert not is_alive(connection.pid)


async def test_without_an_agent_the_demo_agent_says_how_to_add_one() -> None:
    async with talking(None) as talk:
        await talk.until_state("idle")
        await talk.until_shown("No agent is configured")
        assert "parley agents add" in talk.shown
    async with talking() as talk:
        await talk.until_state("idle")
        await talk.say("hello")
        await talk.until_shown("echo: hello")
        assert "No agent is configured" not in talk.shown


async def test_the_status_has_the_colours_of_the_theme() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        for theme in (DARK, LIGHT, DARK):
            await talk.until(partial(_is_painted, talk, theme.good.color))
            await talk.press("f6")


def _is_painted(talk: Talk, colour: Color | None) -> bool:
    line = talk.app.tab.status.render_line(0)
    return any(each.style is not None and each.style.color == colour for each in line)


async def test_what_is_typed_in_the_history_and_means_nothing_there_is_written() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        await talk.write("on")
        await talk.press("tab")
        assert talk.chat.history.has_focus
        await talk.write("e")
        assert talk.chat.composer.text == "one"
        await talk.press("tab", "g", "space", "j", "tab", "tab")
        assert talk.chat.composer.text == "one"
        talk.app.post_message(events.Paste(" more"))
        await talk.until(lambda: talk.chat.composer.text == "one more")
        assert talk.chat.composer.has_keys


async def test_why_a_turn_failed_is_told_once() -> None:
    async with talking() as talk:
        await talk.say("boom")
        await talk.until_shown("the turn failed")
        await talk.say("again")
        await talk.until_shown("echo: again")
        assert talk.shown.count("Boom") == 1


async def test_an_agent_that_is_not_there_has_not_ended() -> None:
    async with talking("no-such-agent-anywhere") as talk:
        await talk.until_state("dead")
        await talk.until(lambda: "has not started" in talk.painted)
        assert "has ended" not in talk.painted


async def test_one_of_our_commands_is_not_sent_to_the_agent() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        theme = talk.app.theme
        await talk.say("/theme")
        await talk.until(lambda: talk.app.theme != theme)
        assert talk.chat.conversation.transcript.entries == []


async def test_a_command_of_the_agent_goes_before_ours() -> None:
    async with talking() as talk:
        await talk.say("commands")
        await talk.until_shown("commands:")
        await talk.say("/help")
        await talk.until_shown("works until it is cancelled")
        await talk.say("/nothing like it")
        await talk.until_shown("echo: /nothing like it")


async def test_a_command_that_nobody_has_goes_to_the_agent_with_a_word_about_it() -> None:
    async with talking() as talk:
        await talk.say("/exprot")  # the agent has not said which it has
        await talk.until_shown("echo: /exprot")
        await talk.say("commands")
        await talk.until_shown("commands:")
        assert "there is no command" not in talk.shown
        await talk.say("/exprot")
        await talk.until_shown("there is no command /exprot; /export is one")


async def test_commands_of_both_are_offered() -> None:
    async with talking() as talk:
        await talk.say("commands")
        await talk.until_shown("commands:")
        await talk.write("/flo")
        offered = [each.label for each in talk.chat.composer.offered]
        assert offered[0] == "/flood"
        talk.chat.composer.text = ""
        await talk.write("/expo")
        assert [each.label for each in talk.chat.composer.offered] == ["/export <FILE>"]


async def test_files_of_the_workspace_are_offered_and_attached(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("remember the milk")
    journal = MemoryJournal()
    async with talking(demo_agent(), cwd=tmp_path, journal=journal) as talk:
        await talk.until_state("idle")
        await talk.write("see @no")
        await talk.until(lambda: talk.chat.composer.is_listing)
        await talk.press("tab")
        assert talk.chat.composer.text == "see @notes.md "
        await talk.press("enter")
        await talk.until_shown("echo: see")
        record = talk.chat.conversation.record
        assert record is not None
        sent = b"".join(bytes(each.data) for each in journal.entries(record.key))
        assert (tmp_path / "notes.md").as_uri().encode() in sent


async def test_earlier_prompts_of_the_project_are_recalled(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with talking(journal=journal, cwd=tmp_path) as talk:
        await talk.say("remember me")
        await talk.until_shown("echo: remember me")
        await talk.until_state("idle")
    async with talking(journal=journal, cwd=tmp_path) as talk:
        await talk.until(lambda: talk.chat.recall.prompts)
        await talk.press("up")
        assert talk.chat.composer.text == "remember me"


async def test_a_session_of_the_journal_is_gone_on_with(tmp_path: Path) -> None:
    journal = MemoryJournal()
    agent = demo_agent()
    async with talking(agent, journal=journal, cwd=tmp_path) as talk:
        await talk.say("the beginning")
        await talk.until_shown("echo: the beginning")
        record = talk.chat.conversation.record
    assert record is not None
    async with talking(agent, journal=journal, cwd=tmp_path, record=record) as talk:
        await talk.until_shown("echo: the beginning")
        await talk.say("and on")
        await talk.until_shown("echo: and on")


async def test_hostile_words_are_inert_everywhere() -> None:
    agent = Agent("evil", title=EVIL)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.session.set_commands([v2.Command(name="x" + EVIL.split()[0], description=EVIL)])
        await turn.session.set_title(EVIL)
        async with turn.tool(EVIL, kind="execute", raw_input={"command": EVIL}) as call:
            await call.add(EVIL)
            await turn.ask_permission(
                EVIL,
                tool=call,
                options=[v2.PermissionOption(option_id="y", name=EVIL, kind="allow_once")],
            )
        await turn.say(EVIL)

    async with talking(agent) as talk:
        await talk.app.run_action("command('tab')")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        await talk.say(f"go {EVIL}")
        await talk.until(lambda: card(talk) is not None)
        await talk.until(lambda: "Waiting for you" in talk.status)
        assert not set(FORBIDDEN) & set(talk.painted)
        await talk.until_painted("[/etc/passwd]")
        await talk.answer("1")
        await talk.until_state("idle")
        talk.chat.composer.text = "/x"
        await talk.pilot.pause()
        assert not set(FORBIDDEN) & set(talk.painted)


async def test_a_configured_agent_that_is_slow_is_shown_with_its_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = scripted(tmp_path, Stderr("fetching a model"), Expect({"method": "_no"}, skips=True))
    async with talking(Resolved(target=agent, name="mine"), grace_after=0.1) as talk:
        await talk.until(lambda: "fetching" in talk.chat.conversation.stderr_tail)
        talk.chat.slow("mine is slow to start: nothing for 10 seconds")
        await talk.until_painted("mine is slow to start: nothing for 10 seconds; stderr:")
        await talk.until_painted("fetching a model")
    monkeypatch.setattr("parley.conversation.conversation.SLOW_AFTER", 0.0)
    silent = ScriptedPeer(Expect({"method": "_no"}, skips=True))
    async with talking(Resolved(target=silent, name="mine")) as talk:
        await talk.until_shown("nothing for 0 seconds; it has written nothing to stderr")
