"""A recorder keeps what passed, waits for what comes, and survives a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from parley.peer import Peer
from parley.peer._initialize import table_of
from parley.schema import v1
from parley.schema.v1 import methods
from parley.testing import Recorder
from parley.transport import memory_pair

CANCEL = v1.CancelNotification(session_id="s")


async def test_it_sees_both_directions_of_a_connection() -> None:
    local, remote = memory_pair()
    recorder = Recorder()
    async with Peer(local, "client", observer=recorder) as client, Peer(remote, "agent") as agent:
        client.set_handlers(table_of(1))
        agent.set_handlers(table_of(1))
        waiting = asyncio.create_task(recorder.until(lambda each: each.direction == "inbound"))
        await client.notify(methods.CANCEL_SESSION, CANCEL)
        await agent.notify(methods.CANCEL_REQUEST, v1.CancelRequestNotification(request_id=1))
        seen = await waiting
    assert seen is recorder.frames[1]
    assert seen.method == "$/cancel_request"
    assert recorder.methods() == ["session/cancel", "$/cancel_request"]
    assert recorder.methods("outbound") == ["session/cancel"]
    assert recorder.messages("outbound")[0]["params"] == {"sessionId": "s"}
    first, second = recorder.frames
    assert 0 <= first.at <= second.at


async def test_waiting_finds_what_has_passed_already() -> None:
    recorder = Recorder()
    recorder("inbound", b'{"method":"a"}')
    assert (await recorder.until(lambda each: each.method == "a")).at >= 0


def test_what_was_recorded_survives_a_file(tmp_path: Path) -> None:
    recorder = Recorder()
    frames = [b'{"a": 1.50}', b"\xff", b"[", b"7", b'{"a":\r1}', b"", "é".encode()]
    for frame in frames:
        recorder("outbound", frame)
    recorder.save(tmp_path / "talk.jsonl")
    again = Recorder.load(tmp_path / "talk.jsonl")
    assert again.frames == recorder.frames
    assert [each.frame for each in again.frames] == frames
    assert (tmp_path / "talk.jsonl").read_text().splitlines()[0].endswith('"message":{"a": 1.50}}')


def test_a_frame_that_is_no_message_has_no_method() -> None:
    recorder = Recorder()
    for frame in (b"\xff", b"[]", b'{"id":1}'):
        recorder("inbound", frame)
    assert recorder.methods() == []
    assert recorder.messages() == [None, [], {"id": 1}]


@pytest.mark.parametrize("line", ["{}", "x", '{"at":1,"direction":"inbound"}'])
def test_another_file_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(line)
    with pytest.raises(ValueError, match=r"."):
        Recorder.load(path)
