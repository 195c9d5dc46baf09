"""The bridge's endpoint over HTTP, as a client without any MCP library finds it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec
import pytest
from msgspec import Raw

from parley.mcp import _bridge_http

from .bridged_provider import BridgedProvider, bridged_provider

HANDSHAKE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


def call(tool: str, id: Any = 1, token: Any = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    params = {"name": tool, "arguments": arguments, **meta}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


class Http:
    """A client of one endpoint."""

    def __init__(self, client: httpx2.AsyncClient, url: str, desk: BridgedProvider) -> None:
        self.client = client
        self.url = url
        self.desk = desk

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        return await self.client.post(self.url, json=message, headers=headers)

    async def session(self) -> str:
        """Shake hands and return the session."""
        answer = await self.post(HANDSHAKE)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["result"]["serverInfo"]["name"] == "desk"
        id: str = answer.headers["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self.post(ready, **{"mcp-session-id": id})).status_code == 202
        return id


@asynccontextmanager
async def opened() -> AsyncGenerator[Http]:
    async with bridged_provider("http") as desk:
        declared = await desk.declare()
        headers = {each["name"]: each["value"] for each in declared["headers"]}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=300) as client:
            yield Http(client, declared["url"], desk)


def events(text: str) -> list[Any]:
    lines = text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def test_an_answer_alone_is_json() -> None:
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        answer = await http.post(call("add", a=1, b=2), **session)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == 1
    assert answer.json()["result"]["structuredContent"] == {"result": 3}


async def test_an_answer_with_something_before_it_is_a_stream() -> None:
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        answer = await http.post(call("count", token="t", to=2), **session)
    assert answer.headers["content-type"] == "text/event-stream"
    first, second, last = events(answer.text)
    assert [first["params"]["progress"], second["params"]["progress"]] == [1, 2]
    assert last["id"] == 1


async def test_a_client_that_waits_hears_that_we_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened() as http:
        headers = {"mcp-session-id": await http.session()}
        monkeypatch.setattr(_bridge_http, "_KEEP_ALIVE_SECONDS", 0.01)
        waiting = http.client.stream("POST", http.url, json=call("wait"), headers=headers)
        async with waiting as answer:
            assert answer.status_code == 200
            async for line in answer.aiter_lines():
                assert line.startswith(":")
                break


async def test_who_goes_before_the_answer_has_cancelled() -> None:
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        asking = asyncio.create_task(http.post(call("wait"), **session))
        await http.desk.is_waiting.wait()
        asking.cancel()
        await http.desk.was_cancelled.wait()
        assert (await http.post(call("add", a=1, b=1), **session)).status_code == 200


async def test_two_requests_of_one_id_are_not_taken_at_once() -> None:
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        asking = asyncio.create_task(http.post(call("wait", 5), **session))
        await http.desk.is_waiting.wait()
        assert (await http.post(call("add", 5, a=1, b=1), **session)).status_code == 400
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        assert (await http.post(cancel, **session)).status_code == 202
        assert (await asking).json()["error"]["code"] == -32800


async def test_what_is_said_about_no_request_is_heard_by_who_listens() -> None:
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        connection = next(params for _, params in http.desk.said if "connectionId" in params)
        note = {"connectionId": connection["connectionId"], "method": "notifications/changed"}
        http.desk.bridge.channels.notified(Raw(msgspec.json.encode(note)))
        async with http.client.stream("GET", http.url, headers=session) as heard:
            assert heard.headers["content-type"] == "text/event-stream"
            again = await http.client.get(http.url, headers=session)
            assert again.status_code == 409, "one listens already"
            lines = heard.aiter_lines()
            async for line in lines:
                if line.startswith("data: "):
                    assert json.loads(line[6:])["method"] == "notifications/changed"
                    break
            await http.client.delete(http.url, headers=session)
            assert [line async for line in lines if line] == []


async def test_a_session_that_was_ended_is_not_there() -> None:
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        assert (await http.client.delete(http.url, headers=session)).status_code == 204
        assert http.desk.methods[-1] == "mcp/disconnect"
        assert (await http.client.delete(http.url, headers=session)).status_code == 404
        assert (await http.client.get(http.url, headers=session)).status_code == 404
        assert (await http.post(call("add", a=1, b=1), **session)).status_code == 404


async def test_a_session_of_one_server_is_none_of_another() -> None:
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        other = await http.desk.declare(serverId=http.desk.provider.add(http.desk._server()))
        token = {"Authorization": other["headers"][0]["value"]}
        answer = await http.client.post(
            other["url"], json=call("add", a=1, b=1), headers={**session, **token}
        )
        assert answer.status_code == 404
        assert (await http.post(call("add", a=1, b=1), **session)).status_code == 200


async def test_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bridge_http, "_MAX_SESSIONS", 2)
    async with opened() as http:
        sessions = [{"mcp-session-id": await http.session()} for _ in range(3)]
        found = [(await http.post(call("add", a=1, b=1), **each)).status_code for each in sessions]
        assert http.desk.methods.count("mcp/disconnect") == 1
    assert found == [404, 200, 200]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'[{"jsonrpc":"2.0"}]', b"5"])
async def test_what_is_no_message_is_refused(body: bytes) -> None:
    async with opened() as http:
        kind = {"content-type": "application/json"}
        answer = await http.client.post(http.url, content=body, headers=kind)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == -32700
        assert http.desk.said == []


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
async def test_without_a_session_there_is_only_post(method: str) -> None:
    async with opened() as http:
        assert (await http.client.request(method, http.url)).status_code == 405


async def test_a_flood_of_notifications_is_bounded_and_loses_no_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_bridge_http, "MAX_WAITING", 10)
    async with opened() as http:
        session = {"mcp-session-id": await http.session()}
        way = next(params for _, params in http.desk.said if "connectionId" in params)
        note = {"connectionId": way["connectionId"], "method": "notifications/flood"}
        for _ in range(50):
            http.desk.bridge.channels.notified(Raw(msgspec.json.encode(note)))
        answer = await http.post(call("add", a=1, b=1), **session)
        assert answer.json()["result"]["structuredContent"] == {"result": 2}
    assert "does not read" in caplog.text


async def _status(http: Http, headers: list[tuple[str, str]]) -> int:
    """Return what a request with these headers, and no others of ours, is answered."""
    async with httpx2.AsyncClient(trust_env=False, timeout=300) as client:
        answer = await client.post(http.url, content=json.dumps(HANDSHAKE), headers=headers)
    return answer.status_code


@pytest.mark.requirement("SAFE-IN-11")
async def test_only_one_bearer_token_lets_anybody_in() -> None:
    async with opened() as http:
        right = http.client.headers["authorization"]
        token = right.removeprefix("Bearer ")
        json_body = ("content-type", "application/json")
        for wrong in (token, f"Basic {token}", f"Bearer{token}", "Bearer", "Bearer x", f"{right}x"):
            assert await _status(http, [json_body, ("authorization", wrong)]) == 401, wrong
        assert await _status(http, [json_body]) == 401
        for second in (right, "Bearer x"):
            twice = [("authorization", right), ("authorization", second)]
            assert await _status(http, [json_body, *twice]) == 400, second
        assert await _status(http, [json_body, ("authorization", right)]) == 200
        assert await _status(http, [json_body, ("authorization", f"bearer  {token}")]) == 200


async def test_only_json_is_taken() -> None:
    async with opened() as http:
        right = ("authorization", http.client.headers["authorization"])
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp"):
            assert await _status(http, [right, ("content-type", kind)]) == 415, kind
        assert await _status(http, [right]) == 415
        twice = [("content-type", "text/plain"), ("content-type", "application/json")]
        assert await _status(http, [right, *twice]) == 415
        spelled = ("content-type", "Application/JSON; charset=utf-8")
        assert await _status(http, [right, spelled]) == 200
