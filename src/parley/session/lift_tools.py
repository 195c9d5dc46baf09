"""Tool calls of version 1 in version 2's words.

Version 1 announces a call with `tool_call` and changes it with `tool_call_update`, where null means
"unchanged"; in version 2 both are patches. A diff of two texts becomes a list of changes with a
patch.

Spec: https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import UNSET, UnsetType, structs

from parley.schema import v1, v2

from .blocks import lift_block
from .diffs import make_diff

__all__ = ["lift_tool_call", "lift_tool_content", "lift_tool_update"]

T = TypeVar("T")
U = TypeVar("U", bound=v2.ToolCallUpdate)


def lift_tool_call(call: v1.ToolCall, *, is_new: bool) -> v2.ToolCallUpdated:
    """Return the announcement of a call as a patch.

    Args:
        call: What the agent says.
        is_new: Whether the call was not known before; if it was, what is not said now is cleared.
    """
    said = _said if is_new else _same
    says_all = not is_new
    return v2.ToolCallUpdated(
        tool_call_id=call.tool_call_id,
        title=call.title,
        name=said(call.name),
        kind=call.kind,
        status=call.status,
        content=lift_tool_content(call.content) if call.content or says_all else UNSET,
        locations=_lift_locations(call.locations) if call.locations or says_all else UNSET,
        raw_input=said(call.raw_input),
        raw_output=said(call.raw_output),
        meta=said(call.meta),
    )


def lift_tool_update(cls: type[U], update: v1.ToolCallUpdate) -> U:
    """Return a change of a call as a patch, as a session update or as the subject of a question."""
    return cls(
        tool_call_id=update.tool_call_id,
        title=_said(update.title),
        name=_said(update.name),
        kind=_said(update.kind),
        status=_said(update.status),
        content=UNSET if update.content is None else lift_tool_content(update.content),
        locations=UNSET if update.locations is None else _lift_locations(update.locations),
        raw_input=_said(update.raw_input),
        raw_output=_said(update.raw_output),
        meta=_said(update.meta),
    )


def _said(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value


def _same(value: T) -> T:
    return value


def lift_tool_content(content: Iterable[v1.ToolCallContent]) -> list[v2.ToolCallContent]:
    """Return what a call shows in version 2's words."""
    return [_lift_item(item) for item in content]


def _lift_item(item: v1.ToolCallContent) -> v2.ToolCallContent:
    match item:
        case v1.Content():
            return v2.Content(content=lift_block(item.content), meta=item.meta)
        case v1.Diff():
            return structs.replace(
                make_diff(item.path, item.old_text, item.new_text), meta=item.meta
            )
        case _:
            return v2.Terminal(terminal_id=item.terminal_id, meta=item.meta)


def _lift_locations(locations: Iterable[v1.ToolCallLocation]) -> list[v2.ToolCallLocation]:
    # Version 2 counts lines from 1 and refuses 0.
    return [
        v2.ToolCallLocation(path=each.path, line=each.line or None, meta=each.meta)
        for each in locations
    ]
