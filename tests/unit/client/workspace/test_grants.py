"""A grant for a tool call covers exactly the granted operation."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast
from weakref import ref

import pytest
from tests.unit.client.scripted_agent import Message, ScriptedAgent, opened

from parley.agent import Agent, Turn
from parley.client import Session, connect
from parley.client._own_permission_request import (
    TURN_OPTION,
    build_permission_request,
    effect_of,
)
from parley.client._permission_handler import PermissionHandler
from parley.policy import Policy, Subject
from parley.schema import v2
from parley.schema._codec import decode

HERE = os.path.realpath(".")
"""Where sessions work of which nothing else is said."""
OPTIONS = {
    "yes": "allow_once",
    "always": "allow_always",
    "no": "reject_once",
    "never": "reject_always",
}
READ = Subject(kind="read", paths=("/w/a",))
WRITE = Subject(kind="edit", paths=("/w/a",))
RUN = Subject(kind="execute", commands=("make all",), cwd="/w")
EDIT_CALL = {"kind": "edit", "locations": [{"path": "/w/a"}]}
RUN_CALL = {"kind": "execute", "rawInput": {"command": "make all", "cwd": "/w"}}


@asynccontextmanager
async def granted(
    call: Message, choose: str = "yes"
) -> AsyncGenerator[tuple[PermissionHandler, Session, ScriptedAgent]]:
    """A turn in which the user has agreed to one tool call, and agrees to nothing else."""
    chosen = iter([choose])
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Go."))
        await remote.accept()
        guard = PermissionHandler(
            session.connection._state, lambda request, _: next(chosen, None), policy=Policy()
        )
        reported = json.dumps({"toolCallId": "call", **call}).encode()
        about = decode(v2.ToolCallUpdate, reported)
        request = v2.RequestPermissionRequest(
            session_id="s",
            title="May I?",
            subject=v2.ToolCallPermissionSubject(tool_call=about),
            options=[
                v2.PermissionOption(option_id=id, name=id, kind=kind)
                for id, kind in OPTIONS.items()
            ],
        )
        await guard.handle_request(request, cast(Any, None))
        yield guard, session, remote
        remote.idle()
        await turn


async def asked(
    guard: PermissionHandler, session: Session, subject: Subject, choose: str | None = None
) -> v2.RequestPermissionRequest | None:
    """Return what the user is asked about an action; None if it is allowed without a question."""
    questions: list[v2.RequestPermissionRequest] = []

    def decide(request: v2.RequestPermissionRequest, session: Session) -> str | None:
        questions.append(request)
        return choose

    guard._decide = decide
    is_permitted = await guard.is_permitted(subject, session)
    if not questions:
        assert is_permitted
        return None
    (question,) = questions
    assert is_permitted == (choose is not None)
    return question


async def why_asked(call: Message, subject: Subject) -> list[str]:
    async with granted(call) as (guard, session, _):
        question = await asked(guard, session, subject)
        assert question is not None
        assert question.description is not None
        return question.description.splitlines()


ALLOWED = "In this turn, you allowed: May I?"


async def test_a_question_about_a_command_allowed_by_its_title_shows_the_command() -> None:
    assert await why_asked({"kind": "execute", "title": "make all"}, RUN) == [
        ALLOWED,
        "That request did not contain the command that the agent wants to run now.",
    ]


async def test_another_command_than_the_allowed_one_is_named() -> None:
    other = Subject(kind="execute", commands=("make clean",), cwd="/w")
    assert await why_asked(RUN_CALL, other) == [
        ALLOWED,
        "That request was for another command: make all",
    ]


async def test_another_directory_than_the_allowed_one_is_named() -> None:
    other = Subject(kind="execute", commands=("make all",), cwd="/elsewhere")
    assert await why_asked(RUN_CALL, other) == [
        ALLOWED,
        "That request was for the directory /w.",
    ]
    bare = {"kind": "execute", "rawInput": {"command": "make all"}}
    why = await why_asked(bare, other)
    assert why == [ALLOWED, "That request was for the directory of the session."]


async def test_a_file_that_was_not_allowed_is_asked_about_with_the_truth() -> None:
    assert await why_asked({"kind": "edit"}, WRITE) == [
        ALLOWED,
        "That request did not name the file that the agent wants to change now.",
    ]
    other = Subject(kind="edit", paths=("/w/b",))
    assert await why_asked(EDIT_CALL, other) == [
        ALLOWED,
        "That request was for something else: /w/a",
    ]


async def test_the_request_that_is_most_alike_is_the_one_that_is_named() -> None:
    async with granted(RUN_CALL) as (guard, session, _):
        guard._grants.add(WRITE, session, title="May I write?", by_user=False)
        question = await asked(guard, session, Subject(kind="execute", commands=("make clean",)))
        assert question is not None
        assert str(question.description).splitlines()[0] == ALLOWED
        question = await asked(guard, session, Subject(kind="edit", paths=("/w/b",)))
        assert question is not None
        first = str(question.description).splitlines()[0]
        assert first == "In this turn, your rules allowed: May I write?"


async def test_long_texts_of_an_agent_are_cut_in_a_description() -> None:
    call = {"kind": "execute", "rawInput": {"command": "make " + "x" * 1000, "cwd": "/w"}}
    (_, second) = await why_asked(call, RUN)
    assert len(second) < 300
    assert second.endswith("x…")


async def test_a_request_of_an_earlier_turn_is_not_named() -> None:
    async with granted(RUN_CALL, "always") as (guard, session, _):
        pass
    question = await asked(guard, session, WRITE)
    assert question is not None
    nothing = "The agent wants to do this and did not request permission for it."
    assert question.description == nothing


async def test_an_action_that_is_allowed_for_the_turn_is_not_asked_about_again_in_it() -> None:
    async with granted({"kind": "execute"}) as (guard, session, _):
        assert await asked(guard, session, RUN, "turn") is not None
        assert await asked(guard, session, RUN) is None
        other = Subject(kind="execute", commands=("make clean",), cwd="/w")
        assert await asked(guard, session, other) is not None
    assert await asked(guard, session, RUN) is not None


async def test_reading_is_not_offered_for_the_turn() -> None:
    async with granted(EDIT_CALL) as (_, session, _):
        for subject, has_turn in ((READ, False), (WRITE, True), (RUN, True)):
            request = build_permission_request(subject, session)
            assert ("turn" in [each.option_id for each in request.options]) == has_turn


def test_only_our_own_option_is_known_to_end_with_the_turn() -> None:
    assert effect_of(TURN_OPTION) == "allows it until the turn ends"
    imitated = v2.PermissionOption(option_id="turn", name=TURN_OPTION.name, kind="allow_always")
    assert effect_of(imitated) == "always allows it"


@pytest.mark.requirement("SAFE-REACH-03")
async def test_what_was_granted_is_what_is_done_and_nothing_else() -> None:
    async with granted(EDIT_CALL) as (guard, session, _):
        assert await guard.is_permitted(WRITE, session)
        assert await guard.is_permitted(WRITE, session), "the agent may write it twice"
        assert not await guard.is_permitted(Subject(kind="edit", paths=("/w/b",)), session)
        assert not await guard.is_permitted(RUN, session)
    async with granted(RUN_CALL) as (guard, session, _):
        assert await guard.is_permitted(RUN, session)
        wrapped = ("bash -c 'make all'",)
        assert await guard.is_permitted(
            Subject(kind="execute", commands=wrapped, cwd="/w"), session
        )
        for line in ("make all clean", "make", "make all; id", "A=b make all"):
            other = Subject(kind="execute", commands=(line,), cwd="/w")
            assert not await guard.is_permitted(other, session)
        elsewhere = Subject(kind="execute", commands=("make all",), cwd="/etc")
        assert not await guard.is_permitted(elsewhere, session)
        assert not await guard.is_permitted(WRITE, session)


async def test_a_command_without_a_directory_runs_where_the_session_works() -> None:
    call = {"kind": "execute", "rawInput": {"command": "ls"}}
    async with granted(call) as (guard, session, _):
        assert await guard.is_permitted(
            Subject(kind="execute", commands=("ls",), cwd=HERE), session
        )
        assert not await guard.is_permitted(
            Subject(kind="execute", commands=("ls",), cwd="/"), session
        )


@pytest.mark.parametrize("kind", ["read", "execute", "other"])
async def test_a_path_that_was_not_to_be_changed_is_not_granted(kind: str) -> None:
    async with granted({**EDIT_CALL, "kind": kind}) as (guard, session, _):
        assert not await guard.is_permitted(WRITE, session)


@pytest.mark.parametrize("choose", ["no", "never"])
async def test_what_was_refused_is_not_granted(choose: str) -> None:
    async with granted(EDIT_CALL, choose) as (guard, session, _):
        assert not await guard.is_permitted(WRITE, session)


async def test_nothing_is_changed_for_a_turn_that_is_cancelled() -> None:
    async with granted(EDIT_CALL) as (guard, session, remote):
        await session.cancel()
        await remote.take("session/cancel")
        assert not await guard.is_permitted(WRITE, session)
        assert await guard.is_permitted(READ, session)


@pytest.mark.parametrize(("choose", "lasts"), [("yes", False), ("always", True)])
async def test_a_grant_ends_with_its_turn_unless_it_was_given_for_always(
    choose: str, lasts: bool
) -> None:
    async with granted(EDIT_CALL, choose) as (guard, session, _):
        pass
    assert await guard.is_permitted(WRITE, session) is lasts


async def test_a_grant_does_not_keep_a_session_that_is_closed() -> None:
    agent = Agent("asks")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.ask_permission("May I?")

    def allow(request: v2.RequestPermissionRequest, session: Session) -> str:
        return request.options[0].option_id

    async with connect(agent, permission=allow) as connection:
        session = await connection.new_session()
        kept = ref(session)
        await session.prompt("Go.")
        await session.close()
        del session
        gc.collect()
        assert kept() is None
