"""The parts of a transcript: messages, tool calls, compactions, terminals, subagents.

The objects are live: the transcript changes them as updates arrive, so you can keep one and read it
again later. They are read-only; only a transcript calls `apply` and `add`. They compare by
identity, so they can be dict keys; to compare their contents, compare what `replay` yields.

All patches follow one rule. An absent field is unchanged, null resets a field to its default, and a
value replaces it; a list is replaced as a whole. Only `_meta` is patched key by key; there null
removes a key. A new object starts with the defaults.

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

MessageRole: TypeAlias = Literal["user", "agent", "thought"]
"""The author of a message; `thought` is the agent's reasoning."""

MAX_CHUNK_CHARS = 8192
"""The maximum text per chunk of a replay; some clients cannot read lines of 64 KiB."""


def patched(meta: JsonObject | None, patch: JsonObject | UnsetType | None) -> JsonObject | None:
    """Return `meta` patched key by key; neither argument is changed."""
    if patch is UNSET:
        return meta
    if patch is None:
        return None
    merged = {**(meta or {}), **patch}
    return {key: value for key, value in merged.items() if value is not None}


def _copy_list(value: Any) -> Any:
    """Copy a list, because ours may grow and the update may be kept by others."""
    return value.copy() if type(value) in (list,) else value  # `is` would make it list[Unknown]


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


class _PatchedEntry:
    """An object with an id whose fields are patched by updates."""

    __slots__ = ("id", "meta")
    defaults: ClassVar[Mapping[str, object]] = {}
    """The patched fields besides `meta`, with the value of each until an update sets it."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.meta: JsonObject | None = None
        """The `_meta` that implementations attached; a chunk's belongs to that chunk."""
        for name, default in self.defaults.items():
            setattr(self, name, _copy_list(default))

    def apply(self, update: Any) -> None:
        """Apply an update of this object."""
        for name, default in self.defaults.items():
            value = getattr(update, name)
            if value is not UNSET:
                setattr(self, name, _copy_list(default if value is None else value))
        self.meta = patched(self.meta, update.meta)

    def _changed_fields(self) -> dict[str, Any]:
        """Return the keyword arguments of an update that gives a new object these fields."""
        values = {name: getattr(self, name) for name in self.defaults}
        fields = {
            name: _copy_list(value)
            for name, value in values.items()
            if value != self.defaults[name]
        }
        return fields if self.meta is None else {**fields, "meta": self.meta}


class _StreamedEntry(_PatchedEntry):
    """A patched object whose content arrives whole or block by block."""

    __slots__ = ("_joined_blocks", "_joined_text", "_whole_blocks", "content")

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.content: list[v2.ContentBlock] = []
        """The content blocks; each chunk adds one."""
        # The number of blocks that the last whole update had; all others came as chunks.
        self._whole_blocks = 0
        self._joined_text = ""
        self._joined_blocks = 0  # number of blocks already joined into _joined_text

    @property
    def text(self) -> str:
        """The joined text of all text blocks, computed incrementally."""
        content = self.content
        if self._joined_blocks < len(content):
            new = content[self._joined_blocks :]
            self._joined_text += "".join(
                [each.text for each in new if isinstance(each, v2.TextContent)]
            )
            self._joined_blocks = len(content)
        return self._joined_text

    def apply(self, update: Any) -> None:
        """Apply an update of this object."""
        super().apply(update)
        self._replace(update.content)

    def _replace(self, content: list[v2.ContentBlock] | UnsetType | None) -> None:
        if content is not UNSET:
            self.content = list(content or ())
            self._whole_blocks = len(self.content)
            self._joined_text = ""
            self._joined_blocks = 0

    def _replayed_content(self) -> list[v2.ContentBlock]:
        """Return the content for a replay: unchanged if it arrived whole, else with text joined."""
        if self._whole_blocks == len(self.content):
            return list(self.content)
        return list(_join_text(self.content))

    def _replay_as(self, whole: type[Any], chunk: type[Any]) -> Iterator[v2.SessionUpdate]:
        """Yield one whole update or, for streamed content, an empty one followed by chunks."""
        if self._whole_blocks == len(self.content):
            yield whole(
                message_id=self.id, content=self._replayed_content(), **self._changed_fields()
            )
            return
        yield whole(message_id=self.id, content=[], **self._changed_fields())
        for block in self._replayed_content():
            yield chunk(message_id=self.id, content=block)


def _join_text(content: list[v2.ContentBlock]) -> Iterator[v2.ContentBlock]:
    """Join adjacent plain text blocks, up to `MAX_CHUNK_CHARS` characters each."""
    run: list[str] = []
    chars = 0
    for block in content:
        text = _plain_text(block)
        if run and (text is None or chars + len(text) > MAX_CHUNK_CHARS):
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
"""The update types of each role: a whole message, and a chunk."""


