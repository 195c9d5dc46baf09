"""What holds back what: handlers, their forwards, cancellation, and prompts of a proxy's own."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.proxy.proxied_pair import (
    chunk,
    notification,
    proxied_pair,
    request,
    result,
    text_of,
)

from parley.errors import InvalidParams, Overloaded, RequestCancelled, RequestError
from parley.proxy import Notification, Proxy, Request, Response
from parley.proxy._handling import direction
from parley.schema import v2
from parley.transport._base import HIGH_WATER_BYTES

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def slow() -> tuple[Proxy, asyncio.Event]:
    """Return a proxy that lets no update pass before the gate is open, and the gate."""
    proxy = Proxy("slow")
    gate = asyncio.Event()

    @proxy.from_agent("session/update")
    async def wait(note: Notification) -> None:
        await gate.wait()

    return proxy, gate


@pytest.mark.requirement("TR-PRX-22")
async def test_nothing_overtakes_what_a_handler_works_on_not_even_an_answer() -> None:
    proxy, gate = slow()
    talk = await proxied_pair(proxy, 1)
    talk.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    asked = await talk.agent.hear()
    talk.agent.say(chunk("a"), chunk("b"), result(asked["id"], {"stopReason": "end_turn"}))
    talk.agent.say(notification("_other", {"sessionId": "s"}), chunk("else", "another"))
    talk.agent.say(notification("_free", {"sessionId": "third"}))
    assert (await talk.client.hear())["method"] == "_free", "another session is not held back"
    assert await talk.client.is_silent()
    gate.set()
    heard = [await talk.client.hear() for _ in range(5)]
    ours = [each for each in heard if each.get("params", {}).get("sessionId") != "another"]
    assert [text_of(each) for each in ours[:2]] == ["a", "b"]
    assert ours[2]["result"] == {"stopReason": "end_turn"}
    assert ours[3]["method"] == "_other"


async def test_the_answer_that_opens_a_session_waits_for_the_sessions_updates() -> None:
    proxy, gate = slow()
    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "session/new", {"cwd": "/", "mcpServers": []}))
    asked = await talk.agent.hear()
    talk.agent.say(chunk("early", "new"), result(asked["id"], {"sessionId": "new"}))
    assert await talk.client.is_silent()
    gate.set()
    assert text_of(await talk.client.hear()) == "early"
    assert (await talk.client.hear())["result"] == {"sessionId": "new"}


async def test_while_a_handler_waits_for_an_answer_those_behind_it_go_on() -> None:
    proxy = Proxy("p")

    @proxy.from_client("session/prompt")
    async def forward(call: Request) -> object:
        reply = await call.forward()
        reply.change(meta={"seen": 1})
        return reply

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    talk.client.say(notification("session/cancel", {"sessionId": "s"}))
    asked = await talk.agent.hear()
    assert (await talk.agent.hear())["method"] == "session/cancel"
    talk.agent.say(chunk("before"), result(asked["id"], {"messageId": "m", "x": 1}), chunk("after"))
    assert text_of(await talk.client.hear()) == "before"
    answer = await talk.client.hear()
    assert answer == {
        "jsonrpc": "2.0", "id": 1, "result": {"messageId": "m", "x": 1, "_meta": {"seen": 1}},
    }  # fmt: skip
    assert text_of(await talk.client.hear()) == "after"


async def test_an_answer_that_is_not_changed_passes_as_its_bytes_and_so_does_an_error() -> None:
    proxy = Proxy("p")

    @proxy.from_client("_x")
    async def forward(call: Request) -> None:
        await call.forward()

    talk = await proxied_pair(proxy)
    talk.client.say(request("a", "_x"), request("b", "_x"))
    await talk.agent.next()
    await talk.agent.next()
    error = b'{"jsonrpc":"2.0","id": %b ,"error":{"code":-32602,"message":"no","data":1.50}}'
    talk.agent.say(b'{"jsonrpc":"2.0", "result":{"n": 1.0},"id":1}', error % b"2")
    assert await talk.client.next() == b'{"jsonrpc":"2.0", "result":{"n": 1.0},"id":"a"}'
    assert await talk.client.next() == error % b'"b"'


async def test_a_handler_may_answer_instead_of_what_was_answered_or_of_an_error() -> None:
    proxy = Proxy("p")

    @proxy.from_client("_x")
    async def instead(call: Request) -> object:
        try:
            reply = await call.forward()
        except InvalidParams as error:
            return {"instead of": error.data}
        return {"instead of": reply.result}

    talk = await proxied_pair(proxy)
    talk.client.say(request("a", "_x"), request("b", "_x"))
    await talk.agent.next()
    await talk.agent.next()
    talk.agent.say(
        result(1, 5),
        b'{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no","data":[6]}}',
    )
    assert (await talk.client.hear())["result"] == {"instead of": 5}
    assert (await talk.client.hear())["result"] == {"instead of": [6]}


async def test_a_request_that_is_cancelled_cancels_its_handler_and_the_next_hop() -> None:
    proxy = Proxy("p")
    cancelled: list[str] = []

    @proxy.from_client("_wait")
    async def wait(call: Request) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.append(call.method)

    @proxy.from_client("_forward")
    async def forward(call: Request) -> None:
        try:
            await call.forward()
        finally:
            cancelled.append(call.method)

    talk = await proxied_pair(proxy)
    for id, method in ((1, "_wait"), (2, "_forward"), (3, "_wait")):
        talk.client.say(request(id, method, {"sessionId": f"s{id}"}))
    asked = await talk.agent.hear()
    for id in (1, 2, 3):
        talk.client.say(notification("$/cancel_request", {"requestId": id}))
    passed = await talk.agent.hear()
    assert passed["method"] == "$/cancel_request"
    assert passed["params"] == {"requestId": asked["id"]}
    refused = [await talk.client.hear(), await talk.client.hear()]
    assert {(each["id"], each["error"]["code"]) for each in refused} == {(1, -32800), (3, -32800)}
    talk.agent.say(result(asked["id"], "late, but it is the answer"))
    assert (await talk.client.hear())["result"] == "late, but it is the answer"
    assert cancelled.count("_forward") == 1


async def test_a_cancel_that_comes_with_its_request_is_in_time() -> None:
    proxy = Proxy("p")

    @proxy.from_client("_wait")
    async def wait(call: Request) -> None:
        await asyncio.get_running_loop().create_future()

    talk = await proxied_pair(proxy)
    cancel = notification("$/cancel_request", {"requestId": 1})
    talk.client.say(request(1, "_wait", {"sessionId": "s"}), cancel)
    refused = await talk.client.hear()
    assert (refused["id"], refused["error"]["code"]) == (1, -32800)
    talk.client.say(notification("_next", {"sessionId": "s"}))
    assert (await talk.agent.hear())["method"] == "_next", "and nothing is held back for ever"


async def test_a_request_that_waits_behind_another_and_is_cancelled_never_begins() -> None:
    proxy = Proxy("p")
    gate = asyncio.Event()
    begun: list[int] = []

    @proxy.from_client("_x")
    async def wait(call: Request) -> None:
        begun.append(call.params["n"])
        await gate.wait()

    talk = await proxied_pair(proxy)
    for n in (1, 2):
        talk.client.say(request(n, "_x", {"n": n, "sessionId": "s"}))
    talk.client.say(notification("$/cancel_request", {"requestId": 2}))
    refused = await talk.client.hear()
    assert (refused["id"], refused["error"]["code"]) == (2, -32800)
    gate.set()
    assert (await talk.agent.hear())["params"]["n"] == 1
    assert await talk.agent.is_silent()
    assert begun == [1]


async def test_a_client_that_is_gone_ends_the_handlers() -> None:
    proxy = Proxy("p")
    ended = asyncio.Event()

    @proxy.from_client("_x")
    async def wait(call: Request) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "_x"))
    await talk.client.is_silent()
    await talk.client.transport.aclose()
    await ended.wait()
    await talk.task


@pytest.mark.requirement("TR-PRX-28")
@VERSIONS
async def test_a_handler_asks_and_tells_both_sides_by_itself(version: int) -> None:
    proxy = Proxy("p")

    @proxy.from_client("_x")
    async def ask(call: Request) -> object:
        listed = await call.connection.agent.request("session/list", v2.ListSessionsRequest())
        await call.connection.client.notify("_told", {"count": len(listed.sessions)})
        await call.connection.update("s", v2.AgentMessageChunk(
            message_id="m", content=v2.TextContent(text="by the proxy")
        ))  # fmt: skip
        return await call.connection.client.request("_ask", {"n": 1})

    talk = await proxied_pair(proxy, version)
    talk.client.say(request("q", "_x"))
    asked = await talk.agent.hear()
    assert asked["method"] == "session/list"
    session = {"sessionId": "a", "cwd": "/"}
    talk.agent.say(result(asked["id"], {"sessions": [session]}))
    assert (await talk.client.hear())["params"] == {"count": 1}
    assert text_of(await talk.client.hear()) == "by the proxy"
    question = await talk.client.hear()
    talk.client.say(result(question["id"], {"yes": True}))
    answer = await talk.client.hear()
    assert (answer["id"], answer["result"]) == ("q", {"yes": True})


async def test_what_a_handler_asks_and_is_refused_is_raised() -> None:
    proxy = Proxy("p")
    raised: list[RequestError] = []

    @proxy.from_client("_x")
    async def ask(call: Request) -> object:
        try:
            await call.connection.agent.request("_no", {})
        except RequestError as error:
            raised.append(error)
        return {}

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "_x"))
    asked = await talk.agent.hear()
    refused = {"code": -32800, "message": "gone", "data": {"a": 1}}
    talk.agent.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": refused}).encode())
    await talk.client.next()
    assert isinstance(raised[0], RequestCancelled)
    assert raised[0].data == {"a": 1}


async def test_data_of_an_error_that_cannot_be_read_ends_nothing() -> None:
    proxy = Proxy("p")

    @proxy.from_client("_x")
    async def pass_on(call: Request) -> Response:
        return await call.forward()

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "_x"))
    asked = await talk.agent.hear()
    refused = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-7,"message":"no","data":[1e999]}}'
    talk.agent.say(refused % asked["id"])
    assert await talk.client.next() == refused % 1


@pytest.mark.requirement("TR-PRX-28")
@VERSIONS
async def test_a_proxy_prompts_by_itself_and_then_steps_out(version: int) -> None:
    proxy = Proxy("primer")
    said: list[str] = []

    @proxy.from_client("session/new")
    async def prime(call: Request) -> object:
        reply = await call.forward()
        said.append(await call.connection.ask(reply.result.session_id, "Read the rules."))
        return reply

    talk = await proxied_pair(proxy, version)
    talk.client.say(request(1, "session/new", {"cwd": "/", "mcpServers": []}))
    opened = await talk.agent.hear()
    talk.agent.say(result(opened["id"], {"sessionId": "s"}))
    prompted = await talk.agent.hear()
    assert prompted["params"]["prompt"] == [{"type": "text", "text": "Read the rules."}]
    talk.client.say(request(2, "session/prompt", {"sessionId": "s", "prompt": []}))
    if version == 1:
        talk.agent.say(
            chunk("I "), chunk("have."), result(prompted["id"], {"stopReason": "end_turn"})
        )
    else:
        idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
        talk.agent.say(result(prompted["id"], {"messageId": "u"}), chunk("I "), chunk("have."))
        talk.agent.say(notification("session/update", {"sessionId": "s", "update": idle}))
    answer = await talk.client.hear()
    assert (answer["id"], answer["result"]) == (1, {"sessionId": "s"})
    assert said == ["I have."]
    theirs = await talk.agent.hear()
    assert theirs["params"]["prompt"] == []
    talk.agent.say(chunk("for you"))
    assert text_of(await talk.client.hear()) == "for you"


async def test_the_client_can_cancel_a_prompt_of_the_proxys_own() -> None:
    proxy = Proxy("primer")

    @proxy.from_client("session/prompt")
    async def before(call: Request) -> None:
        await call.connection.ask(call.session_id, "first")

    talk = await proxied_pair(proxy, 1)
    talk.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    own = await talk.agent.hear()
    talk.client.say(notification("session/cancel", {"sessionId": "s"}))
    assert (await talk.agent.hear())["method"] == "session/cancel"
    talk.agent.say(result(own["id"], {"stopReason": "cancelled"}))
    assert (await talk.agent.hear())["params"]["prompt"] == []
    assert (await talk.agent.hear())["method"] == "session/cancel", "and in its place, too"


async def test_what_waits_for_handlers_is_bounded_and_what_they_wait_for_is_read() -> None:
    proxy, gate = slow()
    talk = await proxied_pair(proxy)
    count = 0
    while talk.agent.transport.drained() is None:
        talk.agent.say(chunk("x" * 10_000))
        count += 1
        await talk.agent.is_silent()
        assert count < 1000, "somebody reads for ever"
    assert count * 10_000 < 1024 * 1024 + 3 * HIGH_WATER_BYTES
    gate.set()
    assert len(await talk.client.texts(count)) == count
    assert talk.agent.transport.drained() is None


async def test_what_waits_has_an_end_even_if_a_handler_waits_for_the_side_it_holds_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direction, "MOST_BYTES", 200_000)
    proxy = Proxy("stuck")
    raised: list[RequestError] = []

    @proxy.from_agent("session/update")
    async def ask(note: Notification) -> None:
        try:
            await note.connection.agent.request("_why", {})
        except RequestError as error:
            raised.append(error)

    talk = await proxied_pair(proxy)
    talk.agent.say(chunk("first"))
    await talk.agent.hear()
    for _ in range(30):
        talk.agent.say(notification("_fill", {"sessionId": "s", "text": "x" * 10_000}))
    assert text_of(await talk.client.hear()) == "first"
    assert isinstance(raised[0], Overloaded)
    assert [(await talk.client.hear())["method"] for _ in range(30)] == ["_fill"] * 30


async def test_a_handler_that_asks_the_side_it_holds_back_gets_its_answer() -> None:
    proxy = Proxy("curious")

    @proxy.from_agent("session/update")
    async def ask(note: Notification) -> None:
        await note.connection.agent.request("_why", {})

    talk = await proxied_pair(proxy)
    talk.agent.say(chunk("first"))
    asked = await talk.agent.hear()
    for _ in range(300):
        talk.agent.say(notification("_fill", {"sessionId": "s", "text": "x" * 10_000}))
    talk.agent.say(result(asked["id"], {}))
    assert text_of(await talk.client.hear()) == "first"
    assert [(await talk.client.hear())["method"] for _ in range(300)] == ["_fill"] * 300
