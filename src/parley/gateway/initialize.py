"""The changes that a gateway makes to `initialize`, in requests and responses.

Versions: an agent may be configured to speak only some versions of the protocol. A client that
offers a newer version is served as if it had offered the newest of these below it. Agents of both
versions can read the rest of its request (see `peer/_initialize.py`), and the response says which
version is spoken. A client that speaks only older versions is rejected, and so is an agent that
responds in another version.

Reopening: an agent on stdin and stdout that keeps its sessions in memory does not offer to reopen
them, because they end with its process. While such a session is open, the gateway can attach
further clients to it, whatever the agent offers, so it adds the capability to the response. Version
2 requires `session/resume` of every agent, so nothing is added there.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from parley.errors import AcpError, InternalError, InvalidParams, RemoteProtocolError
from parley.peer._initialize import choose_version, version_of
from parley.proxy import PendingRequest
from parley.proxy._switch.patching import set_path
from parley.proxy._switch.renumber import replace_member
from parley.rpc._codec import encode_request
from parley.schema import v1
from parley.schema._codec import decode
from parley.transport._frame_head import peek_params

__all__ = ["add_reopening", "check_response", "offer_versions"]


def offer_versions(initialize: PendingRequest, versions: Sequence[int]) -> InvalidParams | None:
    """Lower the version that a client offers to one of these; none means any.

    Returns:
        Why it cannot be served, if it speaks none of them. What cannot be read is the agent's to
        refuse.
    """
    requested = peek_params(initialize.params).protocol_version
    if requested is None:
        return None
    chosen = choose_version(requested, versions) if versions else requested
    if chosen == requested:
        return None
    if chosen > requested:
        return InvalidParams(
            f"This agent is served in version {_shown(versions)} of the protocol only",
            {"protocolVersion": requested},
        )
    body = replace_member(bytes(initialize.params), "protocolVersion", b"%d" % chosen)
    initialize.params = Raw(body)
    initialize.frame = encode_request(initialize.id, initialize.method, body)
    return None


def check_response(name: str, result: bytes, versions: Sequence[int]) -> InternalError | None:
    """Return the error if an agent's response is in a version that is not configured."""
    if not versions:
        return None
    try:
        negotiated = version_of(Raw(result))
    except RemoteProtocolError as error:
        return InternalError(str(error))
    if negotiated in versions:
        return None
    return InternalError(
        f"{name} responded in version {negotiated} of the protocol, but is configured for "
        f"version {_shown(versions)} only"
    )


def _shown(versions: Sequence[int]) -> str:
    return " and ".join(map(str, sorted(versions)))


def add_reopening(result: bytes) -> bytes | None:
    """Return the result of initialize with session/resume added; None if it has it already."""
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
