"""What a further client says to a session besides prompts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.client import Session
from parley.errors import InvalidParams, InvalidRequest, ResourceNotFound
from parley.schema import v2
from parley.schema.v2 import methods

from .agent_hosts import (
    VERSION_MATRIX,
    RawPeer,
    attach,
    client,
    open_host,
    open_raw_host,
    texts,
    versions,
    wait_until,
)

MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}


async def test_a_mode_of_version_1_is_set_by_anybody_and_everybody_learns_it() -> None:
    async with open_raw_host(is_shared=True) as (host, agent):
        answering = asyncio.create_task(_answer(agent))
        async with client(host, versions=(1,)) as one, client(host, versions=(1,)) as two:
            session = await one.new_session()
            followed = await attach(two, session)
            await followed.set_config_option("mode", "code")
            await wait_until(lambda: _mode(session) == _mode(followed) == "code")
            await session.set_config_option("mode", "ask")
            await wait_until(lambda: _mode(session) == _mode(followed) == "ask")
        answering.cancel()
        await asyncio.wait({answering})


async def _answer(agent: RawPeer) -> None:
    """Be an agent of version 1 with modes."""
    results: dict[str, Any] = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}},
        "session/new": {"sessionId": "s", "modes": MODES},
        "session/set_mode": {},
    }
    while True:
        asked = await agent.received.get()
        if asked.get("method") in results:
            agent.answer(asked, results[asked["method"]])


def _mode(session: Session) -> str:
    (option,) = session.transcript.config_options
    assert isinstance(option, v2.SessionConfigSelect)
    return option.current_value


@pytest.mark.parametrize(("owner", "other"), [(2, 2), (1, 2)])
async def test_a_tool_call_is_cancelled_where_the_agent_knows_how(owner: int, other: int) -> None:
    served = Agent("tools")

    @served.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Dig", is_cancellable=True):
            await asyncio.get_running_loop().create_future()

    async with (
        open_host(served) as host,
        client(host, versions=versions(owner)) as one,
        client(host, versions=versions(other)) as two,
    ):
        session = await one.new_session()
        followed = await attach(two, session)
        session.prompt("dig")._state.begin()
        await wait_until(lambda: bool(followed.transcript.tool_calls))
        (call,) = followed.transcript.tool_calls.values()
        request = v2.CancelToolCallRequest(session_id=session.id, tool_call_id=call.id)
        asking = two.adapter.request(methods.CANCEL_TOOL_CALL, request)
        if one.version == 1:
            with pytest.raises(InvalidRequest, match="does not support tool_call/cancel"):
                await asking
        else:
            await asking
            await wait_until(lambda: call.status == "cancelled")
        terminal = v2.CancelTerminalRequest(session_id=session.id, terminal_id="none")
        with pytest.raises((ResourceNotFound, InvalidRequest)):
            await two.adapter.request(methods.CANCEL_TERMINAL, terminal)


@VERSION_MATRIX
async def test_what_the_agent_refuses_is_refused(agent: int, owner: int, other: int) -> None:
    async with (
        open_host(version=agent) as host,
        client(host, versions=versions(owner)) as one,
        client(host, versions=versions(other)) as two,
    ):
        session = await one.new_session()
        followed = await attach(two, session)
        picture = v2.ImageContent(data="", mime_type="image/png")
        prompt = v2.PromptRequest(session_id=session.id, prompt=[picture])
        if two.version == 1:
            followed.connection._state.spawn(two.adapter.request(methods.PROMPT, prompt))
            await wait_until(lambda: followed.transcript.stop_reason == "error")
        elif one.version == 1:  # its agent refuses by the end of the turn
            await two.adapter.request(methods.PROMPT, prompt)
            await wait_until(lambda: followed.transcript.stop_reason == "error")
        else:
            with pytest.raises(InvalidParams, match="does not support images"):
                await two.adapter.request(methods.PROMPT, prompt)
        assert await followed.ask("words") == "echo: words"


async def test_who_resumes_twice_on_one_connection_is_told_once() -> None:
    async with open_host() as host, client(host) as one, client(host) as two:
        session = await one.new_session()
        await session.ask("hello")
        followed = await attach(two, session)
        again = v2.ResumeSessionRequest(session_id=session.id, cwd="/")
        await two.adapter.request(methods.RESUME_SESSION, again)
        await session.ask("more")
        await wait_until(lambda: texts(followed) == texts(session))
        (live,) = host.sessions
        assert len(live.attached) == 1
