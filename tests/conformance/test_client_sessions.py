"""The requests of a client to an agent, their order, and the ones that it must not send.

https://agentclientprotocol.com/protocol/v1/initialization
https://agentclientprotocol.com/protocol/v1/session-setup
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import parley.client
from parley.client import Connection, Session, Workspace
from parley.errors import (
    InternalError,
    LocalProtocolError,
    OptionRefused,
    Unsupported,
    VersionMismatch,
)
from parley.schema import v2

from .raw_agent import RawAgent, connected, opened
from .raw_client import PROGRAM, everywhere, in_both_versions
from .raw_connection import ErrorResponse
from .scripted_agents import AGENTS
from .wire_values import text, update, write

requirement = pytest.mark.requirement


@requirement("V1-INIT-01", "V1-INIT-02", "V1-SESS-01", "V1-PROMPT-01", "V2-INIT-01", "V1-INIT-03")
@requirement("V1-INIT-04", "V1-INIT-05", "V1-INIT-16", "V1-FS-03", "V2-INIT-02", "V2-INIT-03")
@in_both_versions
async def test_a_client_begins_with_the_handshake_and_waits_for_its_answer(version: int) -> None:
    agent = RawAgent(version)
    hello = agent.answers.pop("initialize")

    async def use() -> None:
        async with opened(
            agent, workspace=Workspace(files=Files(), terminals=None), elicit=nothing
        ) as session:
            await session.prompt("hi")

    using = asyncio.create_task(use())
    question = await agent.requested("initialize")
    assert len(agent.log) == 1
    agent.send(id=question["id"], result=hello({}))
    await using
    assert agent.methods[:3] == ["initialize", "session/new", "session/prompt"]
    params = question["params"]
    assert params["protocolVersion"] == 2
    assert {params["info"]["name"], params["clientInfo"]["name"]} == {"parley"}
    offered = params["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": True}
    assert offered["elicitation"] == params["capabilities"]["elicitation"] == {"form": {}}
    assert all(value is not True for value in params["capabilities"].values())


def nothing(question: Any, session: Any) -> None:
    """Decide nothing."""


class Files:
    """A client's files, of which it only reads."""

    def read_text_file(
        self, path: str, line: int | None, limit: int | None, session: Session
    ) -> str:
        return f"the text of {path}"


@requirement("V1-INIT-10", "V2-INIT-08")
@pytest.mark.parametrize("version", [7, 9, 65535])
async def test_a_client_leaves_when_it_cannot_speak_the_version(version: int) -> None:
    agent = RawAgent(2)
    agent.hello["protocolVersion"] = version
    with pytest.raises(VersionMismatch, match=str(version)):
        async with connected(agent):
            pass
    assert agent.methods == ["initialize"]
    assert agent.closed.done()


@requirement("V2-DUAL-07")
async def test_a_refused_handshake_is_no_reason_to_try_version_1() -> None:
    agent = RawAgent(2)

    def refuse(params: Any) -> Any:
        raise ErrorResponse(-32603)

    agent.answers["initialize"] = refuse
    with pytest.raises(InternalError):
        async with connected(agent):
            pass
    assert agent.methods == ["initialize"]


@requirement("V1-INIT-26", "V2-INIT-18", "V1-INIT-28", "V1-SESS-64")
async def test_an_agent_may_say_hardly_anything_about_itself() -> None:
    agent = RawAgent(1)
    agent.hello = {"protocolVersion": 1}
    async with connected(agent) as connection:
        assert connection.info.title is None
        assert connection.info.name
        session = await connection.new_session()
        agent.scene = said_hi
        assert await session.ask("hi") == "hi"
    (request,) = agent.got("session/new")
    assert request == {"cwd": "/", "mcpServers": []}


async def said_hi(agent: RawAgent) -> None:
    agent.say("hi")


@requirement("V2-DUAL-05", "V2-DUAL-06", "V1-INIT-11", "V2-INIT-10")
@in_both_versions
async def test_a_client_speaks_the_version_of_the_response(version: int) -> None:
    agent = RawAgent(version)
    async with opened(agent) as session:
        await session.prompt("hi")
        await session.close()
    prompt, *_ = agent.got("session/prompt")
    assert prompt["prompt"] == [text("hi")]
    kinds = {"authenticate", "session/load", "session/set_mode"}
    assert not kinds & set(agent.methods)


GATED: list[tuple[str, Callable[[Connection], Awaitable[Any]]]] = [
    ("session/list", lambda it: it.list_sessions_page()),
    ("session/delete", lambda it: it.delete_session("x")),
    ("session/resume", lambda it: it.resume_session("x", replay=False)),
    ("session/load", lambda it: it.resume_session("x")),
    ("session/fork", lambda it: it.fork_session("x")),
    ("providers/list", lambda it: it.list_providers()),
    ("logout", lambda it: it.logout()),
    ("auth/logout", lambda it: it.logout()),
    ("auth/login", lambda it: it.login("x")),
    ("session/new", lambda it: it.new_session(additional_directories=["/a"])),
]


