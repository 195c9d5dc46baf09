"""The sessions that are open on one WebSocket, counted from what passes.

Over HTTP each session has a stream, and the router knows them. Here a session is open from the
request that opens it, while that has no answer and when the answer is a result, to the answer that
closes it. Nothing in a frame but its method, its id and the session has a say in that.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET, Raw

from parley.errors import Overloaded
from parley.rpc.codec import NOT_FITTING, encode_failure
from parley.rpc.message import ErrorObject, Id
from parley.transport.http.scopes import FORK, UPDATE_HEAD, Head, Scope, read_head, scope_of

from .answers import Refused

__all__ = ["SocketSessions"]


class SocketSessions:
    """Counts the sessions of a connection, and refuses those beyond the limit."""

    __slots__ = ("_asked", "_check", "_open", "_opening")

    def __init__(self, check: Callable[[], None]) -> None:
        """Begin without a session.

        Args:
            check: Raises `Refused` when there may be no further session.
        """
        self._check = check
        self._open: set[str] = set()
        self._opening = 0
        self._asked: dict[Id, list[tuple[Scope, str, bool]]] = {}

    def __len__(self) -> int:
        return len(self._open) + self._opening

    def inbound(self, frame: bytes) -> tuple[list[bytes], list[bytes]]:
        """Look at what a client sends.

        Returns:
            What the agent gets, and what the client gets for answers because it is refused.
        """
        if frame.lstrip()[:1] != b"[":
            refusal = self._request(frame)
            return ([frame], []) if refusal is None else ([], [refusal])
        try:
            entries = [bytes(each) for each in msgspec.json.decode(frame, type=list[Raw])]
        except NOT_FITTING:
            return [frame], []
        refused = [(each, self._request(each)) for each in entries]
        answers = [answer for _, answer in refused if answer is not None]
        if not answers:
            return [frame], []
        return [each for each, answer in refused if answer is None], answers

    def outbound(self, frame: bytes) -> None:
        """Look at what the agent answers."""
        if not self._asked or frame.startswith(UPDATE_HEAD):
            return
        if frame[:1] != b"[":
            self._answer(read_head(frame))
            return
        for each in msgspec.json.decode(frame, type=list[Raw]):
            self._answer(read_head(bytes(each)))

    def _request(self, frame: bytes) -> bytes | None:
        """Count a request that opens or closes a session; returns its answer if it is refused."""
        head = read_head(frame)
        if head.method is UNSET or head.id is UNSET:
            return None
        scope = scope_of(head.method)
        if scope not in ("opening", "loading", "closing"):
            return None
        session = _session(head)
        opens = scope != "closing" and (session not in self._open or head.method == FORK)
        if opens:
            try:
                self._check()
            except Refused as refused:
                error = ErrorObject(Overloaded.code, refused.message)
                return encode_failure(head.id, error)
        asked = (scope, "" if head.method == FORK else session, opens)
        self._asked.setdefault(head.id, []).append(asked)
        self._opening += opens
        return None

    def _answer(self, head: Head) -> None:
        if head.method is not UNSET or head.id is UNSET or head.id not in self._asked:
            return
        asked = self._asked[head.id]
        scope, session, opens = asked.pop(0)
        if not asked:
            del self._asked[head.id]
        self._opening -= opens
        if head.result is UNSET:
            return
        if scope == "closing":
            self._open.discard(session)
        elif opens:
            named = "" if head.result.session_id is UNSET else head.result.session_id
            self._open.update(filter(None, [session or named]))


def _session(head: Head) -> str:
    params = head.params
    return "" if params is UNSET or params.session_id is UNSET else params.session_id
