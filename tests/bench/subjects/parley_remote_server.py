"""The remote agent under test, on the whole of Parley: an `Agent` behind Parley's own server.

It prints its address. The prompt `updates N` says N pieces of one message, `pour N` the same piece
again and again; `_bench/echo` answers with what it gets, `_bench/cpu` with the seconds of CPU that
this process has used. `--gateway` puts the agent into a process of its own, one for all clients,
behind a gateway; `--stdio` is that agent.
"""

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from itertools import repeat

from parley import Agent
from parley.agent import AgentConnection, Turn
from parley.gateway import AgentHost
from parley.transport import StdioTransport
from parley.transport.http._app.access import Access
from parley.transport.http._app.serving import serve

FILLER = "the quick brown fox jumps over the lazy dog, again."


def texts(count: int) -> list[str]:
    """Make what is said beforehand, which is none of the SDK's work."""
    return [f"{number:08d} {FILLER}" for number in range(count)]


def make_agent() -> Agent:
    # The sessions of all clients of a gateway are on one connection.
    agent = Agent("bench", max_sessions=20_000)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        work, count = turn.text.split()
        for text in texts(int(count)) if work == "updates" else repeat(FILLER, int(count)):
            await turn.say(text)

    @agent.request("_bench/echo")
    async def echo(params: dict[str, str], connection: AgentConnection) -> dict[str, str]:
        return params

    @agent.request("_bench/cpu")
    async def cpu(params: dict[str, str], connection: AgentConnection) -> dict[str, float]:
        return {"seconds": time.process_time()}

    return agent


async def run(*, is_gateway: bool) -> None:
    async with AsyncExitStack() as stack:
        host: Agent | AgentHost = make_agent()
        if is_gateway:
            agent = [sys.executable, __file__, "--stdio"]
            host = AgentHost("bench", agent, is_shared=True)
            stack.push_async_callback(host.aclose)
        serving = await stack.enter_async_context(serve(host, "127.0.0.1:0", access=Access()))
        sys.stdout.write(f"{serving.url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)


async def run_on_stdio() -> None:
    await make_agent().serve(StdioTransport())


if __name__ == "__main__":
    asyncio.run(
        run_on_stdio() if "--stdio" in sys.argv else run(is_gateway="--gateway" in sys.argv)
    )
