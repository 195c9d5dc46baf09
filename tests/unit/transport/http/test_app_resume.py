"""Streams that resume, and messages that are sent again: what two Parley peers negotiate."""

from __future__ import annotations

import asyncio

import pytest

from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits

from .asgi_client import Client, client_of
from .manual_clock import ManualClock, settle
from .scripted_agent import ScriptedAgent, request, update_text


async def _negotiate(client: Client) -> None:
    response = await client.initialize(parley_resume="1")
    assert response.headers["parley-resume"] == "1; grace=60"


@pytest.mark.parametrize("value", ["2", "yes", "1x"])
async def test_another_version_of_the_negotiation_is_none(value: str) -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        response = await client.initialize(parley_resume=value)
        assert "parley-resume" not in response.headers


@pytest.mark.requirement("SAFE-LIVE-05")
async def test_a_stream_that_is_cut_at_any_event_continues_exactly_there() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        stream = await client.stream("s")
        seen: list[str] = []
        for number in range(50):
            host.last.update("s", f"{number} a")
            host.last.update("s", f"{number} b")
            host.last.update("other", "does not matter")
            if number % 3 == 2:
                await settle()  # both were sent, the second is lost on the way
            event = await stream.event()
            seen.append(update_text(event.data))
            stream.disconnect()
            await stream.task
            stream = await client.stream("s", after=event.id)
            event = await stream.event()
            seen.append(update_text(event.data))
        assert seen == [f"{number} {each}" for number in range(50) for each in "ab"]
        host.last.update("s", "the end")
        assert update_text((await stream.event()).data) == "the end"


@pytest.mark.requirement("SAFE-LIVE-05")
async def test_a_cursor_of_0_continues_a_stream_of_which_nothing_was_seen() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        stream = await client.stream()
        host.last.send({"method": "_a"})
        await settle()
        stream = await client.stream(after=0)
        assert (await stream.event()).data["method"] == "_a"


@pytest.mark.requirement("SAFE-LIVE-05")
async def test_a_reader_with_a_cursor_takes_over_a_stream_that_is_open_on_one_side() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        old = await client.stream("s")
        host.last.update("s", "a")
        cursor = (await old.event()).id
        old.reads.clear()  # the network is dead, and nobody knows
        host.last.update("s", "b")
        await settle()
        host.last.update("s", "c")
        assert (await client.refused("s")).status == 409
        new = await client.stream("s", after=cursor)
        assert [update_text((await new.event()).data) for _ in range(2)] == ["b", "c"]
        old.reads.set()
        await old.task
        host.last.update("s", "d")
        assert update_text((await new.event()).data) == "d"
        newer = await client.stream("s", after=cursor)
        await new.ended()
        assert [update_text((await newer.event()).data) for _ in range(3)] == ["b", "c", "d"]


@pytest.mark.requirement("SAFE-LIVE-05")
async def test_a_cursor_that_is_too_old_gets_410_and_says_what_to_do() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(log_bytes=2000))) as client:
        await _negotiate(client)
        stream = await client.stream("s")
        host.last.send({"method": "_quiet"})
        numbers: list[int] = []
        for number in range(20):
            host.last.update("s", str(number))
            numbers.append((await stream.event()).id)
        last = numbers[-1]
        response = await client.refused("s", after=2)
        assert (response.status, response.code) == (410, "too_old")
        assert "resume the session" in response.json["error"]["message"]
        newer = await client.stream("s", after=last - 1)
        assert (await newer.event()).id == last
        await clock.advance(301)
        assert (await client.refused("s", after=last - 1)).status == 410
        await client.stream("s", after=last)  # nothing is lacking


@pytest.mark.parametrize(("cursor", "status"), [("9", 400), ("x", 400), ("-1", 400), ("1e3", 400)])
async def test_a_cursor_that_was_never_given_gets_400(cursor: str, status: int) -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await _negotiate(client)
        fields = {"accept": "text/event-stream", "last-event-id": cursor}
        assert (await client.request("GET", fields)).status == status


@pytest.mark.requirement("TR-HTTP-28")
async def test_a_plain_peer_gets_nothing_again() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        stream = await client.stream("s")
        host.last.update("s", "a")
        await settle()
        stream.disconnect()
        await stream.task
        assert (await client.refused("s", after=0)).status == 410
        host.last.update("s", "b")
        assert update_text((await (await client.stream("s")).event()).data) == "b"


