"""MCP's handshake, answered for a server that has none.

MCP's revision of July 2026 has no `initialize`: each request states its revision and the
capabilities of its client, and `server/discover` returns those of the server. The handshake of an
older client is answered from the latter, and its requests are completed.

Such a client is declared to have no capabilities, so that a server requests nothing of it: in this
revision it does so in the result of a request, which the client would not understand.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from parley.schema.base import JsonObject

from ._errors import McpFailure

_MODERN = "2026-07-28"
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_KEY = "io.modelcontextprotocol/"


class Handshake:
    """The handshake of an older MCP client: its revision, name and capabilities."""

    METHOD: ClassVar[str] = "server/discover"
    """The request that is sent to answer the handshake."""

    def __init__(self, params: JsonObject) -> None:
        wanted = params.get("protocolVersion")
        self._version = wanted if wanted in _VERSIONS else _VERSIONS[-1]
        self._info = params.get("clientInfo")

    def result(self, discovered: Any) -> JsonObject:
        """Return the answer to `initialize`, made of that to `METHOD`."""
        found = _fields(discovered)
        server = _fields(found.get("_meta")).get(f"{_KEY}serverInfo")
        result: JsonObject = {
            "protocolVersion": self._version,
            "capabilities": _fields(found.get("capabilities")),
            "serverInfo": server or {"name": "server", "version": "0"},
        }
        if isinstance(found.get("instructions"), str):
            result["instructions"] = found["instructions"]
        return result

    def with_envelope(self, params: JsonObject | None) -> JsonObject:
        """Return the params of a request with the members that the newer revision requires."""
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
            McpFailure: The result is not final: the server needs input first.
        """
        fields = _fields(result)
        if fields.get("resultType", "complete") != "complete":
            text = "The server wants to ask something that this MCP client cannot be asked"
            raise McpFailure({"code": -32603, "message": text})
        return {name: value for name, value in fields.items() if name != "resultType"}


def _fields(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}