class MessageEntry(_StreamedEntry):
    """A message of the user or the agent, or a thought of the agent; see `role` and `text`."""

    __slots__ = ("role",)

    def __init__(self, id: str, role: MessageRole) -> None:
        super().__init__(id)
        self.role: MessageRole = role

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the updates that rebuild this message."""
        return self._replay_as(*MESSAGE_UPDATES[self.role])

    def __repr__(self) -> str:
        return f"Message({self.role} {self.id!r}: {_shorten(self.text)})"


class SessionMessageEntry(_StreamedEntry):
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
    """The id of the message in the sender's session."""
    recipient_message_id: str | None
    """The id of the message in the recipient's session."""

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Return the updates that rebuild this message."""
        return self._replay_as(v2.SessionMessage, v2.SessionMessageChunk)

    def __repr__(self) -> str:
        route = f"{self.sender_session_id!r} to {self.recipient_session_id!r}"
        return f"SessionMessage({self.id!r} {route}: {_shorten(self.text)})"


class CompactionEntry(_StreamedEntry):
    """A compaction of the context; its content is the summary."""

    __slots__ = ("error", "status")
    defaults: ClassVar[Mapping[str, object]] = {"status": "in_progress", "error": None}

    status: v2.CompactionStatus
    error: str | None
    """The human-readable reason why it failed."""

    def apply(self, update: v2.CompactionUpdate) -> None:
        """Apply an update of this object."""
        _PatchedEntry.apply(self, update)
        self._replace(update.summary)

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Yield the update that rebuilds this entry."""
        fields = self._changed_fields()
        fields.setdefault("status", self.status)
        yield v2.CompactionUpdate(
            compaction_id=self.id, summary=self._replayed_content() or UNSET, **fields
        )

    def __repr__(self) -> str:
        return f"Compaction({self.id!r} {self.status}: {_shorten(self.text)})"


class ToolCallEntry(_PatchedEntry):
    """A tool call of the agent, with its progress so far."""

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
    """A human-readable description of what the call does."""
    kind: v2.ToolKind
    status: v2.ToolCallStatus
    content: list[v2.ToolCallContent]
    locations: list[v2.ToolCallLocation]
    raw_input: Any
    raw_output: Any
    capabilities: v2.ToolCallCapabilities | None
    """The operations that a client may request for this call, such as cancelling it."""

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Yield the update that rebuilds this entry."""
        yield v2.ToolCallUpdated(tool_call_id=self.id, **self._changed_fields())

    def __repr__(self) -> str:
        return f"ToolCall({self.id!r} {self.kind} {self.status}: {_shorten(self.title or '')})"


class TerminalEntry(_PatchedEntry):
    """A terminal that the agent runs, with its output."""

    defaults = dict.fromkeys(("command", "cwd", "exit_status", "size", "capabilities"))
    __slots__ = (*defaults, "_decoded", "_limit_bytes", "_output", "dropped_bytes")

    command: str | None
    cwd: str | None
    exit_status: v2.TerminalExitStatus | None
    """The exit status of its process; None if it is still running as far as is known."""
    size: v2.TerminalSize | None
    capabilities: v2.TerminalCapabilities | None
    """The operations that a client may request for this terminal, such as cancelling it."""

    def __init__(self, id: str, limit_bytes: int | None = None) -> None:
        super().__init__(id)
        self.dropped_bytes = 0
        """The number of bytes removed from the start of the output to stay within the limit."""
        self._limit_bytes = limit_bytes
        self._output = bytearray()
        self._decoded: str | None = None

    @property
    def output(self) -> bytes:
        """A copy of the output."""
        return bytes(self._output)

    @property
    def text(self) -> str:
        """The output decoded as UTF-8, with U+FFFD for invalid bytes.

        While the process runs, an incomplete character at the end is left out: the rest of it may
        still arrive.
        """
        if self._decoded is None:
            is_over = self.exit_status is not None
            self._decoded, _ = codecs.utf_8_decode(self._output, "replace", is_over)
        return self._decoded

    def add(self, output: bytes) -> None:
        """Append output, and drop the oldest bytes beyond the limit."""
        self._output += output
        self._decoded = None
        if self._limit_bytes is not None and len(self._output) > self._limit_bytes:
            excess = len(self._output) - self._limit_bytes
            # If the cut falls inside a UTF-8 character, drop the remaining bytes of it as well.
            rest_of_character = self._output[excess : excess + 3]
            excess += len(rest_of_character) - len(rest_of_character.lstrip(_INNER_BYTES))
            del self._output[:excess]
            self.dropped_bytes += excess

    def apply(self, update: v2.TerminalUpdate) -> None:
        """Apply an update of this object."""
        if update.output is not UNSET:
            output = read_base64(update.output.data if update.output else "", "update.output.data")
            self._output.clear()
            self.dropped_bytes = 0
            self.add(output)
        super().apply(update)
        self._decoded = None  # the exit status decides whether an incomplete character is shown

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Yield the update that rebuilds this entry."""
        data = binascii.b2a_base64(self._output, newline=False).decode()
        output = v2.TerminalOutput(data=data)
        yield v2.TerminalUpdate(terminal_id=self.id, output=output, **self._changed_fields())

    def __repr__(self) -> str:
        end = "running" if self.exit_status is None else "exited"
        size = f"{len(self._output)} bytes"
        return f"Terminal({self.id!r} {end}, {size}: {_shorten(self.command or '')})"


_INNER_BYTES = bytes(range(0x80, 0xC0))  # UTF-8 continuation bytes


def read_base64(data: str, path: str) -> bytes:
    """Decode base64 data.

    Raises:
        MalformedValue: The data is not base64; the error names `path`.
    """
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        raise MalformedValue(path, "expected base64") from None


class SubagentEntry(_PatchedEntry):
    """Unstable: a child session that the agent started."""

    defaults = dict.fromkeys(
        ("title", "description", "capabilities", "state", "cwd", "additional_directories")
    )
    __slots__ = tuple(defaults)

    title: str | None
    description: str | None
    """The purpose of the subagent."""
    capabilities: v2.SubagentSessionCapabilities | None
    """The operations that a client may request for its session."""
    state: v2.StateUpdate | None
    """The state of its session; None if not known."""
    cwd: str | None
    """Its working directory; None if it is the same as the parent session's."""
    additional_directories: list[str] | None
    """Its additional directories; None if they are the same as the parent session's."""

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Yield the update that rebuilds this entry."""
        yield v2.SubagentUpdate(session_id=self.id, **self._changed_fields())

    def __repr__(self) -> str:
        return f"Subagent({self.id!r}: {_shorten(self.title or '')})"
