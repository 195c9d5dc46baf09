"""Event streams of the page: new and changed rows of a recording, and the list of recordings.

A stream looks for more every 50 ms while a recording is live. A browser that reads slowly holds up
its own stream only: what it has not taken stays in the recording.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct

from parley.transport.http._app.responses import Header
from parley.transport.http._asgi_types import Receive, Send

from ._library import Library, OpenRecording
from ._row import Row
from ._sources import InspectedRecording

MAX_ROWS = 5_000
"""The number of rows that are sent at once."""
_ROWS_SECONDS = 0.05
_RECORDINGS_SECONDS = 1.0
_HEADERS: tuple[Header, ...] = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
)


class RowBatch(Struct, frozen=True):
    """Rows in order, and the state of the recording."""

    rows: list[Row]
    total: int
    changes: int
    is_live: bool
    problem: str | None


class EventSink:
    """The response to a request for an event stream."""

    def __init__(self, send: Send, disconnected: asyncio.Future[None]) -> None:
        self._send = send
        self._disconnected = disconnected

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, receive: Receive, send: Send, headers: Iterable[Header]
    ) -> AsyncGenerator[EventSink]:
        """Begin the response, and end it with the block."""
        fields = [*headers, *_HEADERS]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        disconnected = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            yield cls(send, disconnected)
        finally:
            disconnected.cancel()
        await send({"type": "http.response.body", "body": b""})

    async def send(self, event: str, value: object, id: str = "") -> None:
        """Send an event; its data is JSON, which has no newlines."""
        name = f"id: {id}\n" if id else ""
        data = msgspec.json.encode(value)
        body = f"event: {event}\n{name}data: ".encode() + data + b"\n\n"
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def wait(self, seconds: float) -> bool:
        """Wait, at most until the browser disconnects; return whether it is still there."""
        await asyncio.wait({self._disconnected}, timeout=seconds)
        return self.is_connected

    @property
    def is_connected(self) -> bool:
        """Whether the browser is still there."""
        return not self._disconnected.done()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def row_batch(recording: InspectedRecording, after: int, limit: int = MAX_ROWS) -> RowBatch:
    """Return the rows after a number."""
    table = recording.table
    rows = table.rows[after : after + limit]
    total, changes = len(table.rows), len(table.changes)
    return RowBatch(rows, total, changes, recording.is_live, recording.problem)


async def stream_rows(opened: OpenRecording, sink: EventSink, *, after: int, changes: int) -> None:
    """Send the rows after a number, and what changes, until the recording ends.

    Args:
        opened: The recording.
        sink: Where to send them.
        after: The number of the last row that the browser has.
        changes: The number of changes that it knows.
    """
    recording, table = opened.recording, opened.recording.table
    while sink.is_connected:
        has_more = await opened.read_part()
        changed = {number for number in table.changes[changes:] if number <= after}
        known = len(table.changes)
        rows = [table.rows[number - 1] for number in sorted(changed)]
        for start in range(0, len(rows), MAX_ROWS):
            await sink.send("changed", {"rows": rows[start : start + MAX_ROWS]})
        changes = known
        while after < len(table.rows) and sink.is_connected:
            batch = row_batch(recording, after)
            after += len(batch.rows)
            await sink.send("rows", batch, f"{after}-{changes}")
        if not has_more:
            if not recording.is_live:
                await sink.send("end", {"problem": recording.problem})
                return
            await sink.wait(_ROWS_SECONDS)


async def stream_recordings(library: Library, sink: EventSink) -> None:
    """Send the list of recordings now and after each change."""
    sent = None
    while sink.is_connected:
        listed = await library.infos()
        if listed != sent:
            await sink.send("recordings", listed)
            sent = listed
        await sink.wait(_RECORDINGS_SECONDS)
