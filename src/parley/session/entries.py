"""What a transcript is made of: messages, tool calls, compactions, terminals, subagents.

The objects are alive: the transcript changes them as updates come, so keep one and look again. They
are for reading; only a transcript calls `apply` and `add`. None equals another, so they can be keys
of a dict; to compare what they hold, compare what `replay` yields.

Patches follow one rule. What an update leaves out stays, null puts a field back to its default, a
value replaces it, a list as a whole. Only `_meta` is patched key by key; there null takes a key
away. A new object has the defaults.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

import binascii
import codecs
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.v2 import unstable

__all__ = [
    "MESSAGE_UPDATES",
    "Compaction",
    "Message",
    "MessageRole",
    "SessionMessage",
    "Subagent",
    "Terminal",
    "ToolCall",
    "patched",
    "read_base64",
]

MessageRole: TypeAlias = Literal["user", "agent", "thought"]
"""Whose words a message has; `thought` is what the agent thinks."""

PIECE_CHARS = 8192
"""How much streamed text one chunk of a replay holds; some clients cannot read lines of 64 KiB."""


def patched(meta: JsonObject | None, patch: JsonObject | UnsetType | None) -> JsonObject | None:
    """Return metadata with its keys patched; neither argument is changed."""
    if patch is UNSET:
        return meta
    if patch is None:
        return None
    merged = {**(meta or {}), **patch}
    return {key: value for key, value in merged.items() if value is not None}


def _own(value: Any) -> Any:
    """Copy a list: ours may grow, an update may be kept."""
    return value.copy() if type(value) in (list,) else value  # `is` would make it list[Unknown]


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


class _Patched:
    """Something with an id whose fields are patched by updates."""

    __slots__ = ("id", "meta")
    defaults: ClassVar[Mapping[str, object]] = {}
    """The patched fields besides `meta`, and what each is while nothing was said about it."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.meta: JsonObject | None = None
        """What implementations attach; what came with a chunk belongs to that chunk alone."""
        for name, default in self.defaults.items():
            setattr(self, name, _own(default))

    def apply(self, update: Any) -> None:
        """Take over what an update of this object says."""
        for name, default in self.defaults.items():
            value = getattr(update, name)
            if value is not UNSET:
                setattr(self, name, _own(default if value is None else value))
        self.meta = patched(self.meta, update.meta)

    def _said(self) -> dict[str, Any]:
        """Return the arguments of an update that gives a new object these fields."""
        values = {name: getattr(self, name) for name in self.defaults}
        said = {name: _own(value) for name, value in values.items() if value != self.defaults[name]}
        return said if self.meta is None else {**said, "meta": self.meta}


class _Streamed(_Patched):
    """Something whose content comes whole or block by block."""

    __slots__ = ("_read", "_text", "_whole", "content")

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.content: list[v2.ContentBlock] = []
        """The blocks; each chunk is one."""
        self._whole = 0  # so many blocks came with the last whole update, the others as chunks
        self._text = ""
        self._read = 0  # so many blocks are in _text

    @property
    def text(self) -> str:
        """The text blocks, joined; what was joined once is not looked at again."""
        content = self.content
        if self._read < len(content):
            new = content[self._read :]
            self._text += "".join([each.text for each in new if isinstance(each, v2.TextContent)])
            self._read = len(content)
        return self._text

    def apply(self, update: Any) -> None:
        """Take over what an update of this object says."""
        super().apply(update)
        self._replace(update.content)

    def _replace(self, content: list[v2.ContentBlock] | UnsetType | None) -> None:
        if content is not UNSET:
            self.content = list(content or ())
            self._whole = len(self.content)
            self._text = ""
            self._read = 0

    def _pieces(self) -> list[v2.ContentBlock]:
        """Return the content for a replay: as it came whole, or with streamed text joined."""
        if self._whole == len(self.content):
            return list(self.content)
        return list(_joined(self.content))

    def _unrolled(self, whole: type[Any], chunk: type[Any]) -> Iterator[v2.SessionUpdate]:
        """Yield one whole update, or for what was streamed an empty one and then the chunks."""
        if self._whole == len(self.content):
            yield whole(message_id=self.id, content=self._pieces(), **self._said())
            return
        yield whole(message_id=self.id, content=[], **self._said())
        for block in self._pieces():
            yield chunk(message_id=self.id, content=block)


