"""Agents that others wrote call a tool of this process, though they know no MCP over ACP.

The bridge tells them of a server over HTTP, or of a program to start. The tool says that it changes
nothing: codex in version 2 has no way to ask whether it may call any other one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from msgspec import Struct
from tests.interop.host import Host
from tests.peers import Peer

import parley
from parley.client import Process
from parley.mcp import _bridge

from .headless import every_agent
from .launch import Kind, Launch
from .model import ANSWER, Model, conversation
from .turn import BOUND_SECONDS

PROMPT = 'Please USE multiply{"a":6,"b":7} now'


class Used(Struct):
    """What came of a turn in which the tool was to be called."""

    text: str
    statuses: list[str]
    calls: list[tuple[int, int]]
    reach: str | None


def use(launch: Launch, cwd: Path, version: int) -> Used:
    """Start an agent, give it a server of ours, prompt it once and end it."""
    calls: list[tuple[int, int]] = []
    server = MCPServer("sums")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        calls.append((a, b))
        return a * b

    async def bounded() -> Used:
        connected = parley.connect(
            launch.command,
            cwd,
            process=Process(env=launch.env),
            versions=(version,),
            **Host().offers(),
        )
        async with asyncio.timeout(BOUND_SECONDS), connected as connection:
            session = await connection.new_session(mcp_servers=[server])
            result = await session.prompt(PROMPT)
            used = connection._state.toolbox.bridge
            statuses = [str(each.status) for each in session.transcript.tool_calls.values()]
            return Used(result.text, statuses, calls, None if used is None else used.reach)

    return asyncio.run(bounded())


@every_agent
@pytest.mark.parametrize("reach", ["http", "stdio"])
@pytest.mark.requirement("TR-MCP-14")
def test_an_agent_calls_a_tool_of_this_process(
    find_peer: Callable[[Peer], Path],
    tmp_path: Path,
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
    reach: str,
) -> None:
    monkeypatch.setattr(_bridge, "_has_http", lambda: reach == "http")
    work = tmp_path / "work"
    work.mkdir()
    launch = kind.launch(find_peer(kind.peer), tmp_path / "home", model.url)
    used = use(launch, work, kind.protocol)
    assert used.reach == reach
    assert used.calls == [(6, 7)]
    assert used.statuses[-1] == "completed"
    assert used.text.strip().endswith(ANSWER)
    told = [text for body in model.asked for role, text in conversation(body) if role == "tool"]
    assert "42" in told[-1], "what the tool returned is what the model was told"
