"""MCP's handshake, answered for a server that has none.

MCP's revision of July 2026 has no `initialize`: each request says which revision it speaks and what
its client can do, and `server/discover` tells what the server can. A client of before that is given
an answer to its handshake that is made of the latter, and has its requests completed.

Such a client is said to be able to do nothing, so that a server asks it for nothing: in this
revision it asks by the result of a request, which the client would not understand.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from parley.schema.base import JsonObject

from ._errors import McpFailure

_MODERN = "2026-07-28"
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_KEY = "io.modelcontextprotocol/"


class Handshake:
    """What an older MCP client has said of itself, once."""

    METHOD: ClassVar[str] = "server/discover"
    """What is asked to answer the handshake."""

    def __init__(self, params: JsonObject) -> None:
        wanted = params.get("protocolVersion")
        self._version = wanted if wanted in _VERSIONS else _VERSIONS[-1]
        self._info = params.get("clientInfo")

    def answer(self, discovered: Any) -> JsonObject:
        """Return the answer to `initialize`, made of that to `METHOD`."""
        found = _fields(discovered)
        server = _fields(found.get("_meta")).get(f"{_KEY}serverInfo")
        answer: JsonObject = {
            "protocolVersion": self._version,
            "capabilities": _fields(found.get("capabilities")),
            "serverInfo": server or {"name": "server", "version": "0"},
        }
        if isinstance(found.get("instructions"), str):
            answer["instructions"] = found["instructions"]
        return answer

    def with_envelope(self, params: JsonObject | None) -> JsonObject:
        """Return the params of a request with what each request says in the newer revision."""
        envelope: JsonObject = {
            f"{_KEY}protocolVersion": _MODERN,
            f"{_KEY}clientCapabilities": {},
        }
        if self._info is not None:
            envelope[f"{_KEY}clientInfo"] = self._info
        params = params or {}
        return {**params, "_meta": {**_fields(params.get("_meta")), **envelope}}

    def without_envelope(self, result: Any) -> Any:
        """Return a result without what only the newer revision has.

        Raises:
            McpFailure: It is no result yet: the server wants to be told something first.
        """
        fields = _fields(result)
        if fields.get("resultType", "complete") != "complete":
            text = "The server wants to ask something that this MCP client cannot be asked"
            raise McpFailure({"code": -32603, "message": text})
        return {name: value for name, value in fields.items() if name != "resultType"}


def _fields(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}
