"""The stdio transport between real processes: Parley as the agent, and Parley as the client.

https://agentclientprotocol.com/protocol/v1/transports
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import parley.transport
from parley.errors import ProcessExited
from parley.peer import Peer
from parley.peer._initialize import table_of
from parley.schema.base import JsonObject, Method
from parley.transport import ProcessTransport

from .raw_peer import ECHO, VERSIONS, connected
from .raw_process import agent_process, child

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", VERSIONS)
HARD_TEXT = "é \u2028 😀 \n\r\n\t \x85 \x00 end"
ASK: Method[JsonObject, JsonObject] = Method(
    name="_test/ask", to="agent", kind="request", params=JsonObject, result=JsonObject
)
NOTE: Method[JsonObject, None] = Method(
    name="_test/note", to="agent", kind="notification", params=JsonObject
)
RECORDER = """
with open(sys.argv[1], "wb") as record:
    for line in sys.stdin.buffer:
        record.write(line)
        message = json.loads(line)
        if message["method"] == "_test/ask" and "wait" not in message["params"]:
            say(id=message["id"], result=message["params"])
"""
"""Keeps every message it receives, and responds to requests with their params."""


@asynccontextmanager
async def client_of(command: list[str], **options: Any) -> AsyncGenerator[Peer, None]:
    """Run a child, and talk to it as its client."""
    peer = Peer(await ProcessTransport.spawn(command, **options), "client")
    peer.set_handlers(table_of(1))
    async with peer:
        yield peer


@requirement("V1-STDIO-01", "V1-STDIO-02", "TR-STD-01", "TR-STD-02")
@in_both_versions
@pytest.mark.parametrize("is_ascii", [True, False])
async def test_an_agent_reads_and_writes_utf_8_one_message_per_line(
    version: int, is_ascii: bool
) -> None:
    async with agent_process(version) as raw:
        message = {"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": {"text": HARD_TEXT}}
        await raw.write(json.dumps(message, ensure_ascii=is_ascii).encode() + b"\n")
        assert (await raw.next())["result"] == {"text": HARD_TEXT}
        await raw.is_alive()


@requirement("V1-STDIO-01", "V1-STDIO-02", "V1-STDIO-04", "TR-STD-01", "TR-STD-02", "TR-STD-04")
async def test_a_client_writes_utf_8_one_message_per_line_and_nothing_else(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with client_of(child(RECORDER, str(record))) as peer:
        assert await peer.request(ASK, {"text": HARD_TEXT}) == {"text": HARD_TEXT}
        await peer.notify(NOTE, {"text": HARD_TEXT})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await peer.request(ASK, {"wait": True})
        await peer.request(ASK, {})
    *lines, end = record.read_bytes().split(b"\n")
    assert end == b""
    messages = [json.loads(line.decode("utf-8", "strict")) for line in lines]
    assert {message["jsonrpc"] for message in messages} == {"2.0"}
    assert [message["method"] for message in messages] == [
        "_test/ask",
        "_test/note",
        "_test/ask",
        "$/cancel_request",
        "_test/ask",
    ]
    assert messages[1]["params"] == {"text": HARD_TEXT}


@requirement("V1-STDIO-03", "V1-STDIO-05", "TR-STD-03", "TR-STD-05")
@in_both_versions
async def test_an_agents_stdout_has_only_messages_whatever_its_author_prints(version: int) -> None:
    async with agent_process(version) as raw:
        await raw.is_alive()
        assert (await raw.ask("_test/fail"))["error"]["code"] == -32603
        await raw.write(b"{bad\n")
        assert (await raw.next())["error"]["code"] == -32700
        rest, stderr = await raw.end()
    assert rest == b""
    assert stderr.count("a stray line: é\n") == 8
    assert "RuntimeError: on purpose" in stderr


@requirement("V1-STDIO-06", "TR-STD-05")
async def test_a_client_drains_stderr_so_that_the_agent_does_not_block() -> None:
    shown: list[bytes] = []
    program = """
while (message := read()) is not None:
    write("é".encode() * 500_000, 2)
    say(id=message["id"], result={})
"""
    async with client_of(child(program), on_stderr=shown.append) as peer:
        for _ in range(3):
            assert await peer.request(ASK, {}) == {}
    assert b"".join(shown).decode() == "é" * 1_500_000


@requirement("V1-STDIO-07", "TR-STD-06")
async def test_a_client_ends_its_agent_by_closing_stdin_then_asking_then_killing(
    tmp_path: Path,
) -> None:
    record = tmp_path / "record"
    program = """
record = open(sys.argv[1], "a", buffering=1)
signal.signal(signal.SIGTERM, lambda *_: record.write("asked\\n"))
record.write(f"{os.getppid()}\\n")
say(method="_test/ready")
assert read() is None
record.write("stdin ended\\n")
while True:
    signal.pause()
