"""Messages of earlier drafts, sent to a live peer.

`docs/reference/versions.md` lists what becomes of them.

https://agentclientprotocol.com/rfds/session-list
https://agentclientprotocol.com/rfds/custom-llm-endpoint
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.agent._connection import AgentConnection as AgentConnection
from parley.agent._store import MemoryStore, StoredSession
from parley.errors import RemoteProtocolError
from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.schema.base import Unknown
from parley.transport import memory_pair

from .raw_agent import INFO, RawAgent, connected
from .raw_client import RawClient, initialized, talking

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "versions.md"
VERSIONS = {"1": (1,), "2": (2,), "1, 2": (1, 2)}
TODAY = "2025-10-20T00:00:00Z"

Check = Callable[[int], Awaitable[None]]
CHECKS: dict[str, tuple[str, Check]] = {}
"""By the first column of the table: the versions, and what shows that the row is true."""


def row(shape: str, versions: str) -> Callable[[Check], Check]:
    """Register the check of a row."""

    def register(check: Check) -> Check:
        CHECKS[shape] = (versions, check)
        return check

    return register


def documented() -> dict[str, list[str]]:
    """Return the rows of the table, by their first column."""
    _, _, after = DOCUMENT.read_text().partition("| older shape |")
    table = after.partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    return {cells[0].strip(): cells[1:] for cells in rows}


async def client_name(**params: Any) -> str:
    """Return what an agent takes the name of its client for."""
    agent = Agent("x")

    @agent.request("_client/name")
    async def name(params: Any, connection: AgentConnection) -> str:
        assert connection.client_info is not None
        return connection.client_info.name

    here, there = memory_pair()
    serving = asyncio.create_task(agent.serve(there))
    client = RawClient(here)
    assert (await client.call("initialize", params))["protocolVersion"] == 2
    found: str = await client.call("_client/name")
    await here.aclose()
    await serving
    return found


@row("`clientInfo` in `initialize`", "2")
async def client_info(version: int) -> None:
    older = await client_name(protocolVersion=version, capabilities={}, clientInfo=INFO)
    assert older == INFO["name"]
    other = {**INFO, "name": "newest"}
    assert await client_name(protocolVersion=version, info=other, clientInfo=INFO) == "newest"


@row("`agentInfo` in the response to `initialize`", "2")
async def agent_info(version: int) -> None:
    agent = RawAgent(version)
    agent.hello["agentInfo"] = agent.hello.pop("info")
    async with connected(agent) as connection:
        assert connection.info.name == INFO["name"]
        await connection.new_session()


@row("no `info` in `initialize` or its response", "2")
async def no_info(version: int) -> None:
    assert await client_name(protocolVersion=version, capabilities={}) == "unknown"
    assert await client_name(protocolVersion=version, clientInfo=None) == "unknown"
    agent = RawAgent(version)
    del agent.hello["info"]
    async with connected(agent) as connection:
        assert connection.info.name == "unknown"
        await connection.new_session()


@row("`protocolVersion: 2` with `agentCapabilities` and no `info`", "2")
async def echo(version: int) -> None:
    agent = RawAgent(1)
    agent.hello["protocolVersion"] = version
    async with connected(agent) as connection:
        assert connection.version == 1


@row("`protocolVersion` as a date", "1, 2")
async def date(version: int) -> None:
    async with talking() as client:
        body: dict[str, Any] = {"info": INFO} if version == 2 else {"clientInfo": INFO}
        response = await client.ask("initialize", {"protocolVersion": "2025-11-25", **body})
        assert response["error"]["code"] == -32602
        assert "numbers, not dates; this agent supports" in response["error"]["data"]["problem"]
    agent = RawAgent(version)
    agent.hello["protocolVersion"] = "2025-11-25"
    with pytest.raises(RemoteProtocolError, match=r"result\.protocolVersion: expected integer"):
        async with connected(agent):
            pass


@row("`session/load`", "2")
async def load(version: int) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        await client.turn(session, "say hi")
        await client.call("session/close", {"sessionId": session})
        since = len(client.log)
        params: dict[str, Any] = {"sessionId": session, "cwd": "/project", "mcpServers": []}
        assert "configOptions" in await client.call("session/load", params)
        messages = [each for each in client.updates(session, since) if "content" in each]
        assert "hi" in json.dumps(messages)


@row("`id` of a provider in `providers/*`", "1, 2")
async def provider_id(version: int) -> None:
    async with initialized(version) as client:
        await client.call("providers/disable", {"id": "openai"})
        found = (await client.call("providers/list"))["providers"]
        assert all("providerId" in each and "id" not in each for each in found)
    agent = RawAgent(
        version, {"providers": {}, "session": {}} if version == 2 else {"providers": {}}
    )
    older = {"id": "main", "supported": ["openai"], "required": True, "current": None}
    agent.answers["providers/list"] = lambda params: {"providers": [older]}
    async with connected(agent) as connection:
        assert [each.provider_id for each in await connection.list_providers()] == ["main"]


class Titled(MemoryStore):
    """A store with two sessions, of which the older was changed last."""

    def __init__(self) -> None:
        super().__init__()
        self.times = {"old": "2025-10-19T00:00:00Z", "new": "2025-10-21T00:00:00Z"}
        for id, title in (("old", "Fix the Auth bug"), ("new", "Write docs")):
            session = StoredSession(id=id, cwd="/w", created_at=self.times[id])
            session.updated_at = "2025-10-22T00:00:00Z"
            session.transcript.fold(v2.SessionInfoUpdate(title=title))
            self._sessions[id] = session


async def listed(version: int, store: Any, **filters: Any) -> Any:
    """Ask an agent with this store for its sessions; return their ids, or the error."""
    agent = Agent("x", store=store)

    @agent.prompt
    async def respond(turn: Turn) -> None: ...

    here, there = memory_pair()
    serving = asyncio.create_task(agent.serve(there))
    client = RawClient(here)
    await client.initialize(version)
    reply = await client.ask("session/list", filters)
    await here.aclose()
    await serving
    if "error" in reply:
        return reply["error"]
    return {each["sessionId"] for each in reply["result"]["sessions"]}


class Undated:
    """A store that does not know when its sessions were created."""

    def __init__(self) -> None:
        inner = Titled()
        self.list, self.get, self.append = inner.list, inner.get, inner.append
        self.put, self.delete = inner.put, inner.delete


@row("`createdAfter` in `session/list`", "1, 2")
async def created_after(version: int) -> None:
    assert await listed(version, Titled(), createdAfter=TODAY) == {"new"}
    assert await listed(version, Titled(), createdAfter="2025-10-18") == {"old", "new"}
    assert await listed(version, Titled(), createdAfter="2026-01-01T00:00:00+01:00") == set()
    assert await listed(version, Undated(), createdAfter=TODAY) == {"old", "new"}
    assert await listed(version, Undated(), createdAfter="2025-10-23T00:00:00Z") == set()
    error = await listed(version, Titled(), createdAfter="yesterday")
    assert error["code"] == -32602
    assert "params.createdAfter: expected a time" in error["data"]["problem"]
    assert await listed(version, Titled(), createdAfter=5) == {"old", "new"}, "some other member"


@row("`search` in `session/list`", "1, 2")
async def search(version: int) -> None:
    assert await listed(version, Titled(), search="auth") == {"old"}
    assert await listed(version, Titled(), search="DOCS", cwd="/w") == {"new"}
    assert await listed(version, Titled(), search="auth", createdAfter=TODAY) == set()
    assert await listed(version, Titled(), search={"x": 1}) == {"old", "new"}


def option(version: int, type: str, *, key: str = "name", **changed: Any) -> dict[str, Any]:
    """Return a config option."""
    return {
        "id" if version == 1 else "configId": "model",
        "name": "Model",
        "type": type,
        "currentValue": "fast",
        "options": [{"value": "fast", key: "Fast"}],
        **changed,
    }


async def options_of(version: int, *options: Any) -> list[Any]:
    """Return the options that a client reads in the response to `session/new`."""
    agent = RawAgent(version)
    agent.answers["session/new"] = lambda params: {
        "sessionId": "s",
        "configOptions": list(options),
    }
    async with connected(agent) as connection:
        return (await connection.new_session()).transcript.config_options


@row("config option of type `enum`", "1, 2")
async def enumeration(version: int) -> None:
    (read,) = await options_of(version, option(version, "enum"))
    assert isinstance(read, v2.SessionConfigSelect)
    assert json.loads(encode(read))["type"] == "select"
    other = await options_of(version, option(version, "enum", options="any"))
    assert [type(each) for each in other] == ([] if version == 1 else [Unknown])


@row("`label` of a value", "1, 2")
async def label(version: int) -> None:
    for kind in ("select", "enum"):
        (read,) = await options_of(version, option(version, kind, key="label"))
        assert isinstance(read, v2.SessionConfigSelect)
        assert [each.name for each in read.options] == ["Fast"]
        assert b"label" not in encode(read)


@row("`id` of a config option", "2")
async def option_id(version: int) -> None:
    older = option(version, "select")
    older["id"] = older.pop("configId")
    (read,) = await options_of(version, older)
    assert read.config_id == "model"
    (newest,) = await options_of(version, {**older, "configId": "newest"})
    assert newest.config_id == "newest"


def exit_status(version: int, signal: Any) -> v1.TerminalExitStatus | v2.TerminalExitStatus:
    raw = json.dumps({"signal": signal}).encode()
    if version == 1:
        return decode(v1.TerminalExitStatus, raw)
    return decode(v2.TerminalExitStatus, raw)


@row("`signal` as a number", "1, 2")
async def signal(version: int) -> None:
    for number, name in ((9, "SIGKILL"), (15, "SIGTERM"), (10, "10"), ("SIGHUP", "SIGHUP")):
        read = exit_status(version, number)
        assert read.signal == name
        assert json.loads(encode(read)) == {"signal": name}
    wrong: list[Any] = [0, -9, 9.5, True, [], {}]
    for odd in wrong:
        assert exit_status(version, odd).signal is None


@row("unknown `stopReason`", "1")
async def stop_reason(version: int) -> None:
    agent = RawAgent(version)
    agent.stop_reason = "bored"
    async with connected(agent) as connection:
        session = await connection.new_session()
        assert (await session.prompt("go")).stop_reason == "bored"


ROWS = [(shape, version) for shape, (in_, _) in CHECKS.items() for version in VERSIONS[in_]]


@pytest.mark.parametrize(
    ("shape", "version"), ROWS, ids=[f"{CHECKS[shape][1].__name__}-{v}" for shape, v in ROWS]
)
async def test_an_older_shape_is_read_or_refused_as_documented(shape: str, version: int) -> None:
    await CHECKS[shape][1](version)


def test_the_table_of_older_shapes_lists_exactly_what_is_checked_here() -> None:
    assert {shape: cells[0] for shape, cells in documented().items()} == {
        shape: versions for shape, (versions, _) in CHECKS.items()
    }


def test_only_a_fallback_is_ever_sent_in_an_older_shape() -> None:
    sent = {shape: cells[2] for shape, cells in documented().items() if cells[2] != "no"}
    assert sent == {"`session/load`": "after -32601"}
