"""Sessions as an agent opens them: new, resumed, loaded, forked, closed.

https://agentclientprotocol.com/protocol/v1/session-setup
https://agentclientprotocol.com/protocol/v2/session-setup
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .raw_client import RawClient, everywhere, in_both_versions, in_process, initialized

requirement = pytest.mark.requirement
SERVER: dict[str, Any] = {"name": "s", "command": "/bin/s", "args": [], "env": []}
START = {"replayFrom": {"type": "start"}}


async def facts_of(client: RawClient, session: str) -> Any:
    """Return what the agent knows about a session."""
    return json.loads((await client.turn(session, "where")).text)


async def reopen(client: RawClient, session: str, *, replay: bool = True, **more: Any) -> Any:
    """Open a session again; return the messages before the response, and the response."""
    since = len(client.log)
    params: Any = {"sessionId": session, "cwd": "/project", "mcpServers": [], **more}
    if client.version == 1:
        result = await client.call("session/load" if replay else "session/resume", params)
    else:
        result = await client.call("session/resume", params | (START if replay else {}))
    return client.updates(session, since), result


@requirement("V1-SESS-03", "V2-SESS-01")
@in_process
async def test_every_session_has_an_id_of_its_own(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        ids = {await client.new_session() for _ in range(50)}
        assert len(ids) == 50
        assert "" not in ids


@requirement("V1-SESS-04", "V2-SESS-38", "V1-SESS-02", "V2-SESS-31")
@in_process
async def test_an_unknown_session_is_an_error(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        prompt = {"sessionId": "nope", "prompt": [{"type": "text", "text": "x"}]}
        assert await client.refusal("session/prompt", prompt) in (-32002, -32602)
        option = {"sessionId": "nope", "configId": "mode", "value": "code", "type": "id"}
        assert await client.refusal("session/set_config_option", option) in (-32002, -32602)
        resume = {"sessionId": "nope", "cwd": "/"}
        assert await client.refusal("session/resume", resume) in (-32002, -32602)
        assert (await client.call("session/list"))["sessions"] == []


@requirement("V1-SESS-11", "V1-RPC-20", "V2-SESS-03", "V1-SESS-06")
@in_both_versions
@pytest.mark.parametrize("cwd", [".", "proj", "", "../x", "~"])
async def test_a_relative_cwd_is_refused(version: int, cwd: str) -> None:
    async with initialized(version) as client:
        params: Any = {"cwd": cwd, "mcpServers": []}
        assert await client.refusal("session/new", params) == -32602
        session = await client.new_session()
        again: Any = {"sessionId": session, **params}
        assert await client.refusal("session/resume", again) == -32602
        assert len((await client.call("session/list"))["sessions"]) == 1


@requirement("V1-SESS-07", "V1-SESS-09", "V1-SESS-59", "V2-SESS-04")
@in_process
async def test_a_session_works_where_it_was_told(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session("/some/where", additionalDirectories=["/b", "/a"])
        facts = await facts_of(client, session)
        assert (facts["cwd"], facts["roots"]) == ("/some/where", ["/b", "/a"])


@requirement("V1-SESS-31", "V1-SESS-62", "V2-SESS-07", "V1-SESS-30")
@in_both_versions
@pytest.mark.parametrize("directories", [["rel"], [""], ["/a", "./b"]])
async def test_a_relative_or_empty_directory_fails_the_request(
    version: int, directories: list[str]
) -> None:
    async with initialized(version) as client:
        params = {"cwd": "/project", "mcpServers": [], "additionalDirectories": directories}
        assert await client.refusal("session/new", params) == -32602


@requirement("V1-SESS-62")
@in_both_versions
async def test_directories_that_the_agent_does_not_take_fail_the_request(version: int) -> None:
    async with initialized(version, name="bare") as client:
        params = {"cwd": "/project", "mcpServers": [], "additionalDirectories": ["/a"]}
        assert await client.refusal("session/new", params) == -32602


@requirement("V1-SESS-32", "V1-SESS-33", "V1-SESS-35", "V2-SESS-08")
@in_both_versions
@pytest.mark.parametrize("replay", [True, False])
async def test_directories_do_not_come_back_by_themselves(version: int, replay: bool) -> None:
    async with initialized(version) as client:
        session = await client.new_session(additionalDirectories=["/a"])
        await reopen(client, session, replay=replay)
        assert (await facts_of(client, session))["roots"] == []
        await reopen(client, session, replay=replay, additionalDirectories=["/b"])
        assert (await facts_of(client, session))["roots"] == ["/b"]


@requirement("V1-SESS-64", "V1-MCP-11", "V1-MCP-12", "V2-SESS-02")
@in_both_versions
@pytest.mark.requirement("SAFE-REACH-06")
async def test_mcp_servers_belong_to_their_session_and_request(version: int) -> None:
    server = SERVER if version == 1 else {"type": "stdio", **SERVER}
    async with initialized(version) as client:
        session = await client.new_session(mcpServers=[server])
        other = await client.new_session()
        assert (await facts_of(client, session))["servers"] == ["s"]
        assert (await facts_of(client, other))["servers"] == []
        await reopen(client, session, mcpServers=[{**server, "name": "t"}])
        assert (await facts_of(client, session))["servers"] == ["t"]
        if version == 2:
            assert "sessionId" in await client.call("session/new", {"cwd": "/"})


def message_texts(updates: list[Any]) -> list[tuple[str, str]]:
    """Return the role and text of each message in updates."""
    texts: dict[tuple[str, str], str] = {}
    for each in updates:
        kind = each["sessionUpdate"].removesuffix("_chunk")
        if kind in ("user_message", "agent_message"):
            content = each["content"] if isinstance(each["content"], list) else [each["content"]]
            key = (kind, each.get("messageId", str(len(texts))))
            texts[key] = texts.get(key, "") + "".join(block["text"] for block in content)
    return [(kind, text) for (kind, _), text in texts.items()]


@requirement("V1-SESS-14", "V1-SESS-15", "V1-SESS-16", "V1-SESS-17", "V1-SESS-19", "V1-SESS-20")
@requirement("V2-SESS-16", "V2-SESS-17", "V2-SESS-18", "V2-SESS-19", "V2-SESS-22")
@everywhere
async def test_a_conversation_is_told_again_before_the_answer(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        live = (await client.turn(session, "say one two")).updates
        live += (await client.turn(session, "report")).updates
        await client.call("session/close", {"sessionId": session})
        updates, result = await reopen(client, session)
        assert message_texts(updates) == [
            ("user_message", "say one two"),
            ("agent_message", "onetwo"),
            ("user_message", "report"),
            ("agent_message", "reported"),
        ]
        assert not [each for each in updates if each["sessionUpdate"] == "notice"]
        ids = {each["messageId"] for each in live if "messageId" in each}
        again = {each["messageId"] for each in updates if "messageId" in each}
        assert len(again) == 4
        assert ids <= again
        ids = {each["id" if version == 1 else "configId"] for each in result["configOptions"]}
        assert "mode" in ids
        assert (await facts_of(client, session))["said"] == ["say one two", "report", "where"]


@requirement("V1-SESS-23", "V1-SESS-24", "V1-SESS-20", "V2-SESS-15")
@in_process
async def test_a_session_may_be_resumed_without_its_history(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        await client.turn(session, "say one")
        updates, _ = await reopen(client, session, replay=False)
        assert message_texts(updates) == []
        assert (await facts_of(client, session))["said"] == ["say one", "where"]


@requirement("V2-SESS-15", "V2-SESS-20")
async def test_where_to_replay_from_may_be_null_but_not_unknown() -> None:
    async with initialized(2) as client:
        session = await client.new_session()
        await client.turn(session, "say one")
        updates, _ = await reopen(client, session, replay=False, replayFrom=None)
        assert message_texts(updates) == []
        params = {"sessionId": session, "cwd": "/", "replayFrom": {"type": "_x"}}
        assert await client.refusal("session/resume", params) == -32602


@requirement("V2-TERM-11")
@requirement("V2-SESS-21", "V2-TERM-01", "V2-TERM-04", "V2-TERM-08")
async def test_terminals_have_ids_of_their_own_and_are_replayed_as_snapshots() -> None:
    async with initialized(2) as client:
        session = await client.new_session("/project")
        turn = await client.turn(session, "own_terminal")
        first = [each for each in turn.of("terminal_update") if "command" in each]
        assert [(each["command"], each["cwd"]) for each in first] == [
            ("one", "/project"),
            ("two", "/project"),
        ]
        assert len({each["terminalId"] for each in first}) == 2
        updates, _ = await reopen(client, session)
        kinds = [each["sessionUpdate"] for each in updates]
        assert "terminal_output_chunk" not in kinds
        shown = [each["output"]["data"] for each in updates if "output" in each]
        assert shown == ["b25l", "dHdv"]
        assert all(isinstance(message, dict) for message in client.log)


@requirement("V1-SESS-27", "V1-SESS-28", "V2-SESS-25")
@in_both_versions
async def test_a_closed_session_takes_no_prompts_until_it_is_opened_again(version: int) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        for _ in range(2):
            assert await client.call("session/close", {"sessionId": session}) == {}
        assert await client.refusal("session/close", {"sessionId": "nope"}) == -32002
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
        assert await client.refusal("session/prompt", prompt) in (-32002, -32602)
        await reopen(client, session)
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V1-SESS-55", "V1-SESS-56", "V1-SESS-57", "V2-SESS-36", "V2-SESS-37")
@in_both_versions
async def test_a_fork_is_a_new_session_with_the_same_history(version: int) -> None:
    async with initialized(version) as client:
        source = await client.new_session(additionalDirectories=["/a"])
        await client.turn(source, "say one")
        params: Any = {"sessionId": source, "cwd": "/other", "mcpServers": []}
        fork = (await client.call("session/fork", params))["sessionId"]
        assert fork != source
        facts = await facts_of(client, fork)
        assert (facts["said"], facts["roots"]) == (["say one", "where"], [])
        assert (await facts_of(client, source))["said"] == ["say one", "where"]
        assert await client.refusal("session/fork", {**params, "sessionId": "nope"}) == -32002
        assert await client.refusal("session/fork", {**params, "cwd": "rel"}) == -32602


@requirement("V1-INIT-29", "V2-UNST-01")
@in_both_versions
@pytest.mark.parametrize("method", ["session/fork", "session/set_title", "providers/list"])
async def test_a_method_that_was_not_offered_is_not_there(version: int, method: str) -> None:
    async with initialized(version, name="bare") as client:
        session = await client.new_session()
        params: Any = {"sessionId": session, "cwd": "/", "title": "T", "mcpServers": []}
        assert await client.refusal(method, params) == -32601


@requirement("V2-DUAL-14")
@requirement("V1-CMD-01", "V1-CMD-02", "V1-CMD-03")
@in_both_versions
async def test_commands_are_told_when_the_client_knows_the_session(version: int) -> None:
    async with initialized(version) as client:
        response = await client.ask("session/new", {"cwd": "/", "mcpServers": []})
        session = response["result"]["sessionId"]
        if version == 1:
            update = await client.saw(session, sessionUpdate="available_commands_update")
            at = [each.get("params", {}).get("update") for each in client.log].index(update)
            assert at > client.log.index(response)
            (command,) = update["availableCommands"]
        else:
            (command,) = response["result"]["availableCommands"]
        assert (command["name"], command["description"]) == ("plan", "d")
        assert command["input"]["hint"] == "what"
        assert command["input"].get("type") == (None if version == 1 else "text")
