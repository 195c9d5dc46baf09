"""A store in the journal: an agent's sessions survive it, whatever ends it.

`Agent("x", store=JournalStore())` is all that it takes. Each update is written as the notification
of version 2 that it is, whichever version the client speaks, and never again; a session that is
opened is its updates folded. What a killed agent had committed is there when it is started again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct

from parley.errors import MalformedValue
from parley.journal import Entry, Journal, Record, SqliteJournal, new_key
from parley.schema import v2
from parley.schema.codec import decode, encode
from parley.schema.v2 import methods

from .store import StoredSession, written

__all__ = ["JournalStore"]

_FIELDS = ("cwd", "additional_directories", "title", "updated_at", "is_archived", "data")


class _Frame(Struct):
    params: Raw = Raw(b"")


class JournalStore:
    """Keeps an agent's sessions in a journal."""

    def __init__(self, journal: Journal | None = None, *, agent: str = "") -> None:
        """Name the journal; nothing is read or written before it is needed.

        Args:
            journal: Where; None for the user's, which agents and clients share.
            agent: Whose sessions; the name of the agent that it is given to, unless told otherwise.
        """
        self.journal: Journal = SqliteJournal() if journal is None else journal
        self.agent = agent
        """Whose sessions."""
        self._keys: dict[str, str] = {}
        self._accepted: dict[str, str] = {}
        """By session the user's message, if that is what was appended last."""

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        """Describe the sessions of a directory, or all."""
        return [
            v2.SessionInfo(
                session_id=record.session_id,
                cwd=record.cwd,
                additional_directories=record.additional_directories,
                title=record.title,
                updated_at=written(datetime.fromtimestamp(record.updated_at, UTC)),
                archived=True if record.is_archived else None,
            )
            for record in self.journal.list(role="agent", agent=self.agent, cwd=cwd)
        ]

    async def get(self, id: str) -> StoredSession | None:
        """Return a session, told by its updates; what ran when it was left is cancelled."""
        key = self._key(id)
        record = None if key is None else self.journal.get(key)
        if record is None:
            return None
        stored = StoredSession(
            id=id,
            cwd=record.cwd,
            additional_directories=list(record.additional_directories),
            data=msgspec.json.decode(msgspec.json.encode(record.data)),
            updated_at=written(datetime.fromtimestamp(record.updated_at, UTC)),
            is_archived=record.is_archived,
        )
        said = stored.transcript
        for update in _updates(self.journal.entries(record.key)):
            with suppress(MalformedValue):
                said.fold(update)
        said.cancel_unfinished()
        if said.state != "idle":
            said.fold(v2.StateUpdated(state="idle", stop_reason="cancelled"))
        return stored

    def append(self, id: str, update: v2.SessionUpdate) -> None:
        """Write an update down; of a session that is not there yet, `put` does it."""
        key = self._keys.get(id)
        if key is None:
            return
        if isinstance(update, v2.UserMessage):
            if self._accepted.get(id) == update.message_id:
                return  # its turn begins, and nothing was said since it was accepted
            self._accepted[id] = update.message_id
        elif self._accepted:
            self._accepted.pop(id, None)
        self.journal.append(key, "to_client", _frame(id, update))

    async def put(self, session: StoredSession) -> None:
        """Remember a session; when this returns, all that was said in it is on the disk.

        Raises:
            JournalError: It could not be written.
            TypeError: What the program keeps in `data` cannot be written as JSON; all else is kept.
        """
        try:
            data = msgspec.json.decode(msgspec.json.encode(session.data))
        except TypeError:
            await self.journal.commit()
            raise
        key = self._key(session.id)
        record = Record(
            key=key or new_key(),
            role="agent",
            agent=self.agent,
            session_id=session.id,
            cwd=session.cwd,
            additional_directories=list(session.additional_directories),
            title=session.transcript.title,
            protocol=2,
            created_at=time.time(),
            updated_at=_read_time(session.updated_at),
            is_archived=session.is_archived,
            data=data,
        )
        if key is not None:
            self.journal.put(record, *_FIELDS)
        else:
            self._begin(record, session)
        await self.journal.commit()

    def _begin(self, record: Record, session: StoredSession) -> None:
        """Write all of a session that is new here, or was forked from another."""
        self.journal.put(record)
        self._keys[session.id] = record.key
        for update in session.updates():
            self.journal.append(record.key, "to_client", _frame(session.id, update))

    async def delete(self, id: str) -> None:
        """Forget a session."""
        key = self._key(id)
        if key is not None:
            del self._keys[id]
            self._accepted.pop(id, None)
            self.journal.delete(key)
            await self.journal.commit()

    def _key(self, id: str) -> str | None:
        """Return what a session of this agent's is called in the journal.

        The journal is not read for what is known: that would wait for the disk.
        """
        if id not in self._keys:
            found = self.journal.list(role="agent", agent=self.agent, session_id=id, limit=1)
            if found:
                self._keys[id] = found[0].key
        return self._keys.get(id)


def _frame(id: str, update: v2.SessionUpdate) -> bytes:
    return b'{"jsonrpc":"2.0","method":"%b","params":{"sessionId":%b,"update":%b}}' % (
        methods.UPDATE_SESSION.name.encode(),
        msgspec.json.encode(id),
        encode(update),
    )


def _updates(entries: Iterator[Entry]) -> Iterator[v2.SessionUpdate]:
    """Yield what was written; a user's message that came twice is told at its second place."""
    updates = [update for entry in entries if (update := _read(entry)) is not None]
    last = {
        update.message_id: number
        for number, update in enumerate(updates)
        if isinstance(update, v2.UserMessage)
    }
    for number, update in enumerate(updates):
        if not isinstance(update, v2.UserMessage) or last[update.message_id] == number:
            yield update


def _read(entry: Entry) -> v2.SessionUpdate | None:
    """Return the update of an entry; None for what is none, or was damaged."""
    if entry.kind != "to_client":
        return None
    try:
        params = msgspec.json.decode(entry.data, type=_Frame).params
        return decode(v2.UpdateSessionNotification, params).update
    except (msgspec.DecodeError, UnicodeDecodeError, MalformedValue):
        return None


def _read_time(text: str) -> float:
    """Return a time that the protocol has written; one that cannot be read is now."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return time.time()