@requirement("V1-SESS-12", "V1-SESS-21", "V1-SESS-29", "V1-SESS-37", "V1-SESS-51", "V1-SESS-58")
@requirement("V1-PROV-02", "TR-PRV-02", "V1-AUTH-18", "V2-AUTH-02", "V2-AUTH-03", "V2-SESS-06")
@requirement("V2-SESS-32", "V1-INIT-14", "V1-INIT-18")
@in_both_versions
@pytest.mark.parametrize(("method", "call"), GATED)
async def test_what_was_not_offered_is_not_asked_for(version: int, method: str, call: Any) -> None:
    offered: dict[str, Any] = {"sessionCapabilities": {"list": None}, "auth": {"logout": None}}
    agent = RawAgent(version, offered if version == 1 else {"auth": {}})
    async with connected(agent) as connection:
        with pytest.raises(Unsupported):
            await call(connection)
    assert agent.methods == ["initialize"]


@requirement("V1-SESS-25")
async def test_a_session_is_closed_only_where_that_was_offered() -> None:
    agent = RawAgent(1, {})
    async with opened(agent) as session:
        with pytest.raises(Unsupported):
            await session.close()
    assert "session/close" not in agent.methods


@requirement("V2-INIT-15")
async def test_the_baseline_of_version_2_is_used_without_looking_for_more() -> None:
    agent = RawAgent(2, {"session": {}})
    async with connected(agent) as connection:
        assert (await connection.list_sessions_page()).sessions == []
        session = await connection.resume_session("old")
        await session.close()
    assert agent.methods == ["initialize", "session/list", "session/resume", "session/close"]


@requirement("V1-SESS-06", "V2-SESS-03", "V1-RPC-19", "V1-SESS-30", "V1-SESS-36")
@in_both_versions
async def test_directories_are_sent_absolute_and_once(version: int) -> None:
    agent = RawAgent(version)
    async with connected(agent) as connection:
        await connection.new_session("sub", additional_directories=["/a", "/sub", "/b", "/a"])
        await connection.list_sessions_page("sub")
    (request,) = agent.got("session/new")
    assert (request["cwd"], request["additionalDirectories"]) == ("/sub", ["/a", "/b"])
    assert agent.got("session/list") == [{"cwd": "/sub"}]


SERVERS: list[v2.McpServer] = [
    v2.McpServerHttp(name="h", url="https://h"),
    v2.McpServerAcp(name="a", server_id="1"),
]


@requirement("V1-MCP-02", "V2-SESS-11")
@in_both_versions
async def test_mcp_servers_are_sent_only_over_what_was_offered(version: int) -> None:
    agent = RawAgent(version)
    async with connected(agent) as connection:
        for server in SERVERS:
            with pytest.raises(Unsupported):
                await connection.new_session(mcp_servers=[server])
        stdio = v2.McpServerStdio(name="s", command="/s")
        if version == 2:
            with pytest.raises(Unsupported):
                await connection.new_session(mcp_servers=[stdio])
        else:
            await connection.new_session(mcp_servers=[stdio])
            sent: Any = {"name": "s", "command": "/s", "args": [], "env": []}
            assert agent.got("session/new")[0]["mcpServers"] == [sent]


@requirement("V1-SESS-13", "V1-SESS-18", "V1-SESS-20", "V1-SESS-22", "V1-SESS-34")
@requirement("V2-SESS-09", "V2-SESS-23", "V1-SESS-02")
@in_both_versions
@pytest.mark.parametrize("replay", [True, False])
@pytest.mark.parametrize("result", [{}, None])
async def test_a_session_is_opened_again_with_all_that_is_wanted(
    version: int, replay: bool, result: Any
) -> None:
    agent = RawAgent(version)
    method = "session/load" if version == 1 and replay else "session/resume"

    def respond(params: Any) -> Any:
        if replay:
            content = text("before")
            agent.send_updates(
                update("user_message_chunk", messageId="1", content=content), session="old"
            )
        return result

    agent.answers[method] = respond
    async with connected(agent) as connection:
        session = await connection.resume_session(
            "old", "/w", replay=replay, additional_directories=["/a"]
        )
        messages = [each.text for each in session.transcript.messages]
        assert messages == (["before"] if replay else [])
        await session.prompt("on")
    (request,) = agent.got(method)
    assert (request["sessionId"], request["cwd"]) == ("old", "/w")
    assert request["additionalDirectories"] == ["/a"]
    if version == 1:
        assert request.get("mcpServers", None if replay else []) == []
    else:
        assert request.get("replayFrom") == ({"type": "start"} if replay else None)


