"""Tool calls: what the agent does, as it shows it to the client.

A new call and its later changes arrive as session updates, see `updates.py`; asking for permission
is in `permission.py`. Spec: https://agentclientprotocol.com/protocol/v1/tool-calls
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import field

from parley.schema.base import NO_ITEMS, U32, Object, Otherwise

from .content import ContentBlock
from .ids import TerminalId, ToolCallId

__all__ = [
    "Content",
    "Diff",
    "Terminal",
    "ToolCall",
    "ToolCallContent",
    "ToolCallLocation",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolCallUpdated",
    "ToolKind",
]

ToolKind: TypeAlias = Annotated[
    Literal[
        "read",
        "edit",
        "delete",
        "move",
        "search",
        "execute",
        "think",
        "fetch",
        "switch_mode",
        "other",
    ],
    Otherwise("other"),
]
"""What sort of thing a tool does, so that the client can choose an icon."""

ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
"""How far a tool call has come."""


class Content(Object, tag_field="type", tag="content"):
    """A content block as the result of a tool."""

    content: ContentBlock


class Diff(Object, tag_field="type", tag="diff"):
    """A file before and after the change that a tool makes."""

    path: str
    """Absolute."""
    new_text: str
    old_text: str | None = None
    """None for a file that is new."""


class Terminal(Object, tag_field="type", tag="terminal"):
    """A terminal whose output is the result of a tool, live."""

    terminal_id: TerminalId


ToolCallContent: TypeAlias = Content | Diff | Terminal
"""What a tool call has to show."""


class ToolCallLocation(Object):
    """A place that a tool is working at, so that an editor can follow."""

    path: str
    """Absolute."""
    line: U32 | None = None
    """Counted from 1."""


def _other() -> ToolKind:
    return "other"


def _pending() -> ToolCallStatus:
    return "pending"


class ToolCall(Object, tag_field="sessionUpdate", tag="tool_call"):
    """A new tool call, as a session update."""

    tool_call_id: ToolCallId
    title: str
    """What the tool is doing, for people."""
    name: str | None = None
    """What the tool is called in programs."""
    # A factory is not a value that could be left out: readers want these two on every new call.
    kind: ToolKind = field(default_factory=_other)
    status: ToolCallStatus = field(default_factory=_pending)
    content: list[ToolCallContent] = NO_ITEMS
    locations: list[ToolCallLocation] = NO_ITEMS
    raw_input: Any = None
    """What the tool was given."""
    raw_output: Any = None
    """What the tool returned."""


class ToolCallUpdate(Object):
    """What changed about a tool call. In this version null means "unchanged", as does absence."""

    tool_call_id: ToolCallId
    kind: ToolKind | None = None
    status: ToolCallStatus | None = None
    title: str | None = None
    name: str | None = None
    content: list[ToolCallContent] | None = None
    """Replaces all content that was there."""
    locations: list[ToolCallLocation] | None = None
    """Replaces all locations that were there."""
    raw_input: Any = None
    raw_output: Any = None


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """What changed about a tool call, as a session update."""
