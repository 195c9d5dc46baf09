"""Notifications that somebody has added to the protocol: shown for what they are.

They belong to no session and change no transcript. The journal has them like every frame.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from parley.rpc._framing import Frame
from parley.schema.base import Unknown

__all__ = ["unnamed"]

_HEAD_BYTES = 256
"""Where the name of a method stands in a frame of any known program."""
_looks_like_one = re.compile(rb'"method"\s*:\s*"_').search


class _Head(Struct):
    method: str = ""
    id: Raw | UnsetType = UNSET
    params: Raw = Raw(b"{}")


def unnamed(frame: Frame) -> Unknown | None:
    """Return a custom notification as an update of an unknown kind; None for any other frame."""
    if not _looks_like_one(frame, 0, _HEAD_BYTES):
        return None
    try:
        head = msgspec.json.decode(frame, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_one = head.method.startswith("_") and head.id is UNSET
    return Unknown(head.method, bytes(head.params)) if is_one else None
