"""Values of a program's own start with an underscore when they are sent; others are refused before.

What others have said is forwarded and replayed as it came.
https://agentclientprotocol.com/protocol/v2/draft/extensibility
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.agent._connection import AgentConnection as AgentConnection
from parley.agent._store import MemoryStore, StoredSession
from parley.client import Connection, Session
from parley.errors import LocalProtocolError
from parley.schema import v2
from parley.schema.base import Unknown
from parley.transport import memory_pair

from .raw_agent import RawAgent, connected, opened
from .raw_client import RawClient, in_both_versions

requirement = pytest.mark.requirement
words = pytest.mark.parametrize("word", ["deploy", "", "Read", "-_x"])
REFUSED = "custom values start with an underscore"
EVERYTHING: dict[int, Any] = {
    1: {"elicitation": {"form": {}}, "plan": {}, "session": {"notices": {}}},
    2: {"elicitation": {"form": {}}},
}


def unknown(word: str, key: str = "type", **more: Any) -> Unknown:
    """Return a value of an open union that the protocol does not have."""
    return Unknown.of(key, word, **more)


async def kind(turn: Turn, word: str) -> None:
    async with turn.tool("Ship it", kind=word):
        pass


async def status(turn: Turn, word: str) -> None:
    async with turn.tool("Ship it") as call:
        await call.update(status=word)


async def priority(turn: Turn, word: str) -> None:
    await turn.plan([v2.PlanEntry(content="Ship it", priority=word, status="pending")])


async def plan_status(turn: Turn, word: str) -> None:
    await turn.plan([v2.PlanEntry(content="Ship it", priority="high", status=word)])


async def plan_type(turn: Turn, word: str) -> None:
    await turn.update(v2.PlanUpdate(plan=unknown(word, planId="p")))


async def severity(turn: Turn, word: str) -> None:
    await turn.session.notice("Shipped", severity=word)


async def option_kind(turn: Turn, word: str) -> None:
    option = v2.PermissionOption(option_id="o", name="Ship it", kind=word)
    await turn.ask_permission("May I?", options=[option])


async def option_category(turn: Turn, word: str) -> None:
    option = v2.SessionConfigBoolean(
        config_id="fast", name="Fast", current_value=True, category=word
    )
    await turn.session.set_config_options([option])


async def update_type(turn: Turn, word: str) -> None:
    await turn.update(unknown(word, "sessionUpdate"))


async def content_type(turn: Turn, word: str) -> None:
    await turn.say(unknown(word))


async def thought_type(turn: Turn, word: str) -> None:
    await turn.think(unknown(word))


async def tool_content_type(turn: Turn, word: str) -> None:
    async with turn.tool("Ship it") as call:
        await call.add(v2.Content(content=unknown(word)))


async def audience(turn: Turn, word: str) -> None:
    await turn.say(v2.TextContent(text="Hi", annotations=v2.Annotations(audience=[word])))


async def command_type(turn: Turn, word: str) -> None:
    await turn.session.set_commands([unknown(word, name="ship")])


async def field_type(turn: Turn, word: str) -> None:
    await turn.elicit("Which?", {"color": unknown(word)})


async def stop_reason(turn: Turn, word: str) -> None:
    turn.stop(word)


async def method(turn: Turn, word: str) -> None:
    await turn.session.connection.request(word, {})


async def notification(turn: Turn, word: str) -> None:
    await turn.session.connection.notify(word)


Saying = Callable[[Turn, str], Awaitable[None]]
SAYINGS: list[Any] = [
    kind,
    status,
    priority,
    plan_status,
    plan_type,
    field_type,
    method,
    notification,
    severity,
    option_kind,
    option_category,
    update_type,
    content_type,
    thought_type,
    tool_content_type,
    audience,
    command_type,
    stop_reason,
]
sayings = pytest.mark.parametrize("say", SAYINGS, ids=lambda say: say.__name__)


@asynccontextmanager
async def served(agent: Agent, version: int) -> AsyncGenerator[RawClient, None]:
    """Reach an agent of Parley's with a client that takes everything."""
    here, there = memory_pair()
    serving = asyncio.create_task(agent.serve(there))
    client = RawClient(here)
    await client.initialize(version, EVERYTHING[version])
    client.answers["elicitation/create"] = lambda params: {"action": "cancel"}
    client.answers["session/request_permission"] = lambda params: {
        "outcome": {"outcome": "cancelled"}
    }
    client.answers["_deploy"] = lambda params: {}
    yield client
    await here.aclose()
    await serving


async def say_to(version: int, say: Saying, word: str) -> tuple[list[Exception], str]:
    """Make an agent send something; return the exception and all messages of the turn."""
    agent, raised = Agent("x"), list[Exception]()

    @agent.prompt
    async def respond(turn: Turn) -> None:
        try:
            await say(turn, word)
        except (LocalProtocolError, ValueError) as error:
            raised.append(error)

    async with served(agent, version) as client:
        session = await client.new_session()
        since = len(client.log)
        await client.turn(session, "go")
        return raised, json.dumps(client.log[since:])


