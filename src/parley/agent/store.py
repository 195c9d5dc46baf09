"""What an agent remembers of its sessions, so that they can be listed and opened again.

A store is small on purpose: the memory one serves every agent that says nothing else, the one in
`journal_store.py` keeps sessions on disk, and another one implements the same few methods. It may
write a session as it grows, update by update, or whole with `StoredSession.to_json`. As JSON, a
session is its fields and, instead of the transcript, the updates that tell it again.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct, field

from parley.bounded import Bounded
from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema.codec import decode, encode
from parley.session.transcript import Transcript

__all__ = [
    "MemoryStore",
    "SessionStore",
    "SharedStore",
    "StoredSession",
    "new_id",
    "now",
    "written",
]

TERMINAL_LIMIT_BYTES = 1024 * 1024
"""How much output of a terminal is kept for a replay."""


def new_id(kind: str) -> str:
    """Return an id that nobody can guess."""
    return f"{kind}_{uuid4().hex}"


def now() -> str:
    """Return the time as the protocol writes it."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """Return a moment, told in UTC, as the protocol writes it: RFC 3339."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _transcript() -> Transcript:
    return Transcript(terminal_limit_bytes=TERMINAL_LIMIT_BYTES)


class _Written(Struct, kw_only=True, rename="camel"):
    """A session as JSON."""

    id: str
    cwd: str
    additional_directories: list[str] = []
    updated_at: str
    is_archived: bool = False
    data: dict[str, Any] = {}
    updates: list[Raw]


class StoredSession(Struct, kw_only=True):
    """One session, as it is remembered."""

    id: str
    cwd: str
    additional_directories: list[str] = []
    transcript: Transcript = field(default_factory=_transcript)
    """What was said; title, commands and config options are in it too."""
    data: dict[str, Any] = {}
    """What the program keeps for itself."""
    updated_at: str = field(default_factory=now)
    """When something last happened in it, as RFC 3339."""
    is_archived: bool = False

    def info(self) -> v2.SessionInfo:
        """Return what a list shows of it."""
        return v2.SessionInfo(
            session_id=self.id,
            cwd=self.cwd,
            additional_directories=self.additional_directories,
            title=self.transcript.title,
            updated_at=self.updated_at,
            archived=True if self.is_archived else None,
        )

    def to_json(self) -> bytes:
        """Write all of it, commands and config options included.

        Raises:
            TypeError: What the program keeps in `data` cannot be written as JSON.
        """
        written = _Written(
            id=self.id,
            cwd=self.cwd,
            additional_directories=self.additional_directories,
            updated_at=self.updated_at,
            is_archived=self.is_archived,
            data=self.data,
            updates=[Raw(encode(each)) for each in self.updates()],
        )
        return msgspec.json.encode(written)

    def updates(self) -> list[v2.SessionUpdate]:
        """Return the updates that tell all of the transcript to somebody who knows nothing."""
        said = self.transcript
        return [
            *said.replay(),
            v2.ConfigOptionUpdate(config_options=said.config_options),
            v2.AvailableCommandsUpdate(available_commands=said.commands),
        ]

    @classmethod
    def from_json(cls, text: bytes | str) -> StoredSession:
        """Read what `to_json` wrote; tool calls that ran then are cancelled.

        Raises:
            MalformedValue: It is something else.
        """
        try:
            kept = msgspec.json.decode(text, type=_Written)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedValue("session", str(error)) from error
        stored = cls(
            id=kept.id,
            cwd=kept.cwd,
            additional_directories=kept.additional_directories,
            data=kept.data,
            updated_at=kept.updated_at,
            is_archived=kept.is_archived,
        )
        for update in kept.updates:
            stored.transcript.fold(decode(v2.SessionUpdate, update, "session.updates"))
        stored.transcript.cancel_unfinished()
        return stored


class SessionStore(Protocol):
    """Keeps sessions beyond the connection that made them."""

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        """Describe all sessions, archived ones too, in any order.

        Those of other directories than `cwd`, if that is given, may be left out.
        """
        ...

    async def get(self, id: str) -> StoredSession | None:
        """Return a session; None if there is none with this id."""
        ...

    def append(self, id: str, update: v2.SessionUpdate) -> None:
        """Take an update of a session, before it is sent; what the user says is one, too.

        Called for every one, so be quick and do not fail. A session that was not put yet may be
        passed over: all that was said is in the transcript when it is. A user's message may come
        twice, when it was accepted and when its turn begins: the second place counts. A store that
        writes sessions whole has nothing to do here.
        """
        ...

    async def put(self, session: StoredSession) -> None:
        """Remember a session, or what has changed about it.

        When this returns, that and all that was appended is durable: an answer or the end of a turn
        waits for it.
        """
        ...

    async def delete(self, id: str) -> None:
        """Forget a session; one that is not there is no error."""
        ...


@runtime_checkable
class SharedStore(Protocol):
    """A store that several agents may share: it wants to know whose sessions it keeps."""

    agent: str
    """The name of the agent; where it is empty, the agent that is given the store sets it."""


class MemoryStore:
    """Keeps sessions as long as the program runs."""

    def __init__(self, max_sessions: int = 1000) -> None:
        """Keep so many sessions; beyond that, the one that was unchanged longest is forgotten."""
        self._sessions: Bounded[str, StoredSession] = Bounded(max_sessions)

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        """Describe all sessions."""
        return [session.info() for session in self._sessions.values()]

    async def get(self, id: str) -> StoredSession | None:
        """Return a session."""
        return self._sessions.get(id)

    def append(self, id: str, update: v2.SessionUpdate) -> None:
        """Do nothing: the transcript has it."""

    async def put(self, session: StoredSession) -> None:
        """Remember a session."""
        self._sessions[session.id] = session

    async def delete(self, id: str) -> None:
        """Forget a session."""
        self._sessions.pop(id, None)
