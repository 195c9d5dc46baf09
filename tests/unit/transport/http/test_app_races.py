"""Two things in one turn of the event loop."""

from __future__ import annotations

import json
from contextvars import ContextVar

from parley.transport._base import Transport
from parley.transport.http._app.app import HttpApp

from .asgi_client import EVENTS, client_of
from .manual_clock import settle
from .scripted_agent import ScriptedAgent, request, update_text
from .ws_client import WebSocket


async def test_a_message_that_is_sent_again_while_it_arrives_runs_once() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize(parley_resume="1")
        fields = {"content-type": "application/json", "parley-message": "1"}
        posts = [client.begin("POST", fields, body=None) for _ in range(2)]
        await settle()
        for post in posts:
            post.give(json.dumps(request(1, "session/new")).encode(), more=False)
        assert [(await post.response()).status for post in posts] == [202, 202]
        assert (await host.last.next())["id"] == 1
        assert host.last.inbox.empty()


async def test_a_message_does_not_overtake_those_that_waited() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        transport = host.last.transport
        transport.pause_reading()
        first = client.begin_post(request(1, "session/list"))
        await settle()
        transport.resume_reading()
        assert transport.deliver(json.dumps(request(2, "session/list")).encode()) is not None
        assert [(await host.last.next())["id"] for _ in range(2)] == [1, 2]
        assert (await first.response()).status == 202


async def test_what_comes_on_an_old_socket_after_the_new_one_is_not_counted() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        old = await WebSocket.open(client, {"parley-resume": "1"})
        await settle()
        fields = {"acp-connection-id": old.headers["acp-connection-id"]}
        new = WebSocket(client, {**fields, "parley-resume": "1; received=0"})
        old.send(request(1, "session/list"))  # the new one is told that this has not come
        accepted = dict((await new.sent())["headers"])
        assert accepted[b"parley-resume"] == b"1; received=0"
        await old.task
        new.send(request(1, "session/list"))
        assert (await host.last.next())["id"] == 1
        await settle()
        assert host.last.inbox.empty()
        new.disconnect(1000)
        await new.task


async def test_what_an_old_reader_sends_last_is_not_counted_for_the_new_one() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize(parley_resume="1")
        old = await client.stream("s")
        await settle()
        old.reads.clear()
        host.last.update("s", "a")
        await settle()
        new = client.begin("GET", {**EVENTS, "acp-session-id": "s", "last-event-id": "0"})
        old.reads.set()
        assert (await new.head())[0] == 200
        assert update_text((await new.event()).data) == "a"
        host.last.update("s", "b")
        assert update_text((await new.event()).data) == "b"
        await old.task
        await settle()
        assert host.last.transport.sink.sessions["s"].unsent_bytes == 0


async def test_a_reader_that_takes_over_does_not_pay_for_the_old_one() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize(parley_resume="1")
        old = await client.stream("s")
        host.last.update("s", "a")
        cursor = (await old.event()).id
        await settle()
        old.reads.clear()
        host.last.update("s", "b")
        await settle()
        new = await client.stream("s", after=cursor + 1)  # it had come through after all
        await settle()
        assert host.last.transport.sink.sessions["s"].unsent_bytes == 0
        host.last.update("s", "c")
        assert update_text((await new.event()).data) == "c"


async def test_nothing_of_a_request_shows_in_the_context_of_the_agent() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nothing")
    seen: list[str] = []

    class Looking(ScriptedAgent):
        async def serve(self, transport: Transport, /) -> None:
            seen.append(variable.get())
            await super().serve(transport)

    async with client_of(HttpApp(Looking())) as client:
        variable.set("a secret of the request")
        await client.initialize()
        assert seen == ["nothing"]
