"""What is left of the bridge to an agent when the program that has the tools is killed outright."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

pytest.importorskip("mcp")

AGENT = """
import json, os, subprocess, sys
def say(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        say(message["id"], {"protocolVersion": 1, "agentCapabilities": {}})
    elif message["method"] == "session/new":
        server = message["params"]["mcpServers"][0]
        env = {each["name"]: each["value"] for each in server["env"]}
        child = subprocess.Popen(
            [server["command"], *server["args"]], env={**os.environ, **env},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )
        child.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
        child.stdin.flush()
        child.stdout.readline()
        say(message["id"], {"sessionId": f"{os.getpid()} {child.pid}"})
"""
CLIENT = """
import asyncio, sys, parley
def note(word: str) -> str:
    return word
async def main():
    async with parley.connect([sys.executable, "-c", sys.argv[1]], "/") as agent:
        session = await agent.new_session(tools=[note])
        print(session.id, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def _is_there(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
async def test_agent_and_shim_are_gone_with_a_client_that_is_killed(places: Path) -> None:
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, AGENT, stdout=PIPE, stdin=PIPE
    )
    assert client.stdout is not None
    started = [int(each) for each in (await client.stdout.readline()).split()]
    assert len(started) == 2
    assert all(map(_is_there, started))
    os.kill(client.pid, signal.SIGKILL)
    await client.wait()
    while any(map(_is_there, started)):  # noqa: ASYNC110 - process ids announce nothing
        await asyncio.sleep(0.01)
