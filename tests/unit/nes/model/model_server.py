"""A model server on loopback with scripted responses that records its requests."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from parley.nes._documents.document import Document
from parley.nes.engine import EditProposal, Proposal, Question, Span, Spot, Trigger, Workspace
from parley.nes.model import ModelEngine

Answer = Callable[["Exchange"], Awaitable[None]]
URI = "file:///project/shop.py"


class Exchange:
    """One request, and the way to answer it."""

    def __init__(
        self, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        self.path = path
        self.headers = headers
        self.body = body
        self.writer = writer
        self.gone = asyncio.Event()
        """Set when the client has hung up."""

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    async def reply(self, status: int, body: bytes, *headers: str) -> None:
        lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(body)}", *headers]
        self.writer.write("\r\n".join((*lines, "", "")).encode() + body)
        await self.writer.drain()


class Scripted:
    """The server."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[Exchange] = []
        self.responses: list[Answer] = []
        """What is done with each request; the last one is repeated."""
        self._arrived = asyncio.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def arrived(self, count: int = 1) -> Exchange:
        """Wait for a request, by its number, and return it."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._respond(reader, writer, head.decode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            for exchange in self.requests:
                if exchange.writer is writer:
                    exchange.gone.set()

    async def _respond(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str
    ) -> None:
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        exchange = Exchange(first.split()[1], headers, body, writer)
        respond = self.responses[min(len(self.requests), len(self.responses) - 1)]
        async with self._arrived:
            self.requests.append(exchange)
            self._arrived.notify_all()
        async with asyncio.TaskGroup() as tasks:
            hanging_up = tasks.create_task(_watch(reader, exchange))
            try:
                await respond(exchange)
            finally:
                hanging_up.cancel()


async def _watch(reader: asyncio.StreamReader, exchange: Exchange) -> None:
    """Notice that the client hangs up; a reader that is asked for nothing takes nothing away."""
    try:
        while not reader.at_eof() and not reader.exception():
            await reader._wait_for_data("watch")  # type: ignore[attr-defined]
    except ConnectionError:
        pass
    exchange.gone.set()


@asynccontextmanager
async def scripted(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Scripted]:
    """Run a server."""
    script = Scripted()
    script.responses = list(answers)
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0, ssl=tls)
    script.port = server.sockets[0].getsockname()[1]
    try:
        yield script
    finally:
        server.close()


def saying(text: str, *, finish: str = "stop") -> Answer:
    """Answer with a completion."""

    async def answer(exchange: Exchange) -> None:
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
        if exchange.path.endswith(("/chat/completions", "/edit/completions")):
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        body: dict[str, Any] = {"id": "1", "object": "completion", "choices": [choice], "usage": {}}
        if exchange.path.endswith("/api/generate"):
            body = {"model": "m", "response": text, "done": True, "done_reason": finish}
        await exchange.reply(200, json.dumps(body).encode(), "content-type: application/json")

    return answer


def failing(status: int, text: str = "no", *headers: str) -> Answer:
    """Answer with an error."""

    async def answer(exchange: Exchange) -> None:
        await exchange.reply(status, text.encode(), *headers)

    return answer


async def silence(exchange: Exchange) -> None:
    """Say nothing until the client hangs up."""
    await exchange.gone.wait()


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Editor:
    """A document in a session of an engine."""

    def __init__(
        self, engine: ModelEngine, text: str, *, uri: str = URI, language: str = "python"
    ) -> None:
        self.predictor = engine.begin(Workspace(folders=("/project",)))
        self.document = Document(uri, language, 1, text)
        self.predictor.opened(self.document)

    def type(self, line: int, old: str, new: str) -> None:
        """Replace a word of a line."""
        column = self.document.lines[line].index(old)
        start, end = Spot(line, column), Spot(line, column + len(old))
        change = self.document.edit(Span(start, end), new)
        self.document.version += 1
        self.predictor.changed(self.document, [change])

    async def ask(
        self, line: int, column: int, *, trigger: Trigger = "automatic", **more: Any
    ) -> list[Proposal]:
        question = Question(
            document=self.document.copy(), spot=Spot(line, column), trigger=trigger, **more
        )
        return [*await self.predictor.suggest(question)]

    def after(self, proposal: Proposal) -> str:
        """Return the text with a proposal."""
        assert isinstance(proposal, EditProposal)
        copy = Document(self.document.uri, "python", 1, self.document.text)
        for edit in sorted(proposal.edits, key=lambda each: each.span, reverse=True):
            copy.edit(edit.span, edit.text)
        return copy.text
