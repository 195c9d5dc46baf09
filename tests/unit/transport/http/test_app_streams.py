"""GET: which stream carries what, who reads it, and what happens when nobody does."""

from __future__ import annotations

import json

import pytest

from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits

from .asgi_client import Exchange, client_of
from .manual_clock import ManualClock, settle
from .scripted_agent import ScriptedAgent, request, update_text


@pytest.mark.requirement("TR-HTTP-08")
@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("text/event-stream", 200),
        ("application/json, text/event-stream;q=0.5", 200),
        ("text/*", 200),
        ("*/*", 200),
        ("Text/Event-Stream", 200),
        ("application/json", 406),
        ("text/event-stream;q=0", 406),
        ("text/event-stream; q=0.00", 406),
        ("", 406),
    ],
)
async def test_a_stream_is_for_those_who_accept_events(accept: str, status: int) -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await client.initialize()
        exchange = client.begin("GET", {"accept": accept})
        found, headers = await exchange.head()
        assert found == status
        is_stream = headers["content-type"] == "text/event-stream"
        assert is_stream == (status == 200)
        assert ("no-store" in headers.get("cache-control", "")) == is_stream


@pytest.mark.requirement("TR-HTTP-12")
async def test_a_stream_of_a_session_that_nobody_knows_gets_404() -> None:
    async def knows(principal: str, session: str) -> bool:
        return (principal, session) == ("", "stored")

    host = ScriptedAgent()
    async with client_of(HttpApp(host, knows_session=knows)) as client:
        await client.initialize()
        response = await client.refused("random")
        assert (response.status, response.code) == (404, "unknown_session")
        await client.stream("stored")
        await client.post(request(1, "session/new"))
        host.last.respond(1, {"sessionId": "new"})
        await client.stream("new")


@pytest.mark.requirement("TR-HTTP-18")
async def test_a_stream_may_be_opened_for_a_session_that_is_loaded_next() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(claim=30))) as client:
        await client.initialize()
        loaded, never = await client.stream("stored"), await client.stream("random")
        await client.post(request(1, "session/load", "stored"), "stored")
        host.last.update("stored", "replayed")
        assert update_text((await loaded.event()).data) == "replayed"
        await clock.advance(30)
        await never.ended()
        host.last.update("stored", "later")
        assert update_text((await loaded.event()).data) == "later"


@pytest.mark.requirement("TR-HTTP-15", "TR-HTTP-16", "TR-HTTP-24")
async def test_each_stream_carries_what_belongs_to_it_and_nothing_else() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        own = await client.stream()
        sessions: dict[str, Exchange] = {}
        for number, session in enumerate(("s", "t"), 1):
            await client.post(request(number, "session/new"))
            host.last.respond(number, {"sessionId": session})
            assert (await own.event()).data["result"] == {"sessionId": session}
            sessions[session] = await client.stream(session)
        assert len(host.served) == 1
        for session in sessions:
            await client.post(request(f"p-{session}", "session/prompt", session), session)
            host.last.update(session, f"for {session}")
            permission = request("ask", "session/request_permission", session)
            host.last.send(permission)
            host.last.respond(f"p-{session}", {"stopReason": "end_turn"})
        host.last.send({"method": "_for/all"})
        for session, stream in sessions.items():
            update, message, response = [(await stream.event()).data for _ in range(3)]
            assert update_text(update) == f"for {session}"
            assert message["method"] == "session/request_permission"
            assert response["id"] == f"p-{session}"
        assert (await own.event()).data["method"] == "_for/all"
        await client.request("DELETE")
        for stream in (own, *sessions.values()):
            await stream.ended()


