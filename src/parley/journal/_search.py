"""Full-text search in the SQLite journal: how texts get into the index, and how they are found.

A session is indexed when a turn has ended, and what a killed process has left is indexed by the
next search. `sessions.searchable` is the last entry that is in the index. A message that may go on,
in a session whose turn runs, is left for the next time, so that no word is cut in two.

Hits come newest first: in the order in which they were indexed, which needs no sorting, so a word
that is everywhere is found as quickly as a rare one.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ._base import PER_SESSION, Entry, Hit, Record, Role
from ._process import is_alive
from ._rows import COLUMNS, read_entries, read_record
from ._texts import Document, documents

_SCANNED = 2000
"""The maximum number of messages examined by a search whose hits are in few sessions."""
_PIECE = 5000
"""The number of entries that are indexed at once."""
_PIECE_BYTES = 16 * 1024 * 1024
"""The maximum total size of these entries."""
_PREFIX = 3
"""The minimum length of the last word to match words that only begin with it."""

_FIELDS = COLUMNS.split(", ")
_FIND = f"""
    SELECT messages.id, messages.number, {", ".join(f"sessions.{each}" for each in _FIELDS)}
    FROM texts
    CROSS JOIN messages ON messages.id = texts.rowid
    CROSS JOIN sessions ON sessions.id = messages.session
    WHERE texts MATCH ? AND sessions.role = ? ORDER BY texts.rowid DESC LIMIT {_SCANNED}"""
_SNIPPET = """
    SELECT snippet(texts, 0, char(2), char(3), '…', 16) FROM texts
    WHERE texts MATCH ? AND rowid = ?"""


def index(connection: sqlite3.Connection, session: int) -> bool:
    """Index a part of a session; return whether there is more.

    Args:
        connection: In a transaction.
        session: The row of the session.
    """
    found = connection.execute(
        "SELECT entries, searchable, state, process FROM sessions WHERE id = ?", (session,)
    ).fetchone()
    if found is None:
        return False
    last, done, state, process = found
    entries = list(_piece(read_entries(partial(_read, connection), session, done)))
    is_end = not entries or entries[-1].number >= last
    may_go_on = not is_end or (state == "running" and is_alive(process))
    texts = documents(entries)
    end = last if is_end else entries[-1].number
    if may_go_on and texts and (is_end or texts[-1].number > entries[0].number):
        end = texts.pop().number - 1
    if end > done:
        _insert(connection, session, texts)
        connection.execute("UPDATE sessions SET searchable = ? WHERE id = ?", (end, session))
    return not is_end


def _piece(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Take as many entries as are indexed at once."""
    size = 0
    for entry in islice(entries, _PIECE):
        size += len(entry.data)
        yield entry
        if size >= _PIECE_BYTES:
            return


def _read(connection: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> list[Any]:
    return connection.execute(query, values).fetchall()


def _insert(connection: sqlite3.Connection, session: int, texts: Sequence[Document]) -> None:
    for each in texts:
        text = each.text.encode(errors="replace").decode()
        id = connection.execute(
            "INSERT INTO messages (session, number, text) VALUES (?, ?, ?)",
            (session, each.number, text),
        ).lastrowid
        connection.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (id, text))


def query(words: str, *, is_open: bool) -> str:
    """Return the user's words for SQLite, each taken as it is; empty if there are none.

    Args:
        words: Whatever the user has typed.
        is_open: Whether the last word is a prefix.
    """
    plain = words.replace("\0", " ").encode(errors="replace").decode()
    given = [word for word in plain.split() if any(letter.isalnum() for letter in word)]
    quoted = ['"' + word.replace('"', '""') + '"' for word in given]
    if quoted and is_open and len(given[-1]) >= _PREFIX:
        quoted[-1] += " *"
    return " AND ".join(quoted)


def find(connection: sqlite3.Connection, words: str, role: Role, limit: int) -> list[Hit]:
    """Return where words are found, newest first."""
    if not (exact := query(words, is_open=False)) or limit < 1:
        return []
    hits = _hits(connection, exact, role, limit)
    if len(hits) < limit:  # a prefix matches many words, which cannot be read in order
        hits = _hits(connection, query(words, is_open=True), role, limit)
    return sorted(hits, key=lambda hit: hit.record.updated_at, reverse=True)


def _hits(connection: sqlite3.Connection, query: str, role: Role, limit: int) -> list[Hit]:
    hits: list[Hit] = []
    records: dict[str, Record] = {}
    counts: Counter[str] = Counter()
    for rowid, number, *row in connection.execute(_FIND, (query, role)):
        key = row[0]
        counts[key] += 1
        if counts[key] > PER_SESSION:
            continue
        if key not in records:
            records[key] = read_record(row)
        (text,) = connection.execute(_SNIPPET, (query, rowid)).fetchone()
        hits.append(Hit(records[key], number, text))
        if len(hits) >= limit:
            break
    return hits


def forget(connection: sqlite3.Connection, session: int) -> None:
    """Take the texts of a session out of the index."""
    connection.execute(
        "INSERT INTO texts (texts, rowid, text) "
        "SELECT 'delete', id, text FROM messages WHERE session = ?",
        (session,),
    )
    connection.execute("DELETE FROM messages WHERE session = ?", (session,))


def tidy(connection: sqlite3.Connection) -> None:
    """Delete the words that only deleted sessions had."""
    connection.execute("INSERT INTO texts (texts) VALUES ('optimize')")
