from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.client import Session
from parley.schema import v2

from .scripted_agent import Message, ScriptedAgent, connected, open_session, opened

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
FORM = {"mode": "form", "sessionId": "s", "message": "Who?", "requestedSchema": SCHEMA}
URL = {
    "mode": "url",
    "sessionId": "s",
    "message": "Log in",
    "url": "https://example.org",
    "elicitationId": "e",
}


async def result(remote: ScriptedAgent, params: object) -> Message:
    remote.call(1, "elicitation/create", params)
    response = await remote.take()
    found: Message = response.get("result") or response["error"]
    return found


REPLIES: list[tuple[object, Message]] = [
    ({"name": "Ada"}, {"action": "accept", "content": {"name": "Ada"}}),
    ("decline", {"action": "decline"}),
    (v2.ElicitationDeclineAction(), {"action": "decline"}),
    ("cancel", {"action": "cancel"}),
    (None, {"action": "cancel"}),
    ("later", {"action": "cancel"}),
    (True, {"action": "cancel"}),
    (["Ada"], {"action": "cancel"}),
    (v2.TextContent(text="Ada"), {"action": "cancel"}),
    ({"name": object()}, {"action": "cancel"}),
    (RuntimeError("no screen"), {"action": "cancel"}),
]


@pytest.mark.parametrize(("reply", "action"), REPLIES, ids=lambda each: type(each).__name__)
async def test_what_the_function_returns_is_what_the_user_did(
    reply: object, action: Message
) -> None:
    def elicit(_: v2.ElicitationFormMode, session: Session | None) -> Any:
        if isinstance(reply, Exception):
            raise reply
        return reply

    async with opened(elicit=elicit) as (_, remote):
        assert await result(remote, FORM) == action


async def test_an_answer_that_does_not_fit_is_in_the_log_and_is_no_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(elicit=lambda _, session: {"name": 5}, name="painter") as (_, remote):
        assert await result(remote, FORM) == {"action": "cancel"}
    problem = "the user's input does not fit the form: content.name: expected text"
    assert f"painter: {problem}" in caplog.text


@pytest.mark.requirement("V2-ELIC-02")
async def test_a_mode_that_was_not_offered_is_refused() -> None:
    async with opened(elicit=lambda _, session: {}) as (_, remote):
        assert (await result(remote, URL))["code"] == -32602
        assert (await result(remote, {**FORM, "mode": "_voice"}))["code"] == -32602
    async with opened(elicit_url=lambda _, session: "accept") as (_, remote):
        assert (await result(remote, FORM))["code"] == -32602


@pytest.mark.requirement("V2-ELIC-14", "V2-ELIC-18")
async def test_the_end_of_what_a_url_leads_to_is_reported_once() -> None:
    done: list[str] = []
    seen: list[str] = []

    def elicit_url(request: v2.ElicitationUrlMode, _: Session | None) -> str:
        seen.append(request.url)
        return "accept"

    async with opened(elicit_url=elicit_url, on_elicitation_complete=done.append) as (_, remote):
        assert await result(remote, URL) == {"action": "accept"}
        for id in ("other", "e", "e"):
            remote.send({"method": "elicitation/complete", "params": {"elicitationId": id}})
        await remote.is_read()
        assert await result(remote, {**URL, "elicitationId": "f"}) == {"action": "accept"}
        assert (seen, done) == (["https://example.org"] * 2, ["e"])


async def test_cancelling_the_session_cancels_its_questions() -> None:
    was_requested = asyncio.Event()

    async def elicit(_: v2.ElicitationFormMode, session: Session | None) -> str:
        was_requested.set()
        await asyncio.Event().wait()
        return "accept"

    async with opened(elicit=elicit) as (session, remote):
        remote.call(1, "elicitation/create", FORM)
        await was_requested.wait()
        await session.cancel()
        await remote.take("session/cancel")
        assert (await remote.take())["result"] == {"action": "cancel"}


async def test_a_question_may_belong_to_a_request_instead_of_a_session() -> None:
    sessions: list[Session | None] = []

    def elicit(_: v2.ElicitationFormMode, session: Session | None) -> Message:
        sessions.append(session)
        return {"name": "Ada"}

    async with connected(elicit=elicit) as (connection, remote):
        form = {**FORM, "requestId": 7}
        del form["sessionId"]
        assert (await result(remote, form))["action"] == "accept"
        assert connection.sessions == {}
        session = await open_session(connection, remote)
        assert (await result(remote, FORM))["action"] == "accept"
        assert sessions == [None, session]


async def test_an_unusable_reply_is_logged_without_what_the_user_typed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reply: Any = ["a secret"]
    async with opened(elicit=lambda request, session: reply) as (_, remote):
        assert await result(remote, FORM) == {"action": "cancel"}
    assert "returned list, which is not a response" in caplog.text
    assert "a secret" not in caplog.text


async def test_content_of_an_unknown_field_that_cannot_be_written_is_a_cancel() -> None:
    schema = {"type": "object", "properties": {"color": {"type": "_color"}}}
    async with opened(elicit=lambda request, session: {"color": object()}) as (_, remote):
        assert await result(remote, FORM | {"requestedSchema": schema}) == {"action": "cancel"}


async def test_what_is_returned_for_a_page_carries_no_content() -> None:
    accepted: Any = v2.ElicitationAcceptAction(content={"name": "Ada"})
    async with opened(elicit_url=lambda request, session: accepted) as (_, remote):
        assert await result(remote, URL) == {"action": "accept"}


@pytest.mark.parametrize("reply", [{}, {"name": "Ada"}], ids=["empty", "filled"])
async def test_a_dict_is_no_agreement_to_open_a_page(
    reply: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(elicit_url=lambda request, session: reply) as (_, remote):
        assert await result(remote, URL) == {"action": "cancel"}
    assert "returned dict, which is not a response; return 'accept', 'decline'" in caplog.text
