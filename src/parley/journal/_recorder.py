"""Writes the frames of a connection to the sessions of a journal.

A peer shows each frame to a `Recorder`, which finds the session of the frame: a call names it in
`params.sessionId`, a response belongs to the session of its request, and what opens a session names
it in the response. Updates that the peer has decoded come in groups, and a usual group is written
without reading its frames again.

- Frames that precede any session (initialize, login) are kept, and written at the beginning of each
  session of the connection, so that every session is complete by itself. A session that spans
  several connections has them once for each.
- Updates that overtake the response which names their session wait for it. A session that nobody
  has opened, such as a subagent's, is begun by its first frame.
- `session/load` and `session/resume` continue the journal's record of the session, for the same
  role and agent. What the agent replays before its response (after a load, a resume that asks for
  it, and in version 1 any resume, where some agents do it unasked) is recorded already: it is not
  written again, and a note `replay` has the number of these frames. Snapshots (commands, options,
  modes, title, usage, state) are written even then. If the journal does not have the session, the
  replay is written like anything else.
- If the record shows a turn without an end, a note `interrupted` precedes the new connection.
- `session/fork` copies the record. `session/delete` and `session/archive` archive it: only the
  owner of the journal decides what is deleted from it.
- A batch is written as the messages in it. What belongs to no session (lists, providers) is not
  written; what cannot be assigned (malformed frames, extensions) goes to the session if exactly one
  is open.
- The values of environments and headers that MCP servers and terminals get are masked, and so are
  the known secrets, wherever they occur (`_secrets.py`).

A record is `running` from a prompt to its end: the response in version 1, the idle state in version
2. If the connection ends before, it stays so without a process, which is an interrupted turn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, field, structs

from parley._redaction import needles
from parley.peer._tracing import Direction
from parley.peer._update_reader import UpdateGroup
from parley.rpc._framing import Frame, LineBlock
from parley.rpc._message import Id
from parley.schema._session_methods import (
    BEGINS,
    CLOSES,
    OPENS,
    REOPENS,
)
from parley.transport._frame_head import FrameHead, peek

from ._base import Journal, Kind, Record, Role
from ._frame_contents import (
    ResponseContents,
    SessionSetup,
    read_batch,
    read_prompt,
    read_response,
    read_result,
    read_session_update,
    read_setup,
)
from ._recorded_sessions import PendingFrame, RecordedSessions, Session
from ._secrets import mask, mask_setup

logger = logging.getLogger(__name__)

MAX_EARLY_BYTES = 16 * 1024 * 1024
"""The maximum size of the frames that wait until their session is known."""
MAX_UNOPENED_SESSIONS = 1000
"""The maximum number of sessions that begin on a connection without being opened."""
MAX_SECRETS = 64
"""The maximum number of values to mask; each costs a search in every frame."""
MAX_PENDING_REQUESTS = 4096
"""The maximum number of requests without a response."""

_ABOUT = CLOSES | {"session/unarchive", "session/status", "session/set_title"}
"""Methods that name a session which may not be open."""
_BEFORE = frozenset({"initialize", "authenticate", "logout", "auth/login", "auth/logout"})
_ELSEWHERE = frozenset(
    {"session/list", "auth/status", "providers/list", "providers/set", "providers/disable"}
)
_WITH_VALUES = OPENS | {"terminal/create"}
_TELLING = frozenset({"session_info_update", "state_update"})
_SNAPSHOTS = _TELLING | {
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "usage_update",
}
_OTHER: dict[Direction, Direction] = {"inbound": "outbound", "outbound": "inbound"}


def _is_usual(group: UpdateGroup) -> bool:
    """Return whether updates need no other handling than being written."""
    if group.method != "session/update":
        return False
    # Updates of unknown kinds are never in a group, so each of them has a type with a tag.
    types: set[type[Struct]] = {type(params.update) for params in group.params}
    kinds = [each.__struct_config__.tag for each in types]
    return _TELLING.isdisjoint(kinds)


class _PendingRequest(Struct):
    """A request without a response."""

    method: str
    session_id: str
    setup: SessionSetup = SessionSetup()
    pending: list[PendingFrame] = field(default_factory=list[PendingFrame])
    """The request itself, until its session is known."""
    is_replay: bool = False
    """Whether the updates until the response are recorded already."""


class Recorder:
    """Records the frames of one connection; `parley.connect(…, journal=…)` uses it."""

    def __init__(
        self,
        journal: Journal,
        *,
        role: Role = "client",
        agent: str,
        secrets: Iterable[str] = (),
        is_shared: bool = False,
    ) -> None:
        """Create a recorder for one side of a connection.

        Args:
            journal: The journal to write to.
            role: The side that records.
            agent: The name of the agent in the journal.
            secrets: Values to mask; very short ones are not masked.
            is_shared: Whether several processes may use a session; one of them records it.
        """
        self.journal = journal
        self._secrets = list(secrets)
        self._needles = needles(self._secrets)
        self._kinds: dict[Direction, Kind] = (
            {"inbound": "to_client", "outbound": "to_agent"}
            if role == "client"
            else {"inbound": "to_agent", "outbound": "to_client"}
        )
        self._recorded = RecordedSessions(journal, role, agent, is_shared=is_shared)
        self._sessions = self._recorded.sessions
        self._requests: dict[tuple[Direction, Id], _PendingRequest] = {}
        self._loading: dict[str, _PendingRequest] = {}
        """Sessions that are being loaded and that the journal does not have."""
        self._opening = 0
        """The number of pending requests whose response names a session."""
        self._early: dict[str, list[tuple[FrameHead, PendingFrame]]] = {}
        self._early_bytes = 0
        self._unopened_sessions = 0

    def observe(self, direction: Direction, frame: Frame) -> None:
        """Record a frame; a connection calls this."""
        data = bytes(frame)  # copies only a bytearray
        for needle in self._needles:
            if needle in data:
                data = mask(data, self._secrets)
                break
        head = peek(data)
        if head.method == "session/update":
            session = self._sessions.get(head.params.session_id or "")
            kind = head.params.update.kind
            if session is not None and session.is_written and kind not in _TELLING:
                self.journal.append(session.record.key, self._kinds[direction], data)
                return
        if not head.is_message:
            self._unclear(direction, data)
            return
        if head.method in _WITH_VALUES:
            data = self._without_values(data)
        pending = PendingFrame(self._kinds[direction], data, time.time())
        if head.method is UNSET:
            self._answered(direction, head, pending)
        elif head.id is not UNSET:
            self._requested(direction, head.id, head.method, head, pending)
        else:
            self._notified(head, pending)

    def observe_updates(self, frames: Sequence[Frame], groups: Sequence[UpdateGroup]) -> None:
        """Record incoming updates that the connection has decoded; it calls this."""
        wholes = (frames.block,) if isinstance(frames, LineBlock) else frames
        has_secrets = any(needle in whole for whole in wholes for needle in self._needles)
        begin = 0
        for group in groups:
            some = frames[begin : begin + len(group.params)]
            begin += len(some)
            session = self._sessions.get(group.session_id)
            if session is not None and session.is_written and not has_secrets and _is_usual(group):
                data = map(bytes, some)  # copies only what is a bytearray
                self.journal.extend(session.record.key, self._kinds["inbound"], data)
            else:
                for frame in some:
                    self.observe("inbound", frame)

    def _without_values(self, data: bytes) -> bytes:
        """Mask the values that a request contains, here and wherever the agent repeats them."""
        data, hidden = mask_setup(data)
        new = [each for each in hidden if each not in self._secrets]
        if new and len(self._secrets) < MAX_SECRETS:
            self._secrets += new
            self._needles = needles(self._secrets)
        return data

    def note(self, session_id: str, what: str, **data: Any) -> None:
        """Record an action of the program: `{"note": what, …}`."""
        if (session := self._sessions.get(session_id)) is not None:
            text = msgspec.json.encode({"note": what, **data}, enc_hook=str)
            note = PendingFrame("note", mask(text, self._secrets), time.time())
            self._recorded.write(session, note)

    def record_of(self, session_id: str) -> Record | None:
        """Return the record of a session of this connection, without the number of entries."""
        session = self._sessions.get(session_id)
        return None if session is None else structs.replace(session.record)

    def rename(self, session_id: str, name: str | None) -> None:
        """Set the user's name for a session."""
        if (session := self._sessions.get(session_id)) is not None:
            self._recorded.change(session, name=name)

    def close(self) -> None:
        """Record that the connection has ended: its running turns are interrupted."""
        for session in self._sessions.values():
            self._recorded.change(session, process="")

    async def commit(self) -> None:
        """Wait until everything observed so far is durable.

        Raises:
            JournalError: It could not be written.
        """
        await self.journal.commit()

    def _unclear(self, direction: Direction, data: bytes) -> None:
        """Record a frame that is not a message: the messages of a batch, or the frame as it is."""
        items = read_batch(data) if data.lstrip().startswith(b"[") else []
        for item in items:
            self.observe(direction, item)
        if not items and data.strip():
            self._place_anywhere(PendingFrame(self._kinds[direction], data, time.time()))

    def _requested(
        self, direction: Direction, id: Id, method: str, head: FrameHead, pending: PendingFrame
    ) -> None:
        session_id = head.params.session_id or ""
        request = _PendingRequest(method, session_id)
        self._remember((direction, id), request)
        if pending.kind != "to_agent":  # such as a question, or what an agent has no right to ask
            request.method = ""
            self._place(head, pending, session_id)
        elif method in _BEFORE:
            self._recorded.keep_preamble(pending)
        elif method in BEGINS:
            request.setup = read_setup(pending.data)
            request.pending.append(pending)
            self._opening += 1
        elif method in REOPENS:
            self._reopen(request, pending)
        elif method not in _ELSEWHERE:
            self._recorded.claim(session_id)
            session = self._place(head, pending, session_id)
            if session is not None and method == "session/prompt":
                self._recorded.begin_turn(session, read_prompt(pending.data))

    def _remember(self, key: tuple[Direction, Id], request: _PendingRequest) -> None:
        """Remember a request; drop one with the same id, or the oldest of too many."""
        is_full = len(self._requests) >= MAX_PENDING_REQUESTS and key not in self._requests
        dropped = self._requests.pop(next(iter(self._requests)) if is_full else key, None)
        if dropped is not None and dropped.method in BEGINS:
            self._opening -= 1
        if dropped is not None and dropped.is_replay:
            session = self._sessions.get(dropped.session_id)
            if session is not None:
                session.replays -= 1
        self._requests[key] = request

    def _reopen(self, request: _PendingRequest, pending: PendingFrame) -> None:
        request.setup = read_setup(pending.data)
        session = self._recorded.resume(request.session_id, request.setup)
        if session is None:
            request.pending.append(pending)
            self._loading[request.session_id] = request
            return
        self._recorded.write(session, pending)
        self._recorded.mark_idle(session)
        replays = request.method == "session/load" or request.setup.asks_for_replay
        if replays or self._recorded.protocol == 1:  # some agents of version 1 replay on a resume
            request.is_replay = True
            session.replays += 1

    def _notified(self, head: FrameHead, pending: PendingFrame) -> None:
        session_id = head.params.session_id or ""
        session = self._sessions.get(session_id)
        kind = head.params.update.kind
        is_update = head.method == "session/update"
        if session is not None and session.replays and is_update and kind not in _SNAPSHOTS:
            session.replayed += 1
            return
        session = self._place(head, pending, session_id)
        if session is not None and is_update and kind in _TELLING:
            update = read_session_update(pending.data)
            if update.title is not UNSET:
                self._recorded.change(session, title=update.title)
            if update.state == "idle":
                self._recorded.mark_idle(session)
            elif update.state in ("running", "requires_action"):
                self._recorded.mark_running(session)

    def _answered(self, direction: Direction, head: FrameHead, pending: PendingFrame) -> None:
        id = None if head.id is UNSET else head.id
        request = self._requests.pop((_OTHER[direction], id), None)
        if request is None:
            self._place_anywhere(pending)
            return
        response = read_response(pending.data)
        if request.method in _BEFORE:
            self._recorded.keep_preamble(pending)
            if request.method == "initialize" and response.is_success:
                self._recorded.set_protocol(response.result)
        elif request.method in BEGINS:
            self._named(request, response, head, pending)
        elif request.method in REOPENS:
            self._reopened(request, response, head, pending)
        elif request.method not in _ELSEWHERE:
            session = self._place(head, pending, request.session_id)
            if session is not None:
                self._learn(session, request.method, response)

    def _named(
        self,
        request: _PendingRequest,
        response: ResponseContents,
        head: FrameHead,
        pending: PendingFrame,
    ) -> None:
        """Begin the session that a response names, with the frames that waited for it."""
        self._opening -= 1
        session_id = read_result(response).session_id if response.is_success else ""
        if session_id:
            session = self._sessions.get(session_id)
            if session is None or not session.is_open:
                parent = request.session_id if request.method == "session/fork" else ""
                session = self._recorded.begin(session_id, request.setup, parent)
            for each in request.pending:
                self._recorded.write(session, each)
            self._release(session_id)
            self._recorded.write(session, pending)
        if not self._opening:
            for other in list(self._early):
                self._release(other)

    def _release(self, session_id: str) -> None:
        """Write the frames that came before their session was known."""
        early = self._early.pop(session_id, [])
        self._early_bytes -= sum(pending.weight for _, pending in early)
        for head, pending in early:
            if head.method is not UNSET and head.id is UNSET:
                self._notified(head, pending)
            else:
                self._place(head, pending, session_id)

    def _reopened(
        self,
        request: _PendingRequest,
        response: ResponseContents,
        head: FrameHead,
        pending: PendingFrame,
    ) -> None:
        waiting = self._loading.pop(request.session_id, None)
        if waiting is not None and not response.is_success:
            return  # there is no such session
        if waiting is not None:
            self._begin_loaded(waiting)
        session = self._place(head, pending, request.session_id)
        if session is not None and request.is_replay:
            session.replays -= 1
            if session.replayed and not session.replays:
                self.note(request.session_id, "replay", frames=session.replayed)
                session.replayed = 0

    def _begin_loaded(self, request: _PendingRequest) -> Session:
        session = self._recorded.begin(request.session_id, request.setup)
        for each in request.pending:
            self._recorded.write(session, each)
        return session

    def _learn(self, session: Session, method: str, response: ResponseContents) -> None:
        """Update the record of a session from a response."""
        if method == "session/prompt":
            session.prompts -= 1
            is_end = not response.is_success or read_result(response).stop_reason is not None
            if is_end and session.prompts <= 0:
                self._recorded.mark_idle(session)
        elif response.is_success and method in CLOSES:
            self._recorded.close(session)
            if method != "session/close":
                self._recorded.change(session, is_archived=True)
        elif response.is_success and method == "session/unarchive":
            self._recorded.change(session, is_archived=False)
        elif response.is_success and method == "session/set_title":
            self._recorded.change(session, title=read_result(response).title)

    def _place(self, head: FrameHead, pending: PendingFrame, session_id: str) -> Session | None:
        """Write a frame to its session; return None if the session is not known (yet)."""
        if not session_id:
            self._place_anywhere(pending)
            return None
        session = self._sessions.get(session_id)
        if session is None and (loading := self._loading.pop(session_id, None)) is not None:
            session = self._begin_loaded(loading)
        if session is None and self._opening and head.method not in _ABOUT:
            self._hold(session_id, head, pending)
            return None
        if session is None:
            session = self._find_unopened(session_id, head)
        if session is not None:
            self._recorded.write(session, pending)
        return session

    def _hold(self, session_id: str, head: FrameHead, pending: PendingFrame) -> None:
        if self._early_bytes < MAX_EARLY_BYTES:
            self._early_bytes += pending.weight
            self._early.setdefault(session_id, []).append((head, pending))
        else:
            logger.warning("too much came before its session; some of it is not written down")

    def _find_unopened(self, session_id: str, head: FrameHead) -> Session | None:
        """Find a session that was not opened on this connection, or begin it."""
        if head.method in _ABOUT:
            return self._recorded.find_closed(session_id)
        if head.method is UNSET or self._unopened_sessions >= MAX_UNOPENED_SESSIONS:
            return None
        self._unopened_sessions += 1
        return self._recorded.begin(session_id, SessionSetup())

    def _place_anywhere(self, pending: PendingFrame) -> None:
        """Write a frame that names no session to the only open one, if there is exactly one."""
        if (session := self._recorded.only_open()) is not None:
            self._recorded.write(session, pending)
