"""The interface of a journal: the log of every session, frame by frame, and its records.

A session in the journal is a `Record` and its numbered entries: the raw frames in both directions,
and notes of the program's own. It is whole by itself: what opened the connection is in it too.
`_memory.py` and `_sqlite.py` keep it, `_recorder.py` fills it from a connection.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct, field, structs

from ._process import is_alive

Kind: TypeAlias = Literal["to_agent", "to_client", "note"]
"""The direction of a frame; a note is JSON about something that the program did."""

Role: TypeAlias = Literal["client", "agent"]
"""The side that recorded a session."""

PER_SESSION = 3
"""The maximum number of hits of a search in one session."""


def new_key() -> str:
    """Return a name for a new session of the journal, which is nobody else's."""
    return secrets.token_hex(8)


class Entry(Struct, frozen=True, gc=False):
    """One frame or note of a session."""

    number: int
    """1, 2, … within its session; numbers are missing where something was lost."""
    at: float
    """When it passed, as Unix time."""
    kind: Kind
    data: bytes
    """The frame, or the note: a JSON object whose `note` names its kind."""


class Record(Struct, kw_only=True):
    """The record of a session as a whole."""

    key: str
    """Its name in the journal, made by `new_key`."""
    role: Role = "client"
    agent: str
    """The agent, as the program calls it."""
    session_id: str
    """Its name on the wire; two agents may use the same."""
    cwd: str = ""
    additional_directories: list[str] = []
    name: str | None = None
    """The user's name for it."""
    title: str | None = None
    """The agent's title for it; until there is one, the start of the first prompt."""
    protocol: int = 1
    """The version of the protocol that it was last spoken in."""
    created_at: float = 0.0
    updated_at: float = 0.0
    """When something last happened, as Unix time."""
    state: Literal["idle", "running"] = "idle"
    process: str = ""
    """The process that runs its turn, from `this_process`; empty if none does. If several processes
    take part in a session, the one that records it."""
    is_archived: bool = False
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """Data of the program, as JSON."""
    entries: int = 0
    """The number of the last entry; set by the journal, ignored in `put`."""
    size_bytes: int = 0
    """The total size of its entries; also counted by the journal."""

    @property
    def is_interrupted(self) -> bool:
        """Whether a turn was running when its process ended, or its connection."""
        return self.state == "running" and not is_alive(self.process)


def snapshot(record: Record) -> Record:
    """Return a copy of a record that shares nothing with it.

    Raises:
        TypeError: What the program keeps in `data` cannot be written as JSON.
    """
    return structs.replace(
        record,
        additional_directories=list(record.additional_directories),
        data=msgspec.json.decode(msgspec.json.encode(record.data)) if record.data else {},
    )


class Hit(Struct, frozen=True):
    """A place where searched words were found."""

    record: Record
    number: int
    """The entry where the message begins."""
    text: str
    """Some of the message; the words stand between U+0002 and U+0003."""


class Journal(Protocol):
    """Stores sessions; entries are buffered, and durable once `commit` returns."""

    def put(self, record: Record, *fields: str) -> None:
        """Create the record of a session, or change it.

        Args:
            record: It is copied.
            fields: What has changed; the rest stays as it is, and a session that is not there is
                not made. Without any, all of it counts.

        Raises:
            TypeError: What the program keeps in `data` cannot be written as JSON.
        """
        ...

    def append(self, key: str, kind: Kind, data: bytes, at: float | None = None) -> None:
        """Add an entry to a session; one to a session that is not there is dropped.

        Never waits for a disk, unless too much is unwritten to keep in memory.
        """
        ...

    def extend(self, key: str, kind: Kind, data: Iterable[bytes], at: float | None = None) -> None:
        """Add several entries of one kind to a session, as `append` would one by one."""
        ...

    async def commit(self) -> None:
        """Wait until everything appended so far is durable; concurrent callers share the work.

        Raises:
            JournalError: It could not be written. It is kept, within bounds, and tried again.
        """
        ...

    def get(self, key: str) -> Record | None:
        """Return the record of a session. Reads see everything appended to this journal."""
        ...

    def entries(self, key: str, after: int = 0) -> Iterator[Entry]:
        """Iterate over the entries of a session after a number, without loading all of them."""
        ...

    def search(self, words: str, *, role: Role = "client", limit: int = 20) -> list[Hit]:
        """Find messages with all of these words, the last one begun at least; newest first.

        Prompts, what agents say, titles and commands of tool calls, plans and titles are searched.
        At most `PER_SESSION` hits are in the same session.

        Raises:
            JournalError: This journal cannot search.
        """
        ...

    def copy(self, key: str, to: Record) -> None:
        """Begin a session that has the entries of another, as they are now."""
        ...

    def delete(self, key: str) -> None:
        """Delete a session; does nothing if there is none."""
        ...

    def prune(
        self,
        *,
        max_age: float | None = None,
        max_sessions: int | None = None,
        max_bytes: int | None = None,
        role: Role | None = None,
        trust_clock: bool = False,
    ) -> int:
        """Delete the oldest sessions until the rest is within limits; return how many were deleted.

        One whose turn a living process runs stays.

        Args:
            max_age: Seconds since something last happened in it.
            max_sessions: How many to keep.
            max_bytes: How long their entries may be together.
            role: Only those that such a side has written down; the others stay and do not count.
            trust_clock: Whether to believe the clock when it is far ahead of the last session.
                Otherwise a gap of more than a week before now does not make sessions older.
        """
        ...

    async def aclose(self) -> None:
        """Commit, and release resources; entries that cannot be written are logged and lost."""
        ...

    def list(
        self,
        *,
        role: Role | None = None,
        agent: str | None = None,
        cwd: str | None = None,
        name: str | None = None,
        session_id: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """Return the sessions that fit, the one that something last happened in first."""
        ...
