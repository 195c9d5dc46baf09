"""JSON on stdout, with every character escaped that a terminal obeys or that nobody sees."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from parley._display_text import HIDDEN

__all__ = ["print_json"]

_ORDINARY = frozenset((0x200C, 0x200D, 0xFE0E, 0xFE0F))
"""Invisible characters of ordinary text, such as emoji."""
_ESCAPES = {
    code: json.dumps(chr(code))[1:-1]
    for first, last in ((0x7F, 0x9F), *HIDDEN)
    for code in range(first, last + 1)
    if code not in _ORDINARY
}
"""What JSON does not escape and nobody sees, or a terminal obeys: DEL, C1, invisible characters."""


def print_json(value: Any, *, is_line: bool = False) -> None:
    """Print a value as JSON, on several lines unless it is to be one."""
    data = msgspec.json.encode(value)
    text = data if is_line else msgspec.json.format(data)
    print(text.decode().translate(_ESCAPES), flush=True)
