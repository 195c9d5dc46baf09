"""A recording as data: the lines and events of a connection, a second apart."""

from __future__ import annotations

import json
from typing import Any

from parley.recording import RecordedEvent, RecordedLine, Source


class ScriptedRecording:
    """Lines and events, in the order in which they are added."""

    def __init__(self) -> None:
        self.items: list[RecordedLine | RecordedEvent] = []

    def line(self, source: Source, data: bytes) -> None:
        self.items.append(RecordedLine(float(len(self.items)), source, data))

    def event(self, event: Any, **fields: Any) -> None:
        self.items.append(RecordedEvent(at=float(len(self.items)), event=event, **fields))

    def client(self, method: str, id: int | str | None = None, **params: Any) -> None:
        self.line("client", call(method, id, **params))

    def agent(self, method: str, id: int | str | None = None, **params: Any) -> None:
        self.line("agent", call(method, id, **params))

    def response(self, source: Source, id: int | str, **result: Any) -> None:
        self.line(source, success(id, **result))

    def exchange(self, method: str, id: int, params: Any = None, **result: Any) -> None:
        """A request of the client and its response."""
        self.client(method, id, **(params or {}))
        self.response("agent", id, **result)

    def begin(self) -> None:
        """Initialize, with id 0."""
        self.exchange("initialize", 0, protocolVersion=1)

    def turn(self, id: int, session: str, *texts: str) -> None:
        """A turn of version 1."""
        self.client("session/prompt", id, sessionId=session, prompt=[])
        for text in texts:
            self.line("agent", chunk(session, text))
        self.response("agent", id, stopReason="end_turn")


def call(method: str, id: int | str | None = None, **params: Any) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        message["id"] = id
    return _encoded({**message, "method": method, "params": params})


def success(id: int | str, **result: Any) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": id, "result": result})


def failure(id: int | str, code: int, message: str) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})


def chunk(session: str, text: str, kind: str = "agent_message_chunk") -> bytes:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return call("session/update", sessionId=session, update=update)


def _encoded(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()
