"""Turns, questions and cancelling, as a client has them.

https://agentclientprotocol.com/protocol/v1/prompt-turn
https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from parley.client import Session
from parley.schema import v2

from .raw_agent import RawAgent, opened
from .raw_client import in_both_versions
from .wire_values import text, tool, update, write

requirement = pytest.mark.requirement
ASK = "session/request_permission"
OPTIONS = [
    {"optionId": "?odd", "name": "Yes", "kind": "reject_once"},
    {"optionId": "no", "name": "No", "kind": "allow_always"},
]


def question(version: int, session: str = "s", id: str = "t") -> dict[str, Any]:
    """Return a question for permission."""
    call = {"toolCallId": id, "title": "Delete", "kind": "delete"}
    if version == 1:
        return {"sessionId": session, "toolCall": call, "options": OPTIONS}
    subject = {"type": "tool_call", "toolCall": call}
    return {"sessionId": session, "title": "May I?", "subject": subject, "options": OPTIONS}


def always(choice: str | None) -> Callable[[v2.RequestPermissionRequest, Session], str | None]:
    """Return a function of a program that always decides the same."""
    return lambda request, session: choice


def outcome(reply: Any) -> Any:
    return reply["result"]["outcome"]


CANCELLED = {"outcome": "cancelled"}


@requirement("V1-PERM-04", "V1-INIT-23", "V2-PERM-10")
@in_both_versions
async def test_without_a_decision_nothing_is_allowed(version: int) -> None:
    agent = RawAgent(version)
    async with opened(agent):
        assert outcome(await agent.ask(ASK, question(version))) == CANCELLED
    undecided = RawAgent(version)
    async with opened(undecided, permission=always(None)):
        assert outcome(await undecided.ask(ASK, question(version))) == CANCELLED


@requirement("V1-PERM-04")
@in_both_versions
async def test_a_question_is_not_answered_before_the_user_has_decided(version: int) -> None:
    agent, decided = RawAgent(version), asyncio.Event()

    async def decide(request: v2.RequestPermissionRequest, _: Session) -> str:
        await decided.wait()
        return "no"

    async with opened(agent, permission=decide) as session:
        id = agent.request(ASK, question(version))
        agent.scene = still_there
        assert await session.ask("hi") == "there"
        assert not [each for each in agent.log if each.get("id") == id and "result" in each]
        decided.set()
        chosen = {"outcome": "selected", "optionId": "no"}
        assert outcome(await agent.reply(id)) == chosen


async def still_there(agent: RawAgent) -> None:
    agent.say("there")


@requirement("V1-PERM-05", "V1-PERM-06", "V1-PERM-12", "V1-PERM-13", "V2-PERM-10", "V2-PERM-05")
@in_both_versions
@pytest.mark.parametrize(
    ("choice", "expected"), [("?odd", "?odd"), ("no", "no"), ("zzz", None), (0, "?odd")]
)
async def test_only_what_was_offered_can_be_chosen_and_its_kind_is_seen(
    version: int, choice: Any, expected: str | None
) -> None:
    agent = RawAgent(version)
    kinds: list[str] = []

    def decide(request: v2.RequestPermissionRequest, _: Session) -> Any:
        kinds.extend(each.kind for each in request.options)
        return request.options[choice] if choice == 0 else choice

    async with opened(agent, permission=decide):
        reply = await agent.ask(ASK, question(version))
        wanted = {"outcome": "selected", "optionId": expected}
        assert outcome(reply) == (CANCELLED if expected is None else wanted)
    assert kinds == ["reject_once", "allow_always"]
    assert not [each for each in agent.methods if "terminal" in each or "fs" in each]


@requirement("V1-PERM-11")
@in_both_versions
@pytest.mark.parametrize("options", [5, [{"optionId": "o"}], [{"optionId": "o", "name": "O"}]])
async def test_broken_options_are_refused_on_the_wire(version: int, options: Any) -> None:
    agent = RawAgent(version)
    async with opened(agent, permission=always("o")):
        params = {**question(version), "options": options}
        assert await agent.refusal(ASK, params) == -32602


@requirement("V1-PROMPT-20", "V1-PERM-07", "V2-PERM-09", "V1-PROMPT-18", "V1-CANCEL-07")
@in_both_versions
async def test_a_cancel_answers_every_open_question_as_cancelled(version: int) -> None:
    agent = RawAgent(version)
    replies: list[Any] = []

    async def scene(raw: RawAgent) -> None:
        ids = [raw.request(ASK, question(version, id=name)) for name in "ab"]
        for id in ids:
            replies.append(outcome(await raw.reply(id)))
        raw.stop_reason = "cancelled"

    agent.scene = scene
    was_requested = asyncio.Event()
    waiting = 0

    async def decide(request: v2.RequestPermissionRequest, _: Session) -> str | None:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            was_requested.set()
        await asyncio.Event().wait()
        return None

    async with opened(agent, permission=decide) as session:
        turn = asyncio.ensure_future(awaited(session))
        await was_requested.wait()
        await session.cancel()
        assert await turn == "cancelled"
    assert replies == [CANCELLED, CANCELLED]
    assert agent.methods.count("session/cancel") == 1


async def awaited(session: Session) -> str:
    return (await session.prompt("go")).stop_reason


@requirement("V1-PERM-14", "V1-CANCEL-12")
@in_both_versions
async def test_a_question_that_is_withdrawn_is_answered_once(version: int) -> None:
    agent = RawAgent(version)
    was_requested = asyncio.Event()

    async def decide(request: v2.RequestPermissionRequest, _: Session) -> str | None:
        was_requested.set()
        await asyncio.Event().wait()
        return None

    async with opened(agent, permission=decide) as session:
        id = agent.request(ASK, question(version))
        await was_requested.wait()
        agent.send(method="$/cancel_request", params={"requestId": id})
        reply = await agent.reply(id)
        assert reply.get("error", {"code": -32800})["code"] == -32800
        assert "error" in reply or outcome(reply) == CANCELLED
        await session.cancel()
        agent.scene = still_there
        await session.prompt("hi")
        responses = [each for each in agent.log if each.get("id") == id and "method" not in each]
        assert len(responses) == 1


@requirement("V2-PERM-02", "V2-PERM-03")
@in_both_versions
async def test_a_question_tells_of_its_tool_call_and_its_title_changes_nothing(
    version: int,
) -> None:
    agent = RawAgent(version)
    async with opened(agent, permission=always("no")) as session:
        params = question(version)
        await agent.ask(ASK, params)
        call = session.transcript.tool_calls["t"]
        assert (call.title, call.kind) == ("Delete", "delete")


@requirement("V2-PERM-06")
@pytest.mark.parametrize("subject", [{}, {"subject": {"type": "_x", "a": [1]}}])
async def test_a_question_about_something_unknown_is_still_a_question(subject: Any) -> None:
    agent = RawAgent(2)
    seen: list[Any] = []

    def decide(request: v2.RequestPermissionRequest, _: Session) -> str:
        seen.append(request.subject)
        return "no"

    async with opened(agent, permission=decide):
        params = {"sessionId": "s", "title": "May I?", "options": OPTIONS, **subject}
        assert outcome(await agent.ask(ASK, params))["optionId"] == "no"
    (kept,) = seen
    assert (None if kept is None else write(kept)) == subject.get("subject")


@requirement("V2-PERM-11", "V1-RPC-30")
@in_both_versions
async def test_waiting_for_the_user_holds_up_nothing(version: int) -> None:
    agent = RawAgent(version)
    response: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def scene(raw: RawAgent) -> None:
        id = raw.request(ASK, question(version))
        raw.say("meanwhile")
        await raw.reply(id)

    async def decide(request: v2.RequestPermissionRequest, _: Session) -> str:
        return await response

    agent.scene = scene
    async with opened(agent, permission=decide) as session:
        async for event in session.prompt("go"):
            if isinstance(event, v2.AgentMessageChunk):
                assert not response.done()
                response.set_result("no")
        assert session.transcript.text == "meanwhile"


@requirement("V2-PROMPT-05", "V2-PROMPT-06", "V2-PROMPT-17")
@pytest.mark.parametrize("is_response_first", [True, False])
async def test_a_turn_ends_with_idle_whenever_its_prompt_is_answered(
    is_response_first: bool,
) -> None:
    agent = RawAgent(2)
    async with opened(agent) as session:
        agent.answers["session/prompt"] = lambda params: {"messageId": "u"}
        if not is_response_first:
            del agent.answers["session/prompt"]
            agent.received = lambda message: None  # type: ignore[method-assign]
        turn = asyncio.ensure_future(awaited(session))
        prompt = await agent.requested("session/prompt")
        agent.send_updates(update("user_message", messageId="u", content=[text("go")]))
        agent.send_updates(update("state_update", state="running"))
        agent.say("hi")
        if not is_response_first:
            agent.send(id=prompt["id"], result={"messageId": "u"})
        assert await agent.refusal("_after/that") == -32601
        assert not turn.done()
        agent.send_updates(update("state_update", state="idle", stopReason="end_turn"))
        assert await turn == "end_turn"
        messages = [(each.id, each.role, each.text) for each in session.transcript.messages]
        assert messages == [("u", "user", "go"), ("m", "agent", "hi")]


@requirement("V1-PROMPT-31", "V2-PROMPT-11", "V1-RPC-08", "V2-ENUM-06")
@in_both_versions
async def test_an_update_that_cannot_be_read_is_left_out_alone(version: int) -> None:
    agent = RawAgent(version)

    async def scene(raw: RawAgent) -> None:
        raw.send_updates(update("future_thing", x=1), update("agent_message_chunk"), 5, {})
        raw.send_updates(tool(status=5), session="unknown")
        raw.say("fine")

    agent.scene = scene
    async with opened(agent) as session:
        assert await session.ask("go") == "fine"
    responses = [each for each in agent.log if "method" not in each]
    assert responses == []


@requirement("V1-PROMPT-25", "V1-PROMPT-19", "V2-CANC-07", "V2-TOOL-09")
@in_both_versions
async def test_updates_after_a_cancel_still_count(version: int) -> None:
    agent = RawAgent(version)

    async def scene(raw: RawAgent) -> None:
        kind = "tool_call" if version == 1 else "tool_call_update"
        raw.send_updates({**tool(title="T"), "sessionUpdate": kind})
        await raw.until(lambda message: message.get("method") == "session/cancel")
        raw.send_updates(tool(status="completed"))
        raw.stop_reason = "cancelled"

    agent.scene = scene
    async with opened(agent) as session:
        turn = session.prompt("go")
        async for event in turn:
            if isinstance(event, v2.ToolCallUpdated) and event.title == "T":
                await session.cancel()
                assert session.transcript.tool_calls["t"].status == "cancelled"
        assert session.transcript.tool_calls["t"].status == "completed"
        assert session.transcript.stop_reason == "cancelled"


@requirement("V1-PERM-15")
@in_both_versions
async def test_a_question_in_an_unknown_session_is_refused(version: int) -> None:
    agent = RawAgent(version)
    async with opened(agent, permission=always("no")):
        assert await agent.refusal(ASK, question(version, session="nope")) == -32602
        assert outcome(await agent.ask(ASK, question(version)))["optionId"] == "no"