@requirement("V1-SESS-42", "V1-SESS-43", "V2-SESS-29", "V1-SESS-48", "V2-SESS-10")
@in_both_versions
async def test_pages_follow_their_cursors_and_sessions_are_as_they_were_listed(
    version: int,
) -> None:
    agent = RawAgent(version)
    cursors: list[Any] = []
    pages: dict[Any, Any] = {None: " odd/\u202e+=", " odd/\u202e+=": "2", "2": None}

    def page(params: Any) -> Any:
        cursors.append(params.get("cursor"))
        next_cursor = pages[cursors[-1]]
        roots = {} if len(cursors) > 3 else {"additionalDirectories": ["/a"]}
        info = {"sessionId": f"s{len(cursors)}", "cwd": "/", **roots}
        return {"sessions": [info], **({} if next_cursor is None else {"nextCursor": next_cursor})}

    agent.answers["session/list"] = page
    async with connected(agent) as connection:
        listed = [each async for each in connection.list_sessions()]
        again = [each async for each in connection.list_sessions()]
    assert [each.session_id for each in listed] == ["s1", "s2", "s3"]
    assert cursors == [None, " odd/\u202e+=", "2"] * 2
    assert write(listed[0])["additionalDirectories"] == ["/a"]
    assert write(again[0]).get("additionalDirectories") in (None, [])


@requirement("V1-PROMPT-02", "V1-CONTENT-03", "V1-CONTENT-04", "V1-CONTENT-05", "V2-PROMPT-01")
@in_both_versions
async def test_a_prompt_has_only_what_the_agent_takes(version: int) -> None:
    agent = RawAgent(version)
    blocks: list[v2.ContentBlock] = [
        v2.ImageContent(data="", mime_type="image/png"),
        v2.AudioContent(data="", mime_type="audio/wav"),
        v2.EmbeddedResource(resource=v2.TextResourceContents(text="x", uri="file:///a")),
    ]
    async with opened(agent) as session:
        for block in blocks:
            with pytest.raises(Unsupported):
                await session.prompt("look", block)
        await session.prompt("look", v2.ResourceLink(name="a", uri="file:///a"))
    (sent,) = agent.got("session/prompt")
    assert [each["type"] for each in sent["prompt"]] == ["text", "resource_link"]


@requirement("V1-CONF-15", "V2-CFG-04", "V1-MODE-09")
@in_both_versions
async def test_an_option_is_set_as_its_version_does_it(version: int) -> None:
    agent = RawAgent(version)
    key = "id" if version == 1 else "configId"
    values = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
    select = {"type": "select", key: "x", "name": "X", "currentValue": "a", "options": values}
    agent.answers["session/new"] = lambda params: {"sessionId": "s", "configOptions": [select]}
    agent.answers["session/set_config_option"] = lambda params: {
        "configOptions": [{**select, "currentValue": params["value"]}]
    }
    async with opened(agent) as session:
        (option,) = await session.set_config_option("x", "b")
        assert isinstance(option, v2.SessionConfigSelect)
        assert option.current_value == "b"
        for wrong in ("zzz", True):
            with pytest.raises(OptionRefused):
                await session.set_config_option("x", wrong)
    (request,) = agent.got("session/set_config_option")
    kind = {} if version == 1 else {"type": "id"}
    assert request == {"sessionId": "s", "configId": "x", "value": "b", **kind}
    assert "session/set_mode" not in agent.methods


@requirement("V1-MODE-01", "V1-MODE-03", "V1-CONF-02")
async def test_a_mode_of_version_1_is_set_like_an_option() -> None:
    agent = RawAgent(1)
    available = [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]
    modes = {"currentModeId": "ask", "availableModes": available}
    agent.answers["session/new"] = lambda params: {"sessionId": "s", "modes": modes}
    agent.answers["session/set_mode"] = lambda params: {}
    async with opened(agent) as session:
        (option,) = session.transcript.config_options
        assert isinstance(option, v2.SessionConfigSelect)
        with pytest.raises(OptionRefused):
            await session.set_config_option(option.config_id, "nope")
        (option,) = await session.set_config_option(option.config_id, "code")
        assert isinstance(option, v2.SessionConfigSelect)
        assert option.current_value == "code"
    assert agent.got("session/set_mode") == [{"sessionId": "s", "modeId": "code"}]


def got(params: Any) -> Any:
    return {"got": params}


@requirement("V2-SDK-08")
@requirement("V1-EXT-07", "V1-EXT-09", "V2-EXT-05")
@everywhere
async def test_own_methods_work_in_both_directions(version: int, over: str) -> None:
    received: list[Any] = []
    target: Any = AGENTS["full"]() if over == "memory" else [sys.executable, PROGRAM, "full"]
    extensions: Any = {"_example/value": got, "_example/told": received.append}
    options: Any = {"extensions": extensions, "versions": (version,)}
    async with parley.client.connect(target, cwd=Path("/"), **options) as connection:
        assert await connection.request("_example/echo", {"a": 1}) == {"echo": {"a": 1}}
        with pytest.raises(LocalProtocolError):
            await connection.request("example/echo", {})
        session = await connection.new_session()
        assert await session.ask("own_request") == '{"got": {"b": 2}}'
    assert received == [{"a": 1}]
