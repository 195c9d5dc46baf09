"""A scripted peer does what its script says, in this process and as a child."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.testing import ScriptedPeer, ScriptFailed
from parley.testing.scripted import (
    Delay,
    Die,
    Exit,
    Expect,
    HangUp,
    Respond,
    RespondWithError,
    Send,
    SendBytes,
    Stderr,
    Step,
    read_script,
)
from parley.testing.scripted._steps import matches
from parley.transport import memory_pair
from parley.transport._memory import MemoryTransport


class End:
    """The end of a connection that the script talks to."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            self.frames.put_nowait(bytes(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.lost.set_result(None)


@asynccontextmanager
async def played(peer: ScriptedPeer) -> AsyncGenerator[End]:
    """Join an end with the script; afterwards the script must have ended without a failure."""
    local, remote = memory_pair()
    playing = asyncio.create_task(peer.serve(remote))
    end = End(local)
    try:
        yield end
    finally:
        await local.aclose()
        await playing
    peer.check()


def run(tmp_path: Path, *steps: Step, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = ScriptedPeer(*steps).command(tmp_path / "script.json")
    return subprocess.run(command, input=given, capture_output=True, timeout=300, check=False)


HELLO = b'{"jsonrpc":"2.0","id":7,"method":"hello","params":{"a":1,"b":[1,{"c":2}]}}'


async def test_it_expects_and_responds() -> None:
    peer = ScriptedPeer(
        Expect({"method": "hello", "params": {"b": [1, {"c": 2}]}}, name="hello"),
        Send({"method": "echo", "params": {"a": {"$from": "hello.params.b.1.c"}}}),
        Expect({"method": "other"}),
        Respond({"done": True}, to="hello"),
        RespondWithError({"code": -1, "message": "No."}),
    )
    async with played(peer) as end:
        end.transport.send(HELLO)
        assert await end.frames.get() == b'{"jsonrpc":"2.0","method":"echo","params":{"a":2}}'
        end.transport.send(b'{"id":8,"method":"other"}')
        assert await end.frames.get() == b'{"jsonrpc":"2.0","id":7,"result":{"done":true}}'
        refusal = b'{"jsonrpc":"2.0","id":8,"error":{"code":-1,"message":"No."}}'
        assert await end.frames.get() == refusal
        end.transport.send(b"garbage after the end")
    assert [type(each) for each in peer.received] == [dict, dict, bytes]


async def test_something_unexpected_closes_the_connection_and_is_reported() -> None:
    peer = ScriptedPeer(Expect({"method": "bye"}))
    local, remote = memory_pair()
    playing = asyncio.create_task(peer.serve(remote))
    end = End(local)
    local.send(HELLO)
    await end.lost
    expected = r'step 1: expected \{"method": "bye"\}, got .*"hello"'
    with pytest.raises(ScriptFailed, match=expected):
        await playing
    with pytest.raises(ScriptFailed, match=expected):
        peer.check()


async def test_the_other_side_leaving_early_is_a_failure() -> None:
    with pytest.raises(ScriptFailed, match="but the other side closed"):
        async with played(ScriptedPeer(Expect({"method": "bye"}))):
            pass


async def test_frames_can_be_skipped() -> None:
    peer = ScriptedPeer(Expect({"method": "b"}, skips=True), Respond(None))
    async with played(peer) as end:
        for name in (b"a", b"x", b"b"):
            end.transport.send(b'{"id":"%b","method":"%b"}' % (name, name))
        assert await end.frames.get() == b'{"jsonrpc":"2.0","id":"b","result":null}'


async def test_bytes_are_sent_as_they_are_and_frames_end_at_newlines() -> None:
    async with played(ScriptedPeer(SendBytes(b"\xff{\nhal"), SendBytes(b"f\n\n"))) as end:
        assert [await end.frames.get() for _ in range(3)] == [b"\xff{", b"half", b""]


async def test_a_frame_is_repeated_and_a_delay_comes_between() -> None:
    async with played(ScriptedPeer(Send([1], times=3), Delay(0), Send("end"))) as end:
        assert [await end.frames.get() for _ in range(4)] == [b"[1]"] * 3 + [b'"end"']


@pytest.mark.parametrize("step", [HangUp(), Exit(3), Die()])
async def test_in_memory_every_end_closes_the_connection(step: Step) -> None:
    async with played(ScriptedPeer(Send(1), step)) as end:
        assert await end.frames.get() == b"1"
        await end.lost


async def test_the_script_begins_again_for_each_connection() -> None:
    peer = ScriptedPeer(Expect({"id": 7}), Respond(1))
    for _ in range(2):
        async with played(peer) as end:
            end.transport.send(HELLO)
            await end.frames.get()


@pytest.mark.parametrize(
    "step",
    [Respond(1), RespondWithError({}, to="x"), Send({"a": {"$from": "x.y"}}), Send({"$from": "x"})],
)
async def test_a_reference_to_nothing_is_a_failure(step: Step) -> None:
    problem = r"step 1: (there is no request to respond to|no message or member matches)"
    with pytest.raises(ScriptFailed, match=problem):
        async with played(ScriptedPeer(step)) as end:
            await end.lost


@pytest.mark.parametrize(
    ("part", "whole", "is_match"),
    [
        ({}, {"a": 1}, True),
        ({}, [], False),
        ({"a": None}, {}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ([1], [1, 2], False),
        ([{"a": 1}, 2], [{"a": 1, "b": 1}, 2], True),
        ([], {}, False),
        (1, True, False),
        (1, 1.0, True),
        ("a", "b", False),
    ],
)
def test_a_part_matches_a_whole(part: Any, whole: Any, is_match: bool) -> None:
    assert matches(part, whole) is is_match


def test_a_process_plays_the_script_on_its_pipes(tmp_path: Path) -> None:
    message = {"method": "x"}
    done = run(
        tmp_path,
        Expect({"method": "hello"}),
        Respond({}),
        Send(message, piece_bytes=3),
        SendBytes(b"\xff\n"),
        Stderr("note"),
        given=HELLO + b"\nleft over\n",
    )
    assert done.stdout.splitlines() == [
        b'{"jsonrpc":"2.0","id":7,"result":{}}',
        b'{"jsonrpc":"2.0","method":"x"}',
        b"\xff",
    ]
    assert (done.returncode, done.stderr) == (0, b"note\n")


def test_a_process_exits_and_dies_on_cue(tmp_path: Path) -> None:
    assert run(tmp_path, Exit(3)).returncode == 3
    assert run(tmp_path, Die(signal.SIGTERM)).returncode == -signal.SIGTERM


def test_a_process_that_hangs_up_lives_on(tmp_path: Path) -> None:
    done = run(tmp_path, Send(1), HangUp(), Expect({"id": 7}), Exit(4), given=HELLO + b"\n")
    assert (done.stdout, done.returncode) == (b"1\n", 4)


def test_a_process_tells_what_it_did_not_expect(tmp_path: Path) -> None:
    done = run(tmp_path, Expect({"method": "bye"}), given=HELLO + b"\n")
    assert done.returncode == 70
    assert b"the script failed: step 1: expected" in done.stderr


@pytest.mark.parametrize("text", ["", "[{}]", '[{"do":"dance"}]', '[{"do":"exit","kode":1}]', "{}"])
def test_what_is_no_script_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_script(text)
    path = tmp_path / "script.json"
    path.write_text(text)
    command = [sys.executable, "-m", "parley.testing.scripted", str(path)]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert done.returncode == 64
    assert done.stderr.startswith(b"usage: ")
