"""The limit on open sessions per principal, over all of its connections."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.responses import HttpError
from parley.transport.http._app.websocket_sessions import WebSocketSessions

from .asgi_client import client_of
from .manual_clock import settle
from .scripted_agent import AgentConnection, ScriptedAgent, request
from .ws_client import WebSocket

TOO_MANY = (-32005, "You have reached your limit of 2 open sessions; close one")


async def _ask(socket: WebSocket, served: AgentConnection, message: Any, result: Any) -> None:
    """Send a request, and respond to it as the agent."""
    socket.send(message)
    assert (await served.next())["id"] == message["id"]
    served.respond(message["id"], result)
    assert (await socket.message())["id"] == message["id"]


async def _refusal(socket: WebSocket, message: Any) -> tuple[int, str]:
    socket.send(message)
    response = await socket.message()
    assert response["id"] == message["id"]
    return response["error"]["code"], response["error"]["message"]


@pytest.mark.requirement("SAFE-IN-08")
async def test_sessions_are_counted_over_sockets_and_streams_together() -> None:
    host = ScriptedAgent()
    access = Access({"a": "ada", "b": "bob"})
    app = HttpApp(host, access=access, limits=AppLimits(sessions_per_principal=2))
    async with client_of(app, authorization="Bearer a") as ada:
        socket = await WebSocket.open(ada)
        await settle()
        served = host.last
        await _ask(socket, served, request(1, "session/new"), {"sessionId": "a"})
        await ada.initialize()
        await ada.post(request(1, "session/new"))
        host.last.respond(1, {"sessionId": "b"})
        assert await _refusal(socket, request(2, "session/new")) == TOO_MANY
        assert await _refusal(socket, request(3, "session/load", "c")) == TOO_MANY
        assert await _refusal(socket, request(4, "session/fork", "a")) == TOO_MANY
        for message in (request(2, "session/new"), request(3, "session/fork", "b")):
            response = await ada.post(message, "b" if "fork" in message["method"] else "")
            assert (response.status, response.code) == (429, "too_many_sessions")
        await _ask(socket, served, request(5, "session/load", "a"), {})  # it is open already
        async with client_of(app, authorization="Bearer b") as bob:
            his = await WebSocket.open(bob)
            await settle()
            await _ask(his, host.last, request(1, "session/new"), {"sessionId": "x"})
            his.disconnect(1000)
            await his.task
        await _ask(socket, served, request(6, "session/close", "a"), {})
        await _ask(socket, served, request(7, "session/fork", "b"), {"sessionId": "c"})
        assert await _refusal(socket, request(8, "session/new")) == TOO_MANY
        socket.disconnect(1000)
        await socket.task
        assert (await ada.post(request(9, "session/new"))).status == 202


def counted(limit: int) -> WebSocketSessions:
    def check() -> None:
        if len(sessions) >= limit:
            raise HttpError(429, "too_many_sessions", "too many")

    sessions = WebSocketSessions(check)
    return sessions


def _frame(message: Any) -> bytes:
    return json.dumps(message).encode()


def _respond(id: int, **response: Any) -> bytes:
    return _frame({"jsonrpc": "2.0", "id": id, **response})


def test_a_session_that_is_being_opened_counts_until_that_fails() -> None:
    sessions = counted(1)
    new, other = _frame(request(1, "session/new")), _frame(request(2, "session/new"))
    assert sessions.inbound(new) == ([new], [])
    taken, (refusal,) = sessions.inbound(other)
    assert taken == []
    assert json.loads(refusal)["error"] == {"code": -32005, "message": "too many"}
    sessions.outbound(_respond(1, error={"code": 1, "message": "no"}))
    assert sessions.inbound(other) == ([other], [])
    sessions.outbound(_respond(2, result={"sessionId": "s"}))
    assert len(sessions) == 1


def test_nothing_but_the_method_and_the_session_counts() -> None:
    sessions = counted(1)
    hidden = b'{"jsonrpc":"2.0","id":1,"method":"session\\/new","params":{"_meta":{"id":7}}}'
    assert sessions.inbound(hidden) == ([hidden], [])
    assert len(sessions) == 1
    for harmless in (
        _frame({"jsonrpc": "2.0", "method": "session/new"}),
        _frame(request(2, "session/prompt", "s", text="session/new")),
        _respond(3, result={"sessionId": "session/new"}),
        b"no JSON",
    ):
        assert sessions.inbound(harmless) == ([harmless], [])
    sessions.outbound(_respond(9, result={"sessionId": "of no request"}))
    sessions.outbound(_frame({"jsonrpc": "2.0", "id": 1, "method": "a/question"}))
    assert len(sessions) == 1


def test_the_same_id_twice_is_two_sessions() -> None:
    sessions = counted(3)
    for _ in range(2):
        sessions.inbound(_frame(request(1, "session/new")))
    for name in "ab":
        sessions.outbound(_respond(1, result={"sessionId": name}))
    assert len(sessions) == 2


def test_what_is_too_much_in_an_array_is_taken_out_of_it() -> None:
    sessions = counted(1)
    both = [request(1, "session/new"), request(2, "session/new"), request(3, "session/list")]
    taken, refused = sessions.inbound(_frame(both))
    assert [json.loads(each)["id"] for each in taken] == [1, 3]
    assert [json.loads(each)["id"] for each in refused] == [2]
    responses = [{"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "a"}}]
    sessions.outbound(_frame(responses))
    whole = _frame([request(4, "session/close", "a")])
    assert sessions.inbound(whole) == ([whole], [])
    sessions.outbound(_frame([{"jsonrpc": "2.0", "id": 4, "result": {}}]))
    assert len(sessions) == 0
    assert sessions.inbound(b"[1,") == ([b"[1,"], [])
