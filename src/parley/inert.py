"""Text of an agent made harmless for a terminal.

A terminal obeys control characters: they move the cursor, set the clipboard and the title, and make
the terminal type answers. Here each becomes a symbol that can be seen. So do the characters that
turn the direction of text around or have no width, which can make a command look like another one.
"""

from __future__ import annotations

__all__ = ["inert"]

_SYMBOLS = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    # A C1 control is the same as ESC and the character 0x40 below it.
    **{code: f"\N{SYMBOL FOR ESCAPE}{chr(code - 0x40)}" for code in range(0x80, 0xA0)},
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}"),
    # Marks of direction, and what has no width: a command could hide them. Joiners make emoji.
    **dict.fromkeys((0x061C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF), "\N{REPLACEMENT CHARACTER}"),
}


def inert(text: str, *, is_line: bool = False) -> str:
    """Return text that no terminal obeys.

    Args:
        text: Anything.
        is_line: Whether it has to stay on one line; then newlines and tabs become blanks.
    """
    text = text.replace("\r\n", "\n").translate(_SYMBOLS)
    return " ".join(text.split()) if is_line else text
