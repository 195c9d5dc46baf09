"""A conversation: prompts one after the other, questions, cancelling, options."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.conversation import conversation as conversation_module
from parley.conversation.conversation import Conversation
from parley.conversation.setup import ConversationOptions, ConversationSetup
from parley.errors import OptionRefused, RequestCancelled, Unsupported
from parley.journal import MemoryJournal
from parley.policy import parse_flags
from parley.schema import v2
from parley.schema.base import Unknown
from parley.testing.demo import YES_OR_NO, demo_agent
from parley.testing.scripted import Expect, Respond, RespondWithError, ScriptedPeer, Send

from .recording_view import (
    END,
    PROMPT,
    RecordingView,
    begun,
    chunk,
    conversing,
    initialized,
    opening,
)


async def test_prompts_are_answered_one_after_the_other() -> None:
    async with conversing(demo_agent()) as (conversation, view):
        assert conversation.state == "starting"
        for text in ("one", "two", "three"):
            conversation.send(text)
        await view.until(lambda: len(view.results) == 3)
        assert view.said == "echo: oneecho: twoecho: three"
        assert [each.text for each in view.results] == ["echo: one", "echo: two", "echo: three"]
        assert view.opened_as == [False]
        assert conversation.name == "Parley's demo agent"
        assert conversation.title == "one"
    assert view.states[:3] == ["starting", "idle", "running"]
    assert not view.failures
    assert not view.deaths


async def test_what_the_user_says_is_an_update_too() -> None:
    for version in (1, 2):
        async with conversing(demo_agent(), protocol=version) as (conversation, view):
            conversation.send("hello")
            await view.until(lambda: view.results)
            kinds = [type(each) for each in view.updates]
            assert kinds.index(v2.UserMessage) < kinds.index(v2.AgentMessageChunk)
            assert [each.role for each in conversation.transcript.messages] == ["user", "agent"]


async def test_what_waits_can_be_taken_back() -> None:
    async with conversing(demo_agent()) as (conversation, view):
        conversation.send("slow")
        await view.until(lambda: view.said)
        for text in ("first", "second", "third"):
            conversation.send(text)
        assert conversation.unqueue(1).text == "second"
        assert [each.text for each in conversation.queue] == ["first", "third"]
        await conversation.cancel()
        await view.until(lambda: len(view.results) == 3)
        assert view.said == "waiting to be cancelledecho: firstecho: third"
        assert [each.stop_reason for each in view.results] == ["cancelled", "end_turn", "end_turn"]


async def test_a_cancelled_question_is_withdrawn_and_the_next_prompt_works() -> None:
    async with conversing(demo_agent()) as (conversation, view):
        view.is_silent = True
        conversation.send("perm")
        await view.until(lambda: view.asked)
        assert conversation.state == "waiting"
        await conversation.cancel()
        await view.until(lambda: view.results)
        assert view.withdrawn == 1
        assert view.results[0].stop_reason == "cancelled"
        assert view.decisions[0].option is None
        cancelled = [each for each in view.updates if isinstance(each, v2.ToolCallUpdated)]
        assert cancelled[-1].status in ("cancelled", "failed")
        view.is_silent = False
        conversation.send("perm")
        await view.until(lambda: len(view.results) == 2)
        assert '"optionId":"yes"' in view.said


@pytest.mark.parametrize("is_announced", [True, False])
async def test_the_view_sees_what_a_question_says_of_a_tool_call_that_was_announced(
    is_announced: bool,
) -> None:
    call = {"toolCallId": "t", "title": "Delete it", "kind": "delete"}
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    asked = {"sessionId": "s", "toolCall": call, "options": [option]}
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Something"}
    told = {"sessionId": "s", "update": update}
    announced = [Send({"method": "session/update", "params": told})] if is_announced else []
    agent = ScriptedPeer(
        *opening(),
        PROMPT,
        *announced,
        Send({"id": 9, "method": "session/request_permission", "params": asked}),
        Expect({"id": 9}),
        END,
    )
    async with conversing(agent) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.results)
        updates = [each for each in view.updates if isinstance(each, v2.ToolCallUpdated)]
        titles = [each.title for each in updates if each.title]
        assert titles == (["Something", "Delete it"] if is_announced else [])
        assert conversation.transcript.tool_calls["t"].title == "Delete it"
        assert view.decisions[0].by == "user"
    agent.check()


async def test_the_policy_decides_before_the_user() -> None:
    rules = parse_flags(["*"], "deny")
    async with conversing(demo_agent(), deny=rules) as (conversation, view):
        conversation.send("perm")
        await view.until(lambda: view.results)
        assert not view.asked
        assert view.decisions[0].by == "policy"
        assert '"optionId":"no"' in view.said


async def test_an_answer_is_remembered_where_something_tells_the_call(tmp_path: Path) -> None:
    agent = Agent("editor")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        places = [] if turn.text == "vague" else [str(tmp_path / "a.txt")]
        async with turn.tool("Edit", kind="edit", locations=places) as call:
            chosen = await turn.ask_permission("May I?", tool=call, options=YES_OR_NO)
        await turn.say(str(chosen))

    async with conversing(agent, cwd=tmp_path) as (conversation, view):
        view.remembered = ("allow", "session")
        for number, text in enumerate(("exact", "exact", "vague"), 1):
            conversation.send(text)
            await view.until(lambda number=number: len(view.results) == number)  # type: ignore[misc]
        assert view.said == "yesyesyes"
        assert [each.by for each in view.decisions] == ["user", "policy", "user"]
        assert view.notes == [
            "could not remember this answer: nothing distinguishes this call from others"
        ]


async def test_a_form_is_filled_in() -> None:
    async with conversing(demo_agent()) as (conversation, view):
        conversation.send("elicit")
        await view.until(lambda: view.results)
        assert '"name":"Ada"' in view.said


async def test_a_turn_that_fails_is_told_and_the_next_one_works() -> None:
    async with conversing(demo_agent()) as (conversation, view):
        conversation.send("boom")
        conversation.send("hello")
        await view.until(lambda: view.results)
        assert [str(each) for each in view.failures] == ["Boom (-32050)"]
        assert view.said == "echo: hello"


async def test_what_the_agent_does_not_take_fails_and_nothing_else() -> None:
    picture = v2.ImageContent(data="", mime_type="image/png")
    async with conversing(ScriptedPeer(*opening(), PROMPT, chunk("hi"), END)) as (talk, view):
        talk.send("look", picture)
        talk.send("hello")
        await view.until(lambda: view.results)
        assert isinstance(view.failures[0], Unsupported)
        assert view.said == "hi"


async def test_an_agent_that_does_not_stop_is_told_of() -> None:
    agent = ScriptedPeer(*opening(), PROMPT, chunk("busy"), Expect({"method": "session/cancel"}))
    async with conversing(agent) as (conversation, view):
        conversation.unresponsive_after = 0.0
        conversation.send("go")
        await view.until(lambda: view.said)
        await conversation.cancel()
        assert conversation.is_cancelling
        await view.until(lambda: view.notes)
        assert "was asked to stop but is still working" in view.notes[0]
        assert conversation.state == "running"


async def test_cancelling_where_nothing_goes_on_does_nothing() -> None:
    async with conversing(demo_agent()) as (conversation, view):
        await view.until_state("idle")
        await conversation.cancel()
        conversation.send("hello")
        await view.until(lambda: view.results)
        assert view.results[0].stop_reason == "end_turn"


async def test_options_modes_title_usage_and_commands() -> None:
    modes = {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    }
    usage: dict[str, Any] = {"sessionUpdate": "usage_update", "used": 10, "size": 100}
    usage["cost"] = {"amount": 0.5, "currency": "USD"}
    title = {"sessionUpdate": "session_info_update", "title": "A title"}
    agent = ScriptedPeer(
        *initialized(),
        Expect({"method": "session/new"}),
        Respond({"sessionId": "s", "modes": modes}),
        *(_update(each) for each in (usage, title)),
        Expect({"method": "session/set_mode", "params": {"modeId": "code"}}),
        Respond({}),
        Expect({"method": "session/set_mode"}),
        RespondWithError({"code": -32602, "message": "No"}),
    )
    async with conversing(agent, config_options=[("mode", "code")]) as (conversation, view):
        await view.until(lambda: conversation.title and view.states[-1] == "idle")
        assert conversation.title == "A title"
        assert conversation.transcript.usage is not None
        assert conversation.transcript.cost == v2.Cost(amount=0.5, currency="USD")
        option = conversation.transcript.config_options[0]
        await view.until(lambda: _value(conversation) == "code")
        assert isinstance(option, v2.SessionConfigSelect)
        await conversation.set_config_option(option.config_id, "ask")
        assert isinstance(view.failures[0], OptionRefused)
        await conversation.set_config_option(option.config_id, "unknown")
        assert isinstance(view.failures[1], OptionRefused)
    agent.check()


def _value(conversation: Conversation) -> Any:
    option = conversation.transcript.config_options[0]
    assert isinstance(option, v2.SessionConfigSelect)
    return option.current_value


def _update(update: dict[str, Any]) -> Send:
    return Send({"method": "session/update", "params": {"sessionId": "s", "update": update}})


async def test_a_notification_that_nobody_has_named_is_shown() -> None:
    agent = ScriptedPeer(
        *opening(), PROMPT, Send({"method": "_far.example/mood", "params": {"is": "good"}}), END
    )
    async with conversing(agent) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.results)
        [mood] = [each for each in view.updates if isinstance(each, Unknown)]
        assert (mood.tag, mood.payload) == ("_far.example/mood", {"is": "good"})


async def test_an_update_of_an_unknown_kind_is_shown() -> None:
    async with conversing(
        ScriptedPeer(*opening(), PROMPT, _update({"sessionUpdate": "weather", "sun": 1}), END)
    ) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.results)
        assert [each.tag for each in view.updates if isinstance(each, Unknown)] == ["weather"]


async def test_a_turn_that_is_seen_to_end_is_in_the_journal() -> None:
    journal = MemoryJournal()
    async with conversing(demo_agent(), journal=journal) as (conversation, view):
        conversation.send("hello")
        await view.until(lambda: view.results)
        record = conversation.record
        assert record is not None
        assert b"echo: hello" in b"".join(each.data for each in journal.entries(record.key))
        assert (record.state, conversation.title) == ("idle", "hello")
        conversation.rename("mine")
        assert conversation.title == "mine"


async def test_output_of_a_command_is_shown_while_it_runs(tmp_path: Path) -> None:
    allow = parse_flags(["execute"], "allow")
    async with conversing(demo_agent(), protocol=1, cwd=tmp_path, allow=allow) as (talk, view):
        talk.send("term")
        await view.until(lambda: view.results)
        chunks = [each for each in view.updates if isinstance(each, v2.TerminalOutputChunk)]
        assert chunks[0].data == "aGkK"
        assert talk.transcript.terminals[chunks[0].terminal_id].text == "hi\n"


async def test_a_slow_view_slows_the_agent_down() -> None:
    class Slow(RecordingView):
        gate = asyncio.Event()

        async def _shown(self) -> None:
            await self.gate.wait()

        def updated(self, update: v2.SessionUpdate) -> Any:
            super().updated(update)
            return self._shown() if isinstance(update, v2.AgentMessageChunk) else None

    view = Slow()
    conversation = view.conversation = Conversation(
        ConversationSetup(ConversationOptions(target=demo_agent())), view
    )
    running = asyncio.create_task(conversation.run())
    conversation.send("flood 3")
    await view.until(lambda: view.said)
    assert view.said == "chunk 0"
    view.gate.set()
    await view.until(lambda: view.results)
    assert view.said == "chunk 0chunk 1chunk 2"
    await conversation.close()
    await running


async def test_conversations_do_not_know_of_each_other() -> None:
    async with (
        conversing(demo_agent()) as (one, first),
        conversing(demo_agent()) as (other, second),
    ):
        one.send("slow")
        other.send("hello")
        await second.until(lambda: second.results)
        await first.until(lambda: first.said)
        assert (second.said, one.state, other.state) == ("echo: hello", "running", "idle")
        assert first.said == "waiting to be cancelled"


async def test_the_commands_of_the_agent_are_known() -> None:
    agent = Agent("quiet")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.session.set_commands([v2.Command(name="go", description="Goes")])

    async with conversing(agent) as (conversation, view):
        conversation.send("x")
        await view.until(lambda: view.results)
        [command] = conversation.transcript.commands
        assert isinstance(command, v2.Command)
        assert command.name == "go"


async def test_a_prompt_whose_files_are_still_read_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = threading.Event()

    def attach_mentions(*_: object) -> tuple[list[v2.ContentBlock], list[str]]:
        gate.wait(300)
        return [], []

    monkeypatch.setattr(conversation_module, "attach_mentions", attach_mentions)
    async with conversing(demo_agent()) as (conversation, view):
        conversation.send("read @a.txt")
        await view.until_state("running")
        await conversation.cancel()
        gate.set()
        await view.until(lambda: view.failures)
        assert isinstance(view.failures[0], RequestCancelled)
        conversation.send("hello")
        await view.until(lambda: view.results)
        assert view.said == "echo: hello"


async def test_files_that_a_prompt_names_go_along(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text of a")
    named = (tmp_path / "a.txt").as_uri()
    link = {"type": "resource_link", "name": "a.txt", "uri": named, "mimeType": "text/plain"}
    prompt = [{"type": "text", "text": "read @a.txt and @b.txt"}, {**link, "size": 9}]
    agent = ScriptedPeer(
        *initialized(),
        *begun(),
        Expect({"method": "session/prompt", "params": {"prompt": prompt}}, name="prompt"),
        END,
    )
    async with conversing(agent, cwd=tmp_path) as (conversation, view):
        conversation.send("read @a.txt and @b.txt")
        await view.until(lambda: view.results)
        assert not view.notes
    agent.check()
