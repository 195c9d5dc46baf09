"""What the agents of both versions do alike in the conversation."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from parley.errors import RequestError
from parley.peer import Peer, RequestContext, RequestHandler, TypedHandler
from parley.peer._initialize import Negotiated
from parley.schema.base import Kind, Method
from parley.transport import StdioTransport

from .conversation import ERROR

__all__ = ["Agent", "serve"]

SESSION = "session-1"


class Agent(ABC):
    """The agent's end of one connection."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.note = ""
        self.withdrawn = 0
        self.is_cancelled = asyncio.Event()

    @abstractmethod
    async def say(self, text: str) -> None:
        """Send a piece of the agent's message."""

    @abstractmethod
    async def send_all(self) -> None:
        """Send every kind of update."""

    @abstractmethod
    async def ask(self) -> str:
        """Ask for permission and return the option that was chosen."""

    @abstractmethod
    async def read(self, path: str) -> str:
        """Read the second line of a file of the client's."""

    def agreed(self, agreement: Negotiated, requests: Mapping[str, RequestHandler]) -> None:
        self.peer.set_handlers(
            agreement.table,
            requests={
                **requests,
                "_demo/double": TypedHandler(self.double, dict[str, int]),
                "_demo/wait": self.wait,
                "_demo/withdrawn": self.count_withdrawn,
            },
            notifications={
                "session/cancel": lambda _: self.is_cancelled.set(),
                "_demo/note": TypedHandler(self.keep_note, dict[str, str]),
            },
        )

    async def act(self, text: str) -> None:
        """Do what a prompt asks for."""
        word, _, rest = text.partition(" ")
        match word:
            case "updates":
                await self.send_all()
            case "flood":
                for number in range(int(rest)):
                    await self.say(f"chunk {number}")
            case "perm":
                await self.say(f"perm:{await self.ask()}")
            case "fs":
                await self.say(f"read:{await self.read(rest)}")
            case "slow":
                await self.say("started")
                await self.is_cancelled.wait()
            case "ext":
                await self.notify("_demo/noted", {"text": self.note})
                await self.say(f"ext:{(await self.call('_demo/value'))['value']}")
            case _:
                await self.say(f"unknown:{await self.failure('_demo/nothing')}")

    def refuse_boom(self, text: str) -> None:
        if text == "boom":
            raise RequestError(ERROR["message"], ERROR["data"], code=ERROR["code"])

    async def call(self, name: str) -> Any:
        return json.loads(bytes(await self.peer.request(_method(name, "request"), {})))

    async def notify(self, name: str, params: dict[str, str]) -> None:
        await self.peer.notify(_method(name, "notification"), params)

    async def failure(self, name: str) -> int:
        try:
            await self.call(name)
        except RequestError as error:
            return error.code
        return 0

    def keep_note(self, params: dict[str, str]) -> None:
        self.note = params["text"]

    async def double(self, params: dict[str, int], request: RequestContext) -> dict[str, int]:
        return {"value": 2 * params["value"]}

    async def wait(self, params: Raw, request: RequestContext) -> None:
        await self.notify("_demo/waiting", {})
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise

    async def count_withdrawn(self, params: Raw, request: RequestContext) -> dict[str, int]:
        return {"count": self.withdrawn}


def _method(name: str, kind: Kind) -> Method[Any, Any]:
    return Method(name=name, to="client", kind=kind, params=dict[str, Any], result=Raw)


async def serve(build: type[Agent]) -> None:
    """Serve an agent on stdio until the client goes."""
    peer = Peer(StdioTransport(), "agent")
    build(peer)
    async with peer:
        await peer.wait_closed()
