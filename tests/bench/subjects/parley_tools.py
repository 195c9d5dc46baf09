"""Tool calls under test: `parley_tools.py WAY COUNT` prints how long one takes, and its CPU.

Caller and server are two processes. On the ways of ACP the server is this one, a client with tools,
and the caller an agent (`--agent WAY`); on the ways of the `mcp` package alone the caller is this
one, and `--server HOW` the other. The CPU of a program between them is not counted.
"""

import asyncio
import json
import socket
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

import parley
from parley.agent import Agent, Turn
from parley.client import Process
from parley.mcp import _open_client
from parley.session._capabilities import AgentFeatures

FEATURES = {
    "acp": AgentFeatures(mcp_acp=True, mcp_stdio=True),
    "acp-former": AgentFeatures(mcp_acp=True, mcp_stdio=True),
    "bridge-http": AgentFeatures(mcp_http=True, mcp_stdio=True),
    "bridge-stdio": AgentFeatures(mcp_stdio=True),
}
WARM_UP = 50

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


def cpu() -> float:
    """Tell how many seconds of CPU the server has used."""
    return time.process_time()


async def measure(call: Call, count: int) -> dict[str, float]:
    """Call the tool again and again."""
    for number in range(WARM_UP):
        await call("add", {"left": number, "right": 1})
    theirs = (await call("cpu", {})).structured_content["result"]
    ours = time.process_time()
    times: list[float] = []
    for number in range(count):
        begin = time.perf_counter()
        answer = await call("add", {"left": number, "right": 1})
        times.append(time.perf_counter() - begin)
        assert answer.structured_content == {"result": number + 1}
    ours = time.process_time() - ours
    theirs = (await call("cpu", {})).structured_content["result"] - theirs
    return {"p50": statistics.median(times), "cpu": (ours + theirs) / count}


def be_agent(way: str) -> None:
    if way == "acp-former":  # a client with the handshake is carried in the older form
        _open_client.__dict__["Client"] = partial(Client, mode="legacy")
    agent = Agent("bench", features=FEATURES[way])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        client = await turn.session.mcp.client("tools")
        await turn.say(json.dumps(await measure(client.call_tool, int(turn.text))))

    agent.run()


async def over_acp(way: str, count: int) -> str:
    command = [sys.executable, __file__, "--agent", way]
    async with parley.connect(command, "/", process=Process(inherit=["PYTHONPATH"])) as connection:
        session = await connection.new_session(tools=[add, cpu])
        return await session.ask(str(count))


def be_server(how: str) -> None:
    server = MCPServer("tools", log_level="ERROR")
    server.add_tool(add)
    server.add_tool(cpu)
    if how == "stdio":
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(how))


@asynccontextmanager
async def reached(way: str) -> AsyncGenerator[Client]:
    """Reach a server of the `mcp` package with its own client."""
    if way == "alone-stdio":
        server = StdioServerParameters(command=sys.executable, args=[__file__, "--server", "stdio"])
        async with Client(server) as client:
            yield client
        return
    port = free_port()
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, "--server", str(port))
    try:
        await listening(port)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            yield client
    finally:
        process.terminate()
        await process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


async def listening(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


async def alone(way: str, count: int) -> str:
    async with reached(way) as client:
        return json.dumps(await measure(client.call_tool, count))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--agent", way]:
            be_agent(way)
        case ["--server", how]:
            be_server(how)
        case [way, count]:
            run = over_acp if way in FEATURES else alone
            sys.stdout.write(asyncio.run(run(way, int(count))))
        case _:
            sys.exit(__doc__)
