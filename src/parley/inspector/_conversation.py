"""The conversation of a session, as a person would see it, with the frames of each entry.

The frames are replayed by `parley.session.frame_replay`, as a live client would fold them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown
from parley.session._transcript import Entry, Transcript
from parley.session._transcript_entries import CompactionEntry, MessageEntry, ToolCallEntry
from parley.session.frame_replay import FrameReplay

from ._row import Row
from ._sources import InspectedRecording

MAX_TEXT_CHARS = 64 * 1024
"""The length to which the text of an entry is cut."""
MAX_ENTRIES = 5_000
"""The number of entries that are returned, the last ones."""
_MAX_ROWS = 1_000
_MAX_SESSIONS = 1_000
_OPENING = frozenset({"initialize", "session/new", "session/fork"})
_KINDS: dict[str, str] = {"client": "to_agent", "agent": "to_client"}


class ConversationEntry(Struct, frozen=True):
    """A message, a tool call, or something else with a place in the conversation."""

    kind: str
    title: str
    status: str
    text: str
    rows: list[int]


class SessionInfo(Struct, frozen=True):
    """A session of the recording."""

    id: str
    title: str


class Conversation(Struct, frozen=True):
    """The conversation of a session; see `_app.py`."""

    sessions: list[SessionInfo]
    session: str
    state: str
    entries: list[ConversationEntry]


class _Frame(Struct, frozen=True):
    at: float
    kind: str
    data: bytes


def conversation_of(recording: InspectedRecording, session: str | None = None) -> Conversation:
    """Return the conversation of a session; None for the first one.

    Raises:
        RecordingError: The file cannot be read.
    """
    rows = recording.table.rows
    sessions = [*dict.fromkeys(row.session for row in rows if row.session)][:_MAX_SESSIONS]
    chosen = session or (sessions[0] if sessions else "")
    replay = FrameReplay(chosen)
    links = _Links(replay.transcript)
    for row in rows:
        if _belongs(row, chosen):
            frame = _Frame(row.at, _KINDS[row.source], recording.data(row.number))
            links.add(row, replay.feed(frame))
    transcript = replay.transcript
    titles = {chosen: transcript.title or ""}
    return Conversation(
        sessions=[SessionInfo(each, titles.get(each, "")) for each in sessions],
        session=chosen,
        state=transcript.state,
        entries=[*_entries(transcript, links)][-MAX_ENTRIES:],
    )


def _belongs(row: Row, session: str) -> bool:
    """Return whether a frame is replayed; the messages of a batch are in its frame."""
    if row.source not in _KINDS or row.batch:
        return False
    return row.session == session or row.kind == "batch" or row.method in _OPENING


class _Links:
    """The rows of each entry of a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self.rows: list[list[int]] = []
        """The numbers of the rows, by the place of the entry."""
        self._transcript = transcript
        self._places: dict[tuple[type[Any], str], int] = {}

    def add(self, row: Row, updates: list[v2.SessionUpdate]) -> None:
        """Link a row with the entries that its updates have added or changed."""
        entries = self._transcript.entries
        first = len(self.rows)
        for place in range(first, len(entries)):
            self.rows.append([row.number])
            if not isinstance(entry := entries[place], Unknown):
                self._places[_kind_of(entry), entry.id] = place
        for update in updates:
            self._link(self._find(update), row)

    def _link(self, place: int | None, row: Row) -> None:
        linked = None if place is None else self.rows[place]
        if linked is not None and linked[-1] != row.number and len(linked) < _MAX_ROWS:
            linked.append(row.number)

    def _find(self, update: Any) -> int | None:
        for kind, name in (
            (ToolCallEntry, "tool_call_id"),
            (MessageEntry, "message_id"),
            (CompactionEntry, "compaction_id"),
        ):
            if isinstance(id := getattr(update, name, None), str):
                return self._places.get((kind, id))
        return None


def _kind_of(entry: Entry) -> type[Any]:
    return type(entry)


def _entries(transcript: Transcript, links: _Links) -> Iterator[ConversationEntry]:
    for entry, rows in zip(transcript.entries, links.rows, strict=True):
        kind, title, status, text = _describe(entry)
        yield ConversationEntry(kind, title, status, text[:MAX_TEXT_CHARS], rows)
    for plan in transcript.plans.values():
        yield ConversationEntry("plan", "Plan", "", _plan(plan)[:MAX_TEXT_CHARS], [])
    if (error := transcript.error) is not None:
        yield ConversationEntry("error", "Error", str(error.code), error.message, [])


def _describe(entry: Entry) -> tuple[str, str, str, str]:
    match entry:
        case MessageEntry(role=role):
            return role, role.capitalize(), "", _text(entry.content)
        case ToolCallEntry():
            title = entry.title or entry.name or entry.id
            return "tool", f"{entry.kind}: {title}", str(entry.status), _tool(entry)
        case CompactionEntry():
            return "other", "Compaction of the context", str(entry.status), entry.text
        case Unknown():
            return "other", entry.tag, "", _json(entry.payload)
        case _:
            return "other", "Message between sessions", "", entry.text


def _text(content: list[v2.ContentBlock]) -> str:
    return "".join(_block(each) for each in content)


def _block(block: v2.ContentBlock) -> str:
    match block:
        case v2.TextContent(text=text):
            return text
        case v2.ResourceLink(uri=uri):
            return f"\n[{uri}]\n"
        case v2.ImageContent(mime_type=kind) | v2.AudioContent(mime_type=kind):
            return f"\n[{kind}]\n"
        case v2.EmbeddedResource(resource=v2.TextResourceContents(text=text, uri=uri)):
            return f"\n[{uri}]\n{text}\n"
        case _:
            return f"\n{_json(msgspec.json.decode(encode(block)))}\n"


def _tool(call: ToolCallEntry) -> str:
    parts = [] if call.raw_input is None else [_json(call.raw_input)]
    for item in call.content:
        match item:
            case v2.Content(content=block):
                parts.append(_block(block).strip("\n"))
            case v2.Diff(patch=patch) if patch is not None:
                parts.append(patch.text)
            case _:
                parts.append(_json(msgspec.json.decode(encode(item))))
    if call.raw_output is not None and not call.content:
        parts.append(_json(call.raw_output))
    return "\n\n".join(parts)


def _plan(plan: v2.PlanUpdateContent) -> str:
    match plan:
        case v2.PlanItems(entries=entries):
            return "\n".join(f"[{each.status}] {each.content}" for each in entries)
        case _:
            return _json(msgspec.json.decode(encode(plan)))


def _json(value: Any) -> str:
    return msgspec.json.format(encode(value), indent=2).decode(errors="replace")