"""
    ready = asyncio.Event()
    transport = await ProcessTransport.spawn(child(program, str(record)), grace_after=2.0)
    peer = Peer(transport, "client")
    peer.set_handlers(table_of(1), notifications={"_test/ready": lambda _: ready.set()})
    async with peer:
        await ready.wait()
        await peer.aclose()
        reason = (await peer.wait_closed()).__cause__
    assert record.read_text().splitlines() == [str(os.getpid()), "stdin ended", "asked"]
    assert isinstance(reason, ProcessExited)
    assert reason.code == -9


@requirement("V1-STDIO-07", "TR-STD-06")
async def test_an_agent_that_exits_at_the_end_of_stdin_is_not_signalled() -> None:
    async with client_of(child("assert read() is None; os._exit(7)")) as peer:
        await peer.aclose()
        reason = (await peer.wait_closed()).__cause__
    assert isinstance(reason, ProcessExited)
    assert reason.code == 7


@requirement("V1-STDIO-08", "TR-STD-07")
@in_both_versions
async def test_an_agent_exits_at_the_end_of_stdin_also_while_a_request_runs(version: int) -> None:
    async with agent_process(version) as raw:
        await raw.send({"jsonrpc": "2.0", "id": 5, "method": "_test/wait"})
        assert (await raw.next())["params"] == {"begun": 5}
        assert (await raw.end())[0] == b""
        assert raw.process.returncode == 0


async def _over_memory(version: int, lines: list[bytes]) -> list[Any]:
    async with connected(version) as (_, raw):
        raw.send(*lines)
        return [await raw.next() for _ in lines]


async def _over_stdio(version: int, lines: list[bytes]) -> list[Any]:
    async with agent_process(version) as raw:
        await raw.write(b"\n".join([*lines, b""]))
        return [await raw.next() for _ in lines]


@requirement("V1-STDIO-09", "V1-STDIO-10", "TR-STD-13")
@in_both_versions
async def test_a_conversation_is_the_same_over_stdio_and_in_memory(version: int) -> None:
    lines = [
        b'{"jsonrpc":"2.0","id":1,"method":"_test/echo","params":{"text":"\xc3\xa9"}}',
        b'{"jsonrpc":"2.0","id":"two","method":"_nope"}',
        b'{"jsonrpc":"2.0","id":3}',
        b'[17,{"jsonrpc":"2.0","id":4,"method":"_test/echo"}]',
        b"{bad",
        b"[]",
        b'{"jsonrpc":"2.0","id":null,"method":"_test/echo"}',
        b'{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":1}}',
    ]
    over_stdio = await _over_stdio(version, lines)
    over_memory = await _over_memory(version, lines)
    assert sorted(map(json.dumps, over_stdio)) == sorted(map(json.dumps, over_memory))
    assert len(over_stdio) == len(lines)


@requirement("V1-STDIO-11")
def test_every_transport_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "background" / "wire.md").read_text()
    made_by = {"MemoryTransport": "memory_pair"}
    names = [name for name in parley.transport.__all__ if name.endswith("Transport")]
    assert len(names) > 3
    for name in names:
        assert name == "Transport" or f"`{made_by.get(name, name)}" in page, name


@requirement("V1-STDIO-12")
@in_both_versions
async def test_an_agent_takes_messages_in_any_pieces(version: int) -> None:
    async with agent_process(version) as raw:
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": ["é"]}).encode()
        for byte in line + b"\n":
            await raw.write(bytes([byte]))
        assert (await raw.next())["result"] == ["é"]
        two = b"%b\n%b\n" % (line, line.replace(b'"id": 1', b'"id": 2'))
        await raw.write(two + line[:20])
        assert {(await raw.next())["id"], (await raw.next())["id"]} == {1, 2}
        await raw.write(line[20:] + b"\n")
        assert (await raw.next())["id"] == 1


@requirement("V1-STDIO-12")
async def test_a_client_takes_messages_in_any_pieces() -> None:
    program = """
for count in range(2):
    asked = read()
response = b'{"jsonrpc":"2.0","id":%d,"result":{"text":"\\xc3\\xa9"}}\\n'
for byte in response % 0:
    write(bytes([byte]))
