"""The sessions that are open on one WebSocket, counted by watching its frames.

Over HTTP each session has a stream, and the router knows them. Here a session counts from the
request that opens it, unless that fails, until the successful response to the request that closes
it. Only the method, the id and the session of a frame matter for that.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET, Raw

from parley.errors import Overloaded
from parley.rpc._codec import DECODE_ERRORS, encode_failure
from parley.rpc._message import ErrorObject, Id
from parley.transport._frame_head import FrameHead, peek
from parley.transport.http._stream_routing import (
    FORK,
    UPDATE_HEAD,
    Scope,
    scope_of,
)

from .responses import HttpError


class WebSocketSessions:
    """The count of open sessions of a connection; refuses those beyond the limit."""

    __slots__ = ("_check_limit", "_open", "_opening", "_pending")

    def __init__(self, check: Callable[[], None]) -> None:
        """Start without a session.

        Args:
            check: Raises `HttpError` if no further session may be opened.
        """
        self._check_limit = check
        self._open: set[str] = set()
        self._opening = 0
        self._pending: dict[Id, list[tuple[Scope, str, bool]]] = {}

    def __len__(self) -> int:
        return len(self._open) + self._opening

    def inbound(self, frame: bytes) -> tuple[list[bytes], list[bytes]]:
        """Inspect a frame from the client.

        Returns:
            The frames for the agent, and error responses for the client.
        """
        if frame.lstrip()[:1] != b"[":
            error = self._check_request(frame)
            return ([frame], []) if error is None else ([], [error])
        try:
            entries = [bytes(each) for each in msgspec.json.decode(frame, type=list[Raw])]
        except DECODE_ERRORS:
            return [frame], []
        checked = [(each, self._check_request(each)) for each in entries]
        errors = [error for _, error in checked if error is not None]
        if not errors:
            return [frame], []
        return [each for each, error in checked if error is None], errors

    def outbound(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Inspect a frame from the agent, and count the responses in it."""
        if not self._pending or frame.startswith(UPDATE_HEAD):
            return
        if head is not None:
            self._handle_response(head)
            return
        if frame[:1] != b"[":
            self._handle_response(peek(frame))
            return
        for each in msgspec.json.decode(frame, type=list[Raw]):
            self._handle_response(peek(bytes(each)))

    def _check_request(self, frame: bytes) -> bytes | None:
        """Count a request that opens or closes a session; return an error if refused."""
        head = peek(frame)
        if head.method is UNSET or head.id is UNSET:
            return None
        scope = scope_of(head.method)
        if scope not in ("opening", "loading", "closing"):
            return None
        session = _session(head)
        opens = scope != "closing" and (session not in self._open or head.method == FORK)
        if opens:
            try:
                self._check_limit()
            except HttpError as refused:
                error = ErrorObject(Overloaded.code, refused.message)
                return encode_failure(head.id, error)
        pending = (scope, "" if head.method == FORK else session, opens)
        self._pending.setdefault(head.id, []).append(pending)
        self._opening += opens
        return None

    def _handle_response(self, head: FrameHead) -> None:
        if head.method is not UNSET or head.id is UNSET or head.id not in self._pending:
            return
        pending = self._pending[head.id]
        scope, session, opens = pending.pop(0)
        if not pending:
            del self._pending[head.id]
        self._opening -= opens
        if head.result is UNSET:
            return
        if scope == "closing":
            self._open.discard(session)
        elif opens:
            named = head.result.session_id or ""
            self._open.update(filter(None, [session or named]))


def _session(head: FrameHead) -> str:
    return head.params.session_id or ""
