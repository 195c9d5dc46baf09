"""The sessions of one connection in the journal: beginning, resuming and changing their records.

`_recorder.py` decides which frame belongs to which session.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from parley.errors import JournalError, RemoteProtocolError
from parley.peer._initialize import version_of

from ._base import Journal, Kind, Record, Role, new_key
from ._frame_contents import SessionSetup
from ._process import is_alive, this_process

logger = logging.getLogger(__name__)

MAX_PREAMBLE_BYTES = 1024 * 1024
"""The maximum size of the frames kept that precede any session."""
TITLE_LENGTH = 80
MAX_CLOSED = 1000
"""The number of closed sessions that are remembered, for late frames."""


class PendingFrame(Struct, frozen=True):
    """A frame that is to be written."""

    kind: Kind
    data: bytes
    at: float

    @property
    def weight(self) -> int:
        """The approximate memory that it uses."""
        return len(self.data) + 512


class Session:
    """A session on this connection."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.is_open = True
        self.is_ours = True
        """Whether this process records it, and not another one that uses it too."""
        self.prompts = 0
        """The number of prompts without a response."""
        self.replays = 0
        """The number of pending requests after which the agent replays the session."""
        self.replayed = 0
        """The number of replayed frames."""

    @property
    def is_written(self) -> bool:
        """Whether frames are written as they arrive."""
        return self.is_ours and not self.replays


class RecordedSessions:
    """The sessions of one connection, and their records."""

    def __init__(self, journal: Journal, role: Role, agent: str, *, is_shared: bool) -> None:
        self.journal = journal
        self.protocol = 1
        self._role: Role = role
        self._agent = agent
        self._process = this_process()
        self._is_shared = is_shared
        self._preamble: list[PendingFrame] = []
        self._preamble_bytes = 0
        self.sessions: dict[str, Session] = {}
        """The sessions by their id."""

    def keep_preamble(self, pending: PendingFrame) -> None:
        """Keep a frame that precedes any session."""
        self._preamble_bytes += len(pending.data)
        if self._preamble_bytes <= MAX_PREAMBLE_BYTES:
            self._preamble.append(pending)

    def set_protocol(self, result: Raw) -> None:
        """Set the protocol version from the result of `initialize`."""
        try:
            self.protocol = version_of(result)
        except RemoteProtocolError:
            logger.debug("a response to initialize without a version")

    def only_open(self) -> Session | None:
        """Return the open session if there is exactly one."""
        found = [session for session in self.sessions.values() if session.is_open]
        return found[0] if len(found) == 1 else None

    def begin(self, session_id: str, setup: SessionSetup, parent: str = "") -> Session:
        """Begin a session, or the copy of another one."""
        now = time.time()
        record = Record(
            key=new_key(),
            role=self._role,
            agent=self._agent,
            session_id=session_id,
            cwd=setup.cwd,
            additional_directories=setup.additional_directories or [],
            protocol=self.protocol,
            created_at=now,
            updated_at=now,
            process=self._process if self._is_shared else "",
        )
        known = self.sessions.get(parent)
        origin = known.record if known is not None else self.find(parent)
        if origin is None:
            self.journal.put(record)
        else:
            record.title = origin.title
            self.journal.copy(origin.key, record)
        return self._add(record, has_begun=known is not None)

    def resume(self, session_id: str, setup: SessionSetup) -> Session | None:
        """Resume a session; return None if the journal has no such session."""
        session = self.sessions.get(session_id)
        if session is None:
            record = self.find(session_id)
            if record is None:
                return None
            session = self._join(record)
        session.is_open = True
        self.change(
            session,
            cwd=setup.cwd or session.record.cwd,
            additional_directories=setup.additional_directories or [],
            protocol=self.protocol,
            is_archived=False,
        )
        return session

    def find_closed(self, session_id: str) -> Session | None:
        """Return a session of the journal without opening it."""
        session = self.sessions.get(session_id)
        if session is None and (record := self.find(session_id)) is not None:
            session = self._add(record, has_begun=True)
            session.is_open = False
        return session

    def claim(self, session_id: str) -> None:
        """Record a session from now on if the process that recorded it has ended."""
        session = self.sessions.get(session_id)
        if session is None or session.is_ours:
            return
        record = self.find(session_id)
        if record is not None and not self._is_elsewhere(record):
            session.record, session.is_ours = structs.replace(record), True
            self._take_over(session, is_interrupted=record.is_interrupted)
            self.change(session, process=self._process)

    def _join(self, record: Record) -> Session:
        """Open a session of the journal; one that another process records is left to it."""
        if not self._is_elsewhere(record):
            session = self._add(record, has_begun=True)
            self._take_over(session, is_interrupted=record.is_interrupted)
            if self._is_shared:
                self.change(session, process=self._process)
            return session
        session = self._add(record, has_begun=True)
        session.is_ours = False
        logger.warning(
            "the session %s is already recorded by another process; this one only takes part in it",
            record.name or record.key,
        )
        return session

    def _is_elsewhere(self, record: Record) -> bool:
        is_other = record.process not in ("", self._process)
        return self._is_shared and is_other and is_alive(record.process)

    def find(self, session_id: str) -> Record | None:
        """Return the record of a session in the journal."""
        if not session_id:
            return None
        try:
            found = self.journal.list(
                role=self._role, agent=self._agent, session_id=session_id, limit=1
            )
        except JournalError as problem:
            logger.warning("%s", problem)
            return None
        return found[0] if found else None

    def _take_over(self, session: Session, *, is_interrupted: bool) -> None:
        """Write what comes before the frames of this connection into a session of the journal."""
        if is_interrupted:  # the record soon says that nothing runs, and the entries do not show it
            text = msgspec.json.encode({"note": "interrupted"})
            self.write(session, PendingFrame("note", text, time.time()))
        for pending in self._preamble:
            self.write(session, pending)

    def write(self, session: Session, pending: PendingFrame) -> None:
        """Write a frame."""
        if session.is_ours:
            self.journal.append(session.record.key, pending.kind, pending.data, pending.at)

    def mark_running(self, session: Session) -> None:
        """Record that a turn runs."""
        self.change(session, state="running", process=self._process)

    def begin_turn(self, session: Session, words: str) -> None:
        """Record that a turn begins; a session without a title gets the start of the prompt."""
        session.prompts += 1
        self.mark_running(session)
        if session.record.title is None:
            title = " ".join(words.split())
            if len(title) > TITLE_LENGTH:
                title = title[: TITLE_LENGTH - 1] + "…"
            self.change(session, title=title or None)

    def mark_idle(self, session: Session) -> None:
        """Record that no turn runs."""
        self.change(session, state="idle", process=self._process if self._is_shared else "")

    def change(self, session: Session, **fields: Any) -> None:
        """Change fields of a session's record."""
        if not session.is_ours:
            return
        record = session.record
        changed = [name for name, value in fields.items() if getattr(record, name) != value]
        for name in changed:
            setattr(record, name, fields[name])
        if changed:
            self.journal.put(record, *changed)

    def close(self, session: Session) -> None:
        """Record that a session was closed."""
        self.change(session, state="idle", process="")
        session.is_open = False
        closed = [id for id, each in self.sessions.items() if not each.is_open]
        for id in closed[: len(closed) - MAX_CLOSED]:
            del self.sessions[id]

    def _add(self, record: Record, *, has_begun: bool) -> Session:
        """Add a session; unless it has begun, write the frames that precede any session."""
        session = self.sessions[record.session_id] = Session(structs.replace(record))
        for pending in () if has_begun else self._preamble:
            self.write(session, pending)
        return session
