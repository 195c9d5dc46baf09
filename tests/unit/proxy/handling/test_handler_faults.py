"""Handlers that misbehave, and what must not come of it: a connection that ends, or waits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import (
    ProxiedPair,
    chunk,
    notification,
    proxied_pair,
    request,
    result,
    text_of,
)

from parley.errors import LocalProtocolError, RequestError
from parley.proxy import Notification, Proxy, ProxyConnection, Request, Response

VERSIONS = pytest.mark.parametrize("version", [1, 2])
PROMPT: dict[str, Any] = {"sessionId": "s", "prompt": []}
ENDED = {"stopReason": "end_turn"}
IDLE = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}


async def test_an_answer_whose_handler_was_cancelled_meanwhile_passes_and_holds_nothing() -> None:
    proxy = Proxy("p")
    gate = asyncio.Event()

    @proxy.from_agent("session/update")
    async def wait(note: Notification) -> None:
        await gate.wait()

    @proxy.from_client("session/prompt")
    async def forward(call: Request) -> Response:
        return await call.forward()

    talk = await proxied_pair(proxy, 1)
    talk.client.say(request(1, "session/prompt", PROMPT))
    asked = await talk.agent.hear()
    talk.agent.say(chunk("before"), result(asked["id"], ENDED))
    assert await talk.client.is_silent()
    talk.client.say(notification("$/cancel_request", {"requestId": 1}))
    assert await talk.client.is_silent()
    gate.set()
    talk.agent.say(chunk("after"))
    assert text_of(await talk.client.hear()) == "before"
    assert (await talk.client.hear())["result"] == ENDED
    assert text_of(await talk.client.hear()) == "after"


@pytest.mark.parametrize("junk", [object(), b"no JSON", {1: object()}])
@pytest.mark.parametrize("is_async", [True, False])
async def test_an_answer_that_is_none_fails_the_request_and_nothing_else(
    junk: object, is_async: bool
) -> None:
    proxy = Proxy("p")

    def answer(call: Request) -> object:
        return junk

    async def answer_later(call: Request) -> object:
        return junk

    proxy.from_client("_junk")(answer_later if is_async else answer)
    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "_junk", {}))
    refused = (await talk.client.hear())["error"]
    assert refused == {"code": -32603, "message": "The proxy p failed"}
    talk.client.say(request(2, "_else", {}))
    assert (await talk.agent.hear())["method"] == "_else"


async def test_a_handler_that_waits_no_longer_lets_the_answer_pass() -> None:
    proxy = Proxy("p")
    over = asyncio.Event()

    @proxy.from_client("session/prompt")
    async def forward(call: Request) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call.forward(), 0)
        over.set()

    talk = await proxied_pair(proxy, 1)
    talk.client.say(request(1, "session/prompt", PROMPT))
    await over.wait()
    asked = await talk.agent.hear()
    assert await talk.client.is_silent()
    talk.agent.say(result(asked["id"], ENDED))
    assert (await talk.client.hear())["result"] == ENDED


async def test_an_error_that_a_handler_passes_over_in_silence_passes() -> None:
    proxy = Proxy("p")

    @proxy.from_client("session/prompt")
    async def forward(call: Request) -> None:
        with pytest.raises(RequestError):
            await call.forward()

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "session/prompt", PROMPT))
    asked = await talk.agent.hear()
    error = {"code": -1, "message": "no", "data": {"x": 1}}
    talk.agent.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode())
    assert (await talk.client.hear())["error"] == error


@pytest.mark.parametrize("is_async", [True, False])
async def test_what_has_gone_on_is_not_forwarded_once_more(is_async: bool) -> None:
    proxy = Proxy("p")
    late: list[asyncio.Task[Response]] = []

    def forget(call: Request) -> None:
        late.append(asyncio.create_task(call.forward()))

    async def forget_later(call: Request) -> None:
        forget(call)

    proxy.from_client("session/prompt")(forget_later if is_async else forget)
    talk = await proxied_pair(proxy, 1)
    talk.client.say(request(1, "session/prompt", PROMPT))
    await talk.agent.hear()
    assert await talk.agent.is_silent()
    with pytest.raises(LocalProtocolError):
        await late[0]


async def test_a_prompt_that_was_cancelled_is_not_forwarded_by_its_handler() -> None:
    proxy = Proxy("p")
    begun = asyncio.Event()

    @proxy.from_client("session/prompt")
    async def forward(call: Request) -> Response:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return await call.forward()
        raise AssertionError

    talk = await proxied_pair(proxy, 1)
    talk.client.say(request(1, "session/prompt", PROMPT))
    await begun.wait()
    talk.client.say(notification("session/cancel", {"sessionId": "s"}))
    assert (await talk.client.hear())["result"] == {"stopReason": "cancelled"}
    assert (await talk.agent.hear())["method"] == "session/cancel"
    assert await talk.agent.is_silent()


async def test_a_watcher_that_fails_is_logged_and_harms_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    proxy = Proxy("p")

    @proxy.watch
    def see(
        connection: ProxyConnection, is_from_client: bool, frame: bytes, session_id: str
    ) -> None:
        raise RuntimeError("no more paper")

    talk = ProxiedPair(proxy)
    assert "result" in await talk.begin()
    assert "no more paper" in caplog.text


def _asks(proxy: Proxy, place: str) -> None:
    """Have a proxy prompt by itself, where something is held back."""

    async def opened(call: Request) -> Response:
        reply = await call.forward()
        await call.connection.ask(reply.result.session_id, "hi")
        return reply

    async def before(message: Any) -> None:
        await message.connection.ask("s", "hi")

    if place == "session/new":
        proxy.from_client(place)(opened)
    elif place == "session/prompt":
        proxy.from_client(place)(before)
    else:
        proxy.from_agent(place)(before)


@VERSIONS
@pytest.mark.parametrize("place", ["session/new", "session/prompt", "_told"])
@pytest.mark.parametrize("is_handled", [True, False])
@pytest.mark.requirement("TR-PRX-28")
async def test_an_agent_may_ask_the_client_while_it_works_on_a_prompt_of_the_proxys_own(
    version: int, place: str, is_handled: bool
) -> None:
    proxy = Proxy("p")
    _asks(proxy, place)

    async def look(call: Request) -> Response:
        return await call.forward()

    if is_handled:
        proxy.from_agent("_question")(look)
    talk = await proxied_pair(proxy, version)
    if place == "session/new":
        talk.client.say(request(1, place, {"cwd": "/", "mcpServers": []}))
        talk.agent.say(result((await talk.agent.hear())["id"], {"sessionId": "s"}))
    elif place == "session/prompt":
        talk.client.say(request(1, place, PROMPT))
    else:
        talk.agent.say(notification(place, {"sessionId": "s"}))
    asked = await talk.agent.hear()
    assert asked["params"]["prompt"][0]["text"] == "hi"
    talk.agent.say(request("q", "_question", {"sessionId": "s"}))
    question = await talk.client.hear()
    assert question["method"] == "_question"
    talk.client.say(notification("_waits", {"sessionId": "s"}), result(question["id"], {"a": 1}))
    assert await talk.agent.hear() == {"jsonrpc": "2.0", "id": "q", "result": {"a": 1}}
    talk.agent.say(result(asked["id"], ENDED if version == 1 else {"messageId": "m"}))
    if version == 2:
        talk.agent.say(notification("session/update", {"sessionId": "s", "update": IDLE}))
    following = [(await talk.agent.hear()).get("method")]
    if place == "session/prompt":
        following.append((await talk.agent.hear()).get("method"))
    assert following == (["session/prompt", "_waits"] if place == "session/prompt" else ["_waits"])


async def test_a_flood_of_sessions_whose_handlers_work_is_bounded() -> None:
    proxy = Proxy("p")
    begun: list[str] = []
    gate = asyncio.Event()

    @proxy.from_agent("session/update")
    async def wait(note: Notification) -> None:
        begun.append(note.session_id)
        await gate.wait()

    talk = await proxied_pair(proxy)
    said = 0
    while said < 10_000 and talk.agent.transport.drained() is None:
        talk.agent.say(*(chunk("x" * 1000, f"s{said + number}") for number in range(50)))
        said += 50
        assert await talk.client.is_silent()
    assert 64 < len(begun) <= said < 2000
    gate.set()
    await talk.client.until(lambda: len(talk.client.frames) == said + 1)


async def test_a_handler_that_steps_aside_holds_nothing_back() -> None:
    proxy = Proxy("p")
    gate = asyncio.Event()

    @proxy.from_client("_slow")
    async def slow(call: Request) -> dict[str, Any]:
        call.unblock()
        await gate.wait()
        return {"slow": True}

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "_slow", {}), request(2, "_quick", {}))
    assert (await talk.agent.hear())["method"] == "_quick"
    gate.set()
    assert (await talk.client.hear())["result"] == {"slow": True}


ODD = [
    b'{"jsonrpc":"2.0","id":%d,"result":{"sessionId":7}}',
    b'{"jsonrpc":"2.0","id":%d,"result":[]}',
    b'{"jsonrpc":"2.0","id":%d,"result":{"sessionId":"s","x":1,"x":2}}',
]


@pytest.mark.parametrize("odd", ODD)
@VERSIONS
async def test_an_answer_that_cannot_be_used_is_no_fault_of_the_request(
    odd: bytes, version: int
) -> None:
    proxy = Proxy("p")

    @proxy.from_client("session/new")
    async def look(call: Request) -> Response:
        reply = await call.forward()
        reply.change(meta={"seen": reply.result.session_id})
        return reply

    talk = await proxied_pair(proxy, version)
    talk.client.say(request(1, "session/new", {"cwd": "/", "mcpServers": []}))
    talk.agent.say(odd % (await talk.agent.hear())["id"])
    failed = (await talk.client.hear())["error"]
    assert failed["code"] == -32603
    assert failed["message"] == "The answer to session/new cannot be used"
    assert failed["data"]["problem"]
