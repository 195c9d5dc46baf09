"""Stores for an agent's sessions, so that they can be listed and resumed.

The interface is small on purpose. `MemoryStore` is the default, `JournalStore` in
`journal_store.py` keeps sessions on disk, and your own store implements the same few methods. A
store may write a session as it grows, update by update, or as a whole with `StoredSession.to_json`.
As JSON, a session is its fields and, instead of the transcript, the updates that rebuild it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct, field

from parley._bounded_dict import BoundedDict
from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema._codec import decode, encode
from parley.session._transcript import Transcript

TERMINAL_LIMIT_BYTES = 1024 * 1024
"""The number of bytes of a terminal's output that are kept for a replay."""


def new_id(kind: str) -> str:
    """Return a new id that cannot be guessed, with `kind` as its prefix."""
    return f"{kind}_{uuid4().hex}"


def now() -> str:
    """Return the current time as an RFC 3339 timestamp."""
    return format_timestamp(datetime.now(UTC))


def format_timestamp(time: datetime) -> str:
    """Return a UTC time as an RFC 3339 timestamp, the format of the protocol."""
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _transcript() -> Transcript:
    return Transcript(terminal_limit_bytes=TERMINAL_LIMIT_BYTES, drops_refused=True)


class _SessionJson(Struct, kw_only=True, rename="camel"):
    """The JSON form of a `StoredSession`."""

    id: str
    cwd: str
    additional_directories: list[str] = []
    updated_at: str
    created_at: str = ""
    is_archived: bool = False
    data: dict[str, Any] = {}
    updates: list[Raw]


class StoredSession(Struct, kw_only=True):
    """A session as a `SessionStore` saves it: its fields, transcript and the program's data.

    A store receives one in `put` and returns one from `get`. `to_json` and `from_json` convert the
    whole session to bytes and back; `info` returns its entry in a session list.
    """

    id: str
    cwd: str
    additional_directories: list[str] = []
    transcript: Transcript = field(default_factory=_transcript)
    """The conversation; also holds the title, the commands and the config options."""
    data: dict[str, Any] = {}
    """The program's own data."""
    updated_at: str = field(default_factory=now)
    """The time of the last activity, as an RFC 3339 timestamp."""
    created_at: str = field(default_factory=now)
    """The time of creation, as an RFC 3339 timestamp."""
    is_archived: bool = False

    def info(self) -> v2.SessionInfo:
        """Return the entry of the session in a session list."""
        return v2.SessionInfo(
            session_id=self.id,
            cwd=self.cwd,
            additional_directories=self.additional_directories,
            title=self.transcript.title,
            updated_at=self.updated_at,
            archived=True if self.is_archived else None,
        )

    def to_json(self) -> bytes:
        """Return the whole session as JSON, including commands and config options.

        Raises:
            TypeError: The program's `data` cannot be encoded as JSON.
        """
        fields = _SessionJson(
            id=self.id,
            cwd=self.cwd,
            additional_directories=self.additional_directories,
            updated_at=self.updated_at,
            created_at=self.created_at,
            is_archived=self.is_archived,
            data=self.data,
            updates=[Raw(encode(each)) for each in self.updates()],
        )
        return msgspec.json.encode(fields)

    def updates(self) -> list[v2.SessionUpdate]:
        """Return the updates that rebuild the whole transcript from an empty one."""
        transcript = self.transcript
        return [
            *transcript.replay(),
            v2.ConfigOptionUpdate(config_options=transcript.config_options),
            v2.AvailableCommandsUpdate(available_commands=transcript.commands),
        ]

    @classmethod
    def from_json(cls, text: bytes | str) -> StoredSession:
        """Return the session that `to_json` wrote; tool calls that were running are cancelled.

        Raises:
            MalformedValue: The text was not written by `to_json`.
        """
        try:
            fields = msgspec.json.decode(text, type=_SessionJson)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedValue("session", str(error)) from error
        stored = cls(
            id=fields.id,
            cwd=fields.cwd,
            additional_directories=fields.additional_directories,
            data=fields.data,
            updated_at=fields.updated_at,
            created_at=fields.created_at or fields.updated_at,
            is_archived=fields.is_archived,
        )
        for update in fields.updates:
            stored.transcript.fold(decode(v2.SessionUpdate, update, "session.updates"))
        stored.transcript.cancel_unfinished()
        return stored


