from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from parley.client import Session, subject_in
from parley.policy import Subject
from parley.schema import v2

from .scripted_agent import Message, ScriptedAgent, connected, opened

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
CANCELLED = {"outcome": "cancelled"}


def ask(remote: ScriptedAgent, id: int = 1, session: str = "s", **more: object) -> None:
    params = {"sessionId": session, "title": "May I?", "options": OPTIONS, **more}
    remote.call(id, "session/request_permission", params)


async def outcome(remote: ScriptedAgent, id: int = 1) -> Message:
    response = await remote.take()
    assert response["id"] == id
    result: Message = response["result"]["outcome"]
    return result


async def choose_later(request: v2.RequestPermissionRequest, _: Session) -> str:
    await asyncio.sleep(0)
    return request.options[0].option_id


CHOOSING: dict[str, Callable[[Any, Any], Any]] = {
    "an id": lambda _, session: "yes",
    "an option": lambda request, _: request.options[0],
    "an async function": choose_later,
}


@pytest.mark.parametrize("permission", CHOOSING.values(), ids=CHOOSING.keys())
async def test_what_the_function_chooses_is_the_answer(
    permission: Callable[[Any, Any], Any],
) -> None:
    async with opened(permission=permission) as (_, remote):
        ask(remote)
        assert await outcome(remote) == {"outcome": "selected", "optionId": "yes"}


def fails(*_: object) -> str:
    raise RuntimeError("no screen")


NOT_CHOOSING: dict[str, Callable[[Any, Any], Any] | None] = {
    "no function": None,
    "no decision": lambda _, session: None,
    "an exception": fails,
    "not offered": lambda _, session: "always",
    "nonsense": lambda _, session: {},
}


@pytest.mark.requirement("V2-PERM-06")
@pytest.mark.parametrize("permission", NOT_CHOOSING.values(), ids=NOT_CHOOSING.keys())
@pytest.mark.requirement("SAFE-REACH-04")
async def test_nothing_else_is_an_approval(permission: Callable[[Any, Any], Any] | None) -> None:
    async with opened(permission=permission) as (_, remote):
        ask(remote, subject={"type": "_x"})
        assert await outcome(remote) == CANCELLED


async def test_a_mistake_of_the_function_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(permission=lambda _, session: "always", name="painter") as (_, remote):
        ask(remote)
        await outcome(remote)
    problem = "the permission option 'always' was not offered; the options were "
    assert f"painter: {problem}" in caplog.text


@pytest.mark.requirement("SAFE-REACH-04")
async def test_an_id_that_was_offered_twice_allows_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(permission=lambda request, _: request.options[1]) as (_, remote):
        ask(remote, options=[{**OPTIONS[0], "optionId": "x"}, {**OPTIONS[1], "optionId": "x"}])
        assert await outcome(remote) == CANCELLED
    assert "'x' was offered twice" in caplog.text


@pytest.mark.requirement("V2-PERM-09", "V1-PROMPT-20")
@pytest.mark.requirement("SAFE-REACH-04")
async def test_cancelling_answers_every_open_question_at_once() -> None:
    was_requested = asyncio.Semaphore(0)
    ended: list[str] = []

    async def permission(request: v2.RequestPermissionRequest, _: Session) -> str:
        was_requested.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.title)
        return "yes"

    async with opened(permission=permission) as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Go."))
        await remote.accept()
        ask(remote, 1)
        ask(remote, 2)
        await was_requested.acquire()
        await was_requested.acquire()
        await session.cancel()
        await remote.take("session/cancel")
        assert [await outcome(remote, 1), await outcome(remote, 2)] == [CANCELLED, CANCELLED]
        ask(remote, 3)
        assert await outcome(remote, 3) == CANCELLED, "it was under way when we cancelled"
        remote.idle("cancelled")
        await turn
        ask(remote, 4)
        await was_requested.acquire()
        assert ended == ["May I?", "May I?"]
        await session.cancel()


