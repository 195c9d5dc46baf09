"""Downgrades tool calls, and the agent's own terminals, to version 1 types.

Version 1 announces a call once and then changes it, and a change of its content always sends the
whole content. So the content is kept here. So is the output of terminals that the agent runs
itself: version 1 has only terminals of the client, so it gets the output as text.

Sending the whole content for each small addition would make the traffic grow with the square of the
content. Up to `ALWAYS_SENT_CHARS` every addition is sent. Beyond that, an addition waits until the
content has grown by a quarter, the call changes in another way, or `flush` is called, which happens
before the agent waits for anything.

Spec: https://agentclientprotocol.com/protocol/v1/tool-calls and
https://agentclientprotocol.com/protocol/v2/tool-calls#content
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar, cast, get_args

from msgspec import UNSET, UnsetType, structs

from parley.schema import v1, v2
from parley.schema._codec import encode
from parley.schema.base import Unknown

from ._content_blocks import downgrade_block
from ._diffs import read_diff
from ._transcript_entries import read_base64

T = TypeVar("T")


U = TypeVar("U", bound=v1.ToolCallUpdate)


ALWAYS_SENT_CHARS = 4 * 1024
"""Content up to this length is sent again with every addition."""


_ITEM_CHARS = 60
"""The approximate length of an item's JSON without its text."""


_STATUSES: dict[str, v1.ToolCallStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "paused": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "failed",
}


_KINDS = frozenset(get_args(get_args(v1.ToolKind)[0]))


class _Call:
    """A tool call as the client has_call it."""

    __slots__ = ("added_chars", "is_announced", "items", "sent_chars", "title")

    def __init__(self) -> None:
        self.is_announced = False
        self.title = ""
        self.items: list[v1.ToolCallContent | TerminalRenderer] = []
        self.sent_chars = 0
        self.added_chars = 0
        """The number of characters added since the content was last sent."""

    def content(self) -> list[v1.ToolCallContent]:
        """Return the content to send, and count it as sent."""
        shown = [
            item.content() if isinstance(item, TerminalRenderer) else item for item in self.items
        ]
        self.sent_chars = sum(map(_length, shown))
        self.added_chars = 0
        return shown

    @property
    def is_due(self) -> bool:
        """Whether additions should be sent now."""
        return self.sent_chars <= ALWAYS_SENT_CHARS or 4 * self.added_chars >= self.sent_chars