asked = read()
write(response % 1 + response % 2)
"""
    async with client_of(child(program)) as peer:
        calls = [asyncio.create_task(peer.request(ASK, {})) for _ in range(2)]
        assert await calls[0] == {"text": "é"}
        assert await peer.request(ASK, {}) == await calls[1] == {"text": "é"}


@requirement("V1-STDIO-13", "TR-STD-10")
@in_both_versions
async def test_messages_of_megabytes_pass_both_ways(version: int, tmp_path: Path) -> None:
    image = "QUJD" * 2_000_000
    async with agent_process(version) as raw:
        assert (await raw.ask(ECHO, {"data": image}))["result"] == {"data": image}
    async with client_of(child(RECORDER, str(tmp_path / "record"))) as peer:
        assert await peer.request(ASK, {"data": image}) == {"data": image}


@requirement("V1-STDIO-14", "TR-STD-11")
@in_both_versions
async def test_an_agent_passes_over_blank_lines_and_takes_crlf(version: int) -> None:
    async with agent_process(version) as raw:
        await raw.write(b"\n\r\n \t\r\n\xef\xbb\xbf\n")
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": {}}).encode()
        await raw.write(line + b"\r\n")
        assert (await raw.next())["result"] == {}
        await raw.write(b"\xef\xbb\xbf" + line + b"\n")
        assert (await raw.next())["result"] == {}
        await raw.is_alive()


@requirement("V1-STDIO-14", "TR-STD-11")
async def test_a_client_passes_over_blank_lines_and_takes_crlf() -> None:
    program = """
asked = read()
write(b'\\n\\r\\n{"jsonrpc":"2.0","id":0,"result":{}}\\r\\n\\r\\n')
assert read() is None, "blank lines get no response"
"""
    async with client_of(child(program)) as peer:
        assert await peer.request(ASK, {}) == {}
        await peer.aclose()
        reason = (await peer.wait_closed()).__cause__
    assert isinstance(reason, ProcessExited)
    assert reason.code == 0, reason.stderr


@requirement("TR-STD-11")
@in_both_versions
async def test_a_line_that_ends_with_the_stream_is_not_dispatched(version: int) -> None:
    async with agent_process(version) as raw:
        await raw.is_alive()
        await raw.write(b'{"jsonrpc":"2.0","id":1,"method":"_test/echo"}')
        assert (await raw.end())[0] == b""


@requirement("V1-STDIO-15")
@in_both_versions
async def test_an_answer_comes_without_further_input(version: int) -> None:
    async with agent_process(version) as raw:
        for id in range(100):
            assert (await raw.ask(ECHO, {"n": id}, id))["result"] == {"n": id}


@requirement("V1-STDIO-16")
async def test_when_the_agent_dies_every_call_fails_and_says_why() -> None:
    program = """
for count in range(3):
    asked = read()
write(b"out of cheese\\n", 2)
os.kill(os.getpid(), signal.SIGKILL)
"""
    async with client_of(child(program)) as peer:
        calls = [asyncio.create_task(peer.request(ASK, {})) for _ in range(3)]
        for call in calls:
            with pytest.raises(ProcessExited, match="was killed by signal 9") as caught:
                await call
            assert (caught.value.code, caught.value.stderr) == (-9, "out of cheese\n")
        with pytest.raises(ProcessExited):
            await peer.request(ASK, {})


@requirement("TR-STD-08")
@in_both_versions
async def test_an_array_is_one_line_and_so_is_its_answer(version: int) -> None:
    async with agent_process(version) as raw:
        entry: dict[str, Any] = {"jsonrpc": "2.0", "method": ECHO, "params": {"text": HARD_TEXT}}
        await raw.send([{**entry, "id": 1}, {**entry, "id": 2}, 17])
        assert {reply["id"] for reply in await raw.next()} == {1, 2, None}
        await raw.is_alive()


@requirement("TR-STD-09")
@in_both_versions
async def test_a_line_that_is_no_json_is_refused_and_the_connection_goes_on(version: int) -> None:
    async with agent_process(version) as raw:
        for line in (b"{oops\n", b"hello\n", b"\xff\xfe\n"):
            await raw.write(line)
            reply = await raw.next()
            assert (reply["id"], reply["error"]["code"]) == (None, -32700)
        await raw.is_alive()


@requirement("TR-STD-12")
@in_both_versions
async def test_an_agent_with_many_writers_never_mixes_two_messages(version: int) -> None:
    async with agent_process(version) as raw:
        await raw.send({"jsonrpc": "2.0", "id": 1, "method": "_test/tell"})
        texts = [(await raw.next())["params"]["text"] for _ in range(100)]
        assert (await raw.next())["result"] == {"sent": 100}
    assert sorted(int(text.partition("\n")[0]) for text in texts) == list(range(100))


@requirement("TR-STD-12")
async def test_a_client_with_many_writers_never_mixes_two_messages(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with client_of(child(RECORDER, str(record))) as peer:
        texts = [f"{number}\n" + "é" * 5_000 * (number % 5) for number in range(100)]
        notes = (peer.notify(NOTE, {"text": text}) for text in texts)
        calls = (peer.request(ASK, {"text": text}) for text in texts)
        await asyncio.gather(*notes, *calls)
    messages = [json.loads(line) for line in record.read_bytes().splitlines()]
    assert [message["params"]["text"] for message in messages if "id" not in message] == texts
    assert [message["params"]["text"] for message in messages if "id" in message] == texts
