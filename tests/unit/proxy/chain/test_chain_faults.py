"""What goes wrong in one session of a chain, or in one chain, and what goes on beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from tests.unit.proxy.component_process import faulty
from tests.unit.proxy.conducted_chain import (
    ConductedChain,
    FakeComponent,
    answer_initialize,
    chain_of_fakes,
    component_command,
)
from tests.unit.proxy.proxied_pair import chunk, notification, request, result

import parley
from parley.agent import Agent, Turn
from parley.client import Connection, Session
from parley.errors import ConnectionClosed, InternalError, ProcessExited, RequestCancelled
from parley.proxy import Conductor, Proxy, ProxyConnection, Request, Response, builtin
from parley.proxy._chain.component import ComponentSpec
from parley.schema import v2

VERSIONS = pytest.mark.parametrize("version", [1, 2])
KINDS = pytest.mark.parametrize("kind", ["process", "object"])


def _worker() -> Agent:
    """Return an agent that says what it is told, waits to be cancelled, or calls a tool."""
    agent = Agent("worker", mcp=True)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        word, *rest = turn.text.split()
        if word == "wait":
            await turn.say("waiting")
            await asyncio.get_running_loop().create_future()
        elif word == "call":
            answer = await turn.session.mcp.call_tool(rest[0])
            (block,) = answer.content
            assert isinstance(block, TextContent)
            is_short = len(block.text) < 1000
            await turn.say(block.text if is_short else f"{len(block.text)} characters")
        else:
            await turn.say(turn.text)

    return agent


@asynccontextmanager
async def _two(
    kind: str, version: int, **options: Any
) -> AsyncGenerator[tuple[Session, Session, Connection]]:
    """Two sessions through a chain of two proxies, of which one is faulty."""
    parts = [component_command("plain"), component_command("faulty")]
    if kind == "object":
        conductor = Conductor(Proxy("plain"), faulty(), agent=_worker())
    else:
        conductor = Conductor(*parts, agent=_worker())
    async with parley.connect(conductor, "/", versions=(version,), **options) as connection:
        one, other = await connection.new_session(), await connection.new_session()
        yield one, other, connection


async def _ended(turn: asyncio.Task[Any]) -> str:
    """Return how a turn has ended that was cancelled."""
    try:
        return str((await turn).stop_reason)
    except RequestCancelled:
        return "cancelled"


async def _prompt(session: Session, text: str) -> Any:
    return await session.prompt(text)


@VERSIONS
@KINDS
async def test_a_proxy_that_hangs_with_a_prompt_is_ended_by_a_cancel(
    kind: str, version: int
) -> None:
    async with _two(kind, version) as (one, other, _):
        hanging = asyncio.create_task(_prompt(one, "hang"))
        assert await other.ask("I go on") == "I go on"
        await one.cancel()
        assert await _ended(hanging) == "cancelled"
        assert await one.ask("so do I") == "so do I"


@KINDS
async def test_a_proxy_that_floods_a_session_leaves_the_other_alone(kind: str) -> None:
    async with _two(kind, 2) as (one, other, _):
        flood = asyncio.create_task(_prompt(one, "flood 5000"))
        assert await other.ask("I go on") == "I go on"
        told = (await flood).text
        assert [int(each) for each in told.split(".") if each.isdigit()][:5000] == list(range(5000))


async def test_a_flood_can_be_cancelled_in_its_middle() -> None:
    async with _two("process", 1) as (one, other, _):
        flood = asyncio.create_task(_prompt(one, "flood endlessly"))
        assert await other.ask("I go on") == "I go on"
        await one.cancel()
        assert await _ended(flood) == "cancelled"
        assert await one.ask("so do I") == "so do I"


async def test_an_answer_counts_for_what_it_names_and_once() -> None:
    chained, proxy, _ = await chain_of_fakes()
    for id, session in ((1, "a"), (2, "b")):
        chained.client.say(request(id, "session/prompt", {"sessionId": session, "prompt": []}))
    first, second = await proxy.hear(), await proxy.hear()
    proxy.say(
        result(second["id"], {"messageId": "of b"}),
        result(second["id"], {"messageId": "meant for a"}),
        result(99, {"messageId": "of nobody"}),
        chunk("for a session of nobody", "c"),
    )
    answer = await chained.client.hear()
    assert (answer["id"], answer["result"]) == (2, {"messageId": "of b"})
    assert (await chained.client.hear())["params"]["sessionId"] == "c", "the client decides"
    chained.client.say(notification("$/cancel_request", {"requestId": 1}))
    cancelled = await proxy.hear()
    assert cancelled["params"] == {"requestId": first["id"]}
    proxy.say(result(first["id"], {"messageId": "of a"}))
    assert (await chained.client.hear())["result"] == {"messageId": "of a"}
    await chained.end()


async def test_a_client_ignores_what_a_proxy_says_in_a_session_that_it_never_opened() -> None:
    proxy = Proxy("confused")

    @proxy.from_client("session/prompt")
    async def mislead(call: Request) -> None:
        content = v2.TextContent(text="for somebody else")
        update = v2.AgentMessageChunk(message_id="m", content=content)
        await call.connection.update("nobody's", update)

    async with parley.connect(Conductor(proxy, agent=_worker()), "/") as connection:
        session = await connection.new_session()
        assert await session.ask("Hello") == "Hello"


@pytest.mark.requirement("TR-PRX-31")
async def test_a_proxy_that_dies_at_a_cancel_fails_the_prompt_and_no_other_chain() -> None:
    dying = ComponentSpec(target=component_command("dying", "session/cancel"), name="dying")
    conductor = Conductor(dying, agent=_worker())
    async with (
        parley.connect(conductor, "/") as connection,
        parley.connect(conductor, "/") as elsewhere,
    ):
        session, other = await connection.new_session(), await elsewhere.new_session()
        turn = session.prompt("wait")
        async for _ in turn:
            await session.cancel()
            break
        with pytest.raises((InternalError, ConnectionClosed), match="dying"):
            await turn
        assert await other.ask("I go on") == "I go on"


@pytest.mark.requirement("TR-PRX-31")
async def test_a_component_that_dies_while_nothing_is_asked_is_the_reason_of_the_end() -> None:
    dying = ComponentSpec(target=component_command("dying", "_die"), name="the dying one")
    async with parley.connect(Conductor(dying, agent=_worker()), "/") as connection:
        await connection.notify("_die", {})
        reason = await connection.peer.wait_closed()
        assert isinstance(reason, ProcessExited)
        assert reason.code == 3
        assert "the dying one" in reason.summary
        assert "my last words" in str(reason)
        with pytest.raises(ConnectionClosed, match="the dying one"):
            await connection.new_session()


@pytest.mark.parametrize("when", ["before", "after", "opening"])
async def test_a_proxy_of_this_process_that_hangs_at_the_beginning_is_given_up(when: str) -> None:
    proxy = Proxy("the hanging one")

    @proxy.from_client("initialize")
    async def hang(call: Request) -> Response:
        reply = await call.forward() if when == "after" else None
        await asyncio.get_running_loop().create_future()
        assert reply is not None
        return reply

    @proxy.open_connection
    async def open_connection(connection: ProxyConnection) -> None:
        if when == "opening":
            await asyncio.get_running_loop().create_future()

    agent = FakeComponent()
    chained = ConductedChain(Conductor(Proxy("above"), proxy, agent=agent, component_timeout=0.2))
    chained.initialize()
    if when == "after":
        await answer_initialize(agent)
    told = (await chained.client.hear())["error"]["message"]
    assert told == "the hanging one did not answer initialize within 0.2 seconds"
    assert await chained.task is not None


async def test_a_proxy_of_this_process_that_cannot_begin_is_named() -> None:
    proxy = Proxy("the unwilling one")

    @proxy.open_connection
    async def reject(connection: ProxyConnection) -> None:
        raise OSError("no disk")

    failed = (await ConductedChain(Conductor(proxy, agent=_worker())).begin())["error"]
    assert failed["message"] == "the unwilling one failed"


def test_a_chain_does_not_end_with_a_proxy() -> None:
    for given in ("budget --cost 1", Proxy("p"), builtin.versions()):
        with pytest.raises(ValueError, match="is a proxy, and a chain ends with an agent"):
            Conductor(agent=given)


def test_a_chain_with_an_agent_is_no_proxy_but_may_be_the_agent() -> None:
    whole = Conductor(Proxy("p"), agent=_worker(), name="whole")
    with pytest.raises(ValueError, match="whole is a chain with an agent of its own"):
        Conductor(whole, agent=_worker())
    assert Conductor(Proxy("q"), agent=whole).agent is not None


async def test_an_agent_of_this_process_is_called_by_its_name() -> None:
    agent = Agent("librarian")
    assert ComponentSpec(target=agent).label == "librarian"
    assert ComponentSpec(target=agent, name="mine").label == "mine"


# Tools


class Tools:
    """Tools of a client that go wrong."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def wrong(self) -> str:
        """Raise."""
        raise ToolError("that went wrong")

    async def broken(self) -> str:
        """Raise what nobody expects."""
        raise OSError("a secret of the program")

    async def never(self) -> str:
        """Wait."""
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.ended.set()
        raise AssertionError

    async def stubborn(self) -> str:
        """Wait, and raise when that is cancelled."""
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.ended.set()
            raise ToolError("not like that")

    async def book(self) -> CallToolResult:
        """Return 50 MB."""
        self.begun.set()
        self.ended.set()
        return CallToolResult(content=[TextContent(type="text", text="x" * 50_000_000)])

    @property
    def all(self) -> list[Callable[..., Any]]:
        return [self.wrong, self.broken, self.never, self.stubborn, self.book]


