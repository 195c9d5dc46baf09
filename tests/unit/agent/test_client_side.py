"""Requests of an agent to a version 1 client: permission, files, terminals."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.errors import Unsupported
from parley.schema import v1
from parley.schema.v1 import methods

from .agent_clients import Message, connected_client, connected_raw_client

REFUSED = {"code": -32603, "message": "no terminal"}
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


async def ask_client(body: Any, *responses: Any, **capabilities: object) -> list[Message]:
    """Run a turn, respond to the agent's requests in order, and return the requests."""
    agent = Agent("asker")
    agent.prompt(body)
    requests: list[Message] = []
    async with connected_raw_client(agent) as client:
        id = client.prompt(await client.new(1, **capabilities))
        pending = list(responses)
        while (message := await client.receive()).get("id") != id or "method" in message:
            if "id" in message:
                requests.append(message)
                client.respond(message, pending.pop(0))
        assert message["result"] == {"stopReason": "end_turn"}
    return requests


async def test_permission_is_asked_about_a_tool_call() -> None:
    responses: list[Any] = []

    async def body(turn: Turn) -> None:
        async with turn.tool("Delete", kind="delete") as call:
            responses.append(await turn.ask_permission(tool=call))

    chosen = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    (request,) = await ask_client(body, chosen)
    assert responses == ["allow"]
    assert request["method"] == "session/request_permission"
    assert request["params"]["toolCall"]["title"] == "Delete"


async def test_files_are_read_and_written_by_the_client() -> None:
    texts: list[str] = []

    async def body(turn: Turn) -> None:
        texts.append(await turn.read_text_file("/a", line=2, limit=3))
        await turn.write_text_file("/b", "text")

    read, written = await ask_client(body, {"content": "hello"}, {}, **FILES)
    assert texts == ["hello"]
    assert read["method"] == "fs/read_text_file"
    assert {key: read["params"][key] for key in ("path", "line", "limit")} == {
        "path": "/a",
        "line": 2,
        "limit": 3,
    }
    assert written["method"] == "fs/write_text_file"
    assert written["params"]["content"] == "text"


@pytest.mark.requirement("V1-INIT-14")
async def test_files_and_terminals_are_not_asked_for_where_the_client_has_none() -> None:
    errors: list[Exception] = []

    async def run(turn: Turn) -> None:
        async with turn.run("true"):
            pass

    async def body(turn: Turn) -> None:
        for call in (turn.read_text_file("/a"), turn.write_text_file("/a", ""), run(turn)):
            with pytest.raises(Unsupported) as caught:
                await call
            errors.append(caught.value)

    assert await ask_client(body) == []
    assert len(errors) == 3


@pytest.mark.requirement("V1-TERM-15")
async def test_a_command_runs_in_a_terminal_of_the_client_and_is_released() -> None:
    seen: list[Any] = []

    async def body(turn: Turn) -> None:
        async with (
            turn.tool("Run") as call,
            turn.run("echo", "hi", cwd="/project", env={"A": "1"}) as terminal,
        ):
            await call.show_terminal(terminal.id)
            seen.append((await terminal.wait()).exit_code)
            seen.append((await terminal.output()).output)
            await terminal.kill()

    request = await ask_client(
        body,
        {"terminalId": "t"},
        {"exitCode": 0},
        {"output": "hi\n", "truncated": False},
        {},
        {},
        **FILES,
    )
    assert seen == [0, "hi\n"]
    assert [each["method"] for each in request] == [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/kill",
        "terminal/release",
    ]
    assert request[0]["params"]["args"] == ["hi"]
    assert request[0]["params"]["env"] == [{"name": "A", "value": "1"}]


async def test_a_command_whose_block_is_never_entered_warns() -> None:
    async def body(turn: Turn) -> None:
        with pytest.warns(RuntimeWarning, match="^a client terminal was created but never shown"):
            turn.run("make")

    assert await ask_client(body, **FILES) == []


