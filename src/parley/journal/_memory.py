"""A journal that lasts as long as the program: for tests, and for who wants nothing written."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterable, Iterator

from msgspec import structs

from ._base import PER_SESSION, Entry, Hit, Kind, Record, Role, snapshot
from ._retention import Limits, too_many
from ._texts import documents

_COUNTED = ("entries", "size_bytes")


class MemoryJournal:
    """Keeps sessions in memory."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._entries: dict[str, list[Entry]] = {}

    def put(self, record: Record, *fields: str) -> None:
        """Create the record of a session, or change it."""
        record = snapshot(record)
        known = self._records.get(record.key)
        if known is None:
            if not fields:
                self._records[record.key] = structs.replace(record, entries=0, size_bytes=0)
                self._entries[record.key] = []
            return
        for name in fields or Record.__struct_fields__:
            if name not in _COUNTED:
                setattr(known, name, getattr(record, name))

    def append(self, key: str, kind: Kind, data: bytes, at: float | None = None) -> None:
        """Add an entry to a session."""
        self.extend(key, kind, (data,), at)

    def extend(self, key: str, kind: Kind, data: Iterable[bytes], at: float | None = None) -> None:
        """Add entries of one kind to a session."""
        record = self._records.get(key)
        if record is None:
            return
        at = time.time() if at is None else at
        entries = self._entries[key]
        for each in data:
            record.updated_at = max(record.updated_at, at)
            record.entries += 1
            record.size_bytes += len(each)
            entries.append(Entry(record.entries, at, kind, each))

    async def commit(self) -> None:
        """Return at once: nothing outlasts the program."""

    def get(self, key: str) -> Record | None:
        """Return the record of a session."""
        record = self._records.get(key)
        return None if record is None else snapshot(record)

    def entries(self, key: str, after: int = 0) -> Iterator[Entry]:
        """Go through the entries of a session."""
        for entry in self._entries.get(key, []):
            if entry.number > after:
                yield entry

    def search(self, words: str, *, role: Role = "client", limit: int = 20) -> list[Hit]:
        """Find messages with all of these words."""
        hits: list[Hit] = []
        for record in self.list(role=role):
            found = [
                Hit(record, document.number, text)
                for document in documents(self._entries[record.key])
                if (text := excerpt(document.text, words)) is not None
            ]
            hits += found[::-1][:PER_SESSION]
        return hits[:limit]

    def copy(self, key: str, to: Record) -> None:
        """Begin a session that has the entries of another."""
        if key not in self._records:
            return
        self.put(to)
        for entry in self._entries[key]:
            self.append(to.key, entry.kind, entry.data, entry.at)

    def delete(self, key: str) -> None:
        """Forget a session."""
        self._records.pop(key, None)
        self._entries.pop(key, None)

    def prune(
        self,
        *,
        max_age: float | None = None,
        max_sessions: int | None = None,
        max_bytes: int | None = None,
        role: Role | None = None,
        trust_clock: bool = False,
    ) -> int:
        """Forget the oldest sessions."""
        gone = too_many(self.list(role=role), Limits(max_age, max_sessions, max_bytes, trust_clock))
        for record in gone:
            self.delete(record.key)
        return len(gone)

    async def aclose(self) -> None:
        """Keep everything, so that the journal can still be read."""

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
        """Return the sessions that fit, newest first."""
        wanted = {
            "role": role,
            "agent": agent,
            "cwd": cwd,
            "name": name,
            "session_id": session_id,
        }
        filters = {field: value for field, value in wanted.items() if value is not None}
        found = [
            snapshot(record)
            for record in self._records.values()
            if all(getattr(record, field) == value for field, value in filters.items())
        ]
        found.sort(key=lambda record: record.updated_at, reverse=True)
        return found[:limit]


_WORD = re.compile(r"[^\W_]+")


def excerpt(text: str, words: str) -> str | None:
    """Return some of a text with the words marked; None if they are not all in it."""
    found = list(_WORD.finditer(text))
    tokens = [_folded(each[0]) for each in found]
    phrases = [phrase for word in words.split() if (phrase := _WORD.findall(_folded(word)))]
    marked: set[int] = set()
    for number, phrase in enumerate(phrases):
        places = list(_places(tokens, phrase, is_open=number == len(phrases) - 1))
        if not places:
            return None
        marked.update(place + index for place in places for index in range(len(phrase)))
    if not marked:
        return None
    begin = max(min(marked) - 4, 0)
    pieces: list[str] = ["…" if begin else ""]
    position = found[begin].start()
    shown = found[begin : begin + 16]
    for index, word in enumerate(shown, begin):
        pieces.append(text[position : word.start()])
        pieces.append(f"\2{word[0]}\3" if index in marked else word[0])
        position = word.end()
    pieces.append("…" if begin + len(shown) < len(found) else text[position:])
    return "".join(pieces)


def _places(tokens: list[str], phrase: list[str], *, is_open: bool) -> Iterator[int]:
    """Return the position of a phrase; the last word of an open phrase is a prefix."""
    *whole, last = phrase
    for place in range(len(tokens) - len(whole)):
        end = tokens[place + len(whole)]
        if tokens[place : place + len(whole)] == whole and (
            end.startswith(last) if is_open else end == last
        ):
            yield place


def _folded(word: str) -> str:
    """Return a word without the difference of case and accents."""
    apart = unicodedata.normalize("NFD", word.casefold())
    return "".join(each for each in apart if not unicodedata.combining(each))
