"""A conductor whose client, and often whose components, are spoken to in bytes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from parley.errors import RequestError
from parley.proxy import Conductor
from parley.transport import memory_pair
from parley.transport._base import Transport

from .proxied_pair import PARAMS, RESULTS, JsonPeer, notification, request, result

SCRIPT = str(Path(__file__).with_name("component_process.py"))


def component_command(*words: str) -> list[str]:
    """Return the command of a component that is a process; see `component_command.py`."""
    return [sys.executable, SCRIPT, *words]


class FakeComponent:
    """A component, or an agent, that a test is by itself."""

    def __init__(self) -> None:
        self._talker: asyncio.Future[JsonPeer] | None = None
        self.is_started = False

    def _future(self) -> asyncio.Future[JsonPeer]:
        if self._talker is None:
            self._talker = asyncio.get_running_loop().create_future()
        return self._talker

    async def serve(self, transport: Transport, /) -> None:
        self.is_started = True
        talker = JsonPeer(transport)  # type: ignore[arg-type]
        self._future().set_result(talker)
        await talker.until(lambda: talker.lost is not None)

    async def talker(self) -> JsonPeer:
        return await self._future()

    async def hear(self) -> Any:
        return await (await self.talker()).hear()

    def say(self, *frames: bytes) -> None:
        self._future().result().say(*frames)


class ConductedChain:
    """A client of a conductor."""

    def __init__(self, conductor: Conductor) -> None:
        near, far = memory_pair()
        self.client = JsonPeer(near)
        self.task = asyncio.create_task(self._conduct(conductor, far))

    async def _conduct(self, conductor: Conductor, far: Transport) -> RequestError | None:
        return await conductor.conduct(far)

    def initialize(self, version: int = 2, **more: object) -> None:
        self.client.say(request("init", "initialize", PARAMS[version] | more))

    async def begin(self, version: int = 2) -> Any:
        """Initialize a chain whose components do their part by themselves."""
        self.initialize(version)
        return await self.client.hear()

    async def end(self) -> RequestError | None:
        """Hang up, and wait for the end of the chain."""
        await self.client.transport.aclose()
        return await self.task


async def pass_initialize(part: FakeComponent, prefix: str = "") -> Any:
    """Have a proxy of the test's pass on what begins the conversation; returns what it heard."""
    asked = await part.hear()
    assert asked["method"] == f"{prefix}proxy/initialize"
    inside = {"method": "initialize", "params": asked["params"]}
    part.say(request("down", f"{prefix}proxy/successor", inside))
    return asked


async def answer_initialize(part: FakeComponent, version: int = 2) -> Any:
    """Have an agent of the test's answer what begins the conversation; returns what it heard."""
    asked = await part.hear()
    assert asked["method"] == "initialize"
    part.say(result(asked["id"], RESULTS[version]))
    return asked


async def chain_of_fakes(prefix: str = "") -> tuple[ConductedChain, FakeComponent, FakeComponent]:
    """Return an initialized chain of a client, a proxy and an agent, all of them the test's."""
    proxy, agent = FakeComponent(), FakeComponent()
    chained = ConductedChain(Conductor(proxy, agent=agent))
    chained.initialize()
    if prefix:
        first = await proxy.hear()
        assert first["method"] == "proxy/initialize"
        refused = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no"}}'
        proxy.say(refused % first["id"])
    asked = await pass_initialize(proxy, prefix)
    await answer_initialize(agent)
    answered = await proxy.hear()
    proxy.say(result(asked["id"], answered["result"]))
    await chained.client.hear()
    return chained, proxy, agent


def wrap(method: str, params: object, prefix: str = "") -> bytes:
    """Return a notification of a proxy's to its successor, or back."""
    return notification(f"{prefix}proxy/successor", {"method": method, "params": params})
