"""The program that an agent starts for a server over ACP: it passes bytes on and ends with both."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

from parley.mcp import _shim

from .bridged_provider import bridged_provider

Json = dict[str, Any]


async def started(declared: Json, **more: str) -> asyncio.subprocess.Process:
    env = {each["name"]: each["value"] for each in declared["env"]}
    return await asyncio.create_subprocess_exec(
        declared["command"],
        *declared["args"],
        env={"PATH": os.environ["PATH"], **env, **more},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**26,
    )


async def asked(process: asyncio.subprocess.Process, line: bytes) -> bytes:
    """Return what is answered to a line."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line)
    return await process.stdout.readline()


async def test_it_ends_with_its_input_and_the_connection_is_given_back() -> None:
    async with bridged_provider("stdio") as desk:
        process = await started(await desk.declare())
        hello = (
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
            b'"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}\n'
        )
        assert b'"id":1' in await asked(process, hello)
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
        await desk.has_disconnected.wait()


async def test_it_ends_with_the_bridge() -> None:
    async with bridged_provider("stdio") as desk:
        process = await started(await desk.declare())
        await asked(process, b'{"jsonrpc":"2.0","id":1,"method":"x"}\n')
    assert await process.wait() == 0


async def test_it_ends_when_its_server_is_withdrawn() -> None:
    async with bridged_provider("stdio") as desk:
        process = await started(await desk.declare())
        await asked(process, b'{"jsonrpc":"2.0","id":1,"method":"x"}\n')
        await desk.bridge.withdraw(desk.server_id)
        assert await process.wait() == 0


async def test_what_is_no_message_ends_nothing() -> None:
    async with bridged_provider("stdio") as desk:
        process = await started(await desk.declare())
        asking = b'{\n[]\n\xff\n{"jsonrpc":"2.0","id":1,"method":"x"}\n'
        assert b'"id":1' in await asked(process, asking)
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def test_it_says_that_nobody_is_there() -> None:
    async with bridged_provider("stdio") as desk:
        declared = await desk.declare()
    process = await started(declared)
    _, error = await process.communicate()
    assert process.returncode == 1
    assert b"the MCP server has gone" in error


async def test_the_token_is_not_on_its_command_line() -> None:
    async with bridged_provider("stdio") as desk:
        declared = await desk.declare()
    token = next(each["value"] for each in declared["env"] if each["name"] == _shim.TOKEN)
    assert token not in " ".join([declared["command"], *declared["args"]])


def test_started_by_hand_it_says_what_it_is_for() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "parley.mcp._shim"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert _shim.ADDRESS in done.stderr
