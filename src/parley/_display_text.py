"""Sanitizing of text from an agent, so that it is safe to display.

A terminal obeys control characters: they move the cursor, set the clipboard and the title, and make
the terminal type input. Each is replaced by a visible symbol.

Invisible characters make one command look like another, or carry instructions that only a model
reads. Each is replaced by U+FFFD, the replacement character. They are chosen by Unicode property:

- every code point with the property Default_Ignorable_Code_Point: bidirectional controls, tag
  characters, fillers, joiners, variation selectors, and the code points reserved for more of them;
- line and paragraph separators, interlinear annotations, and the format controls of hieroglyphs;
- the blank Braille pattern, which is drawn as nothing.

Some of them are part of ordinary writing and are kept where they have a meaning: joiners between
characters from U+0600 on (emoji, Arabic, the scripts of India), and one variation selector after a
symbol, an ideograph or a Mongolian letter. Spaces of any width are visible and kept.

The gateway's web page does the same (`gateway/page/text.js`); a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

_Ranges: TypeAlias = tuple[tuple[int, int], ...]

HIDDEN: _Ranges = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800)),
    *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB)),
    *((0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""First and last code point of each range of invisible characters."""
JOINED: _Ranges = ((0x0600, 0x10FFFF),)
"""Characters that a joiner can connect."""
SYMBOLS: _Ranges = ((0xA9, 0xA9), (0xAE, 0xAE), (0x203C, 0x3299), (0x1F000, 0x1FAFF))
"""Characters that can be drawn as text or as emoji."""
IDEOGRAPHS: _Ranges = ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
MONGOLIAN: _Ranges = ((0x1820, 0x18AA),)

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    # A C1 control is equivalent to ESC plus the character 0x40 below it.
    **{code: f"\N{SYMBOL FOR ESCAPE}{chr(code - 0x40)}" for code in range(0x80, 0xA0)},
}


def class_of(ranges: Iterable[tuple[int, int]]) -> str:
    """Return ranges of code points as the inside of a regex character class."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@cache
def _meaningful(start: str = "", end: str = "") -> re.Pattern[str]:
    """Return a pattern for an invisible character that has a meaning in its place.

    It is compiled when it is needed: that takes a tenth of the time in which a program starts.

    Args:
        start: An alternative to the characters required before it.
        end: An alternative to the characters required after it.
    """
    hidden = class_of(HIDDEN)
    joined, symbols = class_of(JOINED), class_of(SYMBOLS)
    ideographs, mongolian = class_of(IDEOGRAPHS), class_of(MONGOLIAN)
    kept = (
        rf"(?:(?<=\ufe0f)|(?<=[{joined}])(?<![{hidden}]){start})[\u200c\u200d]"
        rf"(?:(?=[{joined}])(?![{hidden}]){end})",
        rf"(?:(?<=[{symbols}])(?<![{hidden}]){start})[\ufe0e\ufe0f]",
        r"(?<=[0-9#*])\ufe0f(?=\u20e3)",
        rf"(?:(?<=[{ideographs}]){start})[\ufe00-\ufe02\U000e0100-\U000e01ef]",
        rf"(?:(?<=[{mongolian}]){start})[\u180b-\u180d\u180f]",
    )
    return re.compile("|".join(kept))


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(f"[{class_of(HIDDEN)}]")


def sanitize_text(text: str, *, is_line: bool = False) -> str:
    """Return text without control characters and invisible characters.

    Args:
        text: Any text. It may be a chunk of a stream: a joiner or a selector at its start or end is
            kept, because its neighbor may be in another chunk.
        is_line: Whether the text is complete and must fit on one line; then newlines and tabs
            become spaces.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii():
        text = text.translate(_CONTROLS)
    else:
        if _CONTROL.search(text):  # searching is faster than translating
            text = text.translate(_CONTROLS)
        text = _HIDDEN.sub(_shown_in_line if is_line else _shown_in_piece, text)
    return " ".join(text.split()) if is_line else text


def _shown_in_line(found: re.Match[str]) -> str:
    is_kept = _meaningful().match(found.string, found.start())
    return found[0] if is_kept else _REPLACEMENT


def _shown_in_piece(found: re.Match[str]) -> str:
    is_kept = _meaningful(r"|\A", r"|\Z").match(found.string, found.start())
    return found[0] if is_kept else _REPLACEMENT
