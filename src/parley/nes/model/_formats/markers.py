"""Numbered marks between blocks of lines, by which a model says which of them it rewrites.

`<|marker_2|>new lines<|marker_3|>` puts new lines where the second block was; the same mark twice
means that nothing is to be changed.
"""

from __future__ import annotations

import re
from itertools import pairwise

_MARK = re.compile(r"<\|marker_(\d{1,3})\|>")
_LEAST, _MOST = 6, 16


def blocks_of(text: str) -> list[str]:
    """Divide a text into blocks of 6 to 16 lines, if possible where a line is empty."""
    lines = text.splitlines(keepends=True)
    blocks: list[str] = []
    start = 0
    for line in range(1, len(lines)):
        size, left = line - start, len(lines) - line
        is_gap = not lines[line - 1].strip() and bool(lines[line].strip())
        if (size >= _LEAST and is_gap and left >= _LEAST) or size >= _MOST:
            blocks.append("".join(lines[start:line]))
            start = line
    return [*blocks, "".join(lines[start:])]


def marked(text: str, cursor: int, token: str) -> str:
    """Put the marks into a text, and a token where the cursor is."""
    written: list[str] = []
    offset = 0
    is_placed = False
    for number, block in enumerate(blocks_of(text), 1):
        written.append(f"<|marker_{number}|>")
        place = cursor - offset
        if not is_placed and place <= len(block):
            is_placed = True
            written.append(block[:place] + token + block[place:])
        else:
            written.append(block)
        offset += len(block)
    return "".join((*written, f"<|marker_{len(blocks_of(text)) + 1}|>"))


def rewritten(text: str, answer: str) -> str | None:
    """Return the text with the blocks that an answer rewrites; None if it makes no sense."""
    marks = list(_MARK.finditer(answer))
    if len(marks) < 2:
        return None
    first, last = int(marks[0][1]), int(marks[-1][1])
    blocks = blocks_of(text)
    if not 1 <= first < last <= len(blocks) + 1:
        return None
    new = "".join(answer[one.end() : other.start()] for one, other in pairwise(marks))
    return "".join((*blocks[: first - 1], new, *blocks[last - 1 :]))
