"""Two peers joined by a switch, spoken to in bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from parley.errors import ConnectionClosed
from parley.proxy import DirectResponse, Port, PortOptions, RawMessage, Route, Switch
from parley.proxy._switch.port import DEFAULT_OPTIONS
from parley.proxy._switch.switch import IN_FLIGHT_BYTES
from parley.rpc._framing import Frame
from parley.transport import MemoryTransport, memory_pair


class RawPeer:
    """The far end of a port."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.frames: list[bytes] = []
        self.lost: ConnectionClosed | None = None
        self._changed = asyncio.Event()
        self._taken = 0
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        self.frames += [bytes(frame) for frame in frames]
        self._changed.set()

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.lost = reason
        self._changed.set()

    def say(self, *frames: bytes) -> None:
        for frame in frames:
            self.transport.send(frame)

    async def until(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough():
            self._changed.clear()
            await self._changed.wait()

    async def next(self) -> bytes:
        await self.until(lambda: len(self.frames) > self._taken)
        self._taken += 1
        return self.frames[self._taken - 1]

    async def is_silent(self) -> bool:
        """Tell whether nothing comes in a few turns of the event loop, which is all it takes."""
        for _ in range(10):
            await asyncio.sleep(0)
        return len(self.frames) == self._taken


class SwitchedPair:
    """A client, an agent, and the switch between them."""

    def __init__(
        self,
        *,
        in_flight: int = 1024,
        in_flight_bytes: int = IN_FLIGHT_BYTES,
        client_options: PortOptions = DEFAULT_OPTIONS,
        agent_options: PortOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.switch = Switch(in_flight=in_flight, in_flight_bytes=in_flight_bytes)
        client_near, client_far = memory_pair()
        agent_near, agent_far = memory_pair()
        self.routed: list[RawMessage] = []
        self.answers: dict[str, DirectResponse | None] = {}
        self.client_port = self.switch.add(client_near, "the client", options=client_options)
        self.agent_port = self.switch.add(agent_near, "the agent", options=agent_options)
        self.client, self.agent = RawPeer(client_far), RawPeer(agent_far)
        self.switch.start(self.client_port, self._to_agent)
        self.switch.start(self.agent_port, self._to_client)

    def _to_agent(self, port: Port, message: RawMessage) -> Route:
        self.routed.append(message)
        if message.method in self.answers:
            return self.answers[message.method]
        return self.agent_port

    def _to_client(self, port: Port, message: RawMessage) -> Port:
        self.routed.append(message)
        return self.client_port
