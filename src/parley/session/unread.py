"""What version 1 has no name for inside an update that it knows.

Its content is of a few kinds. An item of another kind is left out by the schema's own rules, and a
message of another kind altogether. For who wants to show it all the same, it is found in the frame.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw, Struct

from parley.rpc.framing import Frame
from parley.schema.base import Unknown

__all__ = ["unread"]

_BLOCKS = frozenset({"text", "image", "audio", "resource_link", "resource"})
_ITEMS = frozenset({"content", "diff", "terminal"})
_kinds = re.compile(rb'"type"\s*:\s*"([^"]*)"').findall
_KNOWN = frozenset(each.encode() for each in _BLOCKS | _ITEMS)


class _Update(Struct):
    content: Raw = Raw(b"null")


class _Params(Struct):
    update: _Update


class _Head(Struct):
    method: str
    params: _Params


class _Item(Struct):
    type: str
    content: Raw = Raw(b"null")


def unread(frame: Frame) -> list[Unknown]:
    """Return the contents of kinds that are not known, of a message or of a tool call."""
    if _KNOWN.issuperset(_kinds(frame)):
        return []
    try:
        head = msgspec.json.decode(frame, type=_Head)
        content = head.params.update.content if head.method == "session/update" else Raw(b"null")
        if bytes(content).startswith(b"["):
            items = msgspec.json.decode(content, type=list[Raw])
            return [found for item in items for found in _of_item(item)]
        return _of_block(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _of_item(raw: Raw) -> list[Unknown]:
    item = msgspec.json.decode(raw, type=_Item)
    if item.type == "content":
        return _of_block(item.content)
    return [] if item.type in _ITEMS else [Unknown(item.type, bytes(raw))]


def _of_block(raw: Raw) -> list[Unknown]:
    block = msgspec.json.decode(raw, type=_Item | None)
    return [] if block is None or block.type in _BLOCKS else [Unknown(block.type, bytes(raw))]
