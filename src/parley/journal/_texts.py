"""The searchable texts of a session: its messages, each as one text.

Frames of both versions are read for what a person remembers of a conversation: prompts, what the
agent said, the titles and commands of tool calls, plans, titles. A streamed message comes in pieces
that cut words in two, so the pieces are joined. Thoughts, outputs of tools and files are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from parley.rpc._codec import DECODE_ERRORS

from ._base import Entry

LIMIT = 256 * 1024
"""The maximum number of characters of one message that are searched."""
_NO = Raw(b"")
_KINDS = ("user_message", "agent_message")
_MESSAGES = {f"{kind}{suffix}": kind for kind in _KINDS for suffix in ("", "_chunk")}
_TOOLS = frozenset({"tool_call", "tool_call_update"})
_UNWANTED = "\0\2\3"


class Document(Struct, frozen=True):
    """One text that can be found."""

    number: int
    """The entry that it begins in."""
    text: str


class _Update(Struct, frozen=True, gc=False):
    kind: str = field(name="sessionUpdate", default="")
    message_id: str | None = field(name="messageId", default=None)
    content: Raw = _NO
    tool_call_id: str = field(name="toolCallId", default="")
    title: str | None = None
    raw_input: Raw = field(name="rawInput", default=_NO)
    entries: Raw = _NO
    plan: Raw = _NO
    terminal_id: str = field(name="terminalId", default="")
    command: str | None = None


class _Params(Struct, frozen=True, gc=False):
    update: _Update = _Update()
    prompt: Raw = _NO
    command: str | None = None
    args: Raw = _NO


class _Frame(Struct, frozen=True, gc=False):
    method: str = ""
    params: _Params = _Params()


class _Block(Struct, frozen=True, gc=False):
    text: str = ""
    name: str = ""


class _Plan(Struct, frozen=True):
    entries: Raw = _NO
    content: str = ""


class _PlanEntry(Struct, frozen=True):
    content: str = ""


class _Input(Struct, frozen=True):
    command: str | list[str] = ""


_decode_frame = msgspec.json.Decoder(_Frame).decode
_decode_blocks = msgspec.json.Decoder(list[_Block]).decode
_decode_block = msgspec.json.Decoder(_Block).decode
_decode_plan = msgspec.json.Decoder(_Plan).decode
_decode_plan_entries = msgspec.json.Decoder(list[_PlanEntry]).decode
_decode_input = msgspec.json.Decoder(_Input).decode
_decode_words = msgspec.json.Decoder(list[str]).decode


def documents(entries: Iterable[Entry]) -> list[Document]:
    """Return the texts of some entries that follow each other, in the order they begin."""
    reader = _Reader()
    for entry in entries:
        if entry.kind == "note":
            continue
        try:
            reader.read(entry.number, _decode_frame(entry.data))
        except DECODE_ERRORS:
            continue
    return reader.documents()


def prompt_text(blocks: Raw) -> str:
    """Return the words of a prompt, or of another list of content blocks."""
    try:
        return "\n".join(filter(None, (each.text or each.name for each in _decode_blocks(blocks))))
    except DECODE_ERRORS:
        return ""


class _Text:
    """A text that may still grow."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.parts: dict[str, str] = {}
        """The named parts of a tool call."""
        self.pieces: list[str] = []
        self.length = 0

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.length += len(piece)

    def joined(self) -> str:
        text = "".join(self.pieces) if self.pieces else "\n".join(self.parts.values())
        text = text[:LIMIT]
        for each in _UNWANTED:  # ten times faster than `translate`
            text = text.replace(each, " ")
        return text.strip()


class _Reader:
    def __init__(self) -> None:
        self._texts: dict[Any, _Text] = {}
        self._present: tuple[str, int] | None = None
        """The message without an id that may continue: its kind, and where it began."""

    def documents(self) -> list[Document]:
        found: list[Document] = []
        seen: set[str] = set()
        for each in sorted(self._texts.values(), key=lambda each: each.number):
            text = each.joined()
            if text and text not in seen:  # an agent may repeat the prompt as the user's message
                seen.add(text)
                found.append(Document(each.number, text))
        return found

    def read(self, number: int, frame: _Frame) -> None:
        params = frame.params
        if frame.method == "session/update":
            if (kind := _MESSAGES.get(params.update.kind)) is not None:
                self._message(number, kind, params.update)
            else:
                self._update(number, params.update)
        elif frame.method == "session/prompt":
            self._present = None
            self._text(("prompt", number), number).add(prompt_text(params.prompt))
        elif frame.method == "terminal/create":
            words = [] if params.args is _NO else _decode_words(params.args)
            self._part(("terminal", number), number, "", " ".join([params.command or "", *words]))

    def _update(self, number: int, update: _Update) -> None:
        """Take an update that is not part of a message."""
        kind = update.kind
        self._present = None
        if kind in _TOOLS:
            key = ("tool", update.tool_call_id)
            self._part(key, number, "title", update.title or "")
            if update.raw_input is not _NO:
                command = _decode_input(update.raw_input).command
                self._part(key, number, "command", _line(command))
        elif kind == "terminal_update":
            self._part(("terminal", update.terminal_id), number, "", update.command or "")
        elif kind == "session_info_update":
            self._part(("title", number), number, "", update.title or "")
        elif kind == "plan":
            self._plan(number, update.entries, "")
        elif kind == "plan_update":
            plan = _decode_plan(update.plan)
            self._plan(number, plan.entries, plan.content)

    def _message(self, number: int, kind: str, update: _Update) -> None:
        key: Any = (kind, update.message_id)
        if update.message_id is None:
            if self._present is None or self._present[0] != kind:
                self._present = (kind, number)
            key = self._present
        if kind != update.kind:
            text = self._texts.get(key) or self._text(key, number)
            if text.length < LIMIT:
                text.add(_decode_block(update.content).text)
        else:
            text = self._text(key, number)
            text.pieces, text.length = [], 0
            text.add(prompt_text(update.content))

    def _plan(self, number: int, entries: Raw, content: str) -> None:
        """Take a plan; the same steps come again and again as they are done."""
        steps = [] if entries is _NO else _decode_plan_entries(entries)
        for step in [content, *(each.content for each in steps)]:
            self._part(("plan", step), number, "", step)

    def _text(self, key: Any, number: int) -> _Text:
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = _Text(number)
        return text

    def _part(self, key: Any, number: int, name: str, text: str) -> None:
        """Set one of the parts of a text; what is empty changes nothing."""
        if text:
            self._text(key, number).parts[name] = text[:LIMIT]


def _line(command: str | Sequence[str]) -> str:
    return command if isinstance(command, str) else " ".join(command)
