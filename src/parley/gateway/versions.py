"""The versions of the protocol in which a hosted agent is spoken to, where that is configured.

A client that offers a newer one is heard as if it offered the newest of these below it: what it
sends with that can be read by agents of both (see `peer/_initialize.py`), and the answer tells it
which one is spoken. A client that only has older ones, and an agent that answers in another one,
are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from parley.errors import InternalError, InvalidParams, RemoteProtocolError
from parley.peer._initialize import choose_version, version_of
from parley.proxy import PendingRequest
from parley.proxy._switch.renumber import replace_member
from parley.rpc._codec import encode_request
from parley.transport._frame_head import peek_params

__all__ = ["check_answer", "offer"]


def offer(initialize: PendingRequest, versions: Sequence[int]) -> InvalidParams | None:
    """Make a client offer one of these versions, any if there are none.

    Returns:
        Why it cannot be served, if it speaks none of them. What cannot be read is the agent's to
        refuse.
    """
    asked = peek_params(initialize.params).protocol_version
    if asked is None:
        return None
    chosen = choose_version(asked, versions) if versions else asked
    if chosen == asked:
        return None
    if chosen > asked:
        return InvalidParams(
            f"This agent is served in version {_shown(versions)} of the protocol alone",
            {"protocolVersion": asked},
        )
    body = replace_member(bytes(initialize.params), "protocolVersion", b"%d" % chosen)
    initialize.params = Raw(body)
    initialize.frame = encode_request(initialize.id, initialize.method, body)
    return None


def check_answer(name: str, result: bytes, versions: Sequence[int]) -> InternalError | None:
    """Return what is wrong with how an agent answers initialize."""
    if not versions:
        return None
    try:
        answered = version_of(Raw(result))
    except RemoteProtocolError as error:
        return InternalError(str(error))
    if answered in versions:
        return None
    return InternalError(
        f"{name} answers in version {answered} of the protocol, and is configured to be spoken to "
        f"in version {_shown(versions)} alone"
    )


def _shown(versions: Sequence[int]) -> str:
    return " and ".join(map(str, sorted(versions)))
