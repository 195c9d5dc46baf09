"""The ordering contract of `dispatch.py`: updates, responses, and what may overtake them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec import Raw

from parley.errors import RemoteProtocolError
from parley.peer import Peer, RequestContext
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import chunk, connected, connected_pair, mode, permission, prompt, text_of


async def test_10_000_updates_are_handled_in_order_and_the_response_comes_last() -> None:
    handled: list[int] = []

    async def update(note: v1.SessionNotification) -> None:
        number = int(text_of(note))
        for _ in range(number % 3):
            await asyncio.sleep(0)
        handled.append(number)

    async def stream(params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
        for number in range(10_000):
            await request.peer.notify(methods.UPDATE_SESSION, chunk("s", str(number)))
        return v1.PromptResponse(stop_reason="end_turn")

    handlers = {"session/update": update}
    async with connected_pair(client=handlers, agent={"session/prompt": stream}) as (client, _):
        result = await client.request(methods.PROMPT, prompt("s"))

        assert handled == list(range(10_000))
        assert result.stop_reason == "end_turn"


async def test_an_update_is_handled_to_its_end_before_the_next() -> None:
    steps: list[str] = []

    async def update(note: v1.SessionNotification) -> None:
        steps.append(f"begin {text_of(note)}")
        await asyncio.sleep(0)
        steps.append(f"end {text_of(note)}")

    async with connected(notifications={"session/update": update}) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s")))
        question = await remote.receive()
        remote.update("s", "1")
        remote.update("s", "2")
        remote.respond(question, {"stopReason": "end_turn"})
        await task

        assert steps == ["begin 1", "end 1", "begin 2", "end 2"]


@pytest.mark.requirement("V2-SDK-02")
async def test_a_response_waits_for_the_updates_before_it_and_not_for_those_after_it() -> None:
    begun: list[str] = []
    has_begun, may_end = asyncio.Event(), {"before": asyncio.Event(), "behind": asyncio.Event()}

    async def update(note: v1.SessionNotification) -> None:
        begun.append(text_of(note))
        has_begun.set()
        await may_end[text_of(note)].wait()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s")))
        question = await remote.receive()
        remote.update("s", "before")
        remote.respond(question, {"stopReason": "end_turn"})
        remote.update("s", "behind")
        await remote.wait_until_read()
        await has_begun.wait()
        assert not task.done()

        may_end["before"].set()
        await task
        assert not may_end["behind"].is_set()
        may_end["behind"].set()


@pytest.mark.requirement("V2-SDK-03")
@pytest.mark.parametrize("called", ["own", "other"])
async def test_a_handler_may_call_its_peer_in_any_session_however_busy(called: str) -> None:
    response_received = asyncio.Event()
    others_end = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        if text_of(note) == "call":
            await note_peer.request(methods.SET_SESSION_MODE, mode(called))
            response_received.set()
        else:
            await others_end.wait()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        note_peer = peer
        remote.update("other", "block")
        remote.update("own", "call")
        remote.update("own", "wait behind it")
        question = await remote.receive()
        remote.respond(question, {})
        await response_received.wait()
        others_end.set()


async def test_handlers_of_two_sessions_may_call_in_each_others_session() -> None:
    done: asyncio.Queue[str] = asyncio.Queue()

    async def update(note: v1.SessionNotification) -> None:
        other = {"a": "b", "b": "a"}[note.session_id]
        await the_peer.request(methods.SET_SESSION_MODE, mode(other))
        done.put_nowait(note.session_id)

    async with connected(notifications={"session/update": update}) as (peer, remote):
        the_peer = peer
        remote.update("a", "1")
        remote.update("b", "1")
        questions = [await remote.receive(), await remote.receive()]
        for question in questions:
            remote.respond(question, {})
        assert {await done.get(), await done.get()} == {"a", "b"}


async def _with_wait_for(peer: Peer) -> None:
    await asyncio.wait_for(peer.request(methods.SET_SESSION_MODE, mode("s")), 300)


async def _with_timeout(peer: Peer) -> None:
    async with asyncio.timeout(300):
        await peer.request(methods.SET_SESSION_MODE, mode("s"))


async def _two_at_once(peer: Peer) -> None:
    calls = (peer.request(methods.SET_SESSION_MODE, mode("s")) for _ in range(2))
    await asyncio.gather(*calls)


@pytest.mark.parametrize("call", [_with_wait_for, _with_timeout, _two_at_once])
async def test_a_handler_may_wrap_its_calls(call: Callable[[Peer], Awaitable[None]]) -> None:
    response_received = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await call(the_peer)
        response_received.set()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        the_peer = peer
        remote.update("s", "1")
        for _ in range(2 if call is _two_at_once else 1):
            remote.respond(await remote.receive(), {})
        await response_received.wait()


async def test_a_task_that_a_handler_starts_does_not_pass_the_barrier() -> None:
    tasks: list[asyncio.Task[v1.SetSessionModeResponse]] = []
    may_end = asyncio.Event()

    async def change_mode() -> v1.SetSessionModeResponse:
        return await the_peer.request(methods.SET_SESSION_MODE, mode("s"))

    async def update(note: v1.SessionNotification) -> None:
        tasks.append(asyncio.create_task(change_mode()))
        await may_end.wait()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        the_peer = peer
        remote.update("s", "1")
        remote.respond(await remote.receive(), {})
        await remote.wait_until_read()
        assert not tasks[0].done()

        may_end.set()
        await tasks[0]


async def test_a_request_of_the_peer_sees_the_updates_before_it_and_runs_beside_the_rest() -> None:
    steps: list[str] = []
    may_respond = asyncio.Event()
    second_handled = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await asyncio.sleep(0)
        steps.append(text_of(note))
        if text_of(note) == "second":
            second_handled.set()

    async def decide(
        params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        steps.append("asked")
        await may_respond.wait()
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())

    async with connected(
        notifications={"session/update": update}, requests={"session/request_permission": decide}
    ) as (_, remote):
        remote.update("s", "first")
        remote.call(1, "session/request_permission", permission("s"))
        remote.update("s", "second")
        await second_handled.wait()
        assert steps == ["first", "asked", "second"]

        may_respond.set()
        assert (await remote.receive())["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_sessions_do_not_block_each_other() -> None:
    blocked, free, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        if note.session_id == "slow":
            blocked.set()
            await may_end.wait()
        else:
            free.set()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        remote.update("slow", "1")
        await blocked.wait()
        remote.update("fast", "1")
        await free.wait()
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("fast")))
        remote.respond(await remote.receive(), {})
        await task
        may_end.set()


async def test_messages_without_a_session_keep_their_order_and_wait_for_no_session() -> None:
    steps: list[bytes] = []
    blocked, may_end = asyncio.Event(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        blocked.set()
        await may_end.wait()

    async def note(params: Raw) -> None:
        await asyncio.sleep(0)
        steps.append(bytes(params))

    async def count(params: Raw, request: RequestContext) -> int:
        return len(steps)

    async with connected(
        notifications={"session/update": update, "_one": note, "_two": note},
        requests={"_count": count},
    ) as (_, remote):
        remote.update("s", "1")
        await blocked.wait()
        remote.notify("_one", [1])
        remote.notify("_two", [2])
        remote.call(1, "_count", {})
        remote.notify("_one", [3])
        assert (await remote.receive())["result"] == 2
        assert steps[:2] == [b"[1]", b"[2]"]
        may_end.set()


async def test_on_result_is_called_before_anything_after_the_response_is_handled() -> None:
    steps: list[str] = []

    def update(note: v1.SessionNotification) -> None:
        steps.append("update")

    def on_result(result: v1.SetSessionModeResponse) -> None:
        steps.append("on_result")

    async with connected(notifications={"session/update": update}) as (peer, remote):
        call = peer.request(methods.SET_SESSION_MODE, mode("s"), on_result=on_result)
        task = asyncio.create_task(call)
        question = await remote.receive()
        remote.respond(question, {})
        remote.update("s", "1")
        await task
        await remote.wait_until_read()
        assert steps == ["on_result", "update"]


async def test_what_on_result_raises_is_raised_by_the_call() -> None:
    def on_result(result: v1.PromptResponse) -> None:
        raise KeyError("told")

    async with connected() as (peer, remote):
        call = peer.request(methods.PROMPT, prompt("s"), on_result=on_result)
        task = asyncio.create_task(call)
        remote.respond(await remote.receive(), {"stopReason": "end_turn"})
        with pytest.raises(KeyError, match="told"):
            await task

        call = peer.request(methods.PROMPT, prompt("s"), on_result=on_result)
        task = asyncio.create_task(call)
        remote.respond(await remote.receive(), {"stopReason": 5})
        with pytest.raises(RemoteProtocolError, match=r"result\.stopReason"):
            await task
