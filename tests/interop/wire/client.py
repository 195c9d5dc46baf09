"""What the clients of both versions do alike in the conversation."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from typing import Any

from msgspec import Raw

from parley.errors import RequestError
from parley.peer import Peer, RequestContext, TypedHandler
from parley.peer._initialize import Negotiated
from parley.schema._codec import encode
from parley.schema.base import Method

from .conversation import FLOOD

__all__ = ["Client"]

NOTE: Method[Any, None] = Method(
    name="_demo/note", to="agent", kind="notification", params=dict[str, str]
)


class Client(ABC):
    """One connection and what has been seen on it."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.session = ""
        self.updates: list[Any] = []
        self.asked: Any = None
        self.noted: list[str] = []
        self.has_started = asyncio.Event()
        self.is_waiting = asyncio.Event()

    def agreed(self, agreement: Negotiated) -> None:
        self.peer.set_handlers(
            agreement.table,
            requests={**self.requests(), "_demo/value": self.value},
            notifications={
                "session/update": self.update,
                "_demo/noted": TypedHandler(self.note, dict[str, str]),
                "_demo/waiting": lambda _: self.is_waiting.set(),
            },
        )

    @abstractmethod
    def requests(self) -> dict[str, Any]:
        """Return the handlers of the version's own requests."""

    @abstractmethod
    async def turn(self, text: str) -> str | None:
        """Prompt, and return how the turn ended."""

    @abstractmethod
    async def cancel(self) -> None:
        """Cancel the turn."""

    @abstractmethod
    def text_of(self, update: Any) -> str | None:
        """Return the text of an update, if the agent speaks in it."""

    def update(self, note: Any) -> None:
        assert note.session_id == self.session
        self.updates.append(note.update)
        if self.text_of(note.update) == "started":
            self.has_started.set()

    def note(self, params: dict[str, str]) -> None:
        self.noted.append(params["text"])

    async def value(self, params: Raw, request: RequestContext) -> dict[str, int]:
        return {"value": 7}

    def said(self) -> list[str]:
        """Return what the agent said in the last turn."""
        return [text for update in self.updates if (text := self.text_of(update)) is not None]

    async def ask(self, prompt: str) -> list[str]:
        """Prompt, and return what the agent said."""
        self.updates = []
        await self.turn(prompt)
        return self.said()

    async def extend(self, name: str, params: Any = None) -> Any:
        """Call one of the agent's own methods."""
        row: Method[Any, Raw] = Method(
            name=name, to="agent", kind="request", params=dict[str, Any], result=Raw
        )
        result = await self.peer.request(row, params or {})
        return json.loads(bytes(result))

    async def cancelled(self) -> str | None:
        """Return how a turn ends that is cancelled."""
        turn = asyncio.create_task(self.turn("slow"))
        await self.has_started.wait()
        await self.cancel()
        return await turn

    async def withdrawn(self) -> Any:
        """Withdraw a request, and return how often the agent has seen that."""
        call = asyncio.create_task(self.extend("_demo/wait"))
        await self.is_waiting.wait()
        call.cancel()
        await asyncio.wait([call])
        return (await self.extend("_demo/withdrawn"))["count"]

    async def failure(self, name: str) -> dict[str, Any]:
        """Return the error that a prompt or a method is refused with."""
        try:
            await (self.extend(name) if name.startswith("_") else self.turn(name))
        except RequestError as error:
            return {"code": error.code, "message": error.message, "data": error.data}
        raise AssertionError(f"{name} was not refused")

    async def report(self, *, withdraws: bool) -> dict[str, Any]:
        """Go through what both versions have, and report."""
        report: dict[str, Any] = {}
        await self.ask("updates")
        report["updates"] = json.loads(encode(self.updates))
        report["order"] = await self.ask(f"flood {FLOOD}")
        said = await self.ask("perm")
        report["permission"] = {"asked": self.asked, "said": said}
        report["cancel"] = await self.cancelled()
        await self.peer.notify(NOTE, {"text": "remember"})
        doubled = (await self.extend("_demo/double", {"value": 21}))["value"]
        said = await self.ask("ext")
        report["extension"] = {"doubled": doubled, "noted": self.noted, "said": said}
        if withdraws:
            report["withdrawn"] = await self.withdrawn()
        code = (await self.failure("_demo/nothing"))["code"]
        report["unknown"] = {"code": code, "said": await self.ask("unknown")}
        report["error"] = await self.failure("boom")
        return report
