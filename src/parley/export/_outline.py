"""A transcript as sections and pieces of text, independent of the document format.

`_markdown.py` and `_html.py` render them. Every text passes through a function that redacts
secrets. Messages are complete at this point, so no secret is missed because it arrived in chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from parley.journal import Record
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown
from parley.session._transcript import Entry, Transcript
from parley.session._transcript_entries import (
    CompactionEntry,
    MessageEntry,
    SessionMessageEntry,
    ToolCallEntry,
)

Clean: TypeAlias = Callable[[str], str]
"""Applied to every text before it is shown, to redact secrets."""

_ANSI_COLORS = re.compile(r"\x1b\[[0-9;:]*m")
_ROLE_TITLES = {"user": "User", "agent": "Agent", "thought": "Thought"}


class Prose(Struct, frozen=True):
    """Running text, usually Markdown."""

    text: str


class Code(Struct, frozen=True):
    """Text that is shown verbatim."""

    text: str
    language: str = ""
    caption: str = ""


class Picture(Struct, frozen=True):
    """An image, as base64."""

    mime_type: str
    data: str


class Remark(Struct, frozen=True):
    """A note by the exporter, in place of content that cannot be shown."""

    text: str


class Steps(Struct, frozen=True):
    """The steps of a plan, as pairs of status and text."""

    steps: list[tuple[str, str]]


Piece: TypeAlias = Prose | Code | Picture | Remark | Steps


class Section(Struct, frozen=True):
    """A message, a tool call, or another entry of the transcript."""

    kind: str
    """`user`, `agent`, `thought`, `tool`, or `other`."""
    title: str
    pieces: list[Piece]
    status: str = ""


_INTERRUPTED = Section("other", "Interrupted", [Remark("the turn has no end")])


class Outline:
    """The title, facts and sections of a session that a document shows."""

    def __init__(self, transcript: Transcript, record: Record, clean: Clean) -> None:
        self._transcript = transcript
        self._clean = clean
        title = transcript.title or record.title or "Session"
        self.title = clean(" ".join(title.split()))
        self.facts = [(name, clean(value)) for name, value in _facts(transcript, record) if value]
        is_open = record.is_interrupted and transcript.state != "idle"
        end = [len(transcript.entries)] if is_open else []
        self._interruptions = {*transcript.interruptions, *end}
        self.sections = [*self._sections()]

    def _sections(self) -> Iterator[Section]:
        for place, entry in enumerate(self._transcript.entries):
            if place in self._interruptions:
                yield _INTERRUPTED
            yield self._section(entry)
        if len(self._transcript.entries) in self._interruptions:
            yield _INTERRUPTED
        for plan in self._transcript.plans.values():
            yield Section("other", "Plan", [self._plan(plan)])
        error = self._transcript.error
        if error is not None:
            yield Section("other", "Error", [Prose(self._clean(error.message))], str(error.code))

    def _section(self, entry: Entry) -> Section:
        match entry:
            case MessageEntry(role=role):
                return Section(role, _ROLE_TITLES[role], [*self._blocks(entry.content)])
            case ToolCallEntry():
                return self._tool(entry)
            case CompactionEntry():
                pieces = [*self._blocks(entry.content)]
                return Section("other", "Compaction of the context", pieces, entry.status)
            case SessionMessageEntry():
                pieces = [*self._blocks(entry.content)]
                return Section("other", "Message between sessions", pieces)
            case Unknown():
                title = f"Update of an unknown kind: {entry.tag}"
                return Section("other", self._clean(title), [self._json(entry.payload)])

    def _blocks(self, content: list[v2.ContentBlock]) -> Iterator[Piece]:
        """Yield the pieces of a message, with adjacent text blocks joined."""
        texts: list[str] = []
        for block in content:
            if isinstance(block, v2.TextContent):
                texts.append(block.text)
                continue
            yield from self._prose(texts)
            texts = []
            yield self._block(block)
        yield from self._prose(texts)

    def _prose(self, texts: list[str]) -> Iterator[Prose]:
        text = self._clean("".join(texts))
        if text.strip():
            yield Prose(text)

    def _block(self, block: v2.ContentBlock) -> Piece:
        match block:
            case v2.ImageContent(data=data, mime_type=kind):
                return Picture(self._clean(kind), data)
            case v2.AudioContent(mime_type=kind):
                return Remark(self._clean(f"sound: {kind}"))
            case v2.ResourceLink(name=name, uri=uri):
                return Remark(self._clean(f"{name}: {uri}"))
            case v2.EmbeddedResource(resource=v2.TextResourceContents(text=text, uri=uri)):
                return Code(self._clean(text), caption=self._clean(uri))
            case v2.EmbeddedResource(resource=v2.BlobResourceContents(blob=blob, uri=uri)):
                return Remark(self._clean(f"{uri}, {len(blob) * 3 // 4} bytes"))
            case _:
                return self._json(msgspec.json.decode(encode(block)))

    def _tool(self, call: ToolCallEntry) -> Section:
        kind = "" if call.kind == "other" else f"{call.kind}: "
        title = self._clean(f"{kind}{call.title or call.name or call.id}")
        places = [_format_location(each) for each in call.locations]
        pieces: list[Piece] = [Remark(self._clean(", ".join(places)))] if places else []
        if call.raw_input is not None:
            pieces.append(self._json(call.raw_input))
        for item in call.content:
            pieces.append(self._item(item))
        if call.raw_output is not None and not call.content:
            pieces.append(self._json(call.raw_output))
        return Section("tool", title, pieces, self._clean(call.status))

    def _item(self, item: v2.ToolCallContent) -> Piece:
        match item:
            case v2.Content(content=v2.TextContent(text=text)):
                return Code(self._clean(text))
            case v2.Content(content=block):
                return self._block(block)
            case v2.Diff():
                changes = (each for each in item.changes if not isinstance(each, Unknown))
                caption = ", ".join(each.path for each in changes)
                patch = "" if item.patch is None else item.patch.text
                return Code(self._clean(patch), "diff", self._clean(caption))
            case v2.Terminal(terminal_id=id):
                terminal = self._transcript.terminals.get(id)
                if terminal is None:
                    return Remark("a terminal of the client's")
                text = self._clean(_ANSI_COLORS.sub("", terminal.text))
                return Code(text, caption=self._clean(terminal.command or ""))
            case _:
                return self._json(item.payload)

    def _plan(self, plan: v2.PlanUpdateContent) -> Piece:
        match plan:
            case v2.PlanItems(entries=entries):
                return Steps([(each.status, self._clean(each.content)) for each in entries])
            case Unknown():
                return self._json(plan.payload)
            case _:
                content: str = getattr(plan, "content", "") or getattr(plan, "uri", "")
                return Prose(self._clean(content))

    def _json(self, value: Any) -> Code:
        text = msgspec.json.format(encode(_clean_json(value, self._clean)), indent=2).decode()
        return Code(self._clean(text), "json")


def _clean_json(value: Any, clean: Clean) -> Any:
    """Apply `clean` to every string in a JSON value, before encoding escapes characters in it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_json(each, clean) for each in cast(Sequence[Any], value)]
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {clean(key): _clean_json(each, clean) for key, each in items}
    return value


def _facts(transcript: Transcript, record: Record) -> Iterator[tuple[str, str]]:
    yield "Agent", record.agent
    yield "Directory", record.cwd
    yield "Name", record.name or ""
    yield "Begun", _time(record.created_at)
    yield "Last change", _time(record.updated_at)
    yield "Session", record.session_id
    if transcript.cost is not None:
        yield "Cost", f"{transcript.cost.amount:g} {transcript.cost.currency}"
    if record.is_interrupted:
        yield "State", "interrupted"


def _time(at: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime("%Y-%m-%d %H:%M UTC") if at else ""


def _format_location(location: v2.ToolCallLocation) -> str:
    return location.path if location.line is None else f"{location.path}:{location.line}"