@pytest.mark.requirement("TR-HTTP-36")
async def test_in_version_2_resume_responds_like_load_and_a_prompt_on_its_session() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        own, stream = await client.stream(), await client.stream("s")
        await client.post(request(1, "session/resume", "s"), "s")
        host.last.respond(1, {})
        assert (await own.event()).data["id"] == 1
        await client.post(request(2, "session/prompt", "s"), "s")
        host.last.respond(2, {"messageId": "m"})
        state = {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle"}}
        host.last.send({"method": "session/update", "params": state})
        assert (await stream.event()).data["id"] == 2
        assert (await stream.event()).data["params"] == state


@pytest.mark.requirement("TR-HTTP-17")
async def test_a_response_to_a_load_does_not_overtake_what_was_replayed_for_it() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(hold=1))) as client:
        await client.initialize()
        own, stream = await client.stream(), await client.stream("s")
        await settle()
        stream.reads.clear()
        for id in (1, 2):
            await client.post(request(id, "session/load", "s"), "s")
            host.last.update("s", f"replayed {id}")
            host.last.respond(id, {})
        host.last.send({"method": "_other"})
        assert (await own.event()).data["method"] == "_other"
        stream.reads.set()
        assert update_text((await stream.event()).data) == "replayed 1"
        assert [(await own.event()).data["id"] for _ in range(2)] == [1, 2]
        stream.reads.clear()
        await client.post(request(3, "session/load", "s"), "s")
        host.last.update("s", "replayed 3")
        host.last.respond(3, {})
        await clock.advance(1)  # no longer: the client may read nothing on purpose
        assert (await own.event()).data["id"] == 3


@pytest.mark.requirement("TR-HTTP-19")
async def test_what_comes_before_its_stream_is_kept() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        await client.post(request(1, "session/new"))
        host.last.respond(1, {"sessionId": "s"})
        host.last.update("s", "early")
        assert (await (await client.stream()).event()).data["id"] == 1
        assert update_text((await (await client.stream("s")).event()).data) == "early"


@pytest.mark.requirement("TR-HTTP-20")
async def test_the_client_responds_to_a_request_by_post_with_the_session_of_the_request() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        host.last.send(request("ask", "session/request_permission", "s"))
        reply = {"jsonrpc": "2.0", "id": "ask", "result": {"outcome": {"outcome": "cancelled"}}}
        other = await client.post(reply, "t")
        assert (other.status, other.code) == (400, "other_session")
        assert host.last.inbox.empty()
        assert (await client.post(reply, "s")).status == 202
        assert await host.last.next() == reply
        host.last.send(request("more", "session/request_permission", "s"))
        assert (await client.post({**reply, "id": "more"})).status == 202  # some never say it
        assert (await host.last.next())["id"] == "more"
        host.last.send({"id": "wide", "method": "_all"})
        assert (await client.post({**reply, "id": "wide"})).status == 202


@pytest.mark.requirement("TR-HTTP-29")
async def test_one_event_is_one_message_on_one_line() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        stream = await client.stream()
        pretty = json.dumps({"jsonrpc": "2.0", "method": "_a", "params": {"x": "ü\n\r"}}, indent=1)
        host.last.transport.send(pretty.replace("\n", "\r\n").encode())
        event = await stream.event()
        assert event.data["params"] == {"x": "ü\n\r"}
        assert b"".join(stream.pieces).count(b"\ndata:") == 1
        assert b"\r" not in b"".join(stream.pieces)


@pytest.mark.requirement("TR-HTTP-30")
async def test_cancel_request_belongs_to_the_connection_both_ways() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        own, stream = await client.stream(), await client.stream("s")
        cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}}
        assert (await client.post(cancel)).status == 202
        assert await host.last.next() == cancel
        host.last.send(request(7, "session/request_permission", "s"))
        host.last.send({"method": "$/cancel_request", "params": {"requestId": 7}})
        assert (await stream.event()).data["id"] == 7
        assert (await own.event()).data["method"] == "$/cancel_request"


@pytest.mark.requirement("TR-HTTP-31")
async def test_a_second_reader_of_a_stream_gets_409_until_the_first_has_gone() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        for session in ("", "s"):
            first = await client.stream(session)
            response = await client.refused(session)
            assert (response.status, response.code) == (409, "already_open")
            first.disconnect()
            await first.task
            await client.stream(session)


