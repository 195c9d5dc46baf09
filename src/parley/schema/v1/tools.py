"""Tool calls as session updates: their kind, status, content, diffs and file locations.

Permission requests are in `permission.py`, the methods of a client's terminals in `terminal.py`.

Spec: https://agentclientprotocol.com/protocol/v1/tool-calls
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import field

from parley.schema.base import EMPTY_LIST, U32, Object, UnknownReadsAs

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
    UnknownReadsAs("other"),
]
"""The category of a tool, from which a client can choose an icon."""

ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
"""The progress of a tool call."""


class Content(Object, tag_field="type", tag="content"):
    """A content block of a tool call."""

    content: ContentBlock


class Diff(Object, tag_field="type", tag="diff"):
    """A file before and after a change."""

    path: str
    """An absolute path."""
    new_text: str
    old_text: str | None = None
    """None for a new file."""


class Terminal(Object, tag_field="type", tag="terminal"):
    """A terminal whose live output the tool call shows."""

    terminal_id: TerminalId


ToolCallContent: TypeAlias = Content | Diff | Terminal
"""An item of a tool call's content."""


class ToolCallLocation(Object):
    """A file location that a tool works on, so that an editor can follow."""

    path: str
    """An absolute path."""
    line: U32 | None = None
    """The line, starting at 1."""


def _other() -> ToolKind:
    return "other"


def _pending() -> ToolCallStatus:
    return "pending"


class ToolCall(Object, tag_field="sessionUpdate", tag="tool_call"):
    """A new tool call, as a session update."""

    tool_call_id: ToolCallId
    title: str
    """A description of what the call does, for people."""
    name: str | None = None
    """The tool's own name."""
    # A factory is not a value that could be left out: readers want these two on every new call.
    kind: ToolKind = field(default_factory=_other)
    status: ToolCallStatus = field(default_factory=_pending)
    content: list[ToolCallContent] = EMPTY_LIST
    locations: list[ToolCallLocation] = EMPTY_LIST
    raw_input: Any = None
    """The input of the tool."""
    raw_output: Any = None
    """The output of the tool."""


class ToolCallUpdate(Object):
    """A change of a tool call. In this version null and absent both mean "unchanged"."""

    tool_call_id: ToolCallId
    kind: ToolKind | None = None
    status: ToolCallStatus | None = None
    title: str | None = None
    name: str | None = None
    content: list[ToolCallContent] | None = None
    """Replaces the previous content."""
    locations: list[ToolCallLocation] | None = None
    """Replaces the previous locations."""
    raw_input: Any = None
    raw_output: Any = None


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """A change of a tool call, as a session update."""
