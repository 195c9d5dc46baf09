"""Going on with a session of the journal, and logging in on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parley.config import config_path
from parley.conversation.setup import ConversationOptions, ConversationSetup, check_agent
from parley.errors import AuthRequired, ConfigError, LocalProtocolError
from parley.journal import MemoryJournal, Record, SqliteJournal
from parley.journal._process import this_process
from parley.schema import v2
from parley.testing.demo import demo_agent
from parley.testing.scripted import Expect, Respond, RespondWithError, ScriptedPeer, Send, Step

from .recording_view import (
    DEMO,
    END,
    PROMPT,
    begun,
    chunk,
    conversing,
    initialized,
    opening,
    scripted,
)

LOAD = Expect({"method": "session/load", "params": {"sessionId": "s"}}, name="load")
RESUME = Expect({"method": "session/resume", "params": {"sessionId": "s"}}, name="load")
OPENED = Send({"id": {"$from": "load.id"}, "result": {}})


async def recorded(journal: Any, agent: Any, *prompts: str) -> Record:
    """Have a conversation, and return what the journal knows of it."""
    async with conversing(agent, journal=journal) as (conversation, view):
        for prompt in prompts:
            conversation.send(prompt)
        await view.until(lambda: len(view.results) == len(prompts))
        record = conversation.record
        assert record is not None
        return record


async def test_a_session_that_the_agent_loads_is_shown_as_it_replays_it() -> None:
    journal = SqliteJournal()
    record = await recorded(journal, DEMO, "hello", "tool")
    async with conversing(DEMO, journal=journal, record=record) as (conversation, view):
        await view.until_state("idle")
        assert view.opened_as == [False]
        texts = [each.text for each in conversation.transcript.messages]
        assert texts == ["hello", "echo: hello", "tool", "tool:done"]
        users = [each for each in view.updates if isinstance(each, v2.UserMessage)]
        assert len(users) == 2
        conversation.send("more")
        await view.until(lambda: view.results)
        assert view.said.endswith("echo: more")
        assert conversation.title == "hello"
    assert [each.key for each in journal.list(role="client")] == [record.key]
    await journal.aclose()


async def test_a_session_that_is_only_resumed_is_shown_from_the_journal(tmp_path: Path) -> None:
    journal = MemoryJournal()
    agent = scripted(tmp_path, *opening(), PROMPT, chunk("hi"), END)
    record = await recorded(journal, agent, "hello")
    resumes: dict[str, Any] = {"agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
    first: list[Step] = [initialized()[0], Respond(_initialized(resumes))]
    scripted(tmp_path, *first, RESUME, OPENED, PROMPT, chunk("there"), END)
    async with conversing(agent, journal=journal, record=record) as (conversation, view):
        conversation.send("on")
        await view.until(lambda: view.results)
        texts = [each.text for each in conversation.transcript.messages]
        assert texts == ["hello", "hi", "on", "there"]
        assert view.said == "hithere"
        assert conversation.state == "idle"


def _initialized(more: dict[str, Any]) -> dict[str, Any]:
    return {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "0"}, **more}


async def test_a_session_that_cannot_be_opened_again_is_a_new_one(tmp_path: Path) -> None:
    journal = MemoryJournal()
    agent = scripted(tmp_path, *opening(), PROMPT, chunk("hi"), END)
    record = await recorded(journal, agent, "hello")
    scripted(tmp_path, *opening(session="other"))
    async with conversing(agent, journal=journal, record=record) as (conversation, view):
        await view.until_state("idle")
        assert view.opened_as == [False]
        assert "cannot resume sessions; a new session has begun" in view.notes[0]
        assert conversation.record is not None
        assert conversation.record.key != record.key


async def test_a_record_says_which_agent_and_where(tmp_path: Path) -> None:
    journal = MemoryJournal()
    agent = scripted(tmp_path, *opening(load=True), PROMPT, chunk("hi"), END)
    record = await recorded(journal, agent, "hello")
    setup = ConversationSetup(ConversationOptions(cwd=tmp_path), journal=journal)
    assert setup.is_demo
    fitting = setup.for_record(record)
    assert not fitting.is_demo
    assert str(fitting.cwd) == record.cwd
    assert fitting.agent.command.split() == agent


METHODS: dict[str, Any] = {
    "authMethods": [
        {"id": "web", "name": "In the browser"},
        {"id": "tty", "name": "Here", "type": "terminal", "args": ["--login"]},
    ]
}
REFUSED = RespondWithError({"code": -32000, "message": "Authentication required"})
LOGIN: list[Step] = [Expect({"method": "authenticate", "params": {"methodId": "web"}}), Respond({})]


async def test_a_login_is_asked_for_when_the_session_needs_it() -> None:
    steps: list[Step] = [*initialized(more=METHODS), begun()[0], REFUSED, *LOGIN, *begun()]
    agent = ScriptedPeer(*steps)
    async with conversing(agent) as (_, view):
        view.login = "web"
        await view.until_state("idle")
        assert [getattr(each, "method_id", "") for each in view.offered] == ["web", "tty"]
        assert view.states[:2] == ["starting", "waiting"]
    agent.check()


async def test_a_login_that_was_chosen_before_is_not_asked_for() -> None:
    agent = ScriptedPeer(*initialized(more=METHODS), begun()[0], REFUSED, *LOGIN, *begun())
    async with conversing(agent, login="web") as (_, view):
        await view.until_state("idle")
        assert not view.offered
    agent.check()


async def test_without_a_login_the_agent_is_let_go_and_can_be_tried_again() -> None:
    agent = ScriptedPeer(*initialized(more=METHODS), begun()[0], REFUSED)
    async with conversing(agent) as (conversation, view):
        await view.until_state("dead")
        assert isinstance(view.deaths[0], AuthRequired)
        await conversation.restart()
        await view.until(lambda: len(view.deaths) == 2)


async def test_a_login_in_the_terminal_starts_the_agent_again(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *initialized(more=METHODS), begun()[0], REFUSED)
    async with conversing(agent) as (conversation, view):
        view.login = "tty"

        async def run_login(login: Any) -> int:
            scripted(tmp_path, *opening(more=METHODS), PROMPT, chunk("in"), END)
            view.logins.append(login)
            return 0

        view.run_login = run_login  # type: ignore[method-assign]
        conversation.send("go")
        await view.until(lambda: view.results)
        assert view.logins[0].command == [*agent, "--login"]
        assert view.said == "in"
        assert not view.deaths


@pytest.mark.parametrize("is_given", [True, False])
async def test_a_prompt_that_needs_a_login_is_sent_once_more(is_given: bool) -> None:
    steps = [*initialized(more=METHODS), *begun(), PROMPT, REFUSED]
    agent = ScriptedPeer(*steps, *(LOGIN if is_given else ()), PROMPT, chunk("in"), END)
    async with conversing(agent) as (conversation, view):
        view.login = "web" if is_given else None
        conversation.send("go")
        if not is_given:
            await view.until(lambda: view.failures)
            assert isinstance(view.failures[0], AuthRequired)
            assert "offers these logins: 'web' (" in view.failures[0].message
            conversation.send("go")
        await view.until(lambda: view.results)
        assert view.said == "in"
        assert len(view.failures) == (not is_given)
    agent.check()


async def test_a_prompt_that_needs_a_login_in_the_terminal_opens_the_session_again(
    tmp_path: Path,
) -> None:
    capable = {**METHODS, "agentCapabilities": {"loadSession": True}}
    first: list[Step] = [initialized()[0], Respond(_initialized(capable))]
    agent = scripted(tmp_path, *first, *begun(), PROMPT, REFUSED)
    async with conversing(agent) as (conversation, view):
        view.login = "tty"

        async def run_login(login: Any) -> int:
            view.logins.append(login)
            scripted(tmp_path, *first, LOAD, OPENED, PROMPT, chunk("in"), END)
            return 0

        view.run_login = run_login  # type: ignore[method-assign]
        conversation.send("go")
        await view.until(lambda: view.results)
        assert (view.said, len(view.logins), view.opened_as) == ("in", 1, [False, True])
        assert not view.deaths
        assert not view.notes


async def test_a_login_that_fails_is_told_with_the_prompt() -> None:
    refused = RespondWithError({"code": -32602, "message": "Expired"})
    steps = [*initialized(more=METHODS), *begun(), PROMPT, REFUSED, LOGIN[0], refused]
    async with conversing(ScriptedPeer(*steps)) as (conversation, view):
        view.login = "web"
        conversation.send("go")
        await view.until(lambda: view.failures)
        assert isinstance(view.failures[0], AuthRequired)
        assert view.failures[0].message == "The login failed: authenticate: Expired (-32602)"
        await view.until_state("idle")


async def test_a_conversation_has_its_own_policy(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    setup = ConversationSetup(ConversationOptions(target=demo_agent(), cwd=tmp_path))
    other = setup.changed(cwd=tmp_path / "one")
    assert other.policy is not setup.policy
    assert other.policy.root == str(tmp_path / "one")


async def test_a_login_on_the_way_to_a_session_that_is_loaded() -> None:
    record = Record(key="k", agent="a", session_id="s", cwd=str(Path.cwd()))
    first: list[Step] = initialized(load=True, more=METHODS)
    agent = ScriptedPeer(*first, LOAD, REFUSED, *LOGIN, LOAD, chunk("hi"), OPENED)
    async with conversing(agent, record=record) as (conversation, view):
        view.login = "web"
        await view.until_state("idle")
        assert view.said == "hi"
        assert [each.text for each in conversation.transcript.messages] == ["hi"]
        assert view.opened_as == [False]
    agent.check()


async def test_without_a_login_a_session_that_is_loaded_is_not_begun_anew() -> None:
    record = Record(key="k", agent="a", session_id="s", cwd=str(Path.cwd()))
    agent = ScriptedPeer(*initialized(load=True, more=METHODS), LOAD, REFUSED)
    async with conversing(agent, record=record) as (_, view):
        await view.until_state("dead")
        assert isinstance(view.deaths[0], AuthRequired)
        assert not view.notes


async def test_what_a_session_does_not_get_is_said_once() -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text('[mcp_servers.there]\nurl = "https://mcp.example.com"\n')
    agent = ScriptedPeer(*opening())
    async with conversing(agent) as (conversation, view):
        await view.until_state("idle")
        assert ["the MCP server there is left out" in each for each in view.notes] == [True]
        await conversation.restart()
        await view.until(lambda: len(view.opened_as) == 2)
        assert not any("MCP" in each for each in view.notes[1:])


async def test_what_a_subagent_says_is_not_what_the_agent_says() -> None:
    agent = ScriptedPeer(*opening(), PROMPT, chunk("theirs", "below"), chunk("ours"), END)
    async with conversing(agent) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.results)
        assert view.said == "ours"
        assert conversation.connection is not None
        below = conversation.connection.sessions["below"].transcript
        assert [each.text for each in below.messages] == ["theirs"]


@pytest.mark.parametrize("can_only_load", [True, False])
async def test_what_an_agent_says_once_the_session_is_open_again_is_shown(
    tmp_path: Path, can_only_load: bool
) -> None:
    can: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
    again: list[Step] = [RESUME, OPENED]
    if can_only_load:
        can, again = {"loadSession": True}, [LOAD, chunk("hi"), OPENED]
    first: list[Step] = [initialized()[0], Respond(_initialized({"agentCapabilities": can}))]
    agent = scripted(tmp_path, *first, *begun(), PROMPT, chunk("hi"), END)
    async with conversing(agent) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.results)
        scripted(tmp_path, *first, *again, chunk(" and more"), PROMPT, chunk("!"), END)
        await conversation.restart()
        conversation.send("on")
        await view.until(lambda: len(view.results) == 2)
        assert view.opened_as == [False, True]
        assert view.said == "hi and more!"
        texts = [each.text for each in conversation.transcript.messages if each.role == "agent"]
        assert "".join(texts) == view.said


MODES: dict[str, Any] = {
    "modes": {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    }
}
SET_MODE: list[Step] = [
    Expect({"method": "session/set_mode", "params": {"sessionId": "s", "modeId": "code"}}),
    Respond({}),
]
SET_OPTION = Expect({"method": "session/set_config_option"})
LOADED = Send({"id": {"$from": "load.id"}, "result": MODES})


async def test_options_are_set_in_a_session_that_is_resumed_but_not_after_a_restart(
    tmp_path: Path,
) -> None:
    record = Record(key="k", agent="a", session_id="s", cwd=str(Path.cwd()))
    first: list[Step] = initialized(load=True)
    agent = scripted(tmp_path, *first, LOAD, LOADED, *SET_MODE, PROMPT, chunk("set"), END)
    async with conversing(agent, record=record, config_options=[("mode", "code")]) as (
        conversation,
        view,
    ):
        conversation.send("go")
        await view.until(lambda: view.results or view.failures or view.deaths)
        assert (view.said, view.failures) == ("set", [])
        scripted(tmp_path, *first, LOAD, LOADED, PROMPT, chunk(" only once"), END)
        await conversation.restart()
        conversation.send("go")
        await view.until(lambda: len(view.results) == 2)
        assert (view.said, view.failures) == ("set only once", [])


async def test_what_is_chosen_strictly_fails_instead_of_being_left_out(tmp_path: Path) -> None:
    record = Record(key="k", agent="a", session_id="s", cwd=str(Path.cwd()))
    refused = RespondWithError({"code": -32002, "message": "Gone"})
    unknown = RespondWithError({"code": -32602, "message": "Unknown"})
    cases: list[tuple[dict[str, Any], list[Step], str]] = [
        ({"record": record}, initialized(), "cannot resume sessions"),
        ({"record": record}, [*initialized(load=True), LOAD, refused], "session/load: Gone"),
        ({"config_options": [("mode", "x")]}, [*opening(), SET_OPTION, unknown], "mode='x'"),
        ({"additional_directories": [tmp_path]}, initialized(), "additional directories"),
    ]
    for choices, steps, text in cases:
        agent = ScriptedPeer(*steps)
        async with conversing(agent, is_strict=True, **choices) as (_, view):
            await view.until_state("dead")
            assert text in str(view.deaths[0])
            assert (view.notes, view.failures) == ([], [])


def test_a_session_that_another_process_works_on_is_not_opened() -> None:
    busy = Record(key="k", agent="a", session_id="s", name="busy", state="running")
    busy.process = this_process()
    with pytest.raises(LocalProtocolError, match="the session busy is in use by another process"):
        ConversationSetup(ConversationOptions(target=demo_agent()), record=busy)
    busy.process = ""
    assert ConversationSetup(ConversationOptions(target=demo_agent()), record=busy).label == "Agent"


def test_a_session_is_not_resumed_with_another_agent_than_its_own() -> None:
    record = Record(key="k", agent="mine acp", session_id="s")
    check_agent(record, ConversationOptions())
    check_agent(record, ConversationOptions(target="mine acp"))
    with pytest.raises(ConfigError, match="the session k belongs to another agent, mine acp"):
        check_agent(record, ConversationOptions(target="other acp"))


async def test_a_key_that_is_set_but_not_passed_on_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SCRIPTED_API_KEY", "planted-marker")
    refused = RespondWithError({"code": -32000, "message": "Set SCRIPTED_API_KEY"})
    steps = [*initialized(more=METHODS), *begun(), PROMPT, refused]
    async with conversing(ScriptedPeer(*steps)) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.failures)
        assert view.notes == [
            "SCRIPTED_API_KEY is set here but not passed to the agent; "
            "pass it on with --env SCRIPTED_API_KEY"
        ]
    assert "planted-marker" not in str(view.failures)


async def test_no_key_is_named_that_the_agent_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_API_KEY", "x")
    refused = RespondWithError({"code": -32000, "message": "Set SCRIPTED_API_KEY"})
    steps = [*initialized(more=METHODS), Expect({"method": "session/new"}), refused]
    async with conversing(ScriptedPeer(*steps), inherit=["SCRIPTED_API_KEY"]) as (_, view):
        await view.until(lambda: view.deaths)
        assert view.notes == []
