"""Batches on a live connection: received and responded to in both versions, never sent first.

https://www.jsonrpc.org/specification#batch
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from parley.peer import Peer, RequestContext, Role
from parley.schema.base import Method

from .raw_peer import ECHO, SIDES, VERSIONS, RawPeer, connected

requirement = pytest.mark.requirement
on_both_sides = pytest.mark.parametrize(("version", "role"), SIDES)
in_both_versions = pytest.mark.parametrize("version", VERSIONS)


def call(id: Any, method: str = ECHO, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def note(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def update(version: int, text: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    chunk: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "content": content}
    body = chunk if version == 1 else {**chunk, "messageId": "m"}
    return note("session/update", {"sessionId": "s", "update": body})


def send(raw: RawPeer, *entries: Any) -> None:
    raw.send(json.dumps(entries).encode())


def asking(peer: Peer, count: int) -> list[asyncio.Task[Any]]:
    """Make a peer send requests with ids from 0 on, in one iteration of the event loop."""
    method: Method[Any, Any] = Method(
        name="_ask", to="either", kind="request", params=Any, result=dict[str, Any]
    )
    return [asyncio.create_task(peer.request(method, {"n": number})) for number in range(count)]


@requirement("V2-BATCH-03", "V1-RPC-32")
@on_both_sides
async def test_requests_in_an_array_are_answered_by_one_array_when_all_are_done(
    version: int, role: Role
) -> None:
    gates: dict[Any, asyncio.Event] = {1: asyncio.Event(), "two": asyncio.Event()}

    async def wait(params: Any, request: RequestContext) -> Any:
        await gates[request.id].wait()
        return {"n": request.id}

    async with connected(version, role, requests={"_wait": wait}) as (_, raw):
        send(raw, call(1, "_wait"), call("two", "_wait"), call(3, ECHO, {"a": 1}), call(4, "_no"))
        gates["two"].set()
        await raw.is_alive()
        gates[1].set()
        replies: list[Any] = await raw.next()
    assert sorted(replies, key=lambda reply: str(reply["id"])) == [
        {"jsonrpc": "2.0", "id": 1, "result": {"n": 1}},
        {"jsonrpc": "2.0", "id": 3, "result": {"a": 1}},
        {
            "jsonrpc": "2.0",
            "id": 4,
            "error": {"code": -32601, "message": "Method not found", "data": {"method": "_no"}},
        },
        {"jsonrpc": "2.0", "id": "two", "result": {"n": "two"}},
    ]


@requirement("V2-BATCH-03")
@in_both_versions
async def test_two_lists_of_sessions_without_params_come_in_one_array(version: int) -> None:
    async def list_sessions(params: Any, request: RequestContext) -> Any:
        return {"sessions": []}

    async with connected(version, requests={"session/list": list_sessions}) as (_, raw):
        entry = {"jsonrpc": "2.0", "method": "session/list"}
        send(raw, {**entry, "id": 1}, {**entry, "id": 2})
        replies = await raw.next()
    assert {reply["id"]: reply["result"] for reply in replies} == {
        1: {"sessions": []},
        2: {"sessions": []},
    }


@requirement("V2-BATCH-03", "V2-BATCH-06")
@on_both_sides
async def test_the_entries_of_an_array_run_beside_each_other(version: int, role: Role) -> None:
    second_runs = asyncio.Event()

    async def first(params: Any, request: RequestContext) -> Any:
        await second_runs.wait()

    async def second(params: Any, request: RequestContext) -> Any:
        second_runs.set()

    async with connected(version, role, {"_first": first, "_second": second}) as (_, raw):
        send(raw, call(1, "_first"), call(2, "_second"))
        assert {reply["id"] for reply in await raw.next()} == {1, 2}


@requirement("V2-BATCH-04", "V2-RPC-02")
@on_both_sides
async def test_an_array_of_notifications_gets_no_response(version: int, role: Role) -> None:
    seen: list[bytes] = []

    def take(params: Any) -> None:
        seen.append(bytes(params))

    async with connected(version, role, notifications={"_note": take}) as (_, raw):
        send(raw, note("_note", [1]), note("_unknown"), note("$/foo"), note("_note", [2]))
        send(raw, note("$/cancel_request", {"requestId": 1}))
        await raw.is_alive()
    assert seen == [b"[1]", b"[2]"]


@requirement("V2-BATCH-05")
@on_both_sides
async def test_each_entry_that_is_no_message_has_its_own_error(version: int, role: Role) -> None:
    async with connected(version, role) as (_, raw):
        send(raw, 17, True, None)
        replies = await raw.next()
        assert [(reply["id"], reply["error"]["code"]) for reply in replies] == [(None, -32600)] * 3
        await raw.is_alive()


@requirement("V2-BATCH-05")
@on_both_sides
async def test_valid_entries_run_beside_invalid_ones(version: int, role: Role) -> None:
    seen: list[bytes] = []

    def take(params: Any) -> None:
        seen.append(bytes(params))

    async with connected(version, role, notifications={"_note": take}) as (_, raw):
        nameless: dict[str, Any] = {"jsonrpc": "2.0", "id": 9, "method": 5}
        send(raw, 17, call(1), note("_note", {}), nameless, [call(2)], "x", {"method": "_note"})
        replies = await raw.next()
    outcomes = [(reply["id"], reply.get("error", {}).get("code")) for reply in replies]
    assert sorted(outcomes, key=str) == sorted(
        [(1, None), (9, -32600), (None, -32600), (None, -32600), (None, -32600)], key=str
    )
    assert seen == [b"{}"]


@requirement("V2-BATCH-02", "V2-RPC-03")
@in_both_versions
async def test_an_array_of_too_many_entries_is_refused_as_a_whole(version: int) -> None:
    async with connected(version) as (_, raw):
        send(raw, *(call(number) for number in range(1001)))
        reply = await raw.next()
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)
        send(raw, *(call(number) for number in range(1000)))
        assert {each["id"] for each in await raw.next()} == set(range(1000))


@requirement("V2-BATCH-03", "V1-RPC-06")
@on_both_sides
async def test_an_id_that_is_used_twice_in_an_array_is_refused_once(
    version: int, role: Role
) -> None:
    async with connected(version, role) as (_, raw):
        send(raw, call("a"), call("a"))
        replies = await raw.next()
    assert {reply["id"] for reply in replies} == {"a"}
    assert sorted(reply.get("error", {}).get("code", 0) for reply in replies) == [-32600, 0]


@requirement("V2-BATCH-03", "V1-CANCEL-02")
@on_both_sides
async def test_a_cancelled_entry_is_answered_with_the_others(version: int, role: Role) -> None:
    has_begun, other_may_end = asyncio.Event(), asyncio.Event()

    async def wait(params: Any, request: RequestContext) -> Any:
        has_begun.set()
        await asyncio.Event().wait()

    async def other(params: Any, request: RequestContext) -> Any:
        await other_may_end.wait()

    async with connected(version, role, {"_wait": wait, "_other": other}) as (_, raw):
        send(raw, call(1, "_wait"), call(2, "_other"))
        await has_begun.wait()
        raw.message(method="$/cancel_request", params={"requestId": 1})
        await raw.is_alive()
        other_may_end.set()
        replies = {reply["id"]: reply for reply in await raw.next()}
    assert replies[1]["error"]["code"] == -32800
    assert replies[2]["result"] == {}


@requirement("V2-BATCH-07")
@on_both_sides
async def test_what_is_sent_in_one_turn_is_sent_one_by_one(version: int, role: Role) -> None:
    async with connected(version, role) as (peer, raw):
        calls = asking(peer, 5)
        requests = [await raw.next() for _ in calls]
        assert [request["params"]["n"] for request in requests] == list(range(5))
        raw.send(*(json.dumps(call(number)).encode() for number in range(5)))
        responses = [await raw.next() for _ in range(5)]
        assert {response["id"] for response in responses} == set(range(5))
        for each in calls:
            each.cancel()
        assert [(await raw.next())["method"] for _ in calls] == ["$/cancel_request"] * 5


@requirement("V2-BATCH-08")
@in_both_versions
async def test_a_client_applies_the_updates_of_an_array_in_order_and_then_serves_requests(
    version: int,
) -> None:
    seen: list[Any] = []

    async def take(params: Any) -> None:
        await asyncio.sleep(0)
        seen.append(params.update.content.text)

    async def count(params: Any, request: RequestContext) -> Any:
        return {"outcome": {"outcome": "cancelled"}, "_meta": {"seen": len(seen)}}

    permission: dict[str, Any] = {
        "sessionId": "s",
        "title": "t",
        "toolCall": {"toolCallId": "c"},
        "subject": {"type": "tool_call", "toolCall": {"toolCallId": "c"}},
        "options": [{"optionId": "o", "name": "n", "kind": "allow_once"}],
    }
    async with connected(
        version,
        "client",
        {"session/request_permission": count},
        {"session/update": take},
    ) as (_, raw):
        send(
            raw,
            *(update(version, str(number)) for number in range(50)),
            call("p", "session/request_permission", permission),
            update(version, "50"),
        )
        [reply] = await raw.next()
        assert reply["result"]["_meta"] == {"seen": 50}
        await raw.is_alive()
    assert seen == [str(number) for number in range(51)]


@requirement("V2-BATCH-09")
@on_both_sides
async def test_an_array_of_answers_answers_all_that_was_asked(version: int, role: Role) -> None:
    async with connected(version, role) as (peer, raw):
        calls = asking(peer, 3)
        ids = [(await raw.next())["id"] for _ in calls]
        error = {"code": -32603, "message": "no"}
        send(
            raw,
            {"jsonrpc": "2.0", "id": ids[2], "result": {"r": 2}},
            {"jsonrpc": "2.0", "id": ids[1], "error": error},
            {"jsonrpc": "2.0", "id": ids[0], "result": {"r": 0}},
            {"jsonrpc": "2.0", "id": 999, "result": {}},
        )
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert (outcomes[0], outcomes[2]) == ({"r": 0}, {"r": 2})
        assert str(outcomes[1]) == "_ask: no (-32603)"
        await raw.is_alive()


@requirement("V2-BATCH-09")
@on_both_sides
async def test_calls_and_answers_in_one_array_are_each_taken_for_what_they_are(
    version: int, role: Role
) -> None:
    async with connected(version, role) as (peer, raw):
        [ours] = asking(peer, 1)
        id = (await raw.next())["id"]
        send(raw, call(id, ECHO, {"a": 1}), {"jsonrpc": "2.0", "id": id, "result": {"r": 1}})
        assert await ours == {"r": 1}
        assert await raw.next() == [{"jsonrpc": "2.0", "id": id, "result": {"a": 1}}]


@requirement("V2-BATCH-10")
@on_both_sides
async def test_a_request_in_an_array_may_ask_back_before_the_array_is_answered(
    version: int, role: Role
) -> None:
    async def ask_back(params: Any, request: RequestContext) -> Any:
        [message] = asking(request.peer, 1)
        return await message

    async with connected(version, role, {"_back": ask_back}) as (_, raw):
        send(raw, call(1, "_back"), call(2))
        question = await raw.next()
        assert question["method"] == "_ask"
        raw.message(id=question["id"], result={"r": 1})
        replies = {reply["id"]: reply["result"] for reply in await raw.next()}
    assert replies == {1: {"r": 1}, 2: None}