async def test_a_negotiated_connection_lives_for_its_grace_without_a_stream() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    app = HttpApp(host, clock=clock, limits=AppLimits(grace=60, idle=5))
    async with client_of(app) as client:
        await _negotiate(client)
        stream = await client.stream("s")
        stream.disconnect()
        await stream.task
        host.last.update("s", "meanwhile")
        await clock.advance(59)
        stream = await client.stream("s", after=0)
        assert update_text((await stream.event()).data) == "meanwhile"
        stream.disconnect()
        await stream.task
        await clock.advance(60)
        assert (await client.refused("s", after=1)).status == 404


@pytest.mark.requirement("TR-HTTP-17")
async def test_a_negotiated_peer_learns_what_a_response_must_not_overtake() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        own = await client.stream()
        posts = [
            "session/load",
            "session/resume",
            "session/fork",
            "session/close",
            "session/prompt",
        ]
        for number, method in enumerate(posts, 1):
            await client.post(request(number, method, "s"), "s", parley_message=str(number))
            host.last.update("s", "replayed")
            host.last.respond(number, {"sessionId": "t"} if "fork" in method else {})
        host.last.send(request("ask", "session/request_permission", "s"))
        host.last.send({"method": "$/cancel_request", "params": {"requestId": "ask"}})
        host.last.send({"method": "_all"})
        events = [await own.event() for _ in range(6)]
        assert [event.after for event in events] == ["1 s", "3 s", "5 s", "7 s", "11 s", None]
        assert [event.id for event in events] == [2, 4, 6, 8, 12, 13]
        stream = await client.stream("s")
        assert [(await stream.event()).id for _ in range(7)] == [1, 3, 5, 7, 9, 10, 11]


async def test_numbered_messages_are_delivered_in_their_order() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        posts = [
            client.begin_post(request(number, "session/list"), parley_message=str(number))
            for number in (3, 2, 4, 1)
        ]
        assert [(await post.response()).status for post in posts] == [202] * 4
        assert [(await host.last.next())["id"] for _ in range(4)] == [1, 2, 3, 4]


async def test_a_message_that_is_sent_again_runs_once() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        for number in (1, 1, 2, 1, 2):
            message = request(number, "session/new")
            assert (await client.post(message, parley_message=str(number))).status == 202
        early = [client.begin_post(request(4, "session/new"), parley_message="4") for _ in range(2)]
        await settle()
        early[0].disconnect()
        await client.post(request(3, "session/new"), parley_message="3")
        assert [(await host.last.next())["id"] for _ in range(4)] == [1, 2, 3, 4]
        assert (await early[1].response()).status == 202
        assert host.last.inbox.empty()


async def test_a_gap_is_waited_for_and_then_refused_for_the_moment() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(gap=10))) as client:
        await _negotiate(client)
        post = client.begin_post(request(2, "session/list"), parley_message="2")
        await clock.advance(10)
        response = await post.response()
        assert (response.status, response.code) == (409, "gap")
        assert "Message 1" in response.json["error"]["message"]
        for number in (1, 2):
            message = request(number, "session/list")
            assert (await client.post(message, parley_message=str(number))).status == 202
            assert (await host.last.next())["id"] == number


async def test_a_message_that_is_refused_for_what_it_is_leaves_no_gap() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        assert (await client.post(b"[]", parley_message="2")).status == 501
        assert (await client.post(b"{", parley_message="1")).status == 400
        assert (await client.post(request(3, "session/list"), parley_message="3")).status == 202
        assert (await host.last.next())["id"] == 3


async def test_a_message_without_a_number_or_far_ahead_is_refused() -> None:
    limits = AppLimits(messages=4)
    async with client_of(HttpApp(ScriptedAgent(), limits=limits)) as client:
        await _negotiate(client)
        responses = [
            await client.post(request(1, "session/list")),
            await client.post(request(1, "session/list"), parley_message="x"),
            await client.post(request(1, "session/list"), parley_message="5"),
        ]
        assert [each.code for each in responses] == ["no_number", "bad_number", "too_far_ahead"]


async def test_many_messages_at_once_stay_in_order_with_an_agent_that_pauses() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await _negotiate(client)
        posts = [
            client.begin_post(request(number, "session/list"), parley_message=str(number))
            for number in range(1, 101)
        ]
        host.last.transport.pause_reading()
        await settle()
        assert host.last.inbox.empty()
        host.last.transport.resume_reading()
        assert {(await post.response()).status for post in posts} == {202}
        ids = [await asyncio.wait_for(host.last.next(), 300) for _ in range(100)]
        assert [each["id"] for each in ids] == list(range(1, 101))
