"""Lines: what an MCP client says becomes `mcp/*`, and what comes back finds its way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from parley.errors import (
    ConnectionClosed,
    InvalidParams,
    McpServerUnknown,
    MethodNotFound,
    RequestError,
)
from parley.mcp._channels import McpChannel, McpChannels

Answer = Callable[[str, dict[str, Any]], Any]
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def raw(**params: Any) -> Raw:
    return Raw(msgspec.json.encode(params))


class Ends:
    """A line with both of its ends in the hands of a test."""

    def __init__(self, answer: Answer) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        """What went to the provider."""
        self.heard: asyncio.Queue[tuple[dict[str, Any], Any]] = asyncio.Queue()
        """What the MCP client got, with the request that it is about."""
        self._answer = answer
        self._news = asyncio.Event()
        self.lines = McpChannels(self)
        self.line: McpChannel = self.lines.open("s", self._hear)

    def _hear(self, message: dict[str, Any], about: Any) -> None:
        self.heard.put_nowait((message, about))

    async def request(self, method: str, params: Raw) -> Raw:
        said = msgspec.json.decode(params)
        self.sent.append((method, said))
        self._news.set()
        answer = self._answer(method, said)
        if asyncio.isfuture(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return Raw(msgspec.json.encode(answer))

    async def until_sent(self, number: int) -> None:
        """Wait until the provider was asked so often."""
        while len(self.sent) < number:
            self._news.clear()
            await self._news.wait()

    async def notify(self, method: str, params: Raw) -> None:
        self.sent.append((method, msgspec.json.decode(params)))

    async def ask(self, method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
        """Say something as the MCP client, and return the next message that it gets."""
        self.line.receive({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return (await self.heard.get())[0]


def modern(method: str, params: dict[str, Any]) -> Any:
    if method != "mcp/message" or "serverId" not in params:
        return MethodNotFound()
    return {"result": {"echo": params["method"]}}


def connected(method: str, params: dict[str, Any]) -> Any:
    if method == "mcp/connect":
        return {"connectionId": "c"}
    if "connectionId" not in params:
        return InvalidParams()
    return {"echo": params.get("method")}


async def test_a_request_that_says_everything_is_one_message() -> None:
    ends = Ends(modern)
    assert await ends.ask("tools/list", _meta={"a": 1}) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"echo": "tools/list"},
    }
    ((method, params),) = ends.sent
    assert method == "mcp/message"
    assert params.pop("requestId")
    assert params == {"serverId": "s", "method": "tools/list", "params": {"_meta": {"a": 1}}}


async def test_requests_under_way_have_ids_of_their_own_whatever_the_client_calls_them() -> None:
    waiting: list[asyncio.Future[Any]] = []

    def wait(method: str, params: dict[str, Any]) -> Any:
        waiting.append(asyncio.get_running_loop().create_future())
        return waiting[-1]

    ends = Ends(wait)
    other: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    second = ends.lines.open("s", lambda message, about: other.put_nowait(message))
    for line in (ends.line, second):
        line.receive({"id": 1, "method": "x"})
    await ends.until_sent(2)
    first_id, second_id = (params["requestId"] for _, params in ends.sent)
    assert first_id != second_id
    note = {"serverId": "s", "method": "notifications/progress", "params": {"progress": 1}}
    ends.lines.notified(raw(requestId=second_id, **note))
    assert (await other.get())["method"] == "notifications/progress"
    ends.lines.notified(raw(requestId=second_id, **{**note, "serverId": "of another session"}))
    ends.lines.notified(raw(requestId="nobody's", **note))
    ends.lines.notified(Raw(b"[]"))
    for each in waiting:
        each.set_result({"result": {}})
    assert "result" in (await ends.heard.get())[0]
    assert "result" in await other.get()
    assert ends.heard.empty()
    assert other.empty()


async def test_what_belongs_to_a_subscription_has_the_id_that_the_client_knows() -> None:
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    ends = Ends(lambda method, params: answer)
    ends.line.receive({"id": "listen-1", "method": "subscriptions/listen"})
    await ends.until_sent(1)
    theirs = ends.sent[0][1]["requestId"]
    inner = {"_meta": {SUBSCRIPTION: theirs, "a": 1}}
    ends.lines.notified(raw(serverId="s", requestId=theirs, method="n", params=inner))
    message, about = await ends.heard.get()
    assert about == "listen-1"
    assert message["params"] == {"_meta": {SUBSCRIPTION: "listen-1", "a": 1}}
    answer.set_result({"result": inner})
    assert (await ends.heard.get())[0]["result"] == message["params"]


async def test_an_error_inside_is_the_error_of_the_request() -> None:
    error = {"code": -32050, "message": "no", "data": None, "extra": 1}
    ends = Ends(lambda method, params: {"error": error})
    assert (await ends.ask("x"))["error"] == error


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (McpServerUnknown(), {"code": -33001, "message": "MCP server unknown"}),
        (RequestError("no", {"a": 1}, code=5), {"code": 5, "message": "no", "data": {"a": 1}}),
        (ConnectionClosed("gone"), {"code": -32000, "message": "Connection closed"}),
    ],
)
async def test_a_failure_of_the_way_is_told(raised: Exception, told: dict[str, Any]) -> None:
    ends = Ends(lambda method, params: raised)
    assert (await ends.ask("x"))["error"] == told


@pytest.mark.parametrize("odd", [5, [], {}, {"error": None}])
async def test_an_answer_that_is_none_is_told(odd: Any) -> None:
    ends = Ends(lambda method, params: odd)
    assert (await ends.ask("x"))["error"]["code"] == -32603


async def test_a_provider_of_the_older_form_is_talked_to_by_a_connection() -> None:
    ends = Ends(connected)
    refused = await ends.ask("server/discover")
    assert refused["error"]["code"] == -32601, "the client tries the handshake then"
    assert (await ends.ask("initialize", capabilities={}))["result"] == {"echo": "initialize"}
    ends.line.receive({"method": "notifications/initialized"})
    assert (await ends.ask("tools/list"))["result"] == {"echo": "tools/list"}
    assert [(method, params.get("method")) for method, params in ends.sent] == [
        ("mcp/message", "server/discover"),
        ("mcp/connect", None),
        ("mcp/message", "initialize"),
        ("mcp/message", "notifications/initialized"),
        ("mcp/message", "tools/list"),
    ]
    await ends.line.aclose()
    await ends.line.aclose()
    assert ends.sent[5:] == [("mcp/disconnect", {"connectionId": "c"})]


async def test_a_server_with_a_connection_may_ask_the_client() -> None:
    ends = Ends(connected)
    await ends.ask("initialize")
    asking = asyncio.create_task(ends.lines.requested(raw(connectionId="c", method="roots/list")))
    message, _ = await ends.heard.get()
    assert message["method"] == "roots/list"
    ends.line.receive({"id": message["id"], "result": {"roots": []}})
    ends.line.receive({"id": message["id"], "result": {"roots": ["twice"]}})
    assert msgspec.json.decode(await asking) == {"roots": []}
    asking = asyncio.create_task(ends.lines.requested(raw(connectionId="c", method="roots/list")))
    message, _ = await ends.heard.get()
    ends.line.receive({"id": message["id"], "error": {"code": -32601, "message": "no"}})
    with pytest.raises(MethodNotFound):
        await asking
    with pytest.raises(InvalidParams):
        await ends.lines.requested(raw(connectionId="another", method="roots/list"))


async def test_what_a_server_asks_and_withdraws_is_cancelled_at_the_client() -> None:
    ends = Ends(connected)
    await ends.ask("initialize")
    asking = asyncio.create_task(ends.lines.requested(raw(connectionId="c", method="roots/list")))
    message, _ = await ends.heard.get()
    asking.cancel()
    cancelled, _ = await ends.heard.get()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": message["id"]}


async def test_a_client_that_goes_fails_what_it_was_asked() -> None:
    ends = Ends(connected)
    await ends.ask("initialize")
    asking = asyncio.create_task(ends.lines.requested(raw(connectionId="c", method="roots/list")))
    await ends.heard.get()
    await ends.lines.aclose()
    with pytest.raises(RequestError, match="has gone"):
        await asking


async def test_progress_over_a_connection_is_about_the_request_that_gave_the_token() -> None:
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def slow(method: str, params: dict[str, Any]) -> Any:
        return answer if params.get("method") == "tools/call" else connected(method, params)

    ends = Ends(slow)
    await ends.ask("initialize", id=0)
    ends.line.receive(
        {"id": 7, "method": "tools/call", "params": {"_meta": {"progressToken": "t"}}}
    )
    told = {"progressToken": "t", "progress": 1}
    note = raw(connectionId="c", method="notifications/progress", params=told)
    ends.lines.notified(note)
    assert (await ends.heard.get())[1] == 7
    answer.set_result({})
    await ends.heard.get()
    ends.lines.notified(note)
    assert (await ends.heard.get())[1] is None


async def test_a_request_that_is_cancelled_is_answered_as_such() -> None:
    ends = Ends(lambda method, params: asyncio.get_running_loop().create_future())
    ends.line.receive({"id": 1, "method": "x"})
    await ends.until_sent(1)
    ends.line.receive({"method": "notifications/cancelled", "params": {"requestId": 2}})
    ends.line.receive({"method": "notifications/cancelled"})
    ends.line.receive({"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert (await ends.heard.get())[0]["error"]["code"] == -32800


async def test_a_handshake_is_answered_for_a_provider_without_connections() -> None:
    found: dict[str, Any] = {
        "capabilities": {"tools": {}},
        "instructions": "Be kind",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "3"}},
    }

    def discover(method: str, params: dict[str, Any]) -> Any:
        if method != "mcp/message":
            return MethodNotFound()
        if params["method"] == "tools/call":
            return {"result": {"resultType": "input_required"}}
        return {"result": {**found, "resultType": "complete"}}

    ends = Ends(discover)
    answer = await ends.ask("initialize", protocolVersion="2025-06-18", clientInfo={"name": "me"})
    assert answer["result"] == {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "n", "version": "3"},
        "instructions": "Be kind",
    }
    ends.line.receive({"method": "notifications/initialized"})
    assert (await ends.ask("ping"))["result"] == {}
    listed = await ends.ask("tools/list", cursor="x", _meta={"progressToken": 1})
    assert "resultType" not in listed["result"]
    assert ends.sent[-1][1]["params"] == {
        "cursor": "x",
        "_meta": {
            "progressToken": 1,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "me"},
        },
    }
    assert [method for method, _ in ends.sent].count("mcp/message") == 2
    assert "wants to ask" in (await ends.ask("tools/call"))["error"]["message"]
    other = await Ends(discover).ask("initialize", protocolVersion="from the future")
    assert other["result"]["protocolVersion"] == "2025-11-25"


async def test_two_connections_with_one_id_are_not_taken() -> None:
    ends = Ends(connected)
    await ends.ask("initialize")
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    second = ends.lines.open("s", lambda message, about: heard.put_nowait(message))
    second.receive({"id": 1, "method": "initialize"})
    assert (await heard.get())["error"]["code"] == -32603


async def test_what_is_no_message_is_ignored() -> None:
    ends = Ends(modern)
    odd: list[dict[str, Any]] = [{}, {"id": 1}, {"method": 5, "id": 1}, {"id": [], "result": 1}]
    for message in (*odd, {"method": "note"}):
        ends.line.receive(message)
    assert (await ends.ask("x"))["result"] == {"echo": "x"}
    await ends.line.aclose()
    ends.line.receive({"id": 2, "method": "x"})
    assert len(ends.sent) == 1


@pytest.mark.parametrize("token", [[1], {"a": 1}, None, 1.5])
async def test_progress_with_a_token_that_is_none_passes(token: object) -> None:
    ends = Ends(connected)
    await ends.ask("initialize")
    params = {"progressToken": token, "progress": 1}
    ends.lines.notified(raw(connectionId="c", method="notifications/progress", params=params))
    heard, about = await ends.heard.get()
    assert heard["params"] == params
    assert about is None


async def test_a_request_with_the_id_of_one_under_way_is_refused_and_both_end() -> None:
    cancelled: list[asyncio.Future[Any]] = []

    def answer(method: str, params: dict[str, Any]) -> Any:
        cancelled.append(asyncio.get_running_loop().create_future())
        return cancelled[-1]

    ends = Ends(answer)
    ends.line.receive({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    await ends.until_sent(1)
    refused = await ends.ask("tools/list")
    assert refused["error"]["code"] == -32600
    await ends.line.aclose()
    assert [each.cancelled() for each in cancelled] == [True]


async def test_a_failure_of_the_servers_program_is_answered() -> None:
    ends = Ends(lambda method, params: UnicodeError("half a pair"))
    ends.line.receive({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}})
    answer, about = await ends.heard.get()
    assert about == 1
    assert answer["error"] == {"code": -32603, "message": "Internal error"}
    await ends.line.aclose()
