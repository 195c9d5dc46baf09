"""Peers that send anything: defined answers, a live connection, flat memory.

Each side is a real process; what a peer does that takes nothing is in `test_stalled_peer.py`.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.raw_process import child

from parley.errors import RemoteProtocolError
from parley.peer import Peer, RequestContext
from parley.schema import v1
from parley.schema.base import JsonObject, Method, Unknown
from parley.schema.v1 import methods
from parley.transport import ProcessTransport

from .agent_process import running_agent

ASK: Method[JsonObject, JsonObject] = Method(
    name="_ask", to="agent", kind="request", params=JsonObject, result=JsonObject
)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
MB = 1_000_000


def echo(id: str, params: str) -> bytes:
    line = f'{{"jsonrpc":"2.0","id":{id},"method":"_test/echo","params":{params}}}'
    return line.encode("utf-8", "surrogatepass")


INTEGERS = [9007199254740993, 123456789012345678901234567890]
DEEP = "[" * 100_000 + "]" * 100_000
LINES: list[tuple[str, bytes, Any]] = [
    ("blank", b"", None),
    ("spaces", b" \t \r", None),
    ("CRLF", echo("1", "[1]") + b"\r", [1]),
    ("BOM", b"\xef\xbb\xbf" + echo("1", "[1]"), [1]),
    ("number", b"42", (None, -32600)),
    ("string", b'"x"', (None, -32600)),
    ("null", b"null", (None, -32600)),
    ("empty array", b"[]", (None, -32600)),
    ("NaN", echo("1", "[NaN]"), (None, -32700)),
    ("lone surrogate", echo("1", r'["\ud83d"]'), ["\ufffd"]),
    ("duplicate keys", echo("1", '{"a":1},"params":[2]'), [2]),
    ("duplicate ids", echo('7,"id":1', "[1]"), [1]),
    ("integer", echo("1", "[9007199254740993,123456789012345678901234567890]"), INTEGERS),
    ("big id", echo("9007199254740993", "[1]"), [1]),
    ("depth", echo("1", DEEP), (1, -32600)),
    ("invalid UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"_test/echo\xff"}', (None, -32700)),
    ("NUL", b"\0", (None, -32700)),
    ("half", b'{"jsonrpc":"2.0","id":1,"meth', (None, -32700)),
]


@pytest.mark.requirement("SAFE-WIRE-02")
@pytest.mark.parametrize(
    ("line", "expected"), [row[1:] for row in LINES], ids=[r[0] for r in LINES]
)
async def test_any_line_has_a_defined_answer_and_the_connection_lives(
    line: bytes, expected: Any
) -> None:
    async with running_agent() as agent:
        await agent.write(line + b"\n")
        answers = await agent.is_alive()
    if expected is None:
        assert answers == []
    elif isinstance(expected, tuple):
        [answer] = answers
        assert (answer["id"], answer["error"]["code"]) == expected
    else:
        [answer] = answers
        assert answer["id"] in (1, 9007199254740993)
        assert answer["result"] == expected


@pytest.mark.requirement("SAFE-WIRE-02")
@pytest.mark.parametrize("extra", [-1, 0, 1])
async def test_the_limit_of_a_message_is_exact(extra: int) -> None:
    async with running_agent("--limit", "2000") as agent:
        frame = echo("1", '["%s"]')
        line = frame % (b"x" * (2000 + extra - len(frame) + 2))
        assert len(line) == 2000 + extra
        await agent.write(line + b"\n")
        [answer] = await agent.is_alive()
    assert answer["id"] == 1
    assert ("error" in answer) is (extra > 0)
    assert answer.get("error", {"code": -32600})["code"] == -32600


@pytest.mark.requirement("SAFE-WIRE-02")
@on_linux
async def test_a_line_of_120_mb_is_refused_by_its_id_and_not_kept() -> None:
    async with running_agent() as agent:
        await agent.is_alive()
        before = agent.memory_bytes
        await agent.write(b'{"jsonrpc":"2.0","id":"big","method":"_test/echo","params":["')
        for _ in range(120):
            await agent.write(b"x" * MB)
        await agent.write(b'"]}\n')
        [answer] = await agent.is_alive()
        assert (answer["id"], answer["error"]["code"]) == ("big", -32600)
        assert agent.peak_bytes - before < 150 * MB
        assert agent.memory_bytes - before < 20 * MB


@pytest.mark.requirement("SAFE-WIRE-02")
async def test_the_end_of_the_stream_inside_a_line_ends_the_agent_without_an_answer() -> None:
    async with running_agent() as agent:
        await agent.is_alive()
        await agent.write(echo("1", "[1]"))
        agent.stdin.close()
        assert await agent.stdout.read() == b""


def in_pieces(data: bytes, kind: str) -> Iterator[bytes]:
    """Cut bytes into pieces of one byte, of random lengths or of 64 KiB."""
    chance = random.Random(7)
    position = 0
    while position < len(data):
        size = {"bytes": 1, "random": chance.randint(1, 500), "64 KiB": 65536}[kind]
        yield data[position : position + size]
        position += size


@pytest.mark.requirement("SAFE-WIRE-01")
async def test_the_pieces_in_which_a_trace_arrives_make_no_difference() -> None:
    trace = b"".join(line + b"\n" for name, line, _ in LINES if name != "depth") * 3
    trace += echo('"long"', json.dumps(["é" * 2_000])) + b"\n"
    outcomes: list[list[str]] = []
    for kind in ("bytes", "random", "64 KiB"):
        async with running_agent() as agent:
            for piece in in_pieces(trace, kind):
                await agent.write(piece)
            outcomes.append(sorted(map(json.dumps, await agent.is_alive())))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert len(outcomes[0]) == 3 * (len(LINES) - 3) + 1


def mutated(count: int) -> Iterator[bytes]:
    """Yield lines that were messages before something happened to them, and plain noise."""
    chance = random.Random(2026)
    good = [line for name, line, _ in LINES if name != "depth"]
    for _ in range(count):
        line = bytearray(chance.choice(good) + chance.choice(good))
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(line) + 1)
            if chance.random() < 0.5:
                line[at : at + 1] = chance.randbytes(1)
            else:
                line[at:at] = chance.choice([b"{", b"[", b'"', b"\\", b"\xff", b'"id":1,', b"0"])
        yield bytes(line if chance.random() < 0.9 else chance.randbytes(40)).replace(b"\n", b" ")


@pytest.mark.requirement("SAFE-WIRE-01")
@on_linux
async def test_mutated_bytes_give_answers_and_neither_a_crash_nor_growth() -> None:
    async with running_agent() as agent:

        async def feed() -> int:
            for line in mutated(5_000):
                await agent.write(line + b"\n")
            await agent.write(echo('"fed"', "[1]") + b"\n")
            answers = await agent.until("fed")
            return sum(isinstance(answer, list) or "error" in answer for answer in answers)

        assert await feed() > 1_000
        before = agent.memory_bytes
        for _ in range(3):
            assert await feed() > 1_000
        assert agent.memory_bytes - before < 5 * MB
        await agent.is_alive()


@pytest.mark.requirement("SAFE-WIRE-02")
async def test_a_client_survives_the_same_lines_and_still_gets_its_answer() -> None:
    program = """
