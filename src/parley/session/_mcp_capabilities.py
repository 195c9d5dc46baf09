"""MCP capabilities in an agent's `initialize` response, read and changed as bytes.

For programs that forward the response: everything else in it is left as it was. The flags
themselves are in `_capabilities.py`.
"""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Raw

from parley.errors import RemoteProtocolError
from parley.peer._initialize import version_of
from parley.rpc._codec import DECODE_ERRORS
from parley.schema._codec import encode

from ._capabilities import AgentFeatures

MCP_ACP = {
    1: (("agentCapabilities", "mcpCapabilities", "acp"), b"true"),
    2: (("capabilities", "session", "mcp", "acp"), b"{}"),
}
"""By version, the path and value with which an `initialize` response offers MCP over ACP. The other
kinds of servers are siblings of the last key."""

_members = msgspec.json.Decoder(dict[str, Raw]).decode


def mcp_capabilities(response: bytes) -> tuple[AgentFeatures, int]:
    """Return the kinds of MCP servers that an agent supports, and the version that it speaks.

    Malformed capabilities count as not offered. Only the MCP flags of the result are set.
    """
    try:
        result: object = msgspec.json.decode(response)
    except DECODE_ERRORS:
        return AgentFeatures(), 1
    if _version(response) == 2:
        mcp = _mcp_members(result, 2)
        features = AgentFeatures(
            mcp_stdio=_member_at(mcp, "stdio") is not None,
            mcp_http=_member_at(mcp, "http") is not None,
            mcp_acp=_member_at(mcp, "acp") is not None,
        )
        return features, 2
    mcp = _mcp_members(result, 1)
    features = AgentFeatures(
        mcp_stdio=True,
        mcp_http=_member_at(mcp, "http") is True,
        mcp_sse=_member_at(mcp, "sse") is True,
        mcp_acp=_member_at(mcp, "acp") is True,
    )
    return features, 1


def _version(response: bytes) -> int:
    """Return the protocol version of a response; a malformed one counts as version 1."""
    try:
        return version_of(Raw(response))
    except RemoteProtocolError:
        return 1


def with_mcp_acp(response: bytes) -> bytes:
    """Return the response with MCP over ACP added to the capabilities."""
    path, value = MCP_ACP[mcp_capabilities(response)[1]]
    return _with_member(response, path, value)


def mcp_stdio_tag(version: int) -> dict[str, Raw]:
    """Return the tag of a stdio MCP server as a member; version 1 has none."""
    return {} if version == 1 else {"type": Raw(b'"stdio"')}


def _mcp_members(response: object, version: int) -> object:
    return _member_at(response, *MCP_ACP[version][0][:-1])


def _member_at(value: object, *path: str) -> object:
    for name in path:
        value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return value


def _with_member(text: bytes | Raw, path: tuple[str, ...], value: bytes) -> bytes:
    """Return a JSON object with the member at `path` set and everything else unchanged."""
    try:
        members = _members(text)
    except DECODE_ERRORS:
        members = {}
    first, *remaining = path
    inner = _with_member(members.get(first, b"{}"), tuple(remaining), value) if remaining else value
    return encode({**members, first: Raw(inner)})