class SessionStore(Protocol):
    """The interface of a session store: `Agent("name", store=...)`.

    A store keeps sessions beyond the connection that created them. Parley has two: `MemoryStore`
    and `JournalStore`. To write your own, implement these five methods:

    ```python
    class FileStore:
        async def get(self, id: str) -> StoredSession | None:
            path = Path(f"{id}.json")
            return StoredSession.from_json(path.read_bytes()) if path.exists() else None

        async def put(self, session: StoredSession) -> None:
            Path(f"{session.id}.json").write_bytes(session.to_json())

        def append(self, id: str, update: v2.SessionUpdate) -> None:
            pass  # `put` writes whole sessions

        ...  # list, delete
    ```

    Two members are optional. If the store has an attribute `agent` that is empty, `Agent` sets it
    to its own name. A method `created`, as in `MemoryStore`, returns the creation times of the
    sessions, for the filter `createdAfter` of session lists.
    """

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        """Return the list entries of all sessions, including archived ones, in any order.

        If `cwd` is given, sessions in other directories may be left out.
        """
        ...

    async def get(self, id: str) -> StoredSession | None:
        """Return a session, or None if there is none with this id."""
        ...

    def append(self, id: str, update: v2.SessionUpdate) -> None:
        """Record an update of a session before it is sent; the user's messages are updates, too.

        Called for every update, so it must be fast and must not fail. Updates of a session that was
        not `put` yet may be ignored: its transcript has them when it is. A user message may come
        twice, when it is accepted and when its turn begins; the second position counts. If it comes
        with empty content, its prompt was not accepted after all and must be left out. A store that
        writes whole sessions can do nothing here.
        """
        ...

    async def put(self, session: StoredSession) -> None:
        """Save a new or changed session.

        When this returns, the session and all appended updates must be durable: a response or the
        end of a turn waits for it.
        """
        ...

    async def delete(self, id: str) -> None:
        """Delete a session; an unknown id is not an error."""
        ...


@runtime_checkable
class SharedStore(Protocol):
    """A store that several agents may share, and that therefore needs the name of its agent."""

    agent: str
    """The name of the agent; if it is empty, `Agent` sets it to its own name."""


@runtime_checkable
class DatedStore(Protocol):
    """A store that knows the creation times of its sessions, for the `createdAfter` filter."""

    async def created(self) -> dict[str, str]:
        """Return the creation times of the sessions, as RFC 3339 timestamps, by session id."""
        ...


class MemoryStore:
    """A `SessionStore` in memory, the default of `Agent`; sessions are lost when the program ends.

    Use `parley.agent.journal_store.JournalStore` to save sessions on disk.
    """

    def __init__(self, max_sessions: int = 1000) -> None:
        """Create an empty store; beyond `max_sessions`, the least recently saved one is dropped."""
        self._sessions: BoundedDict[str, StoredSession] = BoundedDict(max_sessions)

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        """Return the list entries of all sessions."""
        return [session.info() for session in self._sessions.values()]

    async def created(self) -> dict[str, str]:
        """Return the creation times of the sessions, by session id."""
        return {session.id: session.created_at for session in self._sessions.values()}

    async def get(self, id: str) -> StoredSession | None:
        """Return a session, or None if there is none with this id."""
        return self._sessions.get(id)

    def append(self, id: str, update: v2.SessionUpdate) -> None:
        """Do nothing: the update is already in the transcript of the stored session."""

    async def put(self, session: StoredSession) -> None:
        """Save a session."""
        self._sessions[session.id] = session

    async def delete(self, id: str) -> None:
        """Delete a session; an unknown id is not an error."""
        self._sessions.pop(id, None)
