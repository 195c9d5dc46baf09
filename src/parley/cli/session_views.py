"""Sessions of the journal on a terminal: as a list, as search results, and in full."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from parley._display_text import sanitize_text
from parley.client._session_format import from_home, state_of, when
from parley.errors import request_error
from parley.journal import Entry, Hit, Record
from parley.schema import v2
from parley.schema._codec import encode
from parley.session._transcript import INTERRUPTED, Transcript
from parley.session.frame_replay import updates_from_frames

from .display import Readable
from .json_output import print_json
from .paint import fitted, painted

__all__ = ["SessionJson", "print_hits", "print_list", "short", "show"]

KEY_CHARS = 8
WHEN_CHARS = 10
AGENT_CHARS = 16
_MARKS = re.compile("[\2\3]")


class SessionJson(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A session as JSON."""

    key: str
    agent: str
    cwd: str
    session_id: str
    title: str | None
    name: str | None
    state: str
    protocol: int
    created_at: float
    updated_at: float
    entries: int
    size_bytes: int
    text: str | None = None
    """An excerpt, with the words that were found between ** and **."""
    number: int | None = None
    """The entry in which it begins."""

    @classmethod
    def of(cls, record: Record, text: str | None = None, number: int | None = None) -> SessionJson:
        """Describe a session, or what was found in it."""
        return cls(
            key=record.key,
            agent=record.agent,
            cwd=record.cwd,
            session_id=record.session_id,
            title=record.title,
            name=record.name,
            state=state_of(record) or "idle",
            protocol=record.protocol,
            created_at=record.created_at,
            updated_at=record.updated_at,
            entries=record.entries,
            size_bytes=record.size_bytes,
            text=None if text is None else _MARKS.sub("**", text),
            number=number,
        )


def short(record: Record) -> str:
    """Return as much of a key as is shown."""
    return record.key[:KEY_CHARS]


def print_list(records: Sequence[Record], *, has_directories: bool) -> None:
    """Print a line for each session, and where it was."""
    width = min(AGENT_CHARS, max((len(each.agent) for each in records), default=0))
    for record in records:
        print(_line(record, width))
        if has_directories:
            where = fitted(from_home(record.cwd), KEY_CHARS + 2)
            print(painted(f"{'':{KEY_CHARS}}  {where}", "dim"))


def _line(record: Record, width: int) -> str:
    """Return a session on a line: its key, when, the agent, what it is called."""
    agent = sanitize_text(record.agent, is_line=True)
    agent = agent if len(agent) <= width else agent[: width - 1] + "…"
    age = f"{when(record.updated_at):<{WHEN_CHARS}}"
    state = state_of(record)
    name = f"{record.name}: " if record.name else ""
    mark = f" [{state}]" if state else ""
    indent = KEY_CHARS + len(age) + width + 6 + len(mark)
    title = fitted(f"{name}{record.title or 'nothing was said'}", indent)
    coloured = painted(mark, "yellow" if state == "interrupted" else "dim")
    key, who = painted(short(record), "bold"), painted(f"{agent:<{width}}", "dim")
    return f"{key}  {age}  {who}  {title}{coloured}"


def print_hits(hits: Sequence[Hit]) -> None:
    """Print what was found below the session that it is in."""
    width = min(AGENT_CHARS, max(len(hit.record.agent) for hit in hits))
    last = ""
    for hit in hits:
        if hit.record.key != last:
            print(_line(hit.record, width))
        last = hit.record.key
        print(f"{'':{KEY_CHARS}}  {_marked(hit.text)}")


def _marked(text: str) -> str:
    """Return a text with the words painted that were looked for."""
    pieces = _MARKS.split(text)
    shown = (sanitize_text(piece.replace("\n", " ")) for piece in pieces)
    return "".join(
        painted(piece, "bold") if number % 2 else piece for number, piece in enumerate(shown)
    ).strip()


def show(record: Record, entries: Iterable[Entry], *, is_json: bool) -> None:
    """Print a session as it was shown while it ran."""
    if is_json:
        for timed in updates_from_frames(entries):
            update = {"event": "update", "at": timed.at, "update": Raw(encode(timed.update))}
            print_json(update, is_line=True)
        return
    facts = (short(record), when(record.updated_at), record.agent, from_home(record.cwd))
    print(painted(fitted(", ".join(facts)), "dim"), flush=True)
    _Show().all(entries)
    if record.is_interrupted:
        _print_interrupted()


def _print_interrupted() -> None:
    print(painted("interrupted: the turn has no end", "yellow"), flush=True)


class _Show:
    """Shows a session, turn by turn."""

    def __init__(self) -> None:
        self._said = Transcript()
        self._display = Readable(aside=sys.stdout)
        self._prompt = ""
        """The user's message that is being shown."""

    def all(self, entries: Iterable[Entry]) -> None:
        for timed in updates_from_frames(self._noted(entries)):
            self._said.fold(timed.update)
            match timed.update:
                case v2.UserMessage(message_id=id, content=list(content)):
                    self._user(id, content)
                case v2.UserMessageChunk(message_id=id, content=block):
                    self._user(id, [block])
                case v2.StateUpdated(state="idle", stop_reason=str(reason)):
                    self._end(reason, timed.update)
                case update:
                    self._display.update(update, self._said)
        self._display.pause()

    def _end(self, reason: str, update: v2.StateUpdated) -> None:
        """Show how a turn ended, unless it simply did."""
        if reason == "end_turn":
            return
        self._display.pause()
        if reason == INTERRUPTED:
            _print_interrupted()
            return
        error = update.error
        why = ""
        if error is not None:
            why = f": {request_error(error.code, error.message, error.data).description}"
        print(painted(sanitize_text(f"stopped: {reason}{why}", is_line=True), "yellow"), flush=True)

    def _user(self, id: str, content: Sequence[v2.ContentBlock]) -> None:
        """Show what the user said; a turn begins with it."""
        if id != self._prompt:
            self._display.pause()
            self._display = Readable(aside=sys.stdout)
            self._prompt = id
            print()
        for block in content:
            text = block.text if isinstance(block, v2.TextContent) else _name(block)
            for line in sanitize_text(text).splitlines():
                print(painted(f"> {line}", "bold"), flush=True)

    def _noted(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Pass entries on, and show the decisions that were noted between them."""
        for entry in entries:
            if entry.kind == "note" and (line := _decision(entry.data)):
                self._display.pause()
                print(painted(line, "yellow"), flush=True)
            yield entry


def _name(block: v2.ContentBlock) -> str:
    match block:
        case v2.ResourceLink(name=name):
            return f"[{name}]"
        case v2.EmbeddedResource(resource=resource):
            return f"[{resource.uri}]"
        case _:
            return "[not a text]"


def _decision(note: bytes) -> str:
    """Return how a permission was decided; empty for any other note."""
    try:
        fields: Any = msgspec.json.decode(note, type=dict[str, Any])
    except msgspec.DecodeError:
        return ""
    if fields.get("note") != "permission":
        return ""
    about = [*_words(fields.get("commands")), *_words(fields.get("paths"))] or [
        str(fields.get("kind"))
    ]
    line = f"? {', '.join(about)}: {fields.get('decision')} ({fields.get('reason')})"
    return sanitize_text(line, is_line=True)


def _words(value: Any) -> list[str]:
    return [str(each) for each in cast(Sequence[Any], value)] if isinstance(value, list) else []
