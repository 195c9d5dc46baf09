from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.client import Session
from parley.schema import v2

from .far import FarAgent, Message, connected, open_session, opened

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
FORM = {"mode": "form", "sessionId": "s", "message": "Who?", "requestedSchema": SCHEMA}
URL = {
    "mode": "url",
    "sessionId": "s",
    "message": "Log in",
    "url": "https://example.org",
    "elicitationId": "e",
}


async def result(far: FarAgent, params: object) -> Message:
    far.call(1, "elicitation/create", params)
    answer = await far.take()
    found: Message = answer.get("result") or answer["error"]
    return found


REPLIES: list[tuple[object, Message]] = [
    ({"name": "Ada"}, {"action": "accept", "content": {"name": "Ada"}}),
    ("decline", {"action": "decline"}),
    (v2.ElicitationDeclineAction(), {"action": "decline"}),
    ("cancel", {"action": "cancel"}),
    (None, {"action": "cancel"}),
    ("later", {"action": "cancel"}),
    (RuntimeError("no screen"), {"action": "cancel"}),
]


@pytest.mark.parametrize(("reply", "action"), REPLIES)
async def test_what_the_function_returns_is_what_the_user_did(
    reply: object, action: Message
) -> None:
    def elicit(_: v2.ElicitationFormMode, session: Session | None) -> Any:
        if isinstance(reply, Exception):
            raise reply
        return reply

    async with opened(elicit=elicit) as (_, far):
        assert await result(far, FORM) == action


async def test_an_answer_that_does_not_fit_is_in_the_log_and_is_no_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(elicit=lambda _, session: {"name": 5}, name="painter") as (_, far):
        assert await result(far, FORM) == {"action": "cancel"}
    assert "painter: an answer does not fit its form: content.name: expected a text" in caplog.text


@pytest.mark.requirement("V2-ELIC-02")
async def test_a_mode_that_was_not_offered_is_refused() -> None:
    async with opened(elicit=lambda _, session: {}) as (_, far):
        assert (await result(far, URL))["code"] == -32602
        assert (await result(far, {**FORM, "mode": "_voice"}))["code"] == -32602
    async with opened(elicit_url=lambda _, session: "accept") as (_, far):
        assert (await result(far, FORM))["code"] == -32602


@pytest.mark.requirement("V2-ELIC-14", "V2-ELIC-18")
async def test_the_end_of_what_is_behind_a_url_is_told_once() -> None:
    done: list[str] = []
    seen: list[str] = []

    def elicit_url(request: v2.ElicitationUrlMode, _: Session | None) -> str:
        seen.append(request.url)
        return "accept"

    async with opened(elicit_url=elicit_url, on_elicitation_complete=done.append) as (_, far):
        assert await result(far, URL) == {"action": "accept"}
        for id in ("other", "e", "e"):
            far.send({"method": "elicitation/complete", "params": {"elicitationId": id}})
        await far.is_read()
        assert await result(far, {**URL, "elicitationId": "f"}) == {"action": "accept"}
        assert (seen, done) == (["https://example.org"] * 2, ["e"])


async def test_cancelling_the_session_cancels_its_questions() -> None:
    asked = asyncio.Event()

    async def elicit(_: v2.ElicitationFormMode, session: Session | None) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "accept"

    async with opened(elicit=elicit) as (session, far):
        far.call(1, "elicitation/create", FORM)
        await asked.wait()
        await session.cancel()
        await far.take("session/cancel")
        assert (await far.take())["result"] == {"action": "cancel"}


async def test_a_question_may_belong_to_a_request_instead_of_a_session() -> None:
    sessions: list[Session | None] = []

    def elicit(_: v2.ElicitationFormMode, session: Session | None) -> Message:
        sessions.append(session)
        return {"name": "Ada"}

    async with connected(elicit=elicit) as (connection, far):
        form = {**FORM, "requestId": 7}
        del form["sessionId"]
        assert (await result(far, form))["action"] == "accept"
        assert connection.sessions == {}
        session = await open_session(connection, far)
        assert (await result(far, FORM))["action"] == "accept"
        assert sessions == [None, session]
