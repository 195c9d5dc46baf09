"""`JournalStore`: keeps an agent's sessions on disk, so that they survive a crash of the agent.

`Agent("x", store=JournalStore())` is all it takes. Each update is written once, as a version 2
notification, whichever version the client speaks. Opening a session folds its updates. Everything
that was committed before an agent was killed is there when it starts again.
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
from parley.schema._codec import decode, encode
from parley.schema.v2 import methods

from ._store import StoredSession, format_timestamp

__all__ = ["JournalStore"]

_FIELDS = ("cwd", "additional_directories", "title", "updated_at", "is_archived", "data")


class _Frame(Struct):
    params: Raw = Raw(b"")


class JournalStore:
    """A `SessionStore` that keeps an agent's sessions on disk, in a journal.

    Pass it to an agent: `Agent("name", store=JournalStore())`. Without arguments it uses the user's
    journal, which agents and clients share; sessions are kept apart by the name of the agent.
    """

    def __init__(self, journal: Journal | None = None, *, agent: str = "") -> None:
        """Create a store; nothing is read or written until it is used.

        Args:
            journal: The journal; None for the user's, which agents and clients share.
            agent: The name under which the sessions are kept; by default the name of the agent that
                uses the store.
        """
        self.journal: Journal = SqliteJournal() if journal is None else journal
        self.agent = agent
        """The name of the agent that the sessions belong to."""
        self._keys: dict[str, str] = {}
        self._accepted: dict[str, str] = {}
        """The id of the user message by session id, where it is the last appended update."""

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        """Return the list entries of all sessions, or of those in a directory."""
        return [
            v2.SessionInfo(
                session_id=record.session_id,
                cwd=record.cwd,
                additional_directories=record.additional_directories,
                title=record.title,
                updated_at=format_timestamp(datetime.fromtimestamp(record.updated_at, UTC)),
                archived=True if record.is_archived else None,
            )
            for record in self.journal.list(role="agent", agent=self.agent, cwd=cwd)
        ]

    async def created(self) -> dict[str, str]:
        """Return the creation times of the sessions, by session id."""
        records = self.journal.list(role="agent", agent=self.agent)
        return {
            each.session_id: format_timestamp(datetime.fromtimestamp(each.created_at, UTC))
            for each in records
        }

    async def get(self, id: str) -> StoredSession | None:
        """Return a session, rebuilt from its updates; work that never finished is cancelled."""
        key = self._key(id)
        record = None if key is None else self.journal.get(key)
        if record is None:
            return None
        stored = StoredSession(
            id=id,
            cwd=record.cwd,
            additional_directories=list(record.additional_directories),
            data=msgspec.json.decode(msgspec.json.encode(record.data)),
            updated_at=format_timestamp(datetime.fromtimestamp(record.updated_at, UTC)),
            created_at=format_timestamp(datetime.fromtimestamp(record.created_at, UTC)),
            is_archived=record.is_archived,
        )
        transcript = stored.transcript
        for update in _updates(self.journal.entries(record.key)):
            with suppress(MalformedValue):
                transcript.fold(update)
        transcript.cancel_unfinished()
        if transcript.state != "idle":
            transcript.fold(v2.StateUpdated(state="idle", stop_reason="cancelled"))
        return stored

    def append(self, id: str, update: v2.SessionUpdate) -> None:
        """Write an update to the journal; ignore it if the session was not `put` yet."""
        key = self._keys.get(id)
        if key is None:
            return
        if isinstance(update, v2.UserMessage):
            if update.content != [] and self._accepted.get(id) == update.message_id:
                return  # its turn begins, and it is still the last update: not written twice
            self._accepted[id] = update.message_id
        elif self._accepted:
            self._accepted.pop(id, None)
        self.journal.append(key, "to_client", _frame(id, update))

    async def put(self, session: StoredSession) -> None:
        """Save a session; when this returns, all of its updates are on disk.

        Raises:
            JournalError: Writing failed.
            TypeError: The program's `data` cannot be encoded as JSON; appended updates are saved.
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
            created_at=_parse_timestamp(session.created_at),
            updated_at=_parse_timestamp(session.updated_at),
            is_archived=session.is_archived,
            data=data,
        )
        if key is not None:
            self.journal.put(record, *_FIELDS)
        else:
            self._begin(record, session)
        await self.journal.commit()

    def _begin(self, record: Record, session: StoredSession) -> None:
        """Write all updates of a session that is new to the journal, such as a fork."""
        self.journal.put(record)
        self._keys[session.id] = record.key
        for update in session.updates():
            self.journal.append(record.key, "to_client", _frame(session.id, update))

    async def delete(self, id: str) -> None:
        """Delete a session; an unknown id is not an error."""
        key = self._key(id)
        if key is not None:
            del self._keys[id]
            self._accepted.pop(id, None)
            self.journal.delete(key)
            await self.journal.commit()

    def _key(self, id: str) -> str | None:
        """Return the journal key of a session of this agent, or None.

        Known keys are cached, because reading the journal waits for the disk.
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
    """Yield the updates of a session, without prompts that were not accepted.

    A user message that was written twice is yielded at its second position.
    """
    updates = [update for entry in entries if (update := _read_update(entry)) is not None]
    last = {
        update.message_id: number
        for number, update in enumerate(updates)
        if isinstance(update, v2.UserMessage)
    }
    for number, update in enumerate(updates):
        if not isinstance(update, v2.UserMessage) or (
            last[update.message_id] == number and update.content != []
        ):
            yield update


def _read_update(entry: Entry) -> v2.SessionUpdate | None:
    """Return the update in an entry, or None if it is something else or damaged."""
    if entry.kind != "to_client":
        return None
    try:
        params = msgspec.json.decode(entry.data, type=_Frame).params
        return decode(v2.UpdateSessionNotification, params).update
    except (msgspec.DecodeError, UnicodeDecodeError, MalformedValue):
        return None


def _parse_timestamp(text: str) -> float:
    """Return an RFC 3339 timestamp as Unix time, or the current time if it cannot be parsed."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return time.time()
