"""Whatever is said, a switch stands, and nobody gets an answer that is not his."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.proxy.switched_pair import SwitchedPair

from parley.proxy import PortOptions

SEEDS = [
    b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}',
    b'{"jsonrpc":"2.0","id":0,"result":{}}',
    b'{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}',
    b'{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"requestId":0}}',
    b'[{"jsonrpc":"2.0","id":3,"method":"_x"},{"jsonrpc":"2.0","method":"_y"},17]',
]


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A message, with some of its bytes exchanged."""
    frame = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(frame)))
        end = min(len(frame), start + draw(st.integers(0, 5)))
        frame[start:end] = draw(
            st.binary(max_size=3) | st.sampled_from([b'"id"', b"[", b"}", b"1", b'"', b"\\u0069"])
        )
    return bytes(frame).replace(b"\n", b" ")


@given(said=st.lists(st.tuples(st.booleans(), frames()), max_size=12), is_trusted=st.booleans())
def test_a_switch_stands_whatever_is_said(said: list[tuple[bool, bytes]], is_trusted: bool) -> None:
    asyncio.run(_say(said, is_trusted))


async def _say(said: list[tuple[bool, bytes]], is_trusted: bool) -> None:
    pair = SwitchedPair(client_options=PortOptions(is_trusted=is_trusted))
    for is_client, frame in said:
        (pair.client if is_client else pair.agent).say(frame)
        await pair.client.is_silent()
    assert pair.client.lost is None
    assert pair.agent.lost is None
    pair.client.say(b'{"jsonrpc":"2.0","id":"the last","method":"_last"}')
    asked = await _find(pair.agent.frames, pair, "method", "_last")
    pair.agent.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": "mine"}).encode())
    answer = await _find(pair.client.frames, pair, "id", "the last")
    assert answer["result"] == "mine"


async def _find(frames: list[bytes], pair: SwitchedPair, name: str, value: str) -> Any:
    await pair.client.is_silent()
    (found,) = [each for frame in frames for each in _messages(frame) if each.get(name) == value]
    return found


def _messages(frame: bytes) -> list[dict[str, Any]]:
    try:
        message: Any = json.loads(frame)
    except ValueError:  # an update passes as it is
        return []
    several = message if frame.lstrip().startswith(b"[") else [message]
    return [each for each in several if hasattr(each, "get")]
