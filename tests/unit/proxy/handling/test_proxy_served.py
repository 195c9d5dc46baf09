"""A proxy on the pipe to its conductor."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import (
    PARAMS,
    RESULTS,
    JsonPeer,
    chunk,
    notification,
    request,
    result,
)

from parley.proxy import Proxy, ProxyConnection, Request
from parley.transport import memory_pair

SPELLINGS = pytest.mark.parametrize("prefix", ["", "_"])


async def _served(proxy: Proxy) -> JsonPeer:
    near, far = memory_pair()
    talker = JsonPeer(near)
    talker.task = asyncio.create_task(proxy.serve(far))  # type: ignore[attr-defined]
    return talker


async def _begin(pipe: JsonPeer, prefix: str = "", version: int = 2) -> None:
    pipe.say(request("i", f"{prefix}proxy/initialize", PARAMS[version]))
    asked = await pipe.hear()
    assert asked["method"] == f"{prefix}proxy/successor"
    assert asked["params"] == {"method": "initialize", "params": PARAMS[version]}
    pipe.say(result(asked["id"], RESULTS[version]))
    assert (await pipe.hear())["id"] == "i"


@pytest.mark.requirement("TR-PRX-04", "TR-PRX-02")
@SPELLINGS
async def test_proxy_initialize_tells_that_there_is_a_successor(prefix: str) -> None:
    pipe = await _served(Proxy("p"))
    await _begin(pipe, prefix)


@SPELLINGS
async def test_a_watcher_sees_a_conversation_that_begins_as_any_other(prefix: str) -> None:
    proxy = Proxy("p")
    seen: list[Any] = []

    @proxy.watch
    def see(
        connection: ProxyConnection, is_from_client: bool, frame: bytes, session_id: str
    ) -> None:
        seen.append(json.loads(frame))

    pipe = await _served(proxy)
    await _begin(pipe, prefix)
    pipe.say(notification("_hello", {}))
    await pipe.hear()
    assert [each.get("method") for each in seen] == ["initialize", None, "_hello"]


@pytest.mark.requirement("TR-PRX-04")
async def test_initialize_tells_that_there_is_none_and_how_to_start_it() -> None:
    pipe = await _served(Proxy("lonely"))
    pipe.say(request(1, "initialize", PARAMS[2]))
    refused = (await pipe.hear())["error"]
    assert refused["code"] == -32600
    assert "lonely" in refused["message"]
    assert "parley conduct" in refused["message"]


@pytest.mark.requirement("TR-PRX-06", "TR-PRX-07", "TR-PRX-10")
@SPELLINGS
async def test_what_is_plain_is_the_clients_and_what_is_wrapped_the_successors(prefix: str) -> None:
    pipe = await _served(Proxy("p"))
    await _begin(pipe, prefix)
    params: dict[str, Any] = {"sessionId": "s", "prompt": [], "_meta": {"traceparent": "t"}}
    pipe.say(request(5, "session/prompt", params))
    asked = await pipe.hear()
    assert asked["method"] == f"{prefix}proxy/successor"
    assert asked["params"] == {"method": "session/prompt", "params": params}
    update = json.loads(chunk("x"))
    inside = {"method": update["method"], "params": update["params"]}
    pipe.say(notification(f"{prefix}proxy/successor", inside))
    assert await pipe.hear() == update
    pipe.say(request(5, f"{prefix}proxy/successor", {"method": "fs/read_text_file"}))
    plain = await pipe.hear()
    assert plain["method"] == "fs/read_text_file"
    pipe.say(result(plain["id"], {"content": "c"}))
    assert await pipe.hear() == {"jsonrpc": "2.0", "id": 5, "result": {"content": "c"}}
    pipe.say(result(asked["id"], {"messageId": "m"}))
    assert await pipe.hear() == {"jsonrpc": "2.0", "id": 5, "result": {"messageId": "m"}}


@pytest.mark.requirement("TR-PRX-23")
async def test_a_cancel_is_said_anew_with_the_id_of_the_wrapped_request() -> None:
    pipe = await _served(Proxy("p"))
    await _begin(pipe)
    pipe.say(request("mine", "_long"))
    asked = await pipe.hear()
    pipe.say(notification("$/cancel_request", {"requestId": "mine"}))
    cancel = await pipe.hear()
    assert cancel["method"] == "$/cancel_request"
    assert cancel["params"] == {"requestId": asked["id"]}


async def test_a_proxy_can_be_a_chain_by_itself() -> None:
    class Echo:
        async def serve(self, transport: object, /) -> None:
            agent = JsonPeer(transport)  # type: ignore[arg-type]
            asked = await agent.hear()
            agent.say(result(asked["id"], RESULTS[2]))
            await agent.until(lambda: agent.lost is not None)

    near, far = memory_pair()
    client = JsonPeer(near)
    task = asyncio.create_task(Proxy("p").serve(far, agent=Echo()))
    client.say(request(1, "initialize", PARAMS[2]))
    assert (await client.hear())["result"]["info"]["name"] == "agent"
    await near.aclose()
    await task


async def test_a_handler_that_is_stuck_costs_a_bounded_amount_of_memory() -> None:
    proxy = Proxy("stuck")

    @proxy.from_agent("session/update")
    async def wait(message: Request) -> None:
        await asyncio.get_running_loop().create_future()

    pipe = await _served(proxy)
    await _begin(pipe)
    update = json.loads(chunk("x" * 10_000))
    inside = notification(
        "proxy/successor", {"method": update["method"], "params": update["params"]}
    )
    said = 0
    while pipe.transport.drained() is None:
        pipe.say(*[inside] * 10)
        said += 10
        await pipe.is_silent()
        assert said < 2000, "somebody keeps everything"
    assert said * 10_000 < 10_000_000
    await pipe.transport.aclose()


async def test_a_slow_handler_does_not_dam_what_it_waits_for_on_the_same_pipe() -> None:
    proxy = Proxy("curious")

    @proxy.from_agent("session/update")
    async def ask(message: Request) -> None:
        await message.connection.client.request("_may I?", {})

    pipe = await _served(proxy)
    await _begin(pipe)
    update = json.loads(chunk("x" * 1000))
    inside = {"method": update["method"], "params": update["params"]}
    for _ in range(2000):
        pipe.say(notification("proxy/successor", inside))
    for _ in range(2000):
        asked = await pipe.hear()
        assert asked["method"] == "_may I?"
        pipe.say(result(asked["id"], {}))
        assert await pipe.hear() == update
