"""What an agent's answer to initialize says of MCP servers, read and changed as bytes.

For who passes the answer on: whatever else is in it stays as it came. The flags themselves are in
`features.py`.
"""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Raw

from parley.rpc.codec import NOT_FITTING
from parley.schema.codec import encode

from .features import AgentFeatures

__all__ = ["MCP_ACP", "mcp_features", "mcp_stdio_tag", "with_mcp_acp"]

MCP_ACP = {
    1: (("agentCapabilities", "mcpCapabilities", "acp"), b"true"),
    2: (("capabilities", "session", "mcp", "acp"), b"{}"),
}
"""Where in its answer an agent of each version offers MCP over ACP, and how. The other kinds of
servers are beside it."""

_members = msgspec.json.Decoder(dict[str, Raw]).decode


def mcp_features(answer: bytes) -> tuple[AgentFeatures, int]:
    """Return which MCP servers an agent takes, and the version that it speaks.

    What is malformed is not offered. Some agents say 2 and mean 1: they do not say who they are.
    """
    try:
        found: object = msgspec.json.decode(answer)
    except NOT_FITTING:
        return AgentFeatures(), 1
    if _at(found, "protocolVersion") == 2 and _at(found, "info") is not None:
        mcp = _beside(found, 2)
        features = AgentFeatures(
            mcp_stdio=_at(mcp, "stdio") is not None,
            mcp_http=_at(mcp, "http") is not None,
            mcp_acp=_at(mcp, "acp") is not None,
        )
        return features, 2
    mcp = _beside(found, 1)
    features = AgentFeatures(
        mcp_stdio=True,
        mcp_http=_at(mcp, "http") is True,
        mcp_sse=_at(mcp, "sse") is True,
        mcp_acp=_at(mcp, "acp") is True,
    )
    return features, 1


def with_mcp_acp(answer: bytes) -> bytes:
    """Return the answer with MCP over ACP offered."""
    path, value = MCP_ACP[mcp_features(answer)[1]]
    return _with(answer, path, value)


def mcp_stdio_tag(version: int) -> dict[str, Raw]:
    """Return what tells a server that the agent starts from others; version 1 has nothing."""
    return {} if version == 1 else {"type": Raw(b'"stdio"')}


def _beside(answer: object, version: int) -> object:
    return _at(answer, *MCP_ACP[version][0][:-1])


def _at(value: object, *path: str) -> object:
    for name in path:
        value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return value


def _with(text: bytes | Raw, path: tuple[str, ...], value: bytes) -> bytes:
    """Return an object with a member somewhere below it, and all else as it was."""
    try:
        members = _members(text)
    except NOT_FITTING:
        members = {}
    first, *rest = path
    inner = _with(members.get(first, b"{}"), tuple(rest), value) if rest else value
    return encode({**members, first: Raw(inner)})
