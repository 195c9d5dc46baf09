"""A client and an agent of Parley's with each other: in both versions, however they are joined."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import parley.client
from parley.client import Connection, Session
from parley.errors import AuthRequired, InternalError, RequestError
from parley.proxy import Conductor, Proxy
from parley.schema import v2

from .raw_client import PROGRAM, everywhere, in_process
from .scripted_agents import AGENTS

requirement = pytest.mark.requirement


@asynccontextmanager
async def joined(
    version: int, over: str, name: str = "full", **options: Any
) -> AsyncGenerator[Connection, None]:
    """Connect to an acting agent."""
    target: Any = [sys.executable, PROGRAM, name] if over == "stdio" else AGENTS[name]()
    if over == "chain":
        target = Conductor(Proxy("first"), Proxy("second"), agent=target)
    async with parley.client.connect(target, cwd="/", versions=(version,), **options) as agent:
        assert agent.version == version
        yield agent


@requirement("V2-SDK-08", "V1-STDIO-09", "TR-STD-13", "V1-STDIO-10", "TR-CUS-01", "V2-DUAL-01")
@everywhere
async def test_a_turn_looks_the_same_in_both_versions(version: int, over: str) -> None:
    async with joined(version, over) as agent:
        session = await agent.new_session()
        kinds: list[str] = []
        async for event in session.prompt("say one two"):
            if not isinstance(event, v2.AvailableCommandsUpdate):  # version 1 sends them here
                kinds.append(type(event).__name__)
        assert kinds == [
            "UserMessage",
            "StateUpdated",
            "AgentMessageChunk",
            "AgentMessageChunk",
            "StateUpdated",
        ]
        result = await session.prompt("tool")
        assert result.stop_reason == "end_turn"
        (call,) = session.transcript.tool_calls.values()
        assert (call.title, call.kind, call.name, call.status) == (
            "Read a",
            "read",
            "read",
            "completed",
        )
        assert call.raw_output == {"lines": 1}
        assert [type(each).__name__ for each in call.content] == ["Content", "Diff"]


def allow(request: v2.RequestPermissionRequest, session: Session) -> str:
    return "?odd id"


@requirement("V1-PERM-06", "V2-PERM-12", "V1-PERM-02")
@in_process
@pytest.mark.parametrize("permission", [None, allow])
async def test_permission_is_given_by_the_program_alone(
    version: int, over: str, permission: Any
) -> None:
    async with joined(version, over, permission=permission) as agent:
        session = await agent.new_session()
        chosen = None if permission is None else "?odd id"
        assert await session.ask("ask") == f"chosen:{chosen}"


@requirement("V1-PROMPT-22", "V2-CANC-01", "V1-PROMPT-20", "V2-PERM-09")
@in_process
@pytest.mark.parametrize("text", ["slow", "ask", "stubborn", "ask_twice"])
async def test_a_cancelled_turn_ends_as_cancelled(version: int, over: str, text: str) -> None:
    begun = asyncio.Event()

    async def wait(request: v2.RequestPermissionRequest, session: Session) -> None:
        begun.set()
        await asyncio.Event().wait()

    def note(session: Session, update: v2.SessionUpdate) -> None:
        if isinstance(update, v2.AgentMessageChunk):
            begun.set()

    async with joined(version, over, permission=wait, on_update=note) as agent:
        session = await agent.new_session()
        turn = asyncio.ensure_future(stopped(session, text))
        await begun.wait()
        await session.cancel()
        assert await turn == "cancelled"
        statuses = {each.status for each in session.transcript.tool_calls.values()}
        assert statuses <= {"cancelled", "failed", "completed"}
        assert await session.ask("say on") == "on"


async def stopped(session: Session, text: str) -> str:
    return (await session.prompt(text)).stop_reason


@requirement("V1-SESS-14", "V1-SESS-20", "V2-SESS-16", "V2-SESS-23", "V1-SESS-23")
@in_process
async def test_a_session_is_listed_closed_and_opened_again(version: int, over: str) -> None:
    async with joined(version, over) as agent:
        session = await agent.new_session()
        await session.prompt("say one")
        await session.close()
        assert [each.session_id async for each in agent.list_sessions()] == [session.id]
        again = await agent.resume_session(session.id)
        messages = [(each.role, each.text) for each in again.transcript.messages]
        assert messages == [("user", "say one"), ("agent", "one")]
        await again.close()
        silent = await agent.resume_session(session.id, replay=False)
        assert silent.transcript.messages == []
        await agent.delete_session(session.id)
        assert [each async for each in agent.list_sessions()] == []


@requirement("V1-AUTH-01", "V1-AUTH-07", "V2-AUTH-11", "V1-AUTH-21", "V2-AUTH-17")
@everywhere
async def test_a_login_is_chosen_by_the_program(version: int, over: str) -> None:
    def choose(methods: list[v2.AuthMethod]) -> v2.AuthMethod:
        return methods[0]

    async with joined(version, over, "locked", login=choose) as agent:
        session = await agent.new_session()
        assert await session.ask("say in") == "in"
        await agent.logout()
    async with joined(version, over, "locked") as agent:
        with pytest.raises(AuthRequired, match="'key'"):
            await agent.new_session()


@requirement("V1-ELIC-25", "V1-ELIC-34", "V2-ELIC-13")
@in_process
async def test_the_user_is_asked_by_forms_and_pages(version: int, over: str) -> None:
    done: list[str] = []

    def fill(form: v2.ElicitationFormMode, session: Session | None) -> dict[str, str]:
        return {"name": "me"}

    def visit(page: v2.ElicitationUrlMode, session: Session | None) -> str:
        return "accept"

    options: Any = {"elicit": fill, "elicit_url": visit, "on_elicitation_complete": done.append}
    async with joined(version, over, **options) as agent:
        session = await agent.new_session()
        assert await session.ask("elicit") == '{"action":"accept","content":{"name":"me"}}'
        assert await session.ask("visit") == "accepted:True"
        assert len(set(done)) == 2


@requirement("V1-RPC-09", "V1-RPC-11", "V2-RPC-04")
@in_process
async def test_an_error_arrives_as_it_was_raised(version: int, over: str) -> None:
    async with joined(version, over) as agent:
        session = await agent.new_session()
        with pytest.raises(RequestError) as failure:
            await session.prompt("boom")
        error = failure.value
        assert (error.code, error.message, error.data) == (-32050, "It went boom", {"detail": 42})
        with pytest.raises(InternalError) as hidden:
            await session.prompt("crash")
        assert "secret" not in str(hidden.value)
        assert await session.ask("say on") == "on"


@requirement("V1-CONF-16", "V2-CFG-02", "V1-MODE-11")
@in_process
async def test_options_are_set_and_told(version: int, over: str) -> None:
    async with joined(version, over, permission=allow) as agent:
        session = await agent.new_session()
        options = await session.set_config_option("model", "large")
        assert len(options) == 4
        assert await session.set_config_option("fast", False)
        await session.prompt("switch")
        values = {
            each.config_id: each.current_value
            for each in session.transcript.config_options
            if isinstance(each, v2.SessionConfigSelect | v2.SessionConfigBoolean)
        }
        assert values["mode"] == "code"
        assert [each.name for each in session.transcript.commands if isinstance(each, v2.Command)]
