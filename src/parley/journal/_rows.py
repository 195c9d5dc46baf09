"""Records and entries as rows of the SQLite journal, and back."""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from ._base import Entry, Kind, Record
from ._tables import Damaged

logger = logging.getLogger(__name__)

KINDS: tuple[Kind, ...] = ("to_agent", "to_client", "note")
"""A kind is written as its place in here."""
Read: TypeAlias = Callable[[str, tuple[Any, ...]], Sequence[Any]]
"""Asks for all rows of a statement."""
Packed: TypeAlias = tuple[float, int, bytes]
"""An entry as it is written: when, its kind, its data; its number follows from its place."""

BLOCK_BYTES = 256 * 1024
"""A block that has this much takes no further entry, so that a reader needs little memory."""

COLUMNS = ", ".join(Record.__struct_fields__)
_COUNTED = ("entries", "size_bytes")
_GIVEN = [name for name in Record.__struct_fields__ if name not in _COUNTED]
_PUT = (
    f"INSERT INTO sessions ({', '.join(_GIVEN)}) VALUES ({', '.join('?' * len(_GIVEN))}) "
    f"ON CONFLICT (key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _GIVEN)}"
)
_JSON = ("additional_directories", "data")

_pack = msgspec.msgpack.Encoder().encode
_read_json = msgspec.json.Decoder().decode
_unpack = msgspec.msgpack.Decoder(list[Packed]).decode


def read_record(row: Sequence[Any]) -> Record:
    """Return the record of a row with all `COLUMNS`.

    Raises:
        Damaged: It makes no sense.
    """
    key, role, agent, session_id, cwd, directories, name, title, protocol, *rest = row
    created_at, updated_at, state, process, is_archived, data, entries, size_bytes = rest
    try:
        return Record(  # lists are long, and this is half the time of a loop over the fields
            key=key,
            role=role,
            agent=agent,
            session_id=session_id,
            cwd=cwd,
            additional_directories=[] if directories == "[]" else _read_json(directories),
            name=name,
            title=title,
            protocol=protocol,
            created_at=created_at,
            updated_at=updated_at,
            state=state,
            process=process,
            is_archived=is_archived == 1,
            data={} if data == "{}" else _read_json(data),
            entries=entries,
            size_bytes=size_bytes,
        )
    except (msgspec.MsgspecError, TypeError) as error:
        raise Damaged(f"a session cannot be read: {error}") from error


def put_all(connection: sqlite3.Connection, record: Record) -> None:
    """Write a session, whether it is there or not."""
    connection.execute(_PUT, [_column(record, name) for name in _GIVEN])


def put_some(connection: sqlite3.Connection, record: Record, fields: Sequence[str]) -> None:
    """Change a session, if it is there."""
    names = [name for name in fields if name in _GIVEN]
    changes = ", ".join(f"{name} = ?" for name in names)
    values = [*(_column(record, name) for name in names), record.key]
    connection.execute(f"UPDATE sessions SET {changes} WHERE key = ?", values)


def _column(record: Record, name: str) -> Any:
    value = getattr(record, name)
    if name in _JSON:
        return msgspec.json.encode(value).decode()
    return legible(value) if isinstance(value, str) else value


def legible(text: str) -> str:
    """Return a text that UTF-8 can hold; a path need not be one."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def session_of(connection: sqlite3.Connection, key: str) -> tuple[int, int] | None:
    """Return the row of a session and the number of its last entry; None if it is not there."""
    rows = connection.execute("SELECT id, entries FROM sessions WHERE key = ?", (key,))
    found: tuple[int, int] | None = rows.fetchone()
    return found


def write_entries(connection: sqlite3.Connection, key: str, entries: Sequence[Packed]) -> None:
    """Add entries to a session, if it is there."""
    found = session_of(connection, key)
    if found is None:
        return
    session, last = found
    sizes = [len(data) for _, _, data in entries]
    for block in _blocks(entries, sizes):
        connection.execute(
            "INSERT INTO blocks (session, first, count, entries) VALUES (?, ?, ?, ?)",
            (session, last + 1, len(block), pack(block)),
        )
        last += len(block)
    at = max([at for at, _, _ in entries])
    connection.execute(
        "UPDATE sessions SET entries = ?, size_bytes = size_bytes + ?, "
        "updated_at = max(updated_at, ?) WHERE id = ?",
        (last, sum(sizes), at, session),
    )


def read_entries(read: Read, session: int, after: int) -> Iterator[Entry]:
    """Iterate over the entries of a session after a number; damaged blocks are skipped."""
    begin = "SELECT max(first) FROM blocks WHERE session = ? AND first <= ?"
    ((start,),) = read(begin, (session, after + 1))
    position = (start or 1) - 1
    while True:
        rows = read(
            "SELECT first, entries FROM blocks WHERE session = ? AND first > ? "
            "ORDER BY first LIMIT 16",
            (session, position),
        )
        for first, block in rows:
            if first <= position:  # a damaged index knows no order
                return
            try:
                entries = unpack(first, block)
            except (zlib.error, msgspec.MsgspecError, TypeError):
                logger.warning("entries of a session from number %d on are damaged", first)
                entries = []
            yield from (
                entries if first > after else [entry for entry in entries if entry.number > after]
            )
            position = first
        if not rows:
            return


def _blocks(entries: Sequence[Packed], sizes: Sequence[int]) -> Iterator[Sequence[Packed]]:
    """Cut entries of these sizes into blocks that are not too long."""
    begin = size = 0
    for end, entry_size in enumerate(sizes, 1):
        size += entry_size
        if size >= BLOCK_BYTES:
            yield entries[begin:end]
            begin, size = end, 0
    if begin < len(entries):
        yield entries[begin:]


def pack(entries: Sequence[Packed]) -> bytes:
    """Return entries as they stand in a block."""
    return zlib.compress(_pack(entries), 1)


def unpack(first: int, block: bytes) -> list[Entry]:
    """Return the entries of a block.

    Raises:
        zlib.error, msgspec.DecodeError: The block is damaged.
    """
    packed = _unpack(zlib.decompress(block))
    return [
        Entry(first + place, at, KINDS[kind], data) for place, (at, kind, data) in enumerate(packed)
    ]
