"""What a gateway offers by itself: to open a session again that is open on another connection.

An agent on stdin and stdout that keeps its sessions in memory does not offer to open them again,
because they end with its process. While such a session is open, the gateway can attach further
clients to it, whatever the agent offers, so it says so in the answer to initialize. Version 2
requires `session/resume` of every agent, so nothing is added there.
"""

from __future__ import annotations

from msgspec import Raw

from parley.errors import AcpError
from parley.peer._initialize import version_of
from parley.proxy._switch.patching import set_path
from parley.schema import v1
from parley.schema._codec import decode

__all__ = ["with_reopening"]


def with_reopening(result: bytes) -> bytes | None:
    """Return an answer to initialize that offers to open sessions again; None: it does already."""
    try:
        if version_of(Raw(result)) != 1:
            return None
        offered = decode(v1.InitializeResponse, result).agent_capabilities
        if offered.load_session or offered.session_capabilities.resume is not None:
            return None
        result = set_path(result, ("agentCapabilities", "loadSession"), b"true")
        return set_path(result, ("agentCapabilities", "sessionCapabilities", "resume"), b"{}")
    except AcpError:  # what cannot be read is the client's to refuse
        return None
