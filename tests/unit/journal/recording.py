"""A recorder with a session, and readers of its records."""

from __future__ import annotations

import json
from typing import Any

from parley.journal import MemoryJournal, Record, Recorder
from parley.peer._tracing import Direction

from .frames import answer, call

OUT: Direction = "outbound"
IN: Direction = "inbound"


def told(journal: MemoryJournal, key: str) -> list[Any]:
    """Return what is in a session: methods, results, notes."""
    return [_brief(json.loads(entry.data)) for entry in journal.entries(key)]


def _brief(message: Any) -> Any:
    if "note" in message or "method" not in message:
        return message.get("note") or message.get("result", "error")
    body = message.get("params", {}).get("update")
    if body is None:
        return message["method"]
    return body.get("content", {}).get("text") or body["sessionUpdate"]


def only(journal: MemoryJournal) -> Record:
    (found,) = journal.list()
    return found


def begun(
    journal: MemoryJournal, *, version: int = 1, session_id: str = "s", **options: Any
) -> Recorder:
    """Return a recorder with one session open."""
    recorder = Recorder(journal, agent="demo", **options)
    recorder.observe(OUT, call(0, "initialize", protocolVersion=version))
    info = {"info": {"name": "x", "version": "1"}} if version > 1 else {}
    recorder.observe(IN, answer(0, protocolVersion=version, **info))
    opens(recorder, session_id)
    return recorder


def opens(recorder: Recorder, session_id: str = "s", id: int = 1) -> None:
    recorder.observe(OUT, call(id, "session/new", cwd="/work", mcpServers=[]))
    recorder.observe(IN, answer(id, sessionId=session_id))


def loads(recorder: Recorder, *replay: bytes, method: str = "session/load", **params: Any) -> None:
    setup: dict[str, Any] = {"sessionId": "s", "cwd": "/elsewhere", "mcpServers": [], **params}
    recorder.observe(OUT, call(8, method, **setup))
    for each in replay:
        recorder.observe(IN, each)
    recorder.observe(IN, answer(8))