class ToolCallDowngrader:
    """The tool calls and terminals of one session, for a version 1 client."""

    def __init__(self, client_terminals: set[str]) -> None:
        """Create the state of a session without tool calls.

        Args:
            client_terminals: Ids of the client's own terminals, shared with the caller, who adds
                to it. Any other terminal is the agent's.
        """
        self._client_terminals = client_terminals
        self._calls: dict[str, _Call] = {}
        self._terminals: dict[str, TerminalRenderer] = {}

    def update(self, patch: v2.ToolCallUpdate) -> list[v1.SessionUpdate]:
        """Return the updates for a change of a call; the first one announces the call."""
        call = self._apply(patch)
        if not call.is_announced:
            return [_announce(call, patch)]
        change = _change(v1.ToolCallUpdated, call, patch)
        is_change = change != v1.ToolCallUpdated(tool_call_id=patch.tool_call_id)
        return [change] if is_change else []

    def subject(self, patch: v2.ToolCallUpdate) -> v1.ToolCallUpdate:
        """Return a change as the subject of a permission request.

        For a call that the client does not know yet, it has everything that an announcement has.
        """
        call = self._apply(patch)
        if call.is_announced:
            return _change(v1.ToolCallUpdate, call, patch)
        new = _announce(call, patch)
        fields = structs.asdict(new)
        fields |= {"content": new.content or None, "locations": new.locations or None}
        return v1.ToolCallUpdate(**fields)

    def content(self, tool_call_id: str) -> list[v1.ToolCallContent]:
        """Return the current content of a call, and count it as sent."""
        call = self._calls.get(tool_call_id)
        return [] if call is None else call.content()

    def title(self, tool_call_id: str) -> str:
        """Return the title of a call, or an empty string."""
        call = self._calls.get(tool_call_id)
        return "" if call is None else call.title

    def has_call(self, tool_call_id: str) -> bool:
        """Return whether a call was seen in this session."""
        return tool_call_id in self._calls

    def chunk(self, update: v2.ToolCallContentChunk) -> list[v1.SessionUpdate]:
        """Return the updates for an item added to the content of a call."""
        id = update.tool_call_id
        call = self._call(id)
        items = list(self._downgrade_items(id, [update.content]))
        call.items += items
        call.added_chars += sum(map(_length, items))
        if not call.is_announced:
            return [_announce(call, v2.ToolCallUpdate(tool_call_id=id))]
        return [_content_update(id, call)] if items and call.is_due else []

    def terminal(self, update: v2.TerminalUpdate) -> list[v1.SessionUpdate]:
        """Return the updates for a change of a terminal, one for each call that shows it."""
        terminal = self._terminal(update.terminal_id)
        if not terminal.update(update):
            return []
        return [_content_update(id, self._calls[id]) for id in terminal.shown_in]

    def terminal_chunk(self, update: v2.TerminalOutputChunk) -> list[v1.SessionUpdate]:
        """Return the updates for more output, for the calls that are due."""
        terminal = self._terminal(update.terminal_id)
        added_chars = terminal.append(update.data)
        shown_in = [(id, self._calls[id]) for id in terminal.shown_in]
        for _, call in shown_in:
            call.added_chars += added_chars
        return [_content_update(id, call) for id, call in shown_in if call.is_due]

    def flush(self) -> list[v1.SessionUpdate]:
        """Return the updates for all additions that were held back."""
        return [_content_update(id, call) for id, call in self._calls.items() if call.added_chars]

    def _call(self, tool_call_id: str) -> _Call:
        call = self._calls.get(tool_call_id)
        if call is None:
            call = self._calls[tool_call_id] = _Call()
        return call

    def _terminal(self, terminal_id: str) -> TerminalRenderer:
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            terminal = self._terminals[terminal_id] = TerminalRenderer()
        return terminal

    def _apply(self, patch: v2.ToolCallUpdate) -> _Call:
        """Record the title and the content of a patch."""
        call = self._call(patch.tool_call_id)
        if isinstance(patch.title, str):
            call.title = patch.title
        if patch.content is not UNSET:
            for item in call.items:
                if isinstance(item, TerminalRenderer):
                    item.shown_in.pop(patch.tool_call_id, None)
            call.items = list(self._downgrade_items(patch.tool_call_id, patch.content or ()))
        return call

    def _downgrade_items(
        self, tool_call_id: str, content: Iterable[v2.ToolCallContent]
    ) -> Iterator[v1.ToolCallContent | TerminalRenderer]:
        """Downgrade the content of a call; items and blocks of unknown types are dropped."""
        for item in content:
            match item:
                case v2.Content():
                    block = downgrade_block(item.content)
                    if block is not None:
                        yield v1.Content(content=block, meta=item.meta)
                case v2.Diff():
                    yield from _downgrade_diff(item)
                case v2.Terminal(terminal_id=id) if id in self._client_terminals:
                    yield v1.Terminal(terminal_id=id, meta=item.meta)
                case v2.Terminal(terminal_id=id):
                    terminal = self._terminal(id)
                    terminal.shown_in[tool_call_id] = None
                    yield terminal
                case _:
                    pass


def _announce(call: _Call, patch: v2.ToolCallUpdate) -> v1.ToolCall:
    """Return the first update of a call, with defaults for what the patch does not have."""
    call.is_announced = True
    name = _or_none(patch.name)
    return v1.ToolCall(
        tool_call_id=patch.tool_call_id,
        title=call.title or name or "Tool call",
        name=name,
        kind=_kind(patch.kind),
        status=_STATUSES.get(patch.status or "pending", "pending"),
        content=call.content(),
        locations=_locations(patch.locations or []),
        raw_input=_or_none(patch.raw_input),
        raw_output=_or_none(patch.raw_output),
        meta=_or_none(patch.meta),
    )


def _change(cls: type[U], call: _Call, patch: v2.ToolCallUpdate) -> U:
    """Return a later update of a call, with any additions that were held back."""
    return cls(
        tool_call_id=patch.tool_call_id,
        title=_or_none(patch.title),
        name=_or_none(patch.name),
        kind=None if patch.kind is UNSET else _kind(patch.kind),
        status=None if patch.status is UNSET else _STATUSES.get(patch.status or "pending"),
        content=None if patch.content is UNSET and not call.added_chars else call.content(),
        locations=None if patch.locations is UNSET else _locations(patch.locations or []),
        raw_input=_or_none(patch.raw_input),
        raw_output=_or_none(patch.raw_output),
        meta=_or_none(patch.meta),
    )


def _content_update(tool_call_id: str, call: _Call) -> v1.ToolCallUpdated:
    """Return an update with the whole content of a call."""
    return v1.ToolCallUpdated(tool_call_id=tool_call_id, content=call.content())


def _or_none(value: T | UnsetType | None) -> T | None:
    """Return the value, or None (unchanged) if unset; version 1 cannot clear a field."""
    return None if value is UNSET else value


def _kind(kind: str | UnsetType | None) -> v1.ToolKind:
    return cast("v1.ToolKind", kind if kind in _KINDS else "other")


