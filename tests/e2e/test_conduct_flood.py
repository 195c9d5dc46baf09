"""`parley conduct` in a flood: what it costs, and that it ends with its client."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shlex
import sys
import termios
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unit.proxy.conducted_chain import component_command

from .agent_process import AgentProcess
from .command import PARLEY
from .gateway_process import INITIALIZE

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and looks into a pipe")
PLAIN = shlex.join(component_command("plain"))
MB = 1_000_000
WAIT = 60
"""How many seconds an event may take on a busy machine."""


@asynccontextmanager
async def _conducted(*words: str, **env: str) -> AsyncGenerator[AgentProcess, None]:
    """Run a chain that has been initialized; whatever becomes of the test, it is ended."""
    process = await asyncio.create_subprocess_exec(
        *PARLEY, "conduct", "--inherit", "PIDS", *words,
        stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=1 << 20, env={**os.environ, **env},
    )  # fmt: skip
    try:
        conductor = AgentProcess(process)
        await conductor.write(json.dumps(INITIALIZE).encode() + b"\n")
        await conductor.next()
        yield conductor
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _until_taken(conductor: AgentProcess) -> None:
    """Wait until the conductor has read all that was written."""
    pipe = conductor.stdin.get_extra_info("pipe").fileno()
    is_buffered = conductor.stdin.transport.get_write_buffer_size
    while is_buffered() or any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))):  # noqa: ASYNC110
        await asyncio.sleep(0.001)  # a pipe announces nothing


@on_linux
@pytest.mark.requirement("SAFE-LIVE-07")
@pytest.mark.parametrize(
    ("proxies", "taken"), [([], 1), (["log"], 2), ([PLAIN], 3)], ids=["none", "log", "process"]
)
async def test_a_chain_ends_with_its_client_while_the_agent_does_not_read(
    places: Path, tmp_path: Path, proxies: list[str], taken: int
) -> None:
    pids = tmp_path / "pids"
    async with (
        asyncio.timeout(2 * WAIT),
        _conducted(*proxies, "--", *component_command("deaf"), PIDS=str(pids)) as conductor,
    ):
        for number in range(taken):  # one fills the pipe of the agent, further ones what is before
            await conductor.write(_request(number, 4 * MB))
            await _until_taken(conductor)
        await conductor.write(_request(taken, 10))  # the client is not read any more
        _hang_up(conductor)
        assert await conductor.process.wait() == 0
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@on_linux
@pytest.mark.requirement("SAFE-LIVE-04")
async def test_a_flood_of_long_requests_costs_a_chain_little_and_each_is_answered(
    places: Path,
) -> None:
    async with (
        asyncio.timeout(2 * WAIT),
        _conducted("log", "--", *component_command("mute")) as conductor,
    ):
        before = conductor.peak_bytes
        for number in range(200):
            await conductor.write(_request(number, MB))
        refused = [await conductor.next() for _ in range(150)]
        assert {each["error"]["code"] for each in refused} == {-32005}
        assert conductor.peak_bytes - before < 200 * MB
        _hang_up(conductor)
        assert await conductor.process.wait() == 0


def _hang_up(conductor: AgentProcess) -> None:
    """Close both ends, as the kernel does for a client that is killed."""
    stdout: Any = conductor.stdout
    conductor.stdin.transport.abort()
    stdout._transport.close()


def _request(id: int, size: int) -> bytes:
    text = b"x" * size
    return b'{"jsonrpc":"2.0","id":%d,"method":"_ask","params":{"text":"%b"}}\n' % (id, text)
