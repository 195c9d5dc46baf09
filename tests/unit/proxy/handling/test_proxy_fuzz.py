"""Whatever is said on the pipe of a proxy, the proxy stands, and what is wrapped stays whole."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.proxy.proxied_pair import PARAMS, RESULTS, JsonPeer, request, result
from tests.unit.proxy.switch.test_switch_fuzz import SEEDS

from parley.proxy import Message, Proxy
from parley.proxy._transports.wrapping import WrapRejected, unwrap, wrap
from parley.rpc._peek import is_utf8
from parley.transport import memory_pair
from parley.transport._frame_head import peek_update_session

WRAPPED = [wrap(seed, name) for seed in SEEDS for name in ("proxy/successor", "_proxy/successor")]
BITS = [
    *(b'"id"', b"[", b"}", b"1", b'"', b"\\u0069", b'"_meta":{}', b"proxy/successor", b"\\/"),
    *(b'"method":"_x"', b',"sessionId":"t"'),
]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A message, wrapped or not, with some of its bytes exchanged."""
    frame = bytearray(draw(st.sampled_from([*SEEDS, *WRAPPED])))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(frame)))
        end = min(len(frame), start + draw(st.integers(0, 5)))
        frame[start:end] = draw(st.binary(max_size=3) | st.sampled_from(BITS))
    return bytes(frame).replace(b"\n", b" ")


@given(
    id=st.none() | st.integers() | st.text(max_size=5),
    method=st.text(min_size=1, max_size=9),
    params=st.dictionaries(st.text(max_size=4), values, max_size=4),
)
def test_what_is_wrapped_and_unwrapped_says_the_same(id: Any, method: str, params: Any) -> None:
    if method.endswith("proxy/successor") or method == "$/cancel_request":
        return
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    for message in (body, body | {"id": id}):
        frame = json.dumps(message).encode()
        inside = unwrap(wrap(frame, "proxy/successor"))
        assert isinstance(inside, bytes)
        assert json.loads(inside) == message


@given(frame=frames())
def test_nothing_that_is_wrapped_is_more_than_a_message_or_refused(frame: bytes) -> None:
    try:
        inside = unwrap(frame)
    except WrapRejected:
        return
    if isinstance(inside, bytes) and is_utf8(inside):  # what is not is refused by who reads it
        message, outer = json.loads(inside), json.loads(frame)
        assert message["jsonrpc"] == "2.0"
        assert message["method"] == outer["params"]["method"]
        assert ("id" in message) == ("id" in outer)


@given(frame=frames())
def test_what_is_taken_for_an_update_is_read_as_one_by_everybody(frame: bytes) -> None:
    session_id = peek_update_session(frame)
    if session_id is not None and is_utf8(frame):
        message = json.loads(frame)
        assert (message["method"], message["params"]["sessionId"]) == ("session/update", session_id)
        assert "id" not in message


@given(said=st.lists(frames(), max_size=12), has_handlers=st.booleans())
def test_a_proxy_stands_whatever_is_said(said: list[bytes], has_handlers: bool) -> None:
    asyncio.run(_say(said, has_handlers))


def _proxy(has_handlers: bool) -> Proxy:
    proxy = Proxy("p")
    if has_handlers:

        @proxy.from_client("*")
        async def look(message: Message) -> None:
            assert message.params is not message

        @proxy.from_agent("*")
        def read(message: Message) -> None:
            assert message.raw is not None

    return proxy


async def _say(said: list[bytes], has_handlers: bool) -> None:
    near, far = memory_pair()
    pipe = JsonPeer(near)
    task = asyncio.create_task(_proxy(has_handlers).serve(far))
    pipe.say(request("begin", "proxy/initialize", PARAMS[2]))
    pipe.say(result((await pipe.hear())["id"], RESULTS[2]))
    await pipe.hear()
    for frame in said:
        pipe.say(frame)
        await pipe.is_silent()
    assert pipe.lost is None
    pipe.say(request("the last", "_last", {"sessionId": "its own"}))
    await pipe.is_silent()
    asked = [each for each in map(_loaded, pipe.frames) if _is_last(each)][-1]
    pipe.say(result(asked["id"], "mine"))
    await pipe.is_silent()
    answers = [each for each in map(_loaded, pipe.frames) if each.get("id") == "the last"]
    assert [each["result"] for each in answers] == ["mine"]
    await near.aclose()
    await task


def _is_last(message: dict[str, Any]) -> bool:
    params: dict[str, Any] = message.get("params", {})
    return params.get("method") == "_last"


def _loaded(frame: bytes) -> dict[str, Any]:
    try:
        message: Any = json.loads(frame)
    except ValueError:
        return {}
    is_plain = hasattr(message, "get") and hasattr(message.get("params", {}), "get")
    return message if is_plain else {}
