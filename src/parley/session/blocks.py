"""Content blocks between the versions.

Lifted blocks are version 2's classes. Lowered ones stay version 2's objects where their JSON is the
same in both versions, which is nearly always: a picture is not copied on its way.

Spec: https://agentclientprotocol.com/protocol/v2/content
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeGuard, cast

from msgspec import structs

from parley.errors import Unsupported
from parley.schema import v1, v2
from parley.schema.base import Unknown

from .recode import recode

__all__ = [
    "added_blocks",
    "lift_block",
    "lift_blocks",
    "lower_block",
    "lower_blocks",
    "lower_prompt",
]


def lift_block(block: v1.ContentBlock) -> v2.ContentBlock:
    """Return the block in version 2's words."""
    if block.annotations is None:
        match block:
            case v1.TextContent():
                return v2.TextContent(text=block.text, meta=block.meta)
            case v1.ImageContent():
                return v2.ImageContent(**structs.asdict(block))
            case v1.AudioContent():
                return v2.AudioContent(**structs.asdict(block))
            case v1.EmbeddedResource():
                return v2.EmbeddedResource(resource=_lift_resource(block.resource), meta=block.meta)
            case _:
                pass
    lifted: v2.ContentBlock = recode(block, v2.ContentBlock)
    return lifted


def _lift_resource(resource: v1.EmbeddedResourceResource) -> v2.EmbeddedResourceResource:
    if isinstance(resource, v1.TextResourceContents):
        return v2.TextResourceContents(**structs.asdict(resource))
    return v2.BlobResourceContents(**structs.asdict(resource))


def lift_blocks(blocks: Iterable[v1.ContentBlock]) -> list[v2.ContentBlock]:
    """Return the blocks in version 2's words."""
    return [lift_block(block) for block in blocks]


def lower_block(block: v2.ContentBlock) -> v1.ContentBlock | None:
    """Return the block in version 1's words; None for a kind that version 1 does not have."""
    if isinstance(block, Unknown):
        return None
    if block.annotations is None and not isinstance(block, v2.ResourceLink):
        return cast("v1.ContentBlock", block)
    # Icons, unknown audiences and sizes beyond 63 bits stay behind.
    lowered: v1.ContentBlock = recode(block, v1.ContentBlock)
    return lowered


def lower_blocks(blocks: Iterable[v2.ContentBlock]) -> list[v1.ContentBlock]:
    """Return the blocks in version 1's words, without those that it has none for."""
    return [lowered for block in blocks if (lowered := lower_block(block)) is not None]


def lower_prompt(blocks: Sequence[v2.ContentBlock]) -> list[v1.ContentBlock]:
    """Return the blocks in version 1's words, all of them.

    Raises:
        Unsupported: Version 1 does not have a block; half a prompt is not what the user said.
    """
    for block in blocks:
        if isinstance(block, Unknown):
            raise Unsupported(f"version 1 of the protocol has no content block {block.tag!r}")
    return lower_blocks(blocks)


def added_blocks(
    old: Sequence[v2.ContentBlock], new: Sequence[v2.ContentBlock]
) -> list[v2.ContentBlock] | None:
    """Return what makes the old content the new one; None if that takes more than adding.

    How text is cut into blocks does not count.
    """
    before, after = _joined(old), _joined(new)
    if len(after) < len(before):
        return None
    if not before:
        return after
    last = len(before) - 1
    rest = after[last + 1 :]
    if before[:last] != after[:last] or before[last] == after[last]:
        return rest if before == after[: last + 1] else None
    was, now = before[last], after[last]
    if _is_plain(was) and _is_plain(now) and now.text.startswith(was.text):
        return [v2.TextContent(text=now.text[len(was.text) :]), *rest]
    return None


def _is_plain(block: v2.ContentBlock) -> TypeGuard[v2.TextContent]:
    return isinstance(block, v2.TextContent) and block.annotations is None and block.meta is None


def _joined(blocks: Iterable[v2.ContentBlock]) -> list[v2.ContentBlock]:
    """Return the blocks with adjacent plain texts as one."""
    joined: list[v2.ContentBlock] = []
    for is_plain, group in groupby(blocks, _is_plain):
        if is_plain:
            text = "".join(block.text for block in group if isinstance(block, v2.TextContent))
            joined += [v2.TextContent(text=text)] if text else []
        else:
            joined += group
    return joined
