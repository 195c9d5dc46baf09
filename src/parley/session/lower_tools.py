"""Tool calls of version 2 in version 1's words, with the terminals that the agent runs.

Version 1 announces a call once and then changes it, and a change of its content is always the whole
content. So the content is remembered here, and so is the output of terminals that the agent runs
itself: version 1 knows only terminals of the client, and gets the output as text.

To send the whole content for each small addition would cost a client the square of what it shows.
Up to `SMALL_CHARS` every addition is sent; beyond that one waits until the content has grown by a
quarter, the call changes otherwise, or `flush` is called, which is done before the agent waits for
anybody.

Spec: https://agentclientprotocol.com/protocol/v1/tool-calls
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar, cast, get_args

from msgspec import UNSET, UnsetType, structs

from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.schema.codec import encode

from .blocks import lower_block
from .diffs import read_diff
from .lower_terminal import LoweredTerminal

__all__ = ["SMALL_CHARS", "LoweredTools"]

T = TypeVar("T")
U = TypeVar("U", bound=v1.ToolCallUpdate)

SMALL_CHARS = 4 * 1024
"""Content up to this length is sent anew with every addition."""

_ITEM_CHARS = 60
"""What the JSON of an item has besides its text."""

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
    """One tool call as the client knows it."""

    __slots__ = ("added_chars", "is_known", "items", "sent_chars", "title")

    def __init__(self) -> None:
        self.is_known = False
        self.title = ""
        self.items: list[v1.ToolCallContent | LoweredTerminal] = []
        self.sent_chars = 0
        self.added_chars = 0
        """How much was added since the content was last sent."""

    def content(self) -> list[v1.ToolCallContent]:
        """Return the content to send, which counts as sent then."""
        shown = [
            item.content() if isinstance(item, LoweredTerminal) else item for item in self.items
        ]
        self.sent_chars = sum(map(_length, shown))
        self.added_chars = 0
        return shown

    @property
    def is_due(self) -> bool:
        """Whether an addition is to be sent."""
        return self.sent_chars <= SMALL_CHARS or 4 * self.added_chars >= self.sent_chars


class LoweredTools:
    """The tool calls and terminals of one session."""

    def __init__(self, client_terminals: set[str]) -> None:
        """Begin with nothing known.

        Args:
            client_terminals: The terminals of the client; any other is the agent's.
        """
        self._client_terminals = client_terminals
        self._calls: dict[str, _Call] = {}
        self._terminals: dict[str, LoweredTerminal] = {}

    def update(self, patch: v2.ToolCallUpdate) -> list[v1.SessionUpdate]:
        """Return what tells the client of a change; the first one announces the call."""
        call = self._take(patch)
        if not call.is_known:
            return [_announce(call, patch)]
        change = _change(v1.ToolCallUpdated, call, patch)
        says_something = change != v1.ToolCallUpdated(tool_call_id=patch.tool_call_id)
        return [change] if says_something else []

    def subject(self, patch: v2.ToolCallUpdate) -> v1.ToolCallUpdate:
        """Return a change as the subject of a question; it tells enough for a call that is new."""
        call = self._take(patch)
        if call.is_known:
            return _change(v1.ToolCallUpdate, call, patch)
        new = _announce(call, patch)
        fields = structs.asdict(new)
        fields |= {"content": new.content or None, "locations": new.locations or None}
        return v1.ToolCallUpdate(**fields)

    def content(self, tool_call_id: str) -> list[v1.ToolCallContent]:
        """Return what a call shows at the moment."""
        call = self._calls.get(tool_call_id)
        return [] if call is None else call.content()

    def title(self, tool_call_id: str) -> str:
        """Return the title of a call; empty if it has none."""
        call = self._calls.get(tool_call_id)
        return "" if call is None else call.title

    def knows(self, tool_call_id: str) -> bool:
        """Tell whether the client has heard of a call."""
        return tool_call_id in self._calls

    def chunk(self, update: v2.ToolCallContentChunk) -> list[v1.SessionUpdate]:
        """Return what tells the client of one more thing that a call shows."""
        id = update.tool_call_id
        call = self._call(id)
        items = list(self._lower_items(id, [update.content]))
        call.items += items
        call.added_chars += sum(map(_length, items))
        if not call.is_known:
            return [_announce(call, v2.ToolCallUpdate(tool_call_id=id))]
        return [_shown(id, call)] if items and call.is_due else []

    def terminal(self, update: v2.TerminalUpdate) -> list[v1.SessionUpdate]:
        """Return what tells the client of a change of a terminal."""
        terminal = self._terminal(update.terminal_id)
        if not terminal.update(update):
            return []
        return [_shown(id, self._calls[id]) for id in terminal.shown_in]

    def terminal_chunk(self, update: v2.TerminalOutputChunk) -> list[v1.SessionUpdate]:
        """Return what tells the client of more output."""
        terminal = self._terminal(update.terminal_id)
        added_chars = terminal.append(update.data)
        shown_in = [(id, self._calls[id]) for id in terminal.shown_in]
        for _, call in shown_in:
            call.added_chars += added_chars
        return [_shown(id, call) for id, call in shown_in if call.is_due]

    def flush(self) -> list[v1.SessionUpdate]:
        """Return what tells the client of everything that has waited."""
        return [_shown(id, call) for id, call in self._calls.items() if call.added_chars]

    def _call(self, tool_call_id: str) -> _Call:
        call = self._calls.get(tool_call_id)
        if call is None:
            call = self._calls[tool_call_id] = _Call()
        return call

    def _terminal(self, terminal_id: str) -> LoweredTerminal:
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            terminal = self._terminals[terminal_id] = LoweredTerminal()
        return terminal

    def _take(self, patch: v2.ToolCallUpdate) -> _Call:
        """Remember what a patch says."""
        call = self._call(patch.tool_call_id)
        if isinstance(patch.title, str):
            call.title = patch.title
        if patch.content is not UNSET:
            for item in call.items:
                if isinstance(item, LoweredTerminal):
                    item.shown_in.pop(patch.tool_call_id, None)
            call.items = list(self._lower_items(patch.tool_call_id, patch.content or ()))
        return call

    def _lower_items(
        self, tool_call_id: str, content: Iterable[v2.ToolCallContent]
    ) -> Iterator[v1.ToolCallContent | LoweredTerminal]:
        """Lower what a call shows; an item or a block of an unknown kind is left out."""
        for item in content:
            match item:
                case v2.Content():
                    block = lower_block(item.content)
                    if block is not None:
                        yield v1.Content(content=block, meta=item.meta)
                case v2.Diff():
                    yield from _lower_diff(item)
                case v2.Terminal(terminal_id=id) if id in self._client_terminals:
                    yield v1.Terminal(terminal_id=id, meta=item.meta)
                case v2.Terminal(terminal_id=id):
                    terminal = self._terminal(id)
                    terminal.shown_in[tool_call_id] = None
                    yield terminal
                case _:
                    pass


def _announce(call: _Call, patch: v2.ToolCallUpdate) -> v1.ToolCall:
    call.is_known = True
    name = _said(patch.name)
    return v1.ToolCall(
        tool_call_id=patch.tool_call_id,
        title=call.title or name or "Tool call",
        name=name,
        kind=_kind(patch.kind),
        status=_STATUSES.get(patch.status or "pending", "pending"),
        content=call.content(),
        locations=_locations(patch.locations or []),
        raw_input=_said(patch.raw_input),
        raw_output=_said(patch.raw_output),
        meta=_said(patch.meta),
    )


def _change(cls: type[U], call: _Call, patch: v2.ToolCallUpdate) -> U:
    return cls(
        tool_call_id=patch.tool_call_id,
        title=_said(patch.title),
        name=_said(patch.name),
        kind=None if patch.kind is UNSET else _kind(patch.kind),
        status=None if patch.status is UNSET else _STATUSES.get(patch.status or "pending"),
        content=None if patch.content is UNSET and not call.added_chars else call.content(),
        locations=None if patch.locations is UNSET else _locations(patch.locations or []),
        raw_input=_said(patch.raw_input),
        raw_output=_said(patch.raw_output),
        meta=_said(patch.meta),
    )


def _shown(tool_call_id: str, call: _Call) -> v1.ToolCallUpdated:
    return v1.ToolCallUpdated(tool_call_id=tool_call_id, content=call.content())


def _said(value: T | UnsetType | None) -> T | None:
    """Return what is said; that something is cleared cannot be said in version 1."""
    return None if value is UNSET else value


def _kind(kind: str | UnsetType | None) -> v1.ToolKind:
    return cast("v1.ToolKind", kind if kind in _KINDS else "other")


def _locations(locations: list[v2.ToolCallLocation]) -> list[v1.ToolCallLocation]:
    return cast("list[v1.ToolCallLocation]", locations)  # their JSON is the same


def _length(item: v1.ToolCallContent | LoweredTerminal) -> int:
    """Return about how long an item is as JSON."""
    if isinstance(item, LoweredTerminal):
        return _ITEM_CHARS
    if isinstance(item, v1.Diff):
        return _ITEM_CHARS + len(item.new_text) + len(item.old_text or "")
    block: object = item.content if isinstance(item, v1.Content) else None
    if isinstance(block, v1.TextContent | v2.TextContent):
        return _ITEM_CHARS + len(block.text)
    return len(encode(item))


def _lower_diff(diff: v2.Diff) -> Iterator[v1.ToolCallContent]:
    """Lower changes of files; what has no texts, or another path before, is told in words."""
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
            text = _WORDS[type(change)].format(change)
            yield v1.Content(content=v1.TextContent(text=text), meta=diff.meta)


_WORDS: dict[type, str] = {
    v2.DiffAdd: "Added `{0.path}`",
    v2.DiffDelete: "Deleted `{0.path}`",
    v2.DiffModify: "Changed `{0.path}`",
    v2.DiffMove: "Moved `{0.old_path}` to `{0.path}`",
    v2.DiffCopy: "Copied `{0.old_path}` to `{0.path}`",
}