@requirement("V2-ENUM-01", "V2-TOOL-07", "V2-PLAN-04", "V1-ELIC-47", "V1-EXT-08")
@in_both_versions
@sayings
async def test_an_agent_does_not_send_a_custom_value_without_an_underscore(
    version: int, say: Saying
) -> None:
    raised, sent = await say_to(version, say, "deploy")
    assert [REFUSED in str(each) and "'deploy'" in str(each) for each in raised] == [True], raised
    assert "deploy" not in sent


@requirement("V2-ENUM-01")
@words
async def test_only_an_underscore_in_front_makes_a_value_ones_own(word: str) -> None:
    raised, _ = await say_to(2, kind, word)
    assert [REFUSED in str(each) for each in raised] == [True], raised


@requirement("V2-ENUM-01", "V2-TOOL-07", "V2-PLAN-04", "V1-ELIC-47", "V1-EXT-08")
@sayings
async def test_an_agent_sends_a_custom_value_with_an_underscore_as_it_is(say: Saying) -> None:
    raised, sent = await say_to(2, say, "_deploy")
    if say is stop_reason:
        assert [type(each).__name__ for each in raised] in ([], ["StopTurn"])
    else:
        assert raised == []
    assert '"_deploy"' in sent


async def test_a_refused_update_is_not_in_the_transcript() -> None:
    agent = Agent("x")

    @agent.prompt
    async def respond(turn: Turn) -> None:
        before = len(turn.session.transcript.entries)
        with pytest.raises(LocalProtocolError):
            await turn.session.notice("Shipped", severity="fatal")
        with pytest.raises(LocalProtocolError):
            async with turn.tool("Ship it", kind="deploy"):
                pass
        assert len(turn.session.transcript.entries) == before
        await turn.say("checked")

    async with served(agent, 2) as client:
        assert (await client.turn(await client.new_session(), "go")).text == "checked"


