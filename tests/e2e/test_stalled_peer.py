"""Peers that stop reading, and handlers that stop handling: senders wait, nothing is lost.

Each side is a real process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.raw_process import child

from parley.peer import Peer
from parley.schema import v1
from parley.schema.base import JsonObject, Method
from parley.schema.v1 import methods
from parley.transport import ProcessTransport

from .agent_process import AgentProcess, running_agent

ASK: Method[JsonObject, JsonObject] = Method(
    name="_ask", to="agent", kind="request", params=JsonObject, result=JsonObject
)
NOTE: Method[JsonObject, None] = Method(
    name="_note", to="agent", kind="notification", params=JsonObject
)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
MB = 1_000_000


@pytest.mark.requirement("SAFE-LIVE-04")
@on_linux
async def test_an_agent_whose_client_does_not_read_waits_and_does_not_grow() -> None:
    async with running_agent() as agent:
        await agent.is_alive()
        before = agent.memory_bytes
        await agent.write(
            b'{"jsonrpc":"2.0","id":1,"method":"_test/flood","params":{"count":100000}}\n'
        )
        assert await agent.stderr.readline() == b"full\n"
        assert agent.memory_bytes - before < 5 * MB
        numbers = [int((await _update(agent))["content"]["text"]) for _ in range(100_000)]
        assert numbers == list(range(100_000))
        assert (await agent.next())["result"] == {"sent": 100_000}
        assert agent.memory_bytes - before < 5 * MB


async def _update(agent: AgentProcess) -> Any:
    return (await agent.next())["params"]["update"]


ENDLESS = """
from parley.agent import Agent, Turn

agent = Agent("endless")


@agent.prompt
async def reply(turn: Turn) -> None:
    while True:
        await turn.say("More. ")


agent.run()
"""
"""Never ends a turn by itself."""


@pytest.mark.requirement("SAFE-LIVE-07")
async def test_an_agent_in_the_middle_of_a_flood_ends_when_its_client_is_gone() -> None:
    ours, theirs = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ENDLESS), stdin=asyncio.subprocess.PIPE, stdout=theirs
    )
    os.close(theirs)
    stdin = process.stdin
    assert stdin is not None
    try:
        with os.fdopen(ours, "rb") as stdout:

            async def call(method: str, **params: Any) -> Any:
                message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
                stdin.write(json.dumps(message).encode() + b"\n")
                return json.loads(await asyncio.to_thread(stdout.readline))

            await call("initialize", protocolVersion=1, clientCapabilities={})
            session = (await call("session/new", cwd="/", mcpServers=[]))["result"]["sessionId"]
            prompt = [{"type": "text", "text": "Go"}]
            first = await call("session/prompt", sessionId=session, prompt=prompt)
            assert first["method"] == "session/update"
        stdin.close()
        assert await asyncio.wait_for(process.wait(), 20) == 0, "it outlives its client"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


DEAF = """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
say(method="_deaf")
signal.sigwait([signal.SIGUSR1])
numbers, asked = [], []
while (message := read()) is not None:
    if "id" in message:
        asked.append(message["params"]["n"])
        say(id=message["id"], result={"numbers": len(numbers), "asked": asked})
    else:
        numbers.append(message["params"]["n"])
        assert numbers[-1] == len(numbers) - 1
"""
"""Says so, reads nothing until it gets a signal, and then checks the order of what it reads."""


class Full(ProcessTransport):
    """Tells when the child takes no more, and when it is asked to read no more."""

    def watch(self) -> None:
        self.full, self.paused = asyncio.Event(), asyncio.Event()

    def drained(self) -> asyncio.Future[None] | None:
        room = super().drained()
        if room is not None:
            self.full.set()
        return room

    def pause_reading(self) -> None:
        self.paused.set()
        super().pause_reading()


async def spawned(program: str) -> Full:
    transport = await Full.spawn(child(program))
    assert isinstance(transport, Full)
    transport.watch()
    return transport


async def stalled(send: Callable[[], Any], transport: Full) -> tuple[asyncio.Task[Any], int]:
    """Send until the child takes no more; return who sends, and how much memory that took."""
    tracemalloc.start()
    sending = asyncio.create_task(send())
    await transport.full.wait()
    for _ in range(100):  # turns in which it could go on, if it did not wait
        await asyncio.sleep(0)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return sending, peak_bytes


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_an_agent_that_does_not_read_stalls_us_and_loses_nothing() -> None:
    is_deaf = asyncio.Event()
    transport = await spawned(DEAF)
    peer = Peer(transport, "client")
    peer.set_handlers(methods.TABLE, notifications={"_deaf": lambda _: is_deaf.set()})
    async with peer:
        await is_deaf.wait()

        async def flood() -> Any:
            for number in range(20_000):
                await peer.notify(NOTE, {"n": number, "text": "x" * 60})
            return await peer.request(ASK, {"n": "last"})

        sending, peak_bytes = await stalled(flood, transport)
        assert not sending.done()
        assert peak_bytes < 5 * MB
        calls = [asyncio.create_task(peer.request(ASK, {"n": number})) for number in range(10)]
        await asyncio.sleep(0)
        os.kill(transport.pid, signal.SIGUSR1)
        assert (await sending)["numbers"] == 20_000
        answers = await asyncio.gather(*calls)
        assert answers[-1]["asked"][:10] == list(range(10))


FLOOD = """
line = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%060d"}}}}\\n'
)
asked = read()
for number in range(20_000):
    write(line % number)
say(id=asked["id"], result={"stopReason": "end_turn"})
"""


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_20_000_updates_to_a_blocked_handler_cost_less_than_10_mb() -> None:
    seen: list[int] = []
    may_handle = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()
        assert isinstance(note.update, v1.AgentMessageChunk)
        assert isinstance(note.update.content, v1.TextContent)
        seen.append(int(note.update.content.text))

    transport = await spawned(FLOOD)
    peer = Peer(transport, "client")
    peer.set_handlers(methods.TABLE, notifications={"session/update": update})
    async with peer:
        tracemalloc.start()
        question = v1.PromptRequest(session_id="s", prompt=[])
        asked = asyncio.create_task(peer.request(methods.PROMPT, question))
        await transport.paused.wait()
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < 10 * MB
        may_handle.set()
        await asked
        assert seen == list(range(20_000))
