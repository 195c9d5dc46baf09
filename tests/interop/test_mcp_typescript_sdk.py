"""MCP over ACP with the official TypeScript SDK, which has the present form, in both roles."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context

import parley
from parley.errors import RequestError

from .wire.conversation import PEERS
from .wire.run import BOUND_SECONDS, talk_to_client

both = pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])


@both
def test_our_agent_calls_a_tool_of_their_client(version: int, node: str) -> None:
    client = (node, str(PEERS / "typescript_mcp_client.mjs"), str(version))
    report = talk_to_client(client, version, (sys.executable, "-m", "tests.interop.mcp_agent"))
    assert report["asked"] == ["server/discover", "tools/list", "tools/call", "tools/call"]
    heard = "add, refuse half 5 the MCP server desk refused: Not today (-32050)"
    assert "".join(report["said"]) == heard


@both
def test_their_agent_calls_a_tool_of_our_client(version: int, node: str, tmp_path: Path) -> None:
    is_heard = asyncio.Event()

    async def add(left: int, right: int, context: Context[Any, Any]) -> int:
        """Add."""
        await context.report_progress(1, 2, "half")
        await is_heard.wait()  # the SDK forgets what comes together with the answer
        return left + right

    async def go_on(left: int, right: int) -> None:
        """Go on."""
        is_heard.set()

    def refuse(left: int, right: int) -> None:
        """Refuse."""
        raise RequestError("Not today", code=-32050)

    async def bounded() -> Any:
        command = [node, str(PEERS / "typescript_mcp_agent.mjs"), str(version)]
        async with (
            asyncio.timeout(BOUND_SECONDS),
            parley.connect(command, tmp_path, versions=(version,)) as connection,
        ):
            session = await connection.new_session(tools=[add, refuse, go_on])
            return json.loads(await session.ask("go"))

    assert asyncio.run(bounded()) == {
        "tools": ["add", "refuse", "go_on"],
        "heard": ["half"],
        "added": {"result": 5},
        "refused": {"error": {"code": -32050, "message": "Not today"}},
        "unknown": -33001,
    }
