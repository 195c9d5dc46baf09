"""Tracking of pending requests on the client, to route frames to sessions.

The response to an agent's request is sent with the session on whose stream the request arrived. The
response to a request that opens a session names a stream to subscribe to; the response to one that
closes a session, a stream to unsubscribe from. Updates, which are most of the traffic, are skipped.
Which methods belong to a session is in `_stream_routing.py`.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw

from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._framing import Frame, OversizedFrame
from parley.rpc._message import Id
from parley.schema._session_methods import REOPENS
from parley.transport._frame_head import UPDATE_PREFIX, FrameHead, peek
from parley.transport.http._stream_routing import scope_of

_NEXT_UPDATE = b"\n" + UPDATE_PREFIX
_SENDABLE = re.compile(r"[\x21-\x7e\x80-\U0010ffff](?:[\x20-\x7e\x80-\U0010ffff]*\S)?")


_read_items = msgspec.json.Decoder(list[Raw]).decode


class FrameRoute(NamedTuple):
    """The routing information of an outbound frame."""

    method: str = ""
    """The method; empty for a response."""
    id: Id = None
    """The request's id; None for notifications and responses."""
    is_request: bool = False
    """Whether it is a request, which needs a response."""
    session: str = ""
    """The session that the frame belongs to; empty for the connection."""

    @property
    def loads(self) -> bool:
        """Whether the session's stream must be open before the frame is sent."""
        return self.method in REOPENS

    @property
    def is_sendable(self) -> bool:
        """Whether the session id is valid as a header value."""
        return not self.session or _SENDABLE.fullmatch(self.session) is not None


SessionEventKind: TypeAlias = Literal["opened", "closed", "loaded", "not loaded"]


class SessionEvent(NamedTuple):
    """The effect of a response on the session streams."""

    kind: SessionEventKind
    session: str


class FrameTracker:
    """Remembers the requests of both sides until their responses pass."""

    def __init__(self) -> None:
        self._agent_requests: dict[Id, str] = {}
        """The sessions on whose streams the agent's requests arrived."""
        self._pending: dict[Id, FrameRoute] = {}
        """Our pending requests that open, load or close a session."""

    def outbound(self, frame: bytes, head: FrameHead | None) -> FrameRoute:
        """Record an outbound frame and return its route."""
        if head is None:
            head = peek(frame)
        id = None if head.id is UNSET else head.id
        if head.method is UNSET:
            return FrameRoute(session=self._agent_requests.pop(id, ""))
        session = head.params.session_id or ""
        route = FrameRoute(head.method, id, head.id is not UNSET, session)
        if route.is_request and scope_of(head.method) in ("opening", "loading", "closing"):
            self._pending[id] = route
        return route

    def forget(self, route: FrameRoute) -> None:
        """Stop expecting a response to a request."""
        self._pending.pop(route.id, None)

    def inbound(self, frame: Frame, session: str) -> list[SessionEvent]:
        """Record an inbound frame and return its effects on the streams.

        Args:
            frame: A message or a batch.
            session: The session on whose stream it arrived; empty for the connection's.
        """
        if frame.startswith(UPDATE_PREFIX) or isinstance(frame, OversizedFrame):
            return []
        seen = (self._inbound_message(each, session) for each in messages_in(bytes(frame)))
        return [each for each in seen if each is not None]

    def _inbound_message(self, message: bytes, session: str) -> SessionEvent | None:
        head = peek(message)
        if head.id is UNSET:
            return None
        if head.method is not UNSET:
            if session:
                self._agent_requests[head.id] = session
            return None
        route = self._pending.pop(head.id, None)
        if route is None:
            return None
        is_success = head.result is not UNSET
        if route.loads:
            return SessionEvent("loaded" if is_success else "not loaded", route.session)
        if not is_success:
            return None
        if scope_of(route.method) == "closing":
            return SessionEvent("closed", route.session)
        assert head.result is not UNSET
        opened = head.result.session_id
        return None if opened is None else SessionEvent("opened", opened)


def messages_in(frame: bytes) -> list[bytes]:
    """Return the messages of a batch, or the frame itself if it is not one."""
    if not frame.startswith(b"["):
        return [frame]
    try:
        return [bytes(each) for each in _read_items(frame)] or [frame]
    except DECODE_ERRORS:
        return [frame]


def negotiated_version(frame: bytes) -> int | None:
    """Return the protocol version in a response to `initialize`, or None if there is none."""
    result = peek(frame).result
    return None if result is UNSET else result.protocol_version


def is_updates(block: bytes, count: int) -> bool:
    """Return whether a block of `count` lines consists of updates in the usual encoding."""
    return block.startswith(UPDATE_PREFIX) and block.count(_NEXT_UPDATE) == count - 1
