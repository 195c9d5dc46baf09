"""Values as they are on the wire: read into types, written from types, folded by a client."""

from __future__ import annotations

import json
from typing import Any

from parley.errors import MalformedValue
from parley.schema import v1, v2
from parley.schema.codec import decode, encode
from parley.session.lift import Lifting
from parley.session.transcript import Transcript

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


class Reader:
    """A client's view of one session: updates of either version, folded."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._lifting = Lifting(prefix="made-up-")
        self.transcript = Transcript()

    def tell(self, *updates: Any) -> Transcript:
        """Read updates as a client does and return what it then knows."""
        for each in updates:
            if self._version == 1:
                lifted = self._lifting.lift(read(v1.SessionUpdate, each))
            else:
                lifted = [read(v2.SessionUpdate, each)]
            for one in lifted:
                self.transcript.fold(one)
        return self.transcript


def told(version: int, *updates: Any) -> Transcript:
    """Return what a client knows after these updates."""
    return Reader(version).tell(*updates)
