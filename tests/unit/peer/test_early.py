"""Updates that arrive before the response that names their session."""

from __future__ import annotations

import asyncio

import pytest

from parley.errors import ConnectionClosed, InvalidParams, Overloaded, RemoteProtocolError
from parley.peer import Limits, Peer, RequestContext
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import connected, mode, permission, prompt, text_of

WHERE = v1.NewSessionRequest(cwd="/", mcp_servers=[])


class Handled(list[str]):
    """The updates that were handled, as `session text`."""

    def __init__(self) -> None:
        super().__init__()
        self._grew = asyncio.Event()

    async def update(self, note: v1.SessionNotification) -> None:
        await asyncio.sleep(0)
        self.append(f"{note.session_id} {text_of(note)}")
        self._grew.set()

    async def are(self, *updates: str) -> None:
        """Wait until as many are handled, and see that they are these."""
        while len(self) < len(updates):
            self._grew.clear()
            await self._grew.wait()
        assert self == list(updates)


def opening(peer: Peer) -> asyncio.Task[v1.NewSessionResponse]:
    return asyncio.create_task(peer.request(methods.NEW_SESSION, WHERE))


@pytest.mark.requirement("V2-SDK-05")
async def test_early_updates_are_delivered_before_the_response_that_names_their_session() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        opened = opening(peer)
        question = await remote.receive()
        remote.update("new", "1")
        remote.update("new", "2")
        await remote.wait_until_read()
        assert handled == []

        remote.respond(question, {"sessionId": "new"})
        remote.update("new", "3")
        assert (await opened).session_id == "new"
        assert handled[:2] == ["new 1", "new 2"]
        await handled.are("new 1", "new 2", "new 3")


async def test_on_result_comes_before_the_early_updates_are_handled() -> None:
    steps: list[str] = []

    async with connected(notifications={"session/update": lambda _: steps.append("update")}) as (
        peer,
        remote,
    ):
        call = peer.request(
            methods.NEW_SESSION, WHERE, on_result=lambda result: steps.append(result.session_id)
        )
        opened = asyncio.create_task(call)
        question = await remote.receive()
        remote.update("new", "1")
        remote.respond(question, {"sessionId": "new"})
        await opened
        assert steps == ["new", "update"]


async def test_several_sessions_may_open_at_once() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        first, second = opening(peer), opening(peer)
        questions = [await remote.receive(), await remote.receive()]
        remote.update("two", "1")
        remote.update("one", "1")
        remote.update("two", "2")
        remote.respond(questions[1], {"sessionId": "two"})
        assert (await second).session_id == "two"
        assert handled == ["two 1", "two 2"]

        remote.respond(questions[0], {"sessionId": "one"})
        assert (await first).session_id == "one"
        assert handled == ["two 1", "two 2", "one 1"]


async def test_a_session_that_is_known_does_not_wait_for_another_to_open() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        where = v1.LoadSessionRequest(session_id="old", cwd="/", mcp_servers=[])
        loaded = asyncio.create_task(peer.request(methods.LOAD_SESSION, where))
        load = await remote.receive()
        opened = opening(peer)
        new = await remote.receive()
        remote.update("old", "1")
        remote.respond(load, {})
        await loaded
        assert handled == ["old 1"]

        remote.respond(new, {"sessionId": "new"})
        await opened


async def test_a_session_that_was_closed_is_not_known_any_more() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        call = peer.request(methods.CLOSE_SESSION, v1.CloseSessionRequest(session_id="s"))
        closed = asyncio.create_task(call)
        remote.respond(await remote.receive(), {})
        await closed
        opened = opening(peer)
        question = await remote.receive()
        remote.update("s", "1")
        await remote.wait_until_read()
        assert handled == []

        remote.respond(question, {"sessionId": "s"})
        await opened
        assert handled == ["s 1"]


async def test_what_came_early_is_handled_also_when_the_opening_fails() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        opened = opening(peer)
        question = await remote.receive()
        remote.update("new", "1")
        remote.respond_with_error(question, -32602, "no such directory")
        with pytest.raises(InvalidParams):
            await opened
        await handled.are("new 1")


