"""Translation of content blocks between the protocol versions.

Upgraded blocks are version 2 objects. Downgraded blocks stay version 2 objects where their JSON is
the same in both versions, which is nearly always, so that images are not copied.

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

from ._reencode import reencode


def upgrade_block(block: v1.ContentBlock) -> v2.ContentBlock:
    """Return the block as a version 2 type."""
    if block.annotations is None:
        match block:
            case v1.TextContent():
                return v2.TextContent(text=block.text, meta=block.meta)
            case v1.ImageContent():
                return v2.ImageContent(**structs.asdict(block))
            case v1.AudioContent():
                return v2.AudioContent(**structs.asdict(block))
            case v1.EmbeddedResource():
                return v2.EmbeddedResource(
                    resource=_upgrade_resource(block.resource), meta=block.meta
                )
            case _:
                pass
    upgraded: v2.ContentBlock = reencode(block, v2.ContentBlock)
    return upgraded


def _upgrade_resource(resource: v1.EmbeddedResourceResource) -> v2.EmbeddedResourceResource:
    if isinstance(resource, v1.TextResourceContents):
        return v2.TextResourceContents(**structs.asdict(resource))
    return v2.BlobResourceContents(**structs.asdict(resource))


def upgrade_blocks(blocks: Iterable[v1.ContentBlock]) -> list[v2.ContentBlock]:
    """Return the blocks as version 2 types."""
    return [upgrade_block(block) for block in blocks]


def downgrade_block(block: v2.ContentBlock) -> v1.ContentBlock | None:
    """Return the block as a version 1 type, or None if version 1 does not have this kind."""
    if isinstance(block, Unknown):
        return None
    if block.annotations is None and not isinstance(block, v2.ResourceLink):
        return cast("v1.ContentBlock", block)  # its JSON is the same in version 1
    # Icons, unknown audiences and sizes beyond 63 bits are lost.
    downgraded: v1.ContentBlock = reencode(block, v1.ContentBlock)
    return downgraded


def downgrade_blocks(blocks: Iterable[v2.ContentBlock]) -> list[v1.ContentBlock]:
    """Return the blocks as version 1 types, without those that version 1 does not have."""
    return [downgraded for block in blocks if (downgraded := downgrade_block(block)) is not None]


def downgrade_prompt(blocks: Sequence[v2.ContentBlock]) -> list[v1.ContentBlock]:
    """Return all blocks of a prompt as version 1 types.

    Raises:
        Unsupported: Version 1 does not have one of the blocks; sending a part of the prompt would
            change its meaning.
    """
    for block in blocks:
        if isinstance(block, Unknown):
            raise Unsupported(f"version 1 of the protocol has no content block {block.tag!r}")
    return downgrade_blocks(blocks)


def added_blocks(
    old: Sequence[v2.ContentBlock], new: Sequence[v2.ContentBlock]
) -> list[v2.ContentBlock] | None:
    """Return the blocks to append to `old` to get `new`; None if appending is not enough.

    The boundaries between plain text blocks do not matter.
    """
    before, after = _join_text(old), _join_text(new)
    if len(after) < len(before):
        return None
    if not before:
        return after
    last = len(before) - 1
    rest = after[last + 1 :]
    # Everything but the last old block must be equal; a last block of plain text may have grown.
    if before[:last] != after[:last] or before[last] == after[last]:
        return rest if before == after[: last + 1] else None
    was, now = before[last], after[last]
    if _is_plain(was) and _is_plain(now) and now.text.startswith(was.text):
        return [v2.TextContent(text=now.text[len(was.text) :]), *rest]
    return None


def _is_plain(block: v2.ContentBlock) -> TypeGuard[v2.TextContent]:
    return isinstance(block, v2.TextContent) and block.annotations is None and block.meta is None


def _join_text(blocks: Iterable[v2.ContentBlock]) -> list[v2.ContentBlock]:
    """Return the blocks with adjacent plain text blocks joined."""
    joined: list[v2.ContentBlock] = []
    for is_plain, group in groupby(blocks, _is_plain):
        if is_plain:
            text = "".join(block.text for block in group if isinstance(block, v2.TextContent))
            joined += [v2.TextContent(text=text)] if text else []
        else:
            joined += group
    return joined