async def test_a_function_that_ignores_cancelling_does_not_hold_up_the_answer() -> None:
    was_requested, released = asyncio.Event(), asyncio.Event()

    async def permission(_: v2.RequestPermissionRequest, session: Session) -> str:
        was_requested.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await released.wait()
        return "yes"

    async with opened(permission=permission) as (session, remote):
        ask(remote)
        await was_requested.wait()
        await session.cancel()
        await remote.take("session/cancel")
        assert await outcome(remote) == CANCELLED
        released.set()


@pytest.mark.requirement("V2-RQC-05", "V2-RQC-02")
async def test_a_question_that_the_agent_takes_back_is_answered_once() -> None:
    was_requested, ended = asyncio.Event(), asyncio.Event()

    async def permission(_: v2.RequestPermissionRequest, session: Session) -> str:
        was_requested.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "yes"

    async with opened(permission=permission) as (_, remote):
        ask(remote)
        await was_requested.wait()
        remote.send({"method": "$/cancel_request", "params": {"requestId": 1}})
        response = await remote.take()
        assert response["error"]["code"] == -32800
        await ended.wait()
        await remote.is_read()


@pytest.mark.requirement("V2-PERM-11")
async def test_a_slow_decision_blocks_nothing() -> None:
    was_requested, decided = asyncio.Event(), asyncio.Event()

    async def permission(_: v2.RequestPermissionRequest, session: Session) -> str:
        was_requested.set()
        await decided.wait()
        return "yes"

    async with opened(permission=permission) as (session, remote):
        turn = asyncio.create_task(session.ask("Go."))
        await remote.accept()
        ask(remote)
        await was_requested.wait()
        remote.say("meanwhile")
        remote.idle()
        assert await turn == "meanwhile"
        decided.set()
        assert (await outcome(remote))["optionId"] == "yes"


@pytest.mark.requirement("V2-PERM-02", "V2-PERM-03")
async def test_the_tool_call_of_a_question_is_in_the_transcript() -> None:
    titles: list[str | None] = []

    def permission(request: v2.RequestPermissionRequest, session: Session) -> None:
        call = session.tool_call_of(request)
        titles.append(None if call is None else call.title)

    async with connected(permission=permission) as (connection, remote):
        call = {"toolCallId": "call", "title": "Remove all", "rawInput": {"path": "/"}}
        remote.state("running", "unasked")
        await remote.is_read()
        ask(remote, session="unasked", subject={"type": "tool_call", "toolCall": call})
        assert await outcome(remote) == CANCELLED
        assert titles == ["Remove all"]
        call_now = connection.sessions["unasked"].transcript.tool_calls["call"]
        assert call_now.raw_input == {"path": "/"}


async def test_what_the_agent_says_during_a_question_is_not_what_the_user_answers() -> None:
    shown: list[object] = []
    remembered: list[Subject] = []
    was_requested, notified = asyncio.Event(), asyncio.Event()

    async def permission(request: v2.RequestPermissionRequest, session: Session) -> str:
        was_requested.set()
        await notified.wait()
        call = session.tool_call_of(request)
        assert call is not None
        shown.append((call.raw_input, len(call.content)))
        remembered.append(subject_in(session, request))
        return "yes"

    async with opened(permission=permission) as (session, remote):
        call = {"toolCallId": "call", "title": "Look", "rawInput": {"command": "git status"}}
        ask(remote, subject={"type": "tool_call", "toolCall": call})
        await was_requested.wait()
        content = {"type": "content", "content": {"type": "text", "text": "x"}}
        remote.update("tool_call_update", toolCallId="call", rawInput={"command": "rm -rf /"})
        remote.update("tool_call_content_chunk", toolCallId="call", content=content)
        await remote.is_read()
        notified.set()
        assert (await outcome(remote))["optionId"] == "yes"
        assert shown == [({"command": "git status"}, 0)]
        assert remembered[0].commands == ("git status",)
        assert session.transcript.tool_calls["call"].raw_input == {"command": "rm -rf /"}


async def test_a_subagent_that_was_named_may_ask_before_it_says_anything() -> None:
    async with opened(permission=lambda request, session: "yes") as (_, remote):
        remote.update("subagent_update", sessionId="child", title="Explore", status="in_progress")
        await remote.is_read()
        ask(remote, session="child")
        assert (await outcome(remote))["optionId"] == "yes"
