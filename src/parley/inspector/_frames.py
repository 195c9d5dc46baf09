"""The records of a recording as rows, one for each frame.

A `FrameTable` gets the records in order, in as many pieces as they arrive in. A row describes its
frame; the frame itself stays in the file, and the table keeps its place there. The cost of a
record depends neither on the number of the rows before it nor on the length of the recording.

Requests and responses are matched by the side that sent the request and by the id, since both
sides use the same ids. Chunks are folded into messages by the id of the message. In version 1 a
chunk may lack one; then a message is a run of chunks of one kind that no other update of the
session interrupts.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from parley.errors import ProtocolError
from parley.peer._initialize import version_of
from parley.recording import RecordedEvent, Source
from parley.recording._format import Chunk
from parley.schema.version import SUPPORTED

from ._row import SLOW_SECONDS, Flag, Row
from ._summary import (
    MAX_CHARS,
    cut_chunk,
    summarize_content,
    summarize_error,
    summarize_event,
    summarize_params,
    summarize_result,
    summarize_text,
    summarize_update,
)
from ._validation import Side, is_known, is_valid, params_type, result_type

_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MAX_NAME = 200
"""The length to which methods, ids and sessions are cut."""
_MAX_PARSED_UPDATE = 64 * 1024
"""Larger updates are not parsed for their summary."""
_MAX_BATCH = 10_000
"""The number of messages of a batch that get a row."""
_WAITING = frozenset(
    {
        "authenticate",
        "elicitation/create",
        "session/prompt",
        "session/request_permission",
        "terminal/wait_for_exit",
    }
)
"""Requests that wait for a model, a person or a command, so that they are never slow."""
_CANCELLED_CODES = (-32800,)
_OTHER_SIDE: dict[Source, Side] = {"client": "agent", "agent": "client"}


class _Envelope(Struct, gc=False):
    method: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Update(Struct, gc=False):
    kind: str = field(name="sessionUpdate", default="")
    content: Raw = Raw()
    message_id: str | None = field(name="messageId", default=None)


class _UpdateParams(Struct, gc=False):
    update: Raw = Raw()
    session_id: str = field(name="sessionId", default="")


class _Text(Struct, gc=False):
    text: str


class _Params(Struct, gc=False):
    session_id: Any = field(name="sessionId", default="")
    request_id: Raw = field(name="requestId", default=Raw())
    protocol_version: Any = field(name="protocolVersion", default=None)


class _Result(Struct, gc=False):
    session_id: Any = field(name="sessionId", default="")
    stop_reason: Any = field(name="stopReason", default=None)
    outcome: Any = None


class _Error(Struct, gc=False):
    code: int = 0


_envelopes = msgspec.json.Decoder(_Envelope)
_update_params = msgspec.json.Decoder(_UpdateParams)
_updates = msgspec.json.Decoder(_Update)
_texts = msgspec.json.Decoder(_Text)
_batches = msgspec.json.Decoder(list[Raw])


class FrameTable:
    """The rows of one recording.

    `rows` has them in order; the number of a row is its place, counted from 1. `changes` has the
    numbers of the rows that have changed since they were added, in the order of the changes.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.changes: list[int] = []
        self.events: dict[int, RecordedEvent] = {}
        """The events by the number of their row."""
        self.version: int | None = None
        """The negotiated version of the protocol; None until the agent has named one we know."""
        self.requested_version: int | None = None
        self.handshake: list[int] = []
        """The numbers of the rows of `initialize` and its response."""
        self.bytes: dict[Source, int] = {"client": 0, "agent": 0, "stderr": 0}
        self._places = array("Q")
        """The position of each frame in the file."""
        self._open: dict[tuple[Source, bytes], Row] = {}
        """The requests without a response, by who sent them and the id."""
        self._prompts: dict[str, Row] = {}
        """The running prompt of each session."""
        self._heads: dict[str, tuple[str, str | None, Row]] = {}
        """The message that a chunk without an id would continue, by session."""
        self._messages: dict[tuple[str, str, str], Row] = {}
        """The first chunks of messages, by session, kind and id."""

    def place(self, number: int) -> tuple[int, int]:
        """Return the position of a frame in the file and its size; the size of an event is 0."""
        return self._places[number - 1], self.rows[number - 1].size

    def add(self, record: Chunk | RecordedEvent, position: int) -> None:
        """Add the rows of a record.

        Args:
            record: The record.
            position: The position in the file of the first byte of a chunk's data.
        """
        if isinstance(record, RecordedEvent):
            self._add_event(record)
            return
        self.bytes[record.source] += len(record.data)
        start = 0
        data = record.data
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            line = data[start:end]
            if line and not line.isspace():
                self._add_line(record.at, record.source, line, position + start)
            start = end + 1

    def _append(self, row: Row, place: int) -> Row:
        self.rows.append(row)
        self._places.append(place)
        return row

    def _changed(self, row: Row) -> None:
        # Each chunk changes the first row of its message, but a reader needs to know it once.
        if not self.changes or self.changes[-1] != row.number:
            self.changes.append(row.number)

    def _add_event(self, event: RecordedEvent) -> None:
        number = len(self.rows) + 1
        is_bad = event.event in ("failed", "lost") or (event.event == "exited" and event.code != 0)
        self.events[number] = event
        row = Row(number, event.at, "event", "event", method=event.event)
        row.summary = summarize_event(event)
        row.flags = Flag.ERROR if is_bad else 0
        self._append(row, 0)

    def _add_line(self, at: float, source: Source, line: bytes, place: int) -> None:
        kind: Literal["text", "invalid"] = "text" if source == "stderr" else "invalid"
        row = Row(len(self.rows) + 1, at, source, kind, size=len(line))
        self._append(row, place)
        if source == "stderr":
            row.summary = summarize_text(line)
            return
        try:
            envelope = _envelopes.decode(line)
        except _NOT_JSON:
            if not self._add_batch(row, line, place):
                _mark_invalid(row, line)
            return
        self._classify(row, envelope, line)

    def _add_batch(self, batch: Row, line: bytes, place: int) -> bool:
        """Add the messages of a batch; return whether the line is one."""
        try:
            items = _batches.decode(line)
        except _NOT_JSON:
            return False
        batch.kind = "batch"
        batch.summary = f"{len(items)} messages"
        batch.flags = 0 if items else Flag.INVALID
        start = 0
        for item in items[:_MAX_BATCH]:
            data = bytes(memoryview(item))
            start = line.find(data, start)
            row = Row(len(self.rows) + 1, batch.at, batch.source, "invalid", size=len(data))
            row.batch = batch.number
            self._append(row, place + start)
            start += len(data)
            try:
                envelope = _envelopes.decode(data)
            except _NOT_JSON:
                _mark_invalid(row, data)
            else:
                self._classify(row, envelope, data)
        return True

    def _classify(self, row: Row, envelope: _Envelope, line: bytes) -> None:
        source = cast(Literal["client", "agent"], row.source)
        id = b"" if envelope.id is UNSET else bytes(memoryview(envelope.id))
        row.id = _name(id.decode(errors="replace"))
        if envelope.method is not UNSET:
            row.method = _name(envelope.method)
            if row.method == "session/update" and envelope.id is UNSET:
                self._add_update(row, source, envelope)
            else:
                self._add_call(row, source, envelope, id)
        elif id and (envelope.result is UNSET) != (envelope.error is UNSET):
            self._add_response(row, source, envelope, id)
        else:
            _mark_invalid(row, line)

    # Session updates, which are most of the traffic

    def _add_update(self, row: Row, source: Source, envelope: _Envelope) -> None:
        row.kind = "notification"
        self._check_params(row, source, envelope)
        try:
            params = _update_params.decode(cast(Raw, envelope.params))
            update = _updates.decode(params.update)
        except (*_NOT_JSON, TypeError):  # no params at all are a TypeError
            row.flags |= Flag.INVALID
            row.summary = _fallback_summary(envelope)
            return
        row.session = _name(params.session_id)
        row.update = _name(update.kind)
        if not row.update.endswith("_chunk"):
            self._heads.pop(row.session, None)
            row.summary, flags = _describe_update(params.update)
            row.flags |= flags
            return
        try:
            row.summary = cut_chunk(_texts.decode(update.content).text)
        except _NOT_JSON:
            row.summary = summarize_content(update.content)
        self._fold(row, update.message_id)

    def _fold(self, row: Row, message_id: str | None) -> None:
        """Add a chunk to its message."""
        session, kind = row.session, row.update
        if message_id is not None:
            head = self._messages.setdefault((session, kind, message_id), row)
        else:
            known, _, head = self._heads.get(session, ("", None, row))
            head = head if known == kind else row
        self._heads[session] = (kind, message_id, head)
        row.message = head.number
        head.chunks += 1
        if head is row:
            return
        if len(head.summary) < MAX_CHARS:
            head.summary = cut_chunk(head.summary + row.summary)
        self._changed(head)

    # Requests, other notifications, and responses

    def _add_call(self, row: Row, source: Source, envelope: _Envelope, id: bytes) -> None:
        row.kind = "notification" if envelope.id is UNSET else "request"
        raw = envelope.params if envelope.params is not UNSET else Raw(b"{}")
        try:
            params = msgspec.json.decode(raw, type=_Params)
        except _NOT_JSON:
            params = _Params()
        row.session = _name(params.session_id)
        row.summary = summarize_params(row.method, raw)
        if row.method == "initialize" and isinstance(params.protocol_version, int):
            self.requested_version = params.protocol_version
            self.version = None
            self.handshake = [row.number]
        self._check_params(row, source, envelope)
        if row.kind == "request":
            row.flags |= Flag.UNANSWERED
            self._open[source, id] = row
            if row.method == "session/prompt":
                self._heads.pop(row.session, None)
                self._prompts[row.session] = row
        elif row.method == "session/cancel":
            self._cancel(self._prompts.get(row.session))
        elif row.method == "$/cancel_request":
            self._cancel(self._open.get((source, bytes(memoryview(params.request_id)))))

    def _cancel(self, request: Row | None) -> None:
        if request is not None and request.flags & Flag.UNANSWERED:
            request.flags |= Flag.CANCELLED
            self._changed(request)

    def _add_response(self, row: Row, source: Source, envelope: _Envelope, id: bytes) -> None:
        asked = _OTHER_SIDE[source]
        request = self._open.pop((asked, id), None)
        if request is not None:
            self._match(request, row)
        if envelope.error is not UNSET:
            self._add_error(row, envelope.error)
        else:
            self._add_result(row, source, cast(Raw, envelope.result))
        if request is not None:
            request.session = request.session or row.session  # of a session that it has opened
            request.flags |= row.flags & (Flag.CANCELLED | Flag.SLOW)
            row.flags |= request.flags & Flag.CANCELLED
            if row.method == "session/prompt":
                self._prompts.pop(row.session, None)
                self._heads.pop(row.session, None)

    def _match(self, request: Row, row: Row) -> None:
        row.method, row.session = request.method, request.session
        row.match, request.match = request.number, row.number
        row.latency = request.latency = round(row.at - request.at, 6)
        request.flags &= ~Flag.UNANSWERED
        if row.latency >= SLOW_SECONDS and row.method not in _WAITING:
            row.flags |= Flag.SLOW
        self._changed(request)

    def _add_error(self, row: Row, raw: Raw) -> None:
        row.kind = "error"
        row.flags |= Flag.ERROR
        row.summary = summarize_error(raw)
        try:
            code = msgspec.json.decode(raw, type=_Error).code
        except _NOT_JSON:
            row.flags |= Flag.INVALID
        else:
            row.flags |= Flag.CANCELLED if code in _CANCELLED_CODES else 0

    def _add_result(self, row: Row, source: Source, raw: Raw) -> None:
        row.kind = "response"
        row.summary = summarize_result(row.method, raw)
        try:
            result = msgspec.json.decode(raw, type=_Result)
        except _NOT_JSON:
            result = _Result()
        row.session = row.session or _name(result.session_id)
        if "cancelled" in (result.stop_reason, _outcome(result.outcome)):
            row.flags |= Flag.CANCELLED
        if row.method == "initialize" and row.match and row.match in self.handshake:
            self.handshake.append(row.number)
            self._negotiate(raw)
        if self.version is not None and row.method:
            tp = result_type(self.version, cast(Side, source), row.method)
            if tp is not None and not is_valid(tp, raw, "result"):
                row.flags |= Flag.INVALID

    def _negotiate(self, raw: Raw) -> None:
        try:
            version = version_of(raw)
        except ProtocolError:
            return
        self.version = version if is_known(version) else None

    # The schema

    def _check_params(self, row: Row, source: Source, envelope: _Envelope) -> None:
        version = self.schema_version(row)
        if version is None:
            return
        kind = cast(Literal["request", "notification"], row.kind)
        tp = params_type(version, kind, _OTHER_SIDE[source], row.method)
        raw = Raw(b"{}") if envelope.params is UNSET else envelope.params
        if tp is not None and not is_valid(tp, raw):
            row.flags |= Flag.INVALID

    def schema_version(self, row: Row) -> int | None:
        """Return the version of the types of a frame; `initialize` comes before the negotiation."""
        if row.method != "initialize" or self.version is not None or row.kind != "request":
            return self.version
        asked = self.requested_version
        return None if asked is None else max(SUPPORTED[0], min(asked, SUPPORTED[-1]))


