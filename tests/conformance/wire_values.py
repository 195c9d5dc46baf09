"""JSON values of the protocol: builders, and decoding and encoding of types."""

from __future__ import annotations

import json
from typing import Any

from parley.errors import MalformedValue
from parley.schema._codec import decode, encode

VERSIONS = (1, 2)


def read(tp: Any, value: Any) -> Any:
    """Read a value of the wire as a type of the schema."""
    return decode(tp, json.dumps(value).encode())


def is_refused(tp: Any, value: Any) -> bool:
    """Whether a value does not fit a type, also with all leniency."""
    try:
        read(tp, value)
    except MalformedValue:
        return True
    return False


def write(value: Any) -> Any:
    """Return a typed value as it goes on the wire."""
    return json.loads(encode(value))


def text(words: str, **more: Any) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": words, **more}


def update(variant: str, **fields: Any) -> dict[str, Any]:
    """Return an update of a session."""
    return {"sessionUpdate": variant, **fields}


def chunk(words: str, id: str | None = "m", role: str = "agent_message") -> dict[str, Any]:
    """Return a piece of a message."""
    return update(f"{role}_chunk", messageId=id, content=text(words))


def tool(id: str = "t", **fields: Any) -> dict[str, Any]:
    """Return a report of a tool call."""
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, **fields}
