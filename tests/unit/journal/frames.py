"""Records and frames as the tests of the journal need them."""

from __future__ import annotations

import json
from typing import Any

from parley.journal import Record, new_key


def record(session_id: str = "s", **fields: Any) -> Record:
    given: dict[str, Any] = {"key": new_key(), "agent": "demo", **fields}
    return Record(session_id=session_id, **given)


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode()


def call(id: int | str, method: str, **params: Any) -> bytes:
    return frame(id=id, method=method, params=params)


def answer(id: int | str, **result: Any) -> bytes:
    return frame(id=id, result=result)


def refusal(id: int | str, code: int = -32603) -> bytes:
    return frame(id=id, error={"code": code, "message": "no"})


def update(session_id: str, kind: str, **fields: Any) -> bytes:
    body = {"sessionUpdate": kind, **fields}
    return frame(method="session/update", params={"sessionId": session_id, "update": body})


def chunk(session_id: str, text: str, kind: str = "agent_message_chunk", **fields: Any) -> bytes:
    return update(session_id, kind, content={"type": "text", "text": text}, **fields)


def prompt(id: int | str, session_id: str, text: str) -> bytes:
    blocks = [{"type": "text", "text": text}]
    return call(id, "session/prompt", sessionId=session_id, prompt=blocks)