async def test_what_came_early_is_handled_also_when_the_response_names_no_session() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        opened = opening(peer)
        question = await remote.receive()
        remote.update("new", "1")
        remote.respond(question, {"session": "new"})
        with pytest.raises(RemoteProtocolError, match=r"result\.sessionId"):
            await opened
        await handled.are("new 1")


async def test_what_came_early_is_handled_also_when_nobody_waits_any_more() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        opened = opening(peer)
        question = await remote.receive()
        remote.update("new", "1")
        await remote.wait_until_read()
        opened.cancel()
        assert (await remote.receive())["params"] == {"requestId": question["id"]}
        await handled.are("new 1")


async def test_what_came_early_is_handled_also_when_the_connection_ends() -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}) as (peer, remote):
        opened = opening(peer)
        await remote.receive()
        remote.update("new", "1")
        await remote.transport.aclose()
        with pytest.raises(ConnectionClosed):
            await opened
        await peer.aclose()
        assert handled == ["new 1"]


@pytest.mark.parametrize(
    "limits", [Limits(early_updates=10), Limits(connection_bytes=10 * (512 + 150))]
)
async def test_too_many_early_updates_fail_the_opening_and_none_is_lost(limits: Limits) -> None:
    handled = Handled()

    async with connected(notifications={"session/update": handled.update}, limits=limits) as (
        peer,
        remote,
    ):
        other = asyncio.create_task(peer.request(methods.PROMPT, prompt("known")))
        request = await remote.receive()
        opened, another = opening(peer), opening(peer)
        questions = [await remote.receive(), await remote.receive()]
        for number in range(12):
            remote.update("new", str(number))
        for task in (opened, another):
            with pytest.raises(Overloaded):
                await task
        assert not other.done()
        assert [await remote.receive() for _ in questions] == [
            {
                "jsonrpc": "2.0",
                "method": "$/cancel_request",
                "params": {"requestId": question["id"]},
            }
            for question in questions
        ]
        remote.respond(questions[0], {"sessionId": "new"})
        remote.update("new", "12")
        remote.respond(request, {"stopReason": "end_turn"})
        await handled.are(*(f"new {number}" for number in range(13)))
        await other


async def test_a_response_in_the_same_read_as_too_many_updates_comes_too_late() -> None:
    received: list[str] = []

    async with connected(
        notifications={"session/update": Handled().update}, limits=Limits(early_updates=1)
    ) as (peer, remote):
        call = peer.request(
            methods.NEW_SESSION, WHERE, on_result=lambda result: received.append(result.session_id)
        )
        opened = asyncio.create_task(call)
        question = await remote.receive()
        remote.update("new", "1")
        remote.update("new", "2")
        remote.respond(question, {"sessionId": "new"})
        with pytest.raises(Overloaded):
            await opened
        assert received == []


async def test_a_request_in_a_new_session_waits_for_early_updates_only() -> None:
    handled = Handled()

    async def decide(
        params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        handled.append("asked")
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())

    async with connected(
        notifications={"session/update": handled.update},
        requests={"session/request_permission": decide},
    ) as (peer, remote):
        opened = opening(peer)
        question = await remote.receive()
        remote.update("new", "1")
        remote.call(1, "session/request_permission", permission("new"))
        remote.update("new", "2")
        assert (await remote.receive())["id"] == 1
        assert handled == ["new 1", "asked"]

        remote.respond(question, {"sessionId": "new"})
        await opened
        assert handled == ["new 1", "asked", "new 2"]


async def test_an_update_handler_that_opens_a_session_gets_the_response_at_once() -> None:
    opened = asyncio.Event()
    may_end = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        if note.session_id == "old":
            await the_peer.request(methods.NEW_SESSION, WHERE)
            opened.set()
        else:
            await may_end.wait()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        the_peer = peer
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("old")))
        remote.respond(await remote.receive(), {})
        await task
        remote.update("old", "1")
        question = await remote.receive()
        remote.update("new", "1")
        remote.respond(question, {"sessionId": "new"})
        await opened.wait()
        may_end.set()