asked = read()
for line in json.loads(sys.argv[1]):
    write(line.encode("latin-1") + b"\\n")
say(id=asked["id"], result={"n": 1})
"""
    lines = [line.decode("latin-1") for name, line, _ in LINES if name != "depth"]
    peer = Peer(await ProcessTransport.spawn(child(program, json.dumps(lines))), "client")
    peer.set_handlers(methods.TABLE)
    async with peer:
        assert await peer.request(ASK, {}) == {"n": 1}


CONTRARY = """
UPDATES = [
    {"sessionUpdate": "word_of_the_future", "x": 1},
    {"sessionUpdate": "_extension"},
    {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "kind": "k", "status": "s"},
]
first, second, third, fourth = [read()["id"] for number in range(4)]
for update in UPDATES:
    say(method="session/update", params={"sessionId": "s", "update": update})
for method in ("future/notification", "_extension", "$/future"):
    say(method=method, params={})
say(id=999, result={})
say(id=str(second), result={})
say(id=first, method="_echo", params={"same": "id"})
say(id="a", method="future/request", params={})
say(id=-7, method="_echo", params={"n": -7})
answers = {}
for number in range(3):
    message = read()
    answers[str(message["id"])] = message
say(id=first, result={"answers": answers})
say(id=first, result={"answers": "again"})
say(id=second, result={}, error={"code": 1, "message": "m"})
say(id=third)
say(id=fourth, error={"code": "text", "message": 5})
fifth = read()["id"]
say(id=fifth, result={"n": 5})
"""
"""Uses words that nobody knows, answers wrongly, and asks with ids that we use as well."""


@pytest.mark.requirement("SAFE-WIRE-04")
async def test_unknown_words_and_wrong_answers_harm_nothing_but_themselves() -> None:
    updates: list[Any] = []

    async def reply(params: Any, request: RequestContext) -> Any:
        return params

    peer = Peer(await ProcessTransport.spawn(child(CONTRARY)), "client")
    peer.set_handlers(
        methods.TABLE,
        requests={"_echo": reply},
        notifications={"session/update": lambda note: updates.append(note.update)},
    )
    async with peer:
        calls = [asyncio.create_task(peer.request(ASK, {})) for _ in range(4)]
        answers = (await calls[0])["answers"]
        with pytest.raises(RemoteProtocolError, match="repeats the id with its type"):
            await calls[1]
        for call in calls[2:]:
            with pytest.raises(RemoteProtocolError):
                await call
        assert await peer.request(ASK, {}) == {"n": 5}
    assert answers["0"]["result"] == {"same": "id"}
    assert answers["a"]["error"]["code"] == -32601
    assert answers["-7"]["result"] == {"n": -7}
    future, extension, call = updates
    assert isinstance(future, Unknown)
    assert isinstance(extension, Unknown)
    assert (future.is_extension, extension.is_extension) == (False, True)
    assert isinstance(call, v1.ToolCall)


STREAM = """
chunk = {"sessionUpdate": "agent_message_chunk"}