@requirement("V1-PROV-16", "TR-PRV-12", "V2-ENUM-01")
@in_both_versions
async def test_an_agent_does_not_list_a_protocol_without_an_underscore(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    agent, supported = Agent("x"), list[str]()

    @agent.list_providers
    async def providers(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return [v2.ProviderInfo(provider_id="p", supported=supported, required=False)]

    @agent.set_provider
    async def set_one(request: v2.SetProviderRequest, connection: AgentConnection) -> None: ...

    @agent.disable_provider
    async def disable_one(provider_id: str, connection: AgentConnection) -> None: ...

    async with served(agent, version) as client:
        supported[:] = ["_corp", "openai"]
        (listed,) = (await client.call("providers/list"))["providers"]
        assert listed["supported"] == ["_corp", "openai"]
        supported[:] = ["corp"]
        with caplog.at_level(logging.CRITICAL, "parley"):
            response = await client.ask("providers/list")
        assert response["error"]["code"] == -32603
        assert "corp" not in json.dumps(response)


async def prompt_block(connection: Connection, session: Session, word: str) -> None:
    await session.prompt("Look", unknown(word))


async def server_type(connection: Connection, session: Session, word: str) -> None:
    await connection.new_session(mcp_servers=[unknown(word, name="s")])


async def provider_protocol(connection: Connection, session: Session, word: str) -> None:
    request = v2.SetProviderRequest(provider_id="p", api_type=word, base_url="https://a.b")
    await connection.set_provider(request)


async def list_filter(connection: Connection, session: Session, word: str) -> None:
    await connection.list_sessions_page(archived=word)


async def client_method(connection: Connection, session: Session, word: str) -> None:
    await connection.request(word)


async def client_notification(connection: Connection, session: Session, word: str) -> None:
    await connection.notify(word)


CLIENT_SAYINGS: list[Any] = [
    prompt_block,
    server_type,
    provider_protocol,
    list_filter,
    client_method,
    client_notification,
]


@requirement("V2-ENUM-01", "V1-PROV-16", "TR-PRV-12", "V1-EXT-08", "V2-SESS-13")
@in_both_versions
@pytest.mark.parametrize("say", CLIENT_SAYINGS, ids=lambda say: say.__name__)
async def test_a_client_does_not_send_a_custom_value_without_an_underscore(
    version: int, say: Callable[[Connection, Session, str], Awaitable[None]]
) -> None:
    offers: dict[str, Any] = {"providers": {}}
    offers |= {"session": {}} if version == 2 else {"sessionCapabilities": {"list": {}}}
    agent = RawAgent(version, offers)
    async with connected(agent) as connection:
        session = await connection.new_session()
        since = len(agent.log)
        with pytest.raises(LocalProtocolError, match=REFUSED):
            await say(connection, session, "deploy")
        await session.cancel()
        await agent.until(lambda message: message.get("method") == "session/cancel")
        assert "deploy" not in json.dumps(agent.log[since:])


@requirement("V1-PROV-16", "TR-PRV-12", "V2-ENUM-02")
@in_both_versions
async def test_a_client_sets_any_protocol_that_the_agent_lists(version: int) -> None:
    offers: dict[str, Any] = {"providers": {}, "session": {}}
    agent = RawAgent(version, offers)
    listed = {"providerId": "p", "supported": ["gemini"], "required": False}
    agent.answers["providers/list"] = lambda params: {"providers": [listed]}
    agent.answers["providers/set"] = lambda params: {}
    async with connected(agent) as connection:
        (provider,) = await connection.list_providers()
        for protocol in provider.supported:
            await connection.set_provider(
                v2.SetProviderRequest(provider_id="p", api_type=protocol, base_url="https://a.b")
            )
    assert [each["apiType"] for each in agent.got("providers/set")] == ["gemini"]


@requirement("V2-ENUM-01", "V1-EXT-08")
@in_both_versions
async def test_a_clients_own_methods_start_with_an_underscore(version: int) -> None:
    async def handle(params: Any) -> Any:
        return {"got": params}

    with pytest.raises(LocalProtocolError, match=REFUSED):
        async with connected(RawAgent(version), extensions={"nounderscore/x": handle}):
            pass
    agent = RawAgent(version)
    async with opened(agent, extensions={"_mine/x": handle}):
        assert await agent.call("_mine/x", {"a": 1}) == {"got": {"a": 1}}


async def test_an_mcp_server_over_sse_is_a_type_that_version_1_has() -> None:
    offers = {"mcpCapabilities": {"sse": True}}
    agent = RawAgent(1, offers)
    server = unknown("sse", name="s", url="https://example.com", headers=[])
    async with connected(agent) as connection:
        await connection.new_session(mcp_servers=[server])
    (params,) = agent.got("session/new")
    assert params["mcpServers"] == [server.payload]


async def test_a_format_of_a_form_is_a_remark_and_may_have_any_name() -> None:
    async def ask(turn: Turn, word: str) -> None:
        await turn.elicit("Call?", {"phone": v2.StringPropertySchema(format=word)})

    raised, sent = await say_to(2, ask, "phone-number")
    assert raised == []
    assert '"phone-number"' in sent


async def test_what_a_stored_session_holds_is_replayed_as_it_is() -> None:
    store = MemoryStore()
    stored = StoredSession(id="old", cwd="/")
    future = unknown("future_block", level=3)
    stored.transcript.fold(v2.ToolCallUpdated(tool_call_id="t", title="T", kind="future"))
    stored.transcript.fold(v2.AgentMessage(message_id="m", content=[future]))
    option = v2.SessionConfigBoolean(
        config_id="fast", name="Fast", current_value=True, category="future"
    )
    stored.transcript.fold(v2.ConfigOptionUpdate(config_options=[option]))
    await store.put(stored)
    agent = Agent("x", store=store)

    @agent.prompt
    async def respond(turn: Turn) -> None: ...

    async with served(agent, 2) as client:
        start = {"type": "start"}
        params = {"sessionId": "old", "cwd": "/", "replayFrom": start}
        result = await client.call("session/resume", params)
        assert [each["category"] for each in result["configOptions"]] == ["future"]
        reported = json.dumps(client.updates("old"))
        assert '"kind": "future"' in reported
        assert '"future_block"' in reported


async def test_what_the_user_says_is_told_again_as_it_is() -> None:
    agent = Agent("x")

    @agent.prompt
    async def respond(turn: Turn) -> None: ...

    async with served(agent, 2) as client:
        session = await client.new_session()
        turn = await client.turn(session, "look", {"type": "future_block", "level": 3})
        (message,) = turn.of("user_message")
        assert message["content"][-1] == {"type": "future_block", "level": 3}


async def test_an_agent_passes_on_what_another_one_says() -> None:
    agent = Agent("x")

    @agent.prompt
    async def respond(turn: Turn) -> None:
        await turn.forward(v2.ToolCallUpdated(tool_call_id="t", title="T", kind="future"))
        await turn.forward(unknown("future_update", "sessionUpdate"), meta={"hop": 1})

    async with served(agent, 2) as client:
        turn = await client.turn(await client.new_session(), "go")
        assert [each["kind"] for each in turn.of("tool_call_update")] == ["future"]
        assert turn.of("future_update") == [{"sessionUpdate": "future_update"}]
        assert '{"hop": 1}' in json.dumps(client.log)


@requirement("V1-ELIC-47")
async def test_a_client_does_not_answer_with_an_action_without_an_underscore(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "parley")
    agent = RawAgent(2)
    responses = iter(["_later", "later"])

    async def elicit(request: Any, session: Any) -> Any:
        return unknown(next(responses), "action")

    form: dict[str, Any] = {"type": "object", "properties": {}}
    question: dict[str, Any] = {
        "mode": "form",
        "sessionId": "s",
        "message": "m",
        "requestedSchema": form,
    }
    async with opened(agent, elicit=elicit):
        assert await agent.call("elicitation/create", question) == {"action": "_later"}
        assert "later" not in json.dumps(await agent.ask("elicitation/create", question))
