"""Blocks of lines, which are read in one go if they are nothing but updates."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from parley.rpc._framing import FrameSplitter
from parley.schema import v1

from .raw_peer import NOTE, Notifications, connected, text_of, update


def line(method: str, params: object, **members: object) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params, **members}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def chunk(session: str, text: str) -> bytes:
    return line("session/update", {"sessionId": session, "update": update(text)})


class Handled:
    """Updates as they are handled, one session or another."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, note: v1.SessionNotification) -> None:
        self.texts.append(f"{note.session_id}:{text_of(note)}")

    def note(self, note: v1.CancelNotification) -> None:
        self.texts.append(f"{note.session_id}:note")

    async def of(self, *blocks: bytes) -> list[str]:
        handlers: Notifications = {"session/update": self.update, NOTE.name: self.note}
        async with connected(notifications=handlers) as (peer, remote):
            splitter = FrameSplitter(1 << 20)
            for block in blocks:
                peer.frames_received(splitter.feed(block))
            await remote.wait_until_read()
            await asyncio.sleep(0)  # the lanes have begun by now, and these handlers do not wait
        return self.texts


async def test_a_block_of_updates_is_handled_in_its_order() -> None:
    block = b"".join(chunk("s", str(number)) for number in range(200))
    assert await Handled().of(block) == [f"s:{number}" for number in range(200)]


async def test_a_block_may_be_cut_anywhere() -> None:
    block = b"".join(chunk("s", str(number)) for number in range(10))
    for cut in range(0, len(block), 7):
        assert len(await Handled().of(block[:cut], block[cut:])) == 10


async def test_sessions_and_methods_may_be_mixed_in_a_block() -> None:
    note = line(NOTE.name, {"sessionId": "b"})
    handled = await Handled().of(
        chunk("a", "1") + chunk("b", "2") + chunk("a", "3") + note + chunk("b", "4")
    )
    assert [text for text in handled if text.startswith("a")] == ["a:1", "a:3"]
    assert [text for text in handled if text.startswith("b")] == ["b:2", "b:note", "b:4"]


@pytest.mark.parametrize(
    "stranger",
    [
        line("session/update", {"sessionId": "s"}),
        line("session/update", {"sessionId": "s", "update": update("x")}, id=7),
        line("_other", {}),
        b"\n",
        b"no JSON\n",
        chunk("s", "x").replace(b"}\n", b',"method":"_other"}\n'),
        chunk("s", "x").replace(b',"params"', b',\n"params"'),
        chunk("s", "x").replace(b"\n", b"") + chunk("s", "x"),
        line("session/update", {"sessionId": "s", "update": update("\xff")}).replace(
            "\xff".encode(), b"\xff"
        ),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_line_that_is_no_update_does_not_disturb_the_others(
    stranger: bytes, place: int
) -> None:
    lines = [chunk("s", "1"), chunk("s", "2")]
    lines.insert(place, stranger)
    assert await Handled().of(b"".join(lines)) == ["s:1", "s:2"]


async def test_updates_that_need_leniency_are_read_with_it() -> None:
    lenient = update("2") | {"messageId": 5}
    block = chunk("s", "1") + line("session/update", {"sessionId": "s", "update": lenient})
    handled: list[Any] = []
    async with connected(notifications={"session/update": handled.append}) as (peer, remote):
        peer.frames_received(FrameSplitter(1 << 20).feed(block))
        await remote.wait_until_read()
        await asyncio.sleep(0)
    assert [text_of(note) for note in handled] == ["1", "2"]


async def test_text_beyond_ascii_is_read_in_blocks_too() -> None:
    assert await Handled().of(chunk("s", "ä 𝄞") + chunk("s", "漢")) == ["s:ä 𝄞", "s:漢"]


async def test_the_rest_of_a_block_is_handled_when_one_handler_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handled: list[str] = []

    def fail_at_1(note: v1.SessionNotification) -> None:
        if text_of(note) == "1":
            raise ValueError("not this one")
        handled.append(text_of(note))

    async with connected(notifications={"session/update": fail_at_1}) as (peer, remote):
        block = b"".join(chunk("s", str(number)) for number in range(3))
        peer.frames_received(FrameSplitter(1 << 20).feed(block))
        await remote.wait_until_read()
        await asyncio.sleep(0)
    assert handled == ["0", "2"]
    assert "not this one" in caplog.text
