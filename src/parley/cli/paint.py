"""Output for a terminal: colours where they can be seen, and lines that fit.

Colours are seen on a terminal, unless NO_COLOR is set.
"""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata

from parley._display_text import sanitize_text

__all__ = [
    "COLOURS",
    "begin_of",
    "cells_of",
    "cut_row",
    "fitted",
    "painted",
    "terminal_size",
]

COLOURS = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}
"""The codes that a terminal knows for a colour."""


def painted(text: str, colour: str) -> str:
    """Return text for stdout in a colour, if stdout shows colours."""
    is_seen = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    code = COLOURS.get(colour, "") if is_seen else ""
    return f"\x1b[{code}m{text}\x1b[0m" if code and text.strip() else text


def fitted(text: str, indent: int = 0) -> str:
    """Return inert text on one line, cut where the terminal ends; elsewhere it is not cut."""
    line = sanitize_text(text, is_line=True)
    if not sys.stdout.isatty():
        return line
    room = max(20, shutil.get_terminal_size().columns - indent)
    return line if len(line) <= room else f"{line[: room - 1]}…"


def terminal_size() -> os.terminal_size:
    """Return the columns and lines of the terminal that stderr is, else of the usual one."""
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):  # it is not one, or is closed
        return shutil.get_terminal_size()
    # A terminal that nobody has given a size, such as that of some remote shells, has 0 columns.
    return size if size.columns > 0 and size.lines > 0 else shutil.get_terminal_size()


def cut_row(text: str, cells: int) -> str:
    """Return a text that fits in one row; if it does not, say how much is not shown."""
    if begin_of(text, cells) == text:
        return text
    note = " … {:,} more characters"
    row = begin_of(text, cells - len(note.format(len(text))))
    return row + note.format(len(text) - len(row))


def begin_of(text: str, cells: int) -> str:
    """Return as much of a text as fits into this many cells; at least one character."""
    for at, character in enumerate(text):
        cells -= _cells(character)
        if cells < 0 and at:
            return text[:at]
    return text


def cells_of(text: str) -> int:
    """Return how many cells a text takes at most."""
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    """Return how wide a terminal draws a character, at most."""
    if character.isascii() or character == "\ufe0f":  # which makes a symbol an emoji, and wider
        return 1
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return 0
    is_wide = category == "Cn" or unicodedata.east_asian_width(character) in "WF"
    return 2 if is_wide else 1