@KINDS
async def test_tools_that_raise_are_told_through_a_chain(kind: str) -> None:
    async with _two(kind, 2, tools=Tools().all) as (one, other, _):
        assert (await one.ask("call wrong")).endswith("that went wrong")
        assert "secret" not in await one.ask("call broken")
        assert await other.ask("I go on") == "I go on"


@KINDS
async def test_fifty_megabytes_of_a_tool_pass_a_chain_and_harm_nobody(kind: str) -> None:
    async with _two(kind, 2, tools=Tools().all) as (one, other, _):
        book = asyncio.create_task(one.ask("call book"))
        assert await other.ask("I go on") == "I go on"
        assert await book == "50000000 characters"


@VERSIONS
@pytest.mark.parametrize("tool", ["never", "stubborn", "book"])
async def test_a_tool_that_works_is_cancelled_through_a_chain(tool: str, version: int) -> None:
    tools = Tools()
    async with _two("process", version, tools=tools.all) as (one, other, _):
        calling = asyncio.create_task(_prompt(one, f"call {tool}"))
        await tools.begun.wait()
        await one.cancel()
        assert await other.ask("I go on") == "I go on"
        ways = ("cancelled", "end_turn") if tool == "book" else ("cancelled",)
        assert await _ended(calling) in ways, "the book may arrive before the agent hears of it"
        await tools.ended.wait()
        assert await one.ask("so do I") == "so do I"
