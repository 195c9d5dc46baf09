"""Custom notifications: extensions of the protocol, shown for what they are.

They belong to no session and change no transcript. The journal has them like every frame.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from parley.rpc._framing import Frame
from parley.schema.base import Unknown

__all__ = ["custom_notification"]

_HEAD_BYTES = 256
"""The part of a frame that contains the name of the method, in any known program."""
_may_be_custom = re.compile(rb'"method"\s*:\s*"_').search


class _Head(Struct):
    method: str = ""
    id: Raw | UnsetType = UNSET
    params: Raw = Raw(b"{}")


def custom_notification(frame: Frame) -> Unknown | None:
    """Return a custom notification as an update of an unknown kind; None for any other frame."""
    if not _may_be_custom(frame, 0, _HEAD_BYTES):
        return None
    try:
        head = msgspec.json.decode(frame, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_custom = head.method.startswith("_") and head.id is UNSET
    return Unknown(head.method, bytes(head.params)) if is_custom else None
