"""The life of sessions: opened, listed, resumed, forked, archived, deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import Agent, AgentFeatures, AgentSession, Turn
from parley.errors import (
    AuthRequired,
    InvalidParams,
    InvalidRequest,
    ResourceNotFound,
)
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods

from .agent_clients import (
    Client,
    connected_client,
    connected_raw_client,
    counting_agent,
    list_session_ids,
    stop_reason,
    text_block,
    texts,
)


@pytest.mark.requirement("V2-SESS-01", "V1-SESS-03")
async def test_sessions_have_ids_of_their_own() -> None:
    async with connected_client(counting_agent()) as client:
        assert len({await client.new() for _ in range(50)}) == 50


@pytest.mark.requirement("V2-SESS-03", "V2-SESS-07", "V1-SESS-11")
@pytest.mark.parametrize(
    "fields",
    [
        {"cwd": "work"},
        {"cwd": ""},
        {"cwd": "/project", "additional_directories": ["rel"]},
        {"cwd": "/project", "additional_directories": [""]},
    ],
)
async def test_a_directory_that_is_not_absolute_is_refused(fields: dict[str, Any]) -> None:
    agent = counting_agent(AgentFeatures(additional_directories=True))
    async with connected_client(agent) as client:
        with pytest.raises(InvalidParams):
            await client.request(methods.NEW_SESSION, v2.NewSessionRequest(**fields))
        assert await list_session_ids(client) == []


async def test_what_the_client_hands_over_reaches_the_program() -> None:
    features = AgentFeatures(additional_directories=True, system_prompt=True, mcp_stdio=True)
    agent, seen = counting_agent(features), list[AgentSession]()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        seen.append(session)
        session.response_meta = {"greeting": "hello"}

    server = v2.McpServerStdio(name="tools", command="/bin/tools")
    system = v2.SystemPrompt(mode="append", content=[text_block("Be brief.")])
    params = v2.NewSessionRequest(
        cwd="/project",
        additional_directories=["/more"],
        mcp_servers=[server],
        system_prompt=system,
        meta={"who": "me"},
    )
    async with connected_client(agent) as client:
        response = await client.request(methods.NEW_SESSION, params)
    (session,) = seen
    assert response.meta == {"greeting": "hello"}
    assert (session.id, session.origin) == (response.session_id, "new")
    assert (session.cwd, session.additional_directories) == ("/project", ["/more"])
    assert (session.mcp_servers, session.system_prompt) == ([server], system)
    assert session.meta == {"who": "me"}


@pytest.mark.parametrize(
    ("features", "fields"),
    [
        (AgentFeatures(), {"additional_directories": ["/more"]}),
        (AgentFeatures(), {"system_prompt": v2.SystemPrompt(mode="append", content=[])}),
        (
            AgentFeatures(system_prompt=True),
            {"system_prompt": v2.SystemPrompt(mode="override", content=[])},
        ),
        (
            AgentFeatures(system_prompt=True, system_prompt_override=True),
            {"system_prompt": v2.SystemPrompt(mode="_shout", content=[])},
        ),
    ],
)
async def test_what_was_not_offered_is_refused(
    features: AgentFeatures, fields: dict[str, Any]
) -> None:
    async with connected_client(counting_agent(features)) as client:
        with pytest.raises(InvalidParams):
            await client.new(**fields)


@pytest.mark.requirement("V2-PROMPT-02", "V1-CONTENT-01", "V1-CONTENT-02")
async def test_text_and_links_are_always_taken_and_other_blocks_where_they_are_offered() -> None:
    link = v2.ResourceLink(name="a", uri="file:///a")
    image = v2.ImageContent(data="", mime_type="image/png")
    sound = v2.AudioContent(data="", mime_type="audio/wav")
    resource = v2.EmbeddedResource(resource=v2.TextResourceContents(text="", uri="file:///a"))

    async def send(client: Client, block: v2.ContentBlock) -> None:
        session = await client.new()
        params = v2.PromptRequest(session_id=session, prompt=[text_block("see"), block])
        await client.request(methods.PROMPT, params)
        await client.until_idle()

    async with connected_client(counting_agent()) as client:
        await send(client, link)
        for block in (image, sound, resource):
            with pytest.raises(InvalidParams):
                await send(client, block)
    takes_all = AgentFeatures(image=True, audio=True, embedded_context=True)
    async with connected_client(counting_agent(takes_all)) as client:
        for each in (link, image, sound, resource, Unknown("_x", b'{"type":"_x"}')):
            await send(client, each)


async def test_commands_and_options_set_while_a_session_opens_go_with_the_response() -> None:
    agent = counting_agent()
    command = v2.Command(name="review", description="Look at it")
    option = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False)

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_commands([command])
        await session.set_config_options([option])
        await session.say("Welcome")

    async with connected_client(agent) as client:
        response = await client.request(methods.NEW_SESSION, v2.NewSessionRequest(cwd="/project"))
        assert response.available_commands == [command]
        assert response.config_options == [option]
        assert texts([await client.next()]) == ["Welcome"]
        again = await client.resume(response.session_id)
        assert again.available_commands == [command]
        assert again.config_options == [option]


@pytest.mark.requirement("V2-AUTH-11", "V1-AUTH-08")
async def test_what_the_program_raises_while_a_session_opens_is_the_response() -> None:
    agent, is_known = counting_agent(), asyncio.Event()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if not is_known.is_set():
            raise AuthRequired()

    async with connected_client(agent) as client:
        with pytest.raises(AuthRequired):
            await client.new()
        assert agent._state.session_owners == {}
        assert await list_session_ids(client) == []
        is_known.set()
        await client.turn(await client.new())


@pytest.mark.requirement("V2-SESS-16", "V2-SESS-17", "V2-SESS-18", "V2-SESS-19", "V2-SESS-22")
async def test_a_replay_tells_the_whole_conversation_before_the_response() -> None:
    agent = Agent("talker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.session.notice("Careful")
        await turn.say("one, ")
        await turn.say("two")

    async with connected_client(agent) as client:
        session = await client.new()
        live = await client.turn(session, "count")
        await client.resume(session, replays=True)
        replayed = client.unread()
    ids = [each.message_id for each in live if isinstance(each, v2.ContentChunk | v2.UserMessage)]
    user_message, opened, chunk, idle = replayed
    assert isinstance(user_message, v2.UserMessage)
    assert isinstance(opened, v2.AgentMessage)
    assert isinstance(chunk, v2.AgentMessageChunk)
    assert [user_message.message_id, opened.message_id, chunk.message_id] == ids[:2] + ids[2:]
    assert chunk.content == text_block("one, two")
    assert idle == v2.StateUpdated(state="idle")


@pytest.mark.requirement("V2-SESS-15", "V1-SESS-23", "V1-SESS-24")
async def test_without_a_replay_only_the_state_is_reported_and_the_session_continues() -> None:
    agent = counting_agent()
    async with connected_client(agent) as client:
        session = await client.new()
        await client.turn(session, "a")
    async with connected_client(agent) as client:
        await client.resume(session)
        assert client.unread() == [v2.StateUpdated(state="idle")]
        assert texts(await client.turn(session, "b")) == ["2: b"]


async def test_what_is_said_while_a_session_is_resumed_is_not_replayed_twice() -> None:
    agent = counting_agent()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "resumed":
            await session.say("Welcome back")

    async with connected_client(agent) as client:
        session = await client.new()
        await client.turn(session, "a")
    async with connected_raw_client(agent) as bare:
        await bare.initialize()
        params = {"sessionId": session, "cwd": "/project", "replayFrom": {"type": "start"}}
        replay, _ = await bare.until(bare.send("session/resume", params))
        welcome = await bare.receive()
    spoken = [each["params"]["update"]["content"] for each in (replay[2], welcome)]
    assert [each["text"] for each in spoken] == ["1: a", "Welcome back"]
    assert len(replay) == 4


@pytest.mark.requirement("V2-SESS-20")
async def test_a_place_to_replay_from_that_is_not_known_is_refused() -> None:
    async with connected_client(counting_agent()) as client:
        session = await client.new()
        params = v2.ResumeSessionRequest(
            session_id=session, cwd="/project", replay_from=Unknown("_x", b'{"type":"_x"}')
        )
        with pytest.raises(InvalidParams):
            await client.request(methods.RESUME_SESSION, params)


@pytest.mark.requirement("V2-SESS-08", "V1-SESS-32", "V1-SESS-33")
async def test_roots_are_those_of_the_last_request() -> None:
    agent, seen = counting_agent(AgentFeatures(additional_directories=True)), list[AgentSession]()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        seen.append(session)

    async with connected_client(agent) as client:
        session = await client.new(additional_directories=["/more"])
        await client.resume(session, cwd="/elsewhere")
    assert (seen[1].cwd, seen[1].additional_directories) == ("/elsewhere", [])


async def test_a_session_that_does_not_exist_cannot_be_resumed_or_closed() -> None:
    async with connected_client(counting_agent()) as client:
        for call in (client.resume("nope"), client.close("nope")):
            with pytest.raises(ResourceNotFound) as caught:
                await call
            assert caught.value.data == {"sessionId": "nope"}


@pytest.mark.requirement("V1-SESS-28")
async def test_a_closed_session_takes_no_prompt_until_it_is_resumed() -> None:
    async with connected_client(counting_agent()) as client:
        session = await client.new()
        await client.close(session)
        await client.close(session)
        with pytest.raises(ResourceNotFound):
            await client.prompt(session)
        await client.resume(session)
        await client.turn(session)


async def test_a_session_cannot_be_opened_again_while_its_turn_runs() -> None:
    agent, may_end = Agent("slow"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await may_end.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session)
        with pytest.raises(InvalidRequest, match="running turn"):
            await client.resume(session, replays=True)
        may_end.set()
        await client.until_idle()
        await client.resume(session)


async def test_a_session_is_opened_once_at_a_time() -> None:
    agent, opening, may_open = counting_agent(), asyncio.Event(), asyncio.Event()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "resumed":
            opening.set()
            await may_open.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        await client.close(session)
        first = asyncio.create_task(client.resume(session))
        await opening.wait()
        with pytest.raises(InvalidRequest, match="being opened"):
            await client.resume(session)
        may_open.set()
        await first
        await client.turn(session)


async def test_another_connection_takes_a_session_over_and_its_turn_is_cancelled() -> None:
    agent, begun = Agent("slow"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "wait":
            begun.set()
            await asyncio.Event().wait()

    async with connected_client(agent) as one, connected_client(agent) as other:
        session = await one.new()
        await one.prompt(session, "wait")
        await begun.wait()
        await other.resume(session)
        assert stop_reason(await one.until_idle()) == "cancelled"
        with pytest.raises(ResourceNotFound):
            await one.prompt(session)
        await other.turn(session)


async def test_two_mcp_servers_with_one_name_are_refused() -> None:
    agent = counting_agent(AgentFeatures(mcp_stdio=True))
    server = v2.McpServerStdio(name="tools", command="/bin/tools")
    params = v2.NewSessionRequest(cwd="/project", mcp_servers=[server, server])
    async with connected_client(agent) as client:
        with pytest.raises(InvalidParams, match="Two MCP servers have the name tools"):
            await client.request(methods.NEW_SESSION, params)
