"""Tool calls as session updates: kind, status, content, diffs, locations; and `tool_call/cancel`.

Permission requests are in `permission.py`, terminals in `terminal.py`.

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
"""The category of a tool, for icons and permissions."""

ToolCallStatus: TypeAlias = (
    Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"] | str
)
"""The progress of a tool call."""

DiffFileType: TypeAlias = Literal["text", "binary", "directory", "symlink"] | str
"""The file type of a changed path."""

DiffPatchFormat: TypeAlias = Literal["git_patch"] | str
"""The format of a patch."""


class Content(Object, tag_field="type", tag="content"):
    """A content block shown in a tool call."""

    content: ContentBlock


class DiffPathChange(Object):
    """A change of one path."""

    path: AbsolutePath
    file_type: DiffFileType | None = None
    """The file type after the change, or of the deleted file."""
    mime_type: MediaType | None = None


class DiffPathPairChange(Object):
    """A change from one path to another."""

    old_path: AbsolutePath
    path: AbsolutePath
    file_type: DiffFileType | None = None
    """The file type at the new path."""
    mime_type: MediaType | None = None


class DiffAdd(DiffPathChange, tag_field="operation", tag="add"):
    """An added file."""


class DiffDelete(DiffPathChange, tag_field="operation", tag="delete"):
    """A deleted file."""


class DiffModify(DiffPathChange, tag_field="operation", tag="modify"):
    """A modified file."""


class DiffMove(DiffPathPairChange, tag_field="operation", tag="move"):
    """A moved file, with or without other changes."""


class DiffCopy(DiffPathPairChange, tag_field="operation", tag="copy"):
    """A copied file, with or without other changes."""


DiffChange: TypeAlias = Open[DiffAdd | DiffDelete | DiffModify | DiffMove | DiffCopy]
"""The change of a file."""


class DiffPatch(Object):
    """The changes as text."""

    format: DiffPatchFormat
    text: str


class Diff(Object, tag_field="type", tag="diff"):
    """Changes of files, shown in a tool call."""

    changes: SkipInvalid[list[DiffChange]]
    """The changed files; this list is authoritative, not the patch."""
    patch: DiffPatch | None = None
    """A patch for some or all of them."""


ToolCallContent: TypeAlias = Open[Content | Diff | Terminal]
"""An item of a tool call's content."""


class ToolCallLocation(Object):
    """A file location that a tool call works on."""

    path: AbsolutePath
    line: Annotated[int, Meta(ge=1, le=2**32 - 1)] | None = None
    """The line, starting at 1."""


class ToolCallCancelCapabilities(Object):
    """The tool call can be cancelled with `tool_call/cancel`."""


class ToolCallCapabilities(Object):
    """The operations that the client may request for a tool call."""

    cancel: ToolCallCancelCapabilities | None = None


class ToolCallUpdate(Patch):
    """A change of a tool call; the first one creates it."""

    tool_call_id: ToolCallId
    name: str | UnsetType | None = UNSET
    """The tool's own name."""
    title: str | UnsetType | None = UNSET
    """A description of what the call does, for people."""
    kind: ToolKind | UnsetType | None = UNSET
    """None resets it to `other`."""
    status: ToolCallStatus | UnsetType | None = UNSET
    """None resets it to `pending`."""
    content: list[ToolCallContent] | UnsetType | None = UNSET
    """Replaces the previous content."""
    locations: list[ToolCallLocation] | UnsetType | None = UNSET
    raw_input: Any | UnsetType = UNSET
    """The unmodified input of the tool."""
    raw_output: Any | UnsetType = UNSET
    """The unmodified output of the tool."""
    capabilities: ToolCallCapabilities | UnsetType | None = UNSET


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """A change of a tool call, as a session update."""


class ToolCallContentChunk(Object, tag_field="sessionUpdate", tag="tool_call_content_chunk"):
    """An item added to the content of a tool call."""

    tool_call_id: ToolCallId
    content: ToolCallContent


class CancelToolCallRequest(Object):
    """Cancel one tool call."""

    session_id: SessionId
    tool_call_id: ToolCallId


class CancelToolCallResponse(Object):
    """The request was accepted; the final status confirms the end."""
