"""What the history is made of.

A block is one piece of the conversation: a paragraph, a piece of code, a card. It keeps its source
and paints itself for a width when it comes into view; `version` tells that it must be painted anew.
All text that a block is given is made inert in it, before anything else happens with it.
"""

from __future__ import annotations

import re
from typing import Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

from msgspec import Struct
from rich.style import Style
from textual.strip import Strip

from parley._display_text import sanitize_text

from .lines import Line, chop, clip, fill, indent, plain_rows, strips, wrap
from .painting import Look
from .syntax import coloured, lexer_for

__all__ = [
    "Block",
    "Code",
    "Foldable",
    "Kind",
    "Note",
    "Said",
    "bounded",
    "can_fold",
    "capped",
    "one_line",
]

MAX_CHARS = 100_000
"""How much of one text is ever painted."""
MAX_LINE_CHARS = 5_000
"""How much of a text that stays on one line, as a title; every path is shorter."""

Kind: TypeAlias = Literal["info", "good", "warning", "error"]
"""How loudly something is said."""

_SAID_CHARS = 4_000
_LINE_END = re.compile(r"\n[^\n]")
_NONE = Style.null()
_MARKS: dict[str, str] = {"info": "·", "good": "✓", "warning": "!", "error": "✗"}


class Block(Protocol):
    """One piece of the history."""

    version: int
    """Changes when it must be painted anew."""
    gap: int
    """How many empty lines stand before it."""

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Return all its lines; asked only when it is in view or nearly so."""
        ...

    def guess(self, width: int) -> int:
        """Return about how many lines it has, without painting it."""
        ...

    def plain(self) -> str:
        """Return its text, for copying, searching and screen readers."""
        ...


@runtime_checkable
class Foldable(Block, Protocol):
    """A block that can be shown short or whole."""

    is_folded: bool

    @property
    def can_fold(self) -> bool:
        """Whether there is a difference now."""
        ...


def can_fold(block: Block) -> TypeGuard[Foldable]:
    """Return whether a block can be folded now, faster than by its type: many are asked."""
    return getattr(block, "can_fold", False)


class Said:
    """Text as it is: what the user said, with a mark before it."""

    def __init__(self, text: str, mark: str = "▌ ", *, gap: int = 1) -> None:
        self.version = 0
        self.gap = gap
        self._mark = mark
        self._text = sanitize_text(text)

    def append(self, text: str) -> list[Said]:
        """Add what else was said; what is too long for one block becomes those that follow it."""
        self._text += sanitize_text(text)
        self.version += 1
        *whole, last = _cut(self._text)
        if not whole:
            return []
        self._text, *others = [*whole, last]
        return [Said(each, self._mark, gap=0) for each in others]

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Return its lines on the ground of what the user says."""
        inner = max(width - len(self._mark), 1)
        rows = plain_rows(self._text.rstrip("\n"), _NONE)
        body = [line for row in rows for line in wrap(row, inner)]
        marked = indent(body, (self._mark, look.accent))
        return strips(fill(line, width, look.user) for line in marked)

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return self._text.count("\n") + len(self._text) // width + 1

    def plain(self) -> str:
        """Return what was said."""
        return self._text


class Note:
    """A line or two that Parley or the agent says beside the conversation."""

    def __init__(self, text: str, kind: Kind | str = "info", *, more: str = "") -> None:
        self.version = 0
        self.gap = 1
        self._text = one_line(text)
        self._more = bounded(more)
        self._kind = kind

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Return the text behind a mark."""
        style = {
            "good": look.good,
            "warning": look.warning,
            "error": look.bad,
        }.get(self._kind, look.faint)
        body = wrap([(self._text, style)], width - 2)
        rows = plain_rows(self._more, look.faint) if self._more else []
        body += [line for row in rows for line in wrap(row, width - 2)]
        return strips(indent(body, (f"{_MARKS.get(self._kind, '·')} ", style)))

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return len(self._text + self._more) // width + self._more.count("\n") + 1

    def plain(self) -> str:
        """Return the text."""
        return f"{self._text}\n{self._more}" if self._more else self._text


class Code(Struct):
    """A piece of code, coloured once it is whole."""

    code: str
    """It is inert already."""
    language: str = ""
    is_open: bool = False
    gap: int = 1
    version: int = 0

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Return the code on its own ground."""
        return strips(self.rows(width, look))

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return the lines, not yet as strips."""
        lexer = None if self.is_open else lexer_for(self.language)
        rows = coloured(self.code, lexer, look)
        body = [line for row in rows for line in chop(row, max(width - 2, 1))]
        return [fill(line, width, look.fence) for line in indent(body, (" ", _NONE))]

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return self.code.count("\n") + 1

    def plain(self) -> str:
        """Return the code."""
        return self.code


def _cut(text: str) -> list[str]:
    """Cut a long text at ends of lines: what is changed is painted as a whole."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > _SAID_CHARS:
        room = text[start : start + _SAID_CHARS]
        found = _LINE_END.search(room[::-1])  # no empty line is left at the end of a piece
        end = len(room) if found is None else len(room) - found.end() + 1
        pieces.append(room[:end])
        start += end if found is None else end + 1
    return [*pieces, text[start:]]


def bounded(text: str) -> str:
    """Return inert text, and where it is longer than anybody reads, how much is left out."""
    if len(text) <= MAX_CHARS:
        return sanitize_text(text)
    return f"{sanitize_text(text[:MAX_CHARS])}\n… {len(text) - MAX_CHARS:,} more characters"


def one_line(text: str) -> str:
    """Return inert text on one line, and where it is long for one, how much is left out."""
    if len(text) <= MAX_LINE_CHARS:
        return sanitize_text(text, is_line=True)
    shown = sanitize_text(text[:MAX_LINE_CHARS], is_line=True)
    return f"{shown}… {len(text) - MAX_LINE_CHARS:,} more characters"


def capped(
    lines: list[Line],
    most: int,
    width: int,
    look: Look,
    *,
    keeps_end: bool = False,
    unpainted: int = 0,
) -> list[Line]:
    """Return at most so many lines, and one that tells how many more there are.

    Args:
        lines: What there is.
        most: How many of them.
        width: For how many cells.
        look: With which styles.
        keeps_end: Whether the last ones are shown, not the first.
        unpainted: How many more lines there would be, if more than `most` are given.
    """
    hidden = len(lines) + unpainted - most
    if hidden <= 1:  # the line that tells would be as long
        return lines
    told = clip([(f"… {hidden:,} more lines", look.faint)], width)
    return [told, *lines[hidden:]] if keeps_end else [*lines[:most], told]