@pytest.mark.requirement("TR-HTTP-34")
@pytest.mark.parametrize("error", [None, RuntimeError("it is broken")])
async def test_when_the_agent_ends_or_dies_so_do_its_streams_and_its_connection(
    error: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with client_of(app) as client:
        await client.initialize()
        own, stream = await client.stream(), await client.stream("s")
        host.last.update("s", "the last words")
        if error is None:
            host.last.ends.set_result(None)
        else:
            host.last.ends.set_exception(error)
        assert update_text((await stream.event()).data) == "the last words"
        await stream.ended()
        await own.ended()
        assert (await client.post(request(1, "session/new"))).status == 404
        assert len(app.connections) == 0
    assert ("it is broken" in caplog.text) == (error is not None)


@pytest.mark.requirement("TR-HTTP-34")
async def test_an_agent_that_dies_before_its_first_response_gives_502() -> None:
    class Broken:
        async def serve(self, transport: object, /) -> None:
            raise RuntimeError("no")

    async with client_of(HttpApp(Broken())) as client:
        response = await client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize"})
        assert (response.status, response.code) == (502, "agent_ended")


async def test_an_agent_that_cannot_take_a_message_loses_the_connection() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        stream = await client.stream()
        host.last.raises = RuntimeError("no")
        assert (await client.post(request(1, "session/new"))).status == 404
        await stream.ended()


async def test_events_of_one_turn_leave_together_and_large_ones_in_pieces() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        stream = await client.stream("s")
        await settle()
        for number in range(1000):
            host.last.update("s", str(number))
        events = [await stream.event() for _ in range(1000)]
        assert [update_text(event.data) for event in events] == [str(each) for each in range(1000)]
        assert [event.id for event in events] == list(range(1, 1001))
        assert len(stream.pieces) < 20
        assert max(map(len, stream.pieces)) <= 12 * 1024
        host.last.update("s", "x" * 100_000)
        host.last.update("s", "small")
        assert len(update_text((await stream.event()).data)) == 100_000
        assert update_text((await stream.event()).data) == "small"


@pytest.mark.parametrize(("session", "seconds"), [("", 25), ("s", 50)])
async def test_a_silent_stream_says_in_time_that_it_is_there(session: str, seconds: int) -> None:
    host, clock = ScriptedAgent(), ManualClock()

    def say() -> None:
        if session:
            host.last.update(session, "said")
        else:
            host.last.send({"method": "_said"})

    async with client_of(HttpApp(host, clock=clock)) as client:
        await client.initialize()
        stream = await client.stream(session)
        await clock.advance(10)
        say()
        await stream.event()
        opening = stream.comments
        for _ in range(3):
            await clock.advance(seconds)
        say()
        await stream.event()
        assert stream.comments == opening + 3


@pytest.mark.requirement("SAFE-LIVE-05")
async def test_a_stream_whose_client_has_gone_is_noticed_by_sending_too() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock)) as client:
        await client.initialize()
        stream = await client.stream("s")
        stream.is_gone = True  # and nobody tells
        await clock.advance(50)
        await stream.task
        await client.stream("s")


async def test_the_stream_of_a_closed_session_ends_a_while_after_the_response() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(leave=5))) as client:
        await client.initialize()
        own, closed = await client.stream(), await client.stream("s")
        again = await client.stream("t")
        for id, session in enumerate(("s", "t"), 1):
            await client.post(request(id, "session/close", session), session)
            host.last.respond(id, {})
            assert (await own.event()).data["id"] == id
        await clock.advance(4)
        await client.post(request(3, "session/load", "t"), "t")
        await clock.advance(1)
        await closed.ended()
        host.last.update("t", "back")
        assert update_text((await again.event()).data) == "back"


async def test_a_session_that_could_not_be_loaded_is_forgotten() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(leave=5))) as client:
        await client.initialize()
        stream = await client.stream("s")
        await client.post(request(1, "session/load", "s"), "s")
        host.last.send({"id": 1, "error": {"code": -32002, "message": "no"}})
        await clock.advance(5)
        await stream.ended()


@pytest.mark.requirement("TR-HTTP-28")
async def test_a_plain_connection_without_streams_and_requests_ends_after_a_minute() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    app = HttpApp(host, clock=clock)
    async with client_of(app) as client:
        await client.initialize()
        stream = await client.stream()
        await clock.advance(600)
        assert len(app.connections) == 1
        stream.disconnect()
        await stream.task
        await clock.advance(59)
        assert (await client.post(request(1, "session/list"))).status == 202
        await clock.advance(59)
        assert len(app.connections) == 1
        await clock.advance(1)
        assert len(app.connections) == 0
        assert "60 seconds" in str(host.last.lost.result())
