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
            title="?",
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