@pytest.mark.requirement("V1-TERM-22")
async def test_a_command_that_takes_too_long_is_killed_read_and_released() -> None:
    outputs: list[str] = []
    agent = Agent("runner")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.run("slow") as terminal:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await terminal.wait()
            await terminal.kill()
            outputs.append((await terminal.output()).output)

    responses = {
        "terminal/create": {"terminalId": "t"},
        "terminal/kill": {},
        "terminal/output": {"output": "so far", "truncated": False},
        "terminal/release": {},
    }
    requests: list[str] = []
    async with connected_raw_client(agent) as client:
        id = client.prompt(await client.new(1, **FILES))
        while (message := await client.receive()).get("id") != id or "method" in message:
            if "id" in message:
                requests.append(message["method"])
            if message.get("method") in responses:  # The wait for the exit gets no response.
                client.respond(message, responses[message["method"]])
        assert message["result"] == {"stopReason": "end_turn"}
    assert outputs == ["so far"]
    assert requests == [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/output",
        "terminal/release",
    ]


@pytest.mark.requirement("V1-PROMPT-41")
async def test_a_tool_reports_progress_and_uses_the_client_while_it_runs() -> None:
    agent = Agent("reader")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Read", kind="read") as call:
            await call.update(title="Reading")
            await call.update(title=await turn.read_text_file("/a"))

    seen: list[Any] = []
    async with connected_raw_client(agent) as client:
        id = client.prompt(await client.new(1, **FILES))
        while (message := await client.receive()).get("id") != id or "method" in message:
            if "id" in message:
                seen.append(message["method"])
                client.respond(message, {"content": "text"})
            else:
                update = message["params"]["update"]
                seen.append(update.get("title") or update.get("status"))
    assert seen == ["Read", "Reading", "fs/read_text_file", "text", "completed"]


@pytest.mark.requirement("V1-TERM-15")
async def test_a_terminal_is_released_when_its_turn_is_cancelled() -> None:
    agent = Agent("runner")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.run("sleep") as terminal:
            await terminal.wait()

    async with connected_raw_client(agent) as client:
        session = await client.new(1, **FILES)
        id = client.prompt(session)
        client.respond(await client.receive(), {"terminalId": "t"})
        waiting = await client.receive()
        assert waiting["method"] == "terminal/wait_for_exit"
        client.notify("session/cancel", {"sessionId": session})
        withdrawn, released = await client.receive(), await client.receive()
        assert withdrawn["method"] == "$/cancel_request"
        assert released["method"] == "terminal/release"
        client.respond(released, {})
        assert (await client.until(id))[1]["result"] == {"stopReason": "cancelled"}


async def test_version_2_has_no_files_for_any_client() -> None:
    agent, problems = Agent("asker"), list[str]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        params = v1.ReadTextFileRequest(session_id=turn.session.id, path="/a")
        with pytest.raises(Unsupported) as problem:
            await turn.session._state.adapter.request(methods.READ_TEXT_FILE, params)
        problems.append(str(problem.value))

    async with connected_client(agent) as client:
        await client.turn(await client.new())
    assert problems == ["fs/read_text_file does not exist in version 2 of the protocol"]


@pytest.mark.parametrize("response", [{"result": {"terminalId": "t1"}}, {"error": REFUSED}])
async def test_a_terminal_that_is_created_after_the_cancel_is_released(response: Message) -> None:
    agent = Agent("runner")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.run("make"):
            pytest.fail("it is cancelled before")

    async with connected_raw_client(agent) as client:
        session = await client.new(1, **FILES)
        id = client.prompt(session)
        created = await client.receive()
        client.notify("session/cancel", {"sessionId": session})
        assert (await client.until(id))[1]["result"] == {"stopReason": "cancelled"}
        late = {"jsonrpc": "2.0", "id": created["id"], **response}
        client.transport.send(json.dumps(late).encode())
        if "result" in response:
            released = await client.receive()
            assert released["method"] == "terminal/release"
            assert released["params"] == {"sessionId": session, "terminalId": "t1"}
            client.respond(released, {})
        await client.call("_unknown", {})  # its response comes next: nothing else was sent