def _locations(locations: list[v2.ToolCallLocation]) -> list[v1.ToolCallLocation]:
    return cast("list[v1.ToolCallLocation]", locations)  # same JSON in both


def _length(item: v1.ToolCallContent | TerminalRenderer) -> int:
    """Return the approximate length of an item as JSON."""
    if isinstance(item, TerminalRenderer):
        return _ITEM_CHARS
    if isinstance(item, v1.Diff):
        return _ITEM_CHARS + len(item.new_text) + len(item.old_text or "")
    block: object = item.content if isinstance(item, v1.Content) else None
    if isinstance(block, v1.TextContent | v2.TextContent):
        return _ITEM_CHARS + len(block.text)
    return len(encode(item))


def _downgrade_diff(diff: v2.Diff) -> Iterator[v1.ToolCallContent]:
    """Downgrade changes of files to diffs of two texts.

    A change without texts, a move and a copy are described in a sentence.
    """
    for excerpt in read_diff(diff):
        change = excerpt.change
        if isinstance(change, Unknown):
            continue
        if excerpt.old is not None or excerpt.new is not None:
            yield v1.Diff(
                path=change.path,
                old_text=excerpt.old,
                new_text=excerpt.new or "",
                meta=diff.meta,
            )
        if excerpt.old is excerpt.new is None or isinstance(change, v2.DiffMove | v2.DiffCopy):
            text = _CHANGE_TEXTS[type(change)].format(change)
            yield v1.Content(content=v1.TextContent(text=text), meta=diff.meta)


_CHANGE_TEXTS: dict[type, str] = {
    v2.DiffAdd: "Added `{0.path}`",
    v2.DiffDelete: "Deleted `{0.path}`",
    v2.DiffModify: "Changed `{0.path}`",
    v2.DiffMove: "Moved `{0.old_path}` to `{0.path}`",
    v2.DiffCopy: "Copied `{0.old_path}` to `{0.path}`",
}


MAX_OUTPUT_BYTES = 32 * 1024
"""The number of most recent bytes of output that are shown."""


_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, erasing
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|\r(?=\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class TerminalRenderer:
    """A terminal that the agent runs, rendered as text."""

    def __init__(self) -> None:
        self.shown_in: dict[str, None] = {}
        """The ids of the tool calls that show it, oldest first (an ordered set)."""
        self.has_exited = False
        """Whether its process has ended."""
        self._command = ""
        self._cwd = ""
        self._output = bytearray()
        self._is_truncated = False
        self._exit_text = ""

    def update(self, update: v2.TerminalUpdate) -> bool:
        """Apply a change; return whether it affects the text."""
        before = (self._command, self._cwd, self._exit_text)
        if isinstance(update.command, str):
            self._command = update.command
        if isinstance(update.cwd, str):
            self._cwd = update.cwd
        if isinstance(update.exit_status, v2.TerminalExitStatus):
            self.has_exited = True
            self._exit_text = _exit_text(update.exit_status)
        elif update.exit_status is None:
            self.has_exited = False
            self._exit_text = ""
        has_output = update.output is None or isinstance(update.output, v2.TerminalOutput)
        if has_output:
            self._output.clear()
            self._is_truncated = False
        if isinstance(update.output, v2.TerminalOutput):
            self.append(update.output.data)
        return has_output or before != (self._command, self._cwd, self._exit_text)

    def append(self, data: str) -> int:
        """Append output, given as base64; return the number of bytes."""
        added = read_base64(data, "terminal output")
        self._output.extend(added)
        if len(self._output) > 2 * MAX_OUTPUT_BYTES:  # trim rarely, not at every chunk
            del self._output[:-MAX_OUTPUT_BYTES]
            self._is_truncated = True
        return len(added)

    def content(self) -> v1.Content:
        """Return the terminal as content of a tool call: command, recent output, exit status."""
        shown = bytes(self._output[-MAX_OUTPUT_BYTES:])
        is_truncated = self._is_truncated or len(self._output) > MAX_OUTPUT_BYTES
        text = _ESCAPES.sub("", shown.decode(errors="replace"))
        parts = [
            f"{self._cwd}$ {self._command}\n" if self._command else "",
            "…\n" if is_truncated else "",
            text,
            "" if text.endswith("\n") or not text else "\n",
            self._exit_text,
        ]
        return v1.Content(content=v1.TextContent(text=fenced("".join(parts))))


def fenced(text: str) -> str:
    """Return text as a Markdown code block, with a fence longer than any in the text."""
    runs = (len(run) for run in re.findall("`+", text))
    fence = "`" * max(3, 1 + max(runs, default=0))
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def _exit_text(status: v2.TerminalExitStatus) -> str:
    if status.signal is not None:
        return f"[ended by {status.signal}]\n"
    return "[ended]\n" if status.exit_code is None else f"[exit code {status.exit_code}]\n"
