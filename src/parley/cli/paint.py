"""What a terminal shows: colours where they can be seen, lines that fit, JSON that it cannot obey.

Colours are seen on a terminal, unless NO_COLOR is set.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import msgspec

from parley.inert import inert

from .parts import COLOURS

__all__ = ["fitted", "painted", "print_json"]

_ESCAPES = {
    code: f"\\u{code:04x}"
    for code in (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}
"""What JSON does not escape and a terminal obeys: DEL, the C1 controls, what turns text around."""


def painted(text: str, colour: str) -> str:
    """Return text for stdout in a colour, if stdout shows colours."""
    is_seen = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    code = COLOURS.get(colour, "") if is_seen else ""
    return f"\x1b[{code}m{text}\x1b[0m" if code and text.strip() else text


def fitted(text: str, indent: int = 0) -> str:
    """Return inert text on one line, cut where the terminal ends; elsewhere it is not cut."""
    line = inert(text, is_line=True)
    if not sys.stdout.isatty():
        return line
    room = max(20, shutil.get_terminal_size().columns - indent)
    return line if len(line) <= room else f"{line[: room - 1]}…"


def print_json(value: Any, *, is_line: bool = False) -> None:
    """Print a value as JSON, on several lines unless it is to be one."""
    data = msgspec.json.encode(value)
    text = data if is_line else msgspec.json.format(data)
    print(text.decode().translate(_ESCAPES), flush=True)
