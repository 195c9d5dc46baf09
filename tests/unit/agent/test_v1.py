"""The same agents, served to a client of version 1."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import Agent, AgentConnection, AgentFeatures, AgentSession, Login, Turn
from parley.errors import RequestError
from parley.schema import v2
from parley.schema.base import Unknown

from .agent_clients import Message, connected_raw_client, counting_agent


def updates(messages: list[Message]) -> list[Message]:
    notes = [each["params"]["update"] for each in messages if each["method"] == "session/update"]
    return [{key: value for key, value in each.items() if key != "messageId"} for each in notes]


def chunk(text: str, kind: str = "agent_message_chunk") -> Message:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


class Slow:
    """An agent whose handler waits until it is cancelled."""

    def __init__(self) -> None:
        self.agent, self.begun = Agent("slow", cancel_timeout=0.01), asyncio.Event()
        self.agent.prompt(self.reply)

    async def reply(self, turn: Turn) -> None:
        if turn.text == "quick":
            await turn.say("quick")
            return
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.end(turn)

    async def end(self, turn: Turn) -> None:
        await turn.say("bye")


@pytest.mark.requirement("V1-PROMPT-03", "V1-PROMPT-06", "V1-PROMPT-08", "V1-PROMPT-09")
async def test_a_prompt_gets_a_response_at_the_end_of_its_turn() -> None:
    async with connected_raw_client(counting_agent()) as client:
        session = await client.new(1)
        before, response = await client.until(client.prompt(session, "hi"))
        assert updates(before) == [chunk("1: hi")]
        assert {each["params"]["sessionId"] for each in before} == {session}
        assert response["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("V1-PROMPT-04", "V1-PROMPT-05")
@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal"])
async def test_a_stop_reason_is_the_response(reason: str) -> None:
    agent = Agent("stopper")

    @agent.prompt
    async def reply(turn: Turn) -> str:
        return reason

    async with connected_raw_client(agent) as client:
        _, response = await client.until(client.prompt(await client.new(1)))
        assert response["result"] == {"stopReason": reason}


async def test_an_error_is_the_response_with_code_message_and_data() -> None:
    agent = Agent("breaker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "boom":
            raise RequestError("Boom", {"detail": 42}, code=-32050)
        raise ValueError("the secret")

    async with connected_raw_client(agent) as client:
        session = await client.new(1)
        _, response = await client.until(client.prompt(session, "boom"))
        error = {"code": -32050, "message": "Boom", "data": {"detail": 42}}
        assert response["error"] == error
        _, response = await client.until(client.prompt(session, "other"))
        assert response["error"] == {"code": -32603, "message": "Internal error"}


@pytest.mark.requirement("V1-PROMPT-22", "V1-PROMPT-24")
async def test_cancel_ends_the_prompt_as_cancelled_after_its_last_messages() -> None:
    slow = Slow()
    async with connected_raw_client(slow.agent) as client:
        session = await client.new(1)
        id = client.prompt(session)
        await slow.begun.wait()
        client.notify("session/cancel", {"sessionId": session})
        before, response = await client.until(id)
        assert updates(before) == [chunk("bye")]
        assert response["result"] == {"stopReason": "cancelled"}
        _, response = await client.until(client.prompt(session, "quick"))
        assert response["result"] == {"stopReason": "end_turn"}


async def test_withdrawing_a_prompt_cancels_its_turn() -> None:
    slow = Slow()
    async with connected_raw_client(slow.agent) as client:
        session = await client.new(1)
        id = client.prompt(session)
        await slow.begun.wait()
        client.notify("$/cancel_request", {"requestId": id})
        _, response = await client.until(id)
        assert response["result"] == {"stopReason": "cancelled"}
        _, response = await client.until(client.prompt(session, "quick"))
        assert response["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("V1-PROMPT-23")
async def test_a_handler_that_raises_or_does_not_end_is_cancelled_all_the_same() -> None:
    class Raising(Slow):
        async def end(self, turn: Turn) -> None:
            raise ValueError("cannot clean up")

    class Deaf(Slow):
        async def end(self, turn: Turn) -> None:
            while True:
                try:
                    await may_end.wait()
                    return
                except asyncio.CancelledError:
                    pass

    may_end = asyncio.Event()
    for slow in (Raising(), Deaf()):
        async with connected_raw_client(slow.agent) as client:
            session = await client.new(1)
            id = client.prompt(session)
            await slow.begun.wait()
            client.notify("session/cancel", {"sessionId": session})
            _, response = await client.until(id)
            assert response["result"] == {"stopReason": "cancelled"}
            may_end.set()


@pytest.mark.requirement("V1-SESS-26")
async def test_closing_a_session_responds_to_its_prompts_and_then_to_its_own_request() -> None:
    slow = Slow()
    async with connected_raw_client(slow.agent) as client:
        session = await client.new(1)
        first, second = client.prompt(session), client.prompt(session)
        await slow.begun.wait()
        closing = client.send("session/close", {"sessionId": session})
        before, response = await client.until(closing)
        responses = [each for each in before if "result" in each]
        assert [each["id"] for each in responses] == [first, second]
        assert [each["result"] for each in responses] == [{"stopReason": "cancelled"}] * 2
        assert response["result"] == {}


async def test_prompts_get_responses_in_their_order() -> None:
    async with connected_raw_client(counting_agent()) as client:
        session = await client.new(1)
        ids = [client.prompt(session, text) for text in "abc"]
        for number, (id, text) in enumerate(zip(ids, "abc", strict=True), 1):
            before, response = await client.until(id)
            assert updates(before) == [chunk(f"{number}: {text}")]
            assert response["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("V1-SESS-14", "V1-SESS-15", "V1-SESS-23")
async def test_load_replays_before_its_response_and_resume_does_not() -> None:
    agent = counting_agent()
    async with connected_raw_client(agent) as client:
        session = await client.new(1)
        await client.until(client.prompt(session, "hi"))
    async with connected_raw_client(agent) as client:
        capabilities = (await client.initialize(1))["result"]["agentCapabilities"]
        assert capabilities["loadSession"] is True
        opened: Message = {"sessionId": session, "cwd": "/project", "mcpServers": []}
        before, response = await client.until(client.send("session/load", opened))
        assert updates(before)[:2] == [chunk("hi", "user_message_chunk"), chunk("1: hi")]
        assert "result" in response
        assert "result" in await client.call("session/resume", opened)
        before, _ = await client.until(client.prompt(session, "again"))
        assert updates(before) == [chunk("2: again")]


SESSION_METHODS = {
    "load": "session/load",
    "resume": "session/resume",
    "list": "session/list",
    "close": "session/close",
    "delete": "session/delete",
}


@pytest.mark.parametrize("name", SESSION_METHODS)
async def test_what_a_program_does_not_want_to_offer_is_neither_offered_nor_served(
    name: str,
) -> None:
    claimed: dict[str, Any] = {name: False}
    agent = counting_agent(AgentFeatures(**claimed))
    async with connected_raw_client(agent) as client:
        stated = (await client.initialize(1))["result"]["agentCapabilities"]
        offered = {"load"} if stated.get("loadSession") else set[str]()
        offered |= set(stated["sessionCapabilities"])
        assert offered & set(SESSION_METHODS) == set(SESSION_METHODS) - {name}
        new = await client.call("session/new", {"cwd": "/project", "mcpServers": []})
        opened: Message = {
            "sessionId": new["result"]["sessionId"],
            "cwd": "/project",
            "mcpServers": [],
        }
        assert (await client.call(SESSION_METHODS[name], opened))["error"]["code"] == -32601


async def test_in_version_2_only_deleting_can_be_left_out() -> None:
    claimed = AgentFeatures(load=False, resume=False, list=False, close=False, delete=False)
    async with connected_raw_client(counting_agent(claimed)) as client:
        stated = (await client.initialize(2))["result"]["capabilities"]
        assert "delete" not in stated["session"]
        new = await client.call("session/new", {"cwd": "/project", "mcpServers": []})
        session = {"sessionId": new["result"]["sessionId"]}
        assert (await client.call("session/delete", session))["error"]["code"] == -32601
        assert "result" in await client.call("session/close", session)
        again: Message = session | {"cwd": "/project", "mcpServers": []}
        _, response = await client.until(client.send("session/resume", again))
        assert "result" in response


async def test_sessions_are_listed_closed_deleted_and_forked() -> None:
    async with connected_raw_client(counting_agent(AgentFeatures(fork=True))) as client:
        session = await client.new(1)
        forked = await client.call(
            "session/fork", {"sessionId": session, "cwd": "/fork", "mcpServers": []}
        )
        fork = forked["result"]["sessionId"]
        listed = (await client.call("session/list", {}))["result"]["sessions"]
        assert [each["sessionId"] for each in listed] == [fork, session]
        assert (await client.call("session/delete", {"sessionId": fork}))["result"] == {}
        listed = (await client.call("session/list", {}))["result"]["sessions"]
        assert [each["sessionId"] for each in listed] == [session]


async def test_what_was_not_claimed_is_not_offered() -> None:
    async with connected_raw_client(counting_agent()) as client:
        session = await client.new(1)
        params: Message = {"sessionId": session, "cwd": "/fork", "mcpServers": []}
        for method, body in (("session/fork", params), ("authenticate", {"methodId": "x"})):
            assert "error" in await client.call(method, body)


async def test_commands_set_while_a_session_opens_follow_its_response() -> None:
    agent = counting_agent()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_commands([v2.Command(name="review", description="Look at it")])

    async with connected_raw_client(agent) as client:
        await client.new(1)
        note = await client.receive()
    assert note["params"]["update"] == {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "review", "description": "Look at it"}],
    }


@pytest.mark.requirement("V1-MODE-01", "V1-MODE-04", "V1-CONF-03")
async def test_a_mode_is_an_option_and_both_are_kept_in_step() -> None:
    agent = counting_agent()
    values = [v2.SessionConfigSelectOption(value=each, name=each) for each in ("ask", "code")]

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        mode = v2.SessionConfigSelect(
            config_id="mode", name="Mode", category="mode", current_value="ask", options=values
        )
        await session.set_config_options([mode])

    async with connected_raw_client(agent) as client:
        await client.initialize(1)
        opened = await client.call("session/new", {"cwd": "/project", "mcpServers": []})
        session = opened["result"]["sessionId"]
        assert opened["result"]["modes"]["currentModeId"] == "ask"
        refused = await client.call("session/set_mode", {"sessionId": session, "modeId": "nope"})
        assert refused["error"]["code"] == -32602
        await client.until(
            client.send("session/set_mode", {"sessionId": session, "modeId": "code"})
        )
        params = {"sessionId": session, "configId": "mode", "value": "ask"}
        _, response = await client.until(client.send("session/set_config_option", params))
        assert response["result"]["configOptions"][0]["currentValue"] == "ask"


@pytest.mark.requirement("V1-AUTH-06", "V1-AUTH-18")
async def test_a_login_is_called_authenticate() -> None:
    agent, logins = counting_agent(), list[str]()

    @agent.login("browser", name="In a browser")
    async def log_in(login: Login) -> None:
        logins.append(login.method_id)

    @agent.logout
    async def log_out(connection: AgentConnection) -> None:
        logins.clear()

    async with connected_raw_client(agent) as client:
        result = (await client.initialize(1))["result"]
        assert [each["id"] for each in result["authMethods"]] == ["browser"]
        assert (await client.call("authenticate", {"methodId": "browser"}))["result"] == {}
        assert logins == ["browser"]
        assert (await client.call("logout", {}))["result"] == {}
        assert logins == []


async def test_a_client_that_takes_no_subagents_gets_no_updates_of_them() -> None:
    async def body(turn: Turn) -> None:
        async with turn.session.subagent("Explore") as explorer:
            await explorer.session.say("found it")
            await explorer.session.message(turn.session, "It is in a.py")
        await turn.say("done")

    agent = Agent("boss")
    agent.prompt(body)
    async with connected_raw_client(agent) as client:
        before, _ = await client.until(client.prompt(await client.new(1)))
    assert updates(before) == [chunk("done")]


@pytest.mark.requirement("V2-INIT-05", "V2-INIT-06", "V2-DUAL-03")
@pytest.mark.parametrize(("requested", "expected"), [(1, 1), (2, 2), (3, 2), (65535, 2), (0, 2)])
async def test_a_client_gets_the_version_that_suits_it(requested: int, expected: int) -> None:
    async with connected_raw_client(counting_agent()) as client:
        assert (await client.initialize(requested))["result"]["protocolVersion"] == expected


async def test_what_version_1_cannot_express_is_left_out() -> None:
    agent = Agent("modern")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(Unknown("_hologram", b'{"type":"_hologram"}'))
        await turn.say("text")

    async with connected_raw_client(agent) as client:
        before, _ = await client.until(client.prompt(await client.new(1)))
    assert updates(before) == [chunk("text")]