def _joined(content: list[v2.ContentBlock]) -> Iterator[v2.ContentBlock]:
    """Join neighbouring blocks that are nothing but text, up to a size."""
    run: list[str] = []
    chars = 0
    for block in content:
        text = _plain_text(block)
        if run and (text is None or chars + len(text) > PIECE_CHARS):
            yield v2.TextContent(text="".join(run))
            run, chars = [], 0
        if text is None:
            yield block
        else:
            run.append(text)
            chars += len(text)
    if run:
        yield v2.TextContent(text="".join(run))


def _plain_text(block: v2.ContentBlock) -> str | None:
    if isinstance(block, v2.TextContent) and block.annotations is None and block.meta is None:
        return block.text
    return None


MESSAGE_UPDATES: dict[MessageRole, tuple[type[Any], type[Any]]] = {
    "user": (v2.UserMessage, v2.UserMessageChunk),
    "agent": (v2.AgentMessage, v2.AgentMessageChunk),
    "thought": (v2.AgentThought, v2.AgentThoughtChunk),
}
"""The types that bring a message, whole and as a chunk."""


class Message(_Streamed):
    """What the user said, or the agent said or thought."""

    __slots__ = ("role",)

    def __init__(self, id: str, role: MessageRole) -> None:
        super().__init__(id)
        self.role: MessageRole = role

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the updates that make it anew."""
        return self._unrolled(*MESSAGE_UPDATES[self.role])

    def __repr__(self) -> str:
        return f"Message({self.role} {self.id!r}: {_shorten(self.text)})"


class SessionMessage(_Streamed):
    """Unstable: a message between this session and another one."""

    __slots__ = (
        "recipient_message_id",
        "recipient_session_id",
        "sender_message_id",
        "sender_session_id",
    )
    defaults = dict.fromkeys(__slots__)

    sender_session_id: str | None
    recipient_session_id: str | None
    sender_message_id: str | None
    """What the message is called in the sender's session."""
    recipient_message_id: str | None
    """What the message is called in the recipient's session."""

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the updates that make it anew."""
        return self._unrolled(unstable.SessionMessage, unstable.SessionMessageChunk)

    def __repr__(self) -> str:
        route = f"{self.sender_session_id!r} to {self.recipient_session_id!r}"
        return f"SessionMessage({self.id!r} {route}: {_shorten(self.text)})"


class Compaction(_Streamed):
    """A compaction of the context; its content is the summary."""

    __slots__ = ("error", "status")
    defaults: ClassVar[Mapping[str, object]] = {"status": "in_progress", "error": None}

    status: v2.CompactionStatus
    error: str | None
    """Why it failed, for people."""

    def apply(self, update: v2.CompactionUpdate) -> None:
        """Take over what an update of this object says."""
        _Patched.apply(self, update)
        self._replace(update.summary)

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the update that makes it anew."""
        said = self._said()
        said.setdefault("status", self.status)
        yield v2.CompactionUpdate(compaction_id=self.id, summary=self._pieces() or UNSET, **said)

    def __repr__(self) -> str:
        return f"Compaction({self.id!r} {self.status}: {_shorten(self.text)})"


