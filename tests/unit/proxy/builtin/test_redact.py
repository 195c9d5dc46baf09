from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import (
    chunk,
    notification,
    proxied_pair,
    request,
    result,
    text_of,
)

from parley.agent import Agent, Turn
from parley.client import Workspace
from parley.proxy import builtin

from .command_chain import VERSIONS, Heard, allow, chain

KEY = "sk-proj-0123456789abcdefghij"
MASKED = "[redacted]"


@VERSIONS
async def test_a_prompt_and_what_is_said_lose_their_secrets(version: int) -> None:
    agent = Heard(f"Your key is {KEY}, and it is correct-horse.")
    proxy = builtin.redact("correct-horse")
    async with chain(proxy, agent=agent, version=version) as client:
        session = await client.new_session()
        said = await session.ask(f"Use {KEY} now")
    assert agent.texts == [f"Use {MASKED} now"]
    assert said == f"Your key is {MASKED}, and it is {MASKED}."


@VERSIONS
async def test_a_secret_in_pieces_is_found(version: int) -> None:
    agent = Heard("Key: sk-pr", "oj-01234567", "89abcdefghij", ". It works", " fine", "\n", "ok")
    async with chain(builtin.redact(), agent=agent, version=version) as client:
        session = await client.new_session()
        assert await session.ask("x") == f"Key: {MASKED}. It works fine\nok"
        assert await session.ask("x") == f"Key: {MASKED}. It works fine\nok"


@VERSIONS
async def test_what_is_held_back_comes_before_anything_else(version: int) -> None:
    talk = await proxied_pair(builtin.redact(), version)
    tool = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": KEY}
    talk.agent.say(
        chunk("one two"),
        chunk("three", messageId="n"),
        notification("session/update", {"sessionId": "s", "update": tool}),
    )
    assert await talk.client.texts(3) == ["one ", "two", "three"]
    assert (await talk.client.hear())["params"]["update"]["title"] == MASKED
    talk.agent.say(chunk("four"))
    talk.agent.say(request(1, "session/request_permission", {"sessionId": "s", "title": KEY}))
    assert text_of(await talk.client.hear()) == "four"
    assert (await talk.client.hear())["params"]["title"] == MASKED
    talk.agent.say(chunk("x" * 600))
    assert await talk.client.texts(1) == ["x" * 600]


async def test_what_is_held_back_comes_before_the_end_of_a_turn_of_version_1() -> None:
    talk = await proxied_pair(builtin.redact(), 1)
    prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]}
    talk.client.say(request(1, "session/prompt", prompt))
    asked = await talk.agent.hear()
    talk.agent.say(chunk("word"), result(asked["id"], {"stopReason": "end_turn"}))
    assert text_of(await talk.client.hear()) == "word"
    assert (await talk.client.hear())["result"] == {"stopReason": "end_turn"}


@VERSIONS
async def test_what_is_held_back_is_said_when_nothing_more_comes(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.proxy.builtin._redact.HELD_SECONDS", 0.0)
    talk = await proxied_pair(builtin.redact(), version)
    talk.agent.say(chunk("a word"))
    assert await talk.client.texts(2) == ["a ", "word"]


@VERSIONS
async def test_a_replay_is_said_whole_before_it_is_over(version: int) -> None:
    talk = await proxied_pair(builtin.redact(), version)
    method = {1: "session/load", 2: "session/resume"}[version]
    talk.client.say(request(1, method, {"sessionId": "s", "cwd": "/", "mcpServers": []}))
    asked = await talk.agent.hear()
    talk.agent.say(chunk("word"), result(asked["id"], {}))
    assert text_of(await talk.client.hear()) == "word"
    assert (await talk.client.hear())["result"] == {}


async def test_files_and_output_that_go_to_the_agent_lose_their_secrets(tmp_path: Path) -> None:
    (tmp_path / "env").write_text(f"KEY={KEY}\n")
    agent = Agent("reader")
    got: list[str] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        got.append(await turn.read_text_file(str(tmp_path / "env")))
        async with turn.run("cat", str(tmp_path / "env")) as terminal:
            await terminal.wait()
            got.append((await terminal.output()).output)
        await turn.write_text_file(str(tmp_path / "out"), KEY)

    options: dict[str, Any] = {"workspace": Workspace(), "permission": allow}
    async with chain(builtin.redact(), agent=agent, version=1, cwd=tmp_path, **options) as client:
        await (await client.new_session()).ask("go")
    assert got == [f"KEY={MASKED}\n", f"KEY={MASKED}\n"]
    assert (tmp_path / "out").read_text() == KEY, "what is written stays as it is"


async def test_output_of_terminals_loses_its_secrets() -> None:
    talk = await proxied_pair(builtin.redact())
    data = base64.b64encode(f"key {KEY}\xff".encode("latin-1")).decode()
    update = {"sessionUpdate": "terminal_output_chunk", "terminalId": KEY, "data": data}
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": update}))
    told = (await talk.client.hear())["params"]["update"]
    assert base64.b64decode(told["data"]) == b"key [redacted]\xff"
    assert told["terminalId"] == KEY, "a name stays as it is"


@VERSIONS
async def test_what_is_to_be_used_stays_and_what_has_no_secret_keeps_its_bytes(
    version: int,
) -> None:
    talk = await proxied_pair(builtin.redact(), version)
    server = {"name": "s", "command": "/s", "args": [], "env": [{"name": "KEY", "value": KEY}]}
    new = {"cwd": "/", "mcpServers": [server]}
    talk.client.say(request(1, "session/new", new))
    assert (await talk.agent.hear())["params"] == new
    frame = b'{"jsonrpc":"2.0","method":"session/update","params":{ "sessionId":"s","n":1.50}}'
    talk.agent.say(frame)
    assert await talk.client.next() == frame


@VERSIONS
@pytest.mark.parametrize("side", ["agent", "client"])
async def test_one_side_may_see_everything(version: int, side: str) -> None:
    agent = Heard(KEY)
    proxy = builtin.redact(to_agent=side == "agent", to_client=side == "client")
    async with chain(proxy, agent=agent, version=version) as client:
        said = await (await client.new_session()).ask(KEY)
    assert (said, agent.texts) == ((MASKED, [KEY]) if side == "client" else (KEY, [MASKED]))


def test_something_is_hidden() -> None:
    with pytest.raises(ValueError, match="nothing would be hidden"):
        builtin.redact(to_agent=False, to_client=False)


@pytest.mark.parametrize("number", [b"1e400", b"1" * 5000], ids=["large", "long"])
async def test_an_odd_number_beside_a_secret_hides_it_all_the_same(number: bytes) -> None:
    talk = await proxied_pair(builtin.redact("correct-horse"))
    body = b'{"sessionId":"s","update":{"sessionUpdate":"x","n":%b,"t":"correct-horse"}}' % number
    talk.agent.say(b'{"jsonrpc":"2.0","method":"session/update","params":%b}' % body)
    told = await talk.client.next()
    assert b"correct-horse" not in told
    assert number in told