def update(number):
    content = {"type": "text", "text": str(number)}
    body = {"sessionId": "s", "update": {**chunk, "content": content}}
    say(method="session/update", params=body)

asked = read()
update("early")
say(id=asked["id"], result={"sessionId": "s"})
asked = read()
for number in range(10_000):
    update(number)
    if number % 2_500 == 0:
        nested = read()
        say(id=nested["id"], result={})
say(id=asked["id"], result={"stopReason": "end_turn"})
"""
"""Speaks before the session is known, streams, and wants to be asked in the middle of it."""


@pytest.mark.requirement("SAFE-WIRE-05")
async def test_10_000_updates_stay_in_order_with_handlers_that_await_and_ask() -> None:
    seen: list[str] = []

    async def update(note: v1.SessionNotification) -> None:
        assert isinstance(note.update, v1.AgentMessageChunk)
        assert isinstance(note.update.content, v1.TextContent)
        text = note.update.content.text
        if text != "early" and int(text) % 2_500 == 0:
            mode = v1.SetSessionModeRequest(session_id="s", mode_id="m")
            await peer.request(methods.SET_SESSION_MODE, mode)
        await asyncio.sleep(0)
        seen.append(text)

    peer = Peer(await ProcessTransport.spawn(child(STREAM)), "client")
    peer.set_handlers(methods.TABLE, notifications={"session/update": update})
    async with peer:
        where = v1.NewSessionRequest(cwd="/", mcp_servers=[])
        session = await peer.request(methods.NEW_SESSION, where)
        assert seen == ["early"]
        question = v1.PromptRequest(session_id=session.session_id, prompt=[])
        await peer.request(methods.PROMPT, question)
        assert seen == ["early", *map(str, range(10_000))]