class ToolCall(_Patched):
    """Something the agent does, as far as it has come."""

    defaults: ClassVar[Mapping[str, object]] = {
        "name": None,
        "title": None,
        "kind": "other",
        "status": "pending",
        "content": [],
        "locations": [],
        "raw_input": None,
        "raw_output": None,
        "capabilities": None,
    }
    __slots__ = tuple(defaults)

    name: str | None
    """The tool's own name."""
    title: str | None
    """What it is doing, for people."""
    kind: v2.ToolKind
    status: v2.ToolCallStatus
    content: list[v2.ToolCallContent]
    locations: list[v2.ToolCallLocation]
    raw_input: Any
    raw_output: Any
    capabilities: v2.ToolCallCapabilities | None
    """What the client may do with it."""

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the update that makes it anew."""
        yield v2.ToolCallUpdated(tool_call_id=self.id, **self._said())

    def __repr__(self) -> str:
        return f"ToolCall({self.id!r} {self.kind} {self.status}: {_shorten(self.title or '')})"


class Terminal(_Patched):
    """A terminal that the agent runs, and what it has written."""

    defaults = dict.fromkeys(("command", "cwd", "exit_status", "size", "capabilities"))
    __slots__ = (*defaults, "_decoded", "_limit_bytes", "_output", "dropped_bytes")

    command: str | None
    cwd: str | None
    exit_status: v2.TerminalExitStatus | None
    """How its process ended; None: it still runs, as far as is known."""
    size: v2.TerminalSize | None
    capabilities: v2.TerminalCapabilities | None
    """What the client may do with it."""

    def __init__(self, id: str, limit_bytes: int | None = None) -> None:
        super().__init__(id)
        self.dropped_bytes = 0
        """How much of the beginning of the output the limit took away."""
        self._limit_bytes = limit_bytes
        self._output = bytearray()
        self._decoded: str | None = None

    @property
    def output(self) -> bytes:
        """What it has written; each time a copy."""
        return bytes(self._output)

    @property
    def text(self) -> str:
        """What it has written, read as UTF-8 with U+FFFD for what is not.

        While the process runs, a character that is cut at the end is left out: its rest may come.
        """
        if self._decoded is None:
            is_over = self.exit_status is not None
            self._decoded, _ = codecs.utf_8_decode(self._output, "replace", is_over)
        return self._decoded

    def add(self, output: bytes) -> None:
        """Append output."""
        self._output += output
        self._decoded = None
        if self._limit_bytes is not None and len(self._output) > self._limit_bytes:
            excess = len(self._output) - self._limit_bytes
            rest_of_character = self._output[excess : excess + 3]
            excess += len(rest_of_character) - len(rest_of_character.lstrip(_INNER_BYTES))
            del self._output[:excess]
            self.dropped_bytes += excess

    def apply(self, update: v2.TerminalUpdate) -> None:
        """Take over what an update of this object says."""
        if update.output is not UNSET:
            output = read_base64(update.output.data if update.output else "", "update.output.data")
            self._output.clear()
            self.dropped_bytes = 0
            self.add(output)
        super().apply(update)
        self._decoded = None  # the exit status decides about the last character

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the update that makes it anew."""
        data = binascii.b2a_base64(self._output, newline=False).decode()
        output = v2.TerminalOutput(data=data)
        yield v2.TerminalUpdate(terminal_id=self.id, output=output, **self._said())

    def __repr__(self) -> str:
        end = "running" if self.exit_status is None else "exited"
        size = f"{len(self._output)} bytes"
        return f"Terminal({self.id!r} {end}, {size}: {_shorten(self.command or '')})"


_INNER_BYTES = bytes(range(0x80, 0xC0))


def read_base64(data: str, path: str) -> bytes:
    """Return the bytes.

    Raises:
        MalformedValue: It is not base64.
    """
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        raise MalformedValue(path, "expected base64") from None


class Subagent(_Patched):
    """Unstable: a session that the agent started below this one."""

    defaults = dict.fromkeys(
        ("title", "description", "capabilities", "state", "cwd", "additional_directories")
    )
    __slots__ = tuple(defaults)

    title: str | None
    description: str | None
    """What it is there for."""
    capabilities: unstable.SubagentSessionCapabilities | None
    """What the client may do with its session."""
    state: v2.StateUpdate | None
    """What it is doing; None: not known."""
    cwd: str | None
    """None: this session's."""
    additional_directories: list[str] | None
    """None: this session's."""

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the update that makes it anew."""
        yield unstable.SubagentUpdate(session_id=self.id, **self._said())

    def __repr__(self) -> str:
        return f"Subagent({self.id!r}: {_shorten(self.title or '')})"
