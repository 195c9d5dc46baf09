"""Commands that only some agents support: fork a session, cancel one tool call, set a provider."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from tests.unit.tui.running_app import talking
from tests.unit.tui.test_chat_dialogs import asked

from parley.agent import Agent, AgentConnection, Turn
from parley.client import Session
from parley.errors import InternalError
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.tui import agent_actions
from parley.tui.dialogs.form_card import FormCard
from parley.tui.dialogs.picker import ListPicker

KEEPER = """
import sys
from parley import Agent, Turn
from parley.agent import AgentFeatures
from parley.agent.journal_store import JournalStore
from parley.journal import SqliteJournal

store = JournalStore(SqliteJournal(sys.argv[1]))
agent = Agent("keeper", store=store, features=AgentFeatures(fork=True))


@agent.prompt
async def reply(turn: Turn) -> None:
    words = turn.session.data.setdefault("words", [])
    words.append(turn.text)
    await turn.say("said: " + " ".join(words))


agent.run()
"""


def agent_with_providers() -> tuple[Agent, dict[str, v2.ProviderInfo], list[v2.SetProviderRequest]]:
    """Return an agent with two providers, its providers, and what it is set to."""
    agent = Agent("chooser")
    requests: list[v2.SetProviderRequest] = []
    current = v2.ProviderCurrentConfig(api_type="openai", base_url="https://models.example/v1")
    providers = {
        "main": v2.ProviderInfo(provider_id="main", supported=["openai"], required=True),
        "spare": v2.ProviderInfo(
            provider_id="spare", supported=["openai"], required=False, current=current
        ),
    }

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("Hello!")

    @agent.list_providers
    async def list_providers(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return list(providers.values())

    @agent.set_provider
    async def set_provider(request: v2.SetProviderRequest, connection: AgentConnection) -> None:
        requests.append(request)

    @agent.disable_provider
    async def disable_provider(provider_id: str, connection: AgentConnection) -> None:
        del providers[provider_id]

    return agent, providers, requests


async def test_a_fork_opens_in_a_tab_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "keeper.py"
    program.write_text(KEEPER)
    target = [sys.executable, str(program), str(tmp_path / "kept.sqlite")]
    async with talking(target, journal=MemoryJournal()) as talk:
        await talk.say("rain")
        await talk.until_shown("said: rain")
        await talk.until_state("idle")
        first = talk.chat
        await talk.say("/fork")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        await talk.until_state("idle")
        assert talk.chat is not first
        await talk.until_shown("said: rain")
        await talk.say("sun")
        await talk.until_shown("said: rain sun")
        assert first.conversation.session is not None
        assert talk.chat.conversation.session is not None
        assert first.conversation.session.id != talk.chat.conversation.session.id
        assert "sun" not in "".join(each.text for each in first.conversation.transcript.messages)


@pytest.mark.parametrize("responds", [True, False], ids=["refuses", "hangs"])
async def test_a_fork_opens_even_if_the_agent_does_not_close_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, responds: bool
) -> None:
    refused: list[str] = []

    async def refuse(session: Session) -> None:
        refused.append(session.id)
        if responds:
            raise InternalError("never")
        await asyncio.Event().wait()

    monkeypatch.setattr(Session, "close", refuse)
    monkeypatch.setattr(agent_actions, "_CLOSE_TIMEOUT", 0.001)
    program = tmp_path / "keeper.py"
    program.write_text(KEEPER)
    target = [sys.executable, str(program), str(tmp_path / "kept.sqlite")]
    async with talking(target, journal=MemoryJournal()) as talk:
        await talk.say("rain")
        await talk.until_shown("said: rain")
        await talk.until_state("idle")
        await talk.say("/fork")
        await talk.until(lambda: refused)
        await talk.until(lambda: len(talk.app.tabs) == 2)
        await talk.until_shown("said: rain")


async def test_an_agent_that_cannot_do_it_is_named() -> None:
    agent = Agent("plain")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("Hello!")

    async with talking(agent) as talk:
        await talk.until_state("idle")
        await talk.say("/fork")
        await talk.until(lambda: "plain cannot fork sessions" in talk.painted)
        await talk.say("/providers")
        await talk.until(lambda: "does not let its providers be configured" in talk.painted)
        await talk.say("/stop")
        await talk.until(lambda: isinstance(talk.app.screen, ListPicker))
        await talk.until_painted("Nothing that is running can be cancelled by itself.")


async def test_a_single_tool_call_is_cancelled_and_the_turn_goes_on() -> None:
    agent = Agent("busy")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Wait for rain", kind="fetch", is_cancellable=True):
            await asyncio.Event().wait()
        await turn.say("The rest is done.")

    async with talking(agent, protocol=2) as talk:
        await talk.say("go")
        await talk.until_shown("Wait for rain")
        await talk.until_state("running")
        await talk.say("/stop")
        await talk.until(lambda: isinstance(talk.app.screen, ListPicker))
        await talk.until_painted("Wait for rain")
        await talk.press("enter")
        await talk.until_shown("The rest is done.")
        [call] = talk.chat.conversation.transcript.tool_calls.values()
        assert call.status == "cancelled"


async def test_a_provider_is_disabled() -> None:
    agent, providers, _ = agent_with_providers()
    async with talking(agent) as talk:
        await talk.until_state("idle")
        await talk.say("/providers")
        await talk.until_painted("spare: openai at https://models.example/v1")
        await talk.press("down", "enter")
        await talk.until_painted("Disable")
        await talk.press("down", "enter")
        await talk.until_shown("spare is disabled")
        assert list(providers) == ["main"]


async def test_a_provider_is_configured_in_a_form() -> None:
    agent, _, requests = agent_with_providers()
    async with talking(agent) as talk:
        await talk.until_state("idle")
        await talk.say("/providers")
        await talk.until_painted("main: disabled")
        await talk.press("enter")
        card = await asked(talk, FormCard)
        await talk.until_painted("Where should the calls for main go?")
        await talk.answer("tab", "tab", *"https://models.example/v2", "tab", *"Bearer x", "ctrl+s")
        await card.answer()
        await talk.until_shown("main now uses openai at https://models.example/v2")
        [request] = requests
        assert request.headers == {"Authorization": "Bearer x"}
        assert "Bearer x" not in talk.shown


async def test_leaving_with_the_form_open_changes_nothing() -> None:
    agent, _, requests = agent_with_providers()
    async with talking(agent) as talk:
        await talk.until_state("idle")
        await talk.say("/providers")
        await talk.until_painted("main: disabled")
        await talk.press("enter")
        await asked(talk, FormCard)
    assert requests == []
