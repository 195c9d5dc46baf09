"""Tool calls: what the agent does, shown as it happens, with diffs and places in files.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from parley.schema.base import Object, Open, Patch, SkipInvalid

from .content import ContentBlock, MediaType
from .ids import AbsolutePath, SessionId, ToolCallId
from .terminal import Terminal

__all__ = [
    "CancelToolCallRequest",
    "CancelToolCallResponse",
    "Content",
    "Diff",
    "DiffAdd",
    "DiffChange",
    "DiffCopy",
    "DiffDelete",
    "DiffFileType",
    "DiffModify",
    "DiffMove",
    "DiffPatch",
    "DiffPatchFormat",
    "DiffPathChange",
    "DiffPathPairChange",
    "ToolCallCancelCapabilities",
    "ToolCallCapabilities",
    "ToolCallContent",
    "ToolCallContentChunk",
    "ToolCallLocation",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolCallUpdated",
    "ToolKind",
]

ToolKind: TypeAlias = (
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
    ]
    | str
)
"""What sort of thing a tool does, for icons and for permission."""

ToolCallStatus: TypeAlias = (
    Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"] | str
)
"""How far a tool call has come."""

DiffFileType: TypeAlias = Literal["text", "binary", "directory", "symlink"] | str
"""What a changed path is."""

DiffPatchFormat: TypeAlias = Literal["git_patch"] | str
"""How a patch is written."""


class Content(Object, tag_field="type", tag="content"):
    """A content block shown in a tool call."""

    content: ContentBlock


class DiffPathChange(Object):
    """A change of one path."""

    path: AbsolutePath
    file_type: DiffFileType | None = None
    """What is at the path afterwards, or what was deleted."""
    mime_type: MediaType | None = None


class DiffPathPairChange(Object):
    """A change that leads from one path to another."""

    old_path: AbsolutePath
    path: AbsolutePath
    file_type: DiffFileType | None = None
    """What is at the new path afterwards."""
    mime_type: MediaType | None = None


class DiffAdd(DiffPathChange, tag_field="operation", tag="add"):
    """Something new."""


class DiffDelete(DiffPathChange, tag_field="operation", tag="delete"):
    """Something removed."""


class DiffModify(DiffPathChange, tag_field="operation", tag="modify"):
    """Something changed in place."""


class DiffMove(DiffPathPairChange, tag_field="operation", tag="move"):
    """Something moved, with or without changes."""


class DiffCopy(DiffPathPairChange, tag_field="operation", tag="copy"):
    """Something copied, with or without changes."""


DiffChange: TypeAlias = Open[DiffAdd | DiffDelete | DiffModify | DiffMove | DiffCopy]
"""What happened to one file."""


class DiffPatch(Object):
    """The changes as text."""

    format: DiffPatchFormat
    text: str


class Diff(Object, tag_field="type", tag="diff"):
    """Changes of files, shown in a tool call."""

    changes: SkipInvalid[list[DiffChange]]
    """The files; this list counts, not the patch."""
    patch: DiffPatch | None = None
    """Text to show for some or all of them."""


ToolCallContent: TypeAlias = Open[Content | Diff | Terminal]
"""Something that a tool call shows."""


class ToolCallLocation(Object):
    """A place that a tool call is about."""

    path: AbsolutePath
    line: Annotated[int, Meta(ge=1, le=2**32 - 1)] | None = None
    """Counted from 1."""


class ToolCallCancelCapabilities(Object):
    """The tool call can be stopped with `tool_call/cancel`."""


class ToolCallCapabilities(Object):
    """What the client may do with a tool call."""

    cancel: ToolCallCancelCapabilities | None = None


class ToolCallUpdate(Patch):
    """What changed about a tool call; the first one creates it."""

    tool_call_id: ToolCallId
    name: str | UnsetType | None = UNSET
    """The tool's own name."""
    title: str | UnsetType | None = UNSET
    """What it is doing, for people."""
    kind: ToolKind | UnsetType | None = UNSET
    """None puts it back to `other`."""
    status: ToolCallStatus | UnsetType | None = UNSET
    """None puts it back to `pending`."""
    content: list[ToolCallContent] | UnsetType | None = UNSET
    """Replaces everything that was shown before."""
    locations: list[ToolCallLocation] | UnsetType | None = UNSET
    raw_input: Any | UnsetType = UNSET
    """What the tool was given, as it is."""
    raw_output: Any | UnsetType = UNSET
    """What the tool returned, as it is."""
    capabilities: ToolCallCapabilities | UnsetType | None = UNSET


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """What changed about a tool call, as a session update."""


class ToolCallContentChunk(Object, tag_field="sessionUpdate", tag="tool_call_content_chunk"):
    """One more thing that a tool call shows."""

    tool_call_id: ToolCallId
    content: ToolCallContent


class CancelToolCallRequest(Object):
    """Stop one tool call and nothing else."""

    session_id: SessionId
    tool_call_id: ToolCallId


class CancelToolCallResponse(Object):
    """The tool call will be stopped; its final status confirms it."""