def _describe_update(raw: Raw) -> tuple[str, int]:
    """Return the essence of an update that is not a chunk, and its flags."""
    if len(memoryview(raw)) > _MAX_PARSED_UPDATE:
        data = bytes(memoryview(raw)[: 16 * MAX_CHARS])
        return summarize_text(data), Flag.ERROR if b'"status":"failed"' in data else 0
    try:
        update = msgspec.json.decode(raw, type=dict[str, Any])
    except _NOT_JSON:
        return summarize_text(bytes(memoryview(raw))), 0
    flags = Flag.ERROR if update.get("status") == "failed" else 0
    flags |= Flag.CANCELLED if update.get("stopReason") == "cancelled" else 0
    return summarize_update(update), flags


def _outcome(value: Any) -> Any:
    """Return the outcome of a permission request from the member with this name."""
    return cast(dict[str, Any], value).get("outcome") if isinstance(value, dict) else None


def _fallback_summary(envelope: _Envelope) -> str:
    if envelope.params is UNSET:
        return ""
    return summarize_text(bytes(memoryview(envelope.params)[: 16 * MAX_CHARS]))


def _mark_invalid(row: Row, line: bytes) -> None:
    row.kind = "invalid"
    row.flags |= Flag.INVALID
    row.summary = summarize_text(line)


def _name(value: object) -> str:
    """Return a method, an id or a session, which occur many times, as one string each."""
    return sys.intern(value[:_MAX_NAME]) if isinstance(value, str) else ""
