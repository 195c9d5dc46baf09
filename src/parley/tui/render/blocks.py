"""The blocks that a history consists of.

A block is one piece of the conversation: a paragraph, a piece of code, a card. It keeps its source
and paints itself for a width when it comes into view; a new `version` means that it must be painted
again. A block sanitizes its text before it does anything else with it.
"""

from __future__ import annotations

import re
from typing import Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

from msgspec import Struct
from rich.style import Style
from textual.strip import Strip

from parley._display_text import sanitize_text

from .lines import Line, chop, clip, fill, indent, plain_rows, strips, wrap
from .syntax import highlight_code, lexer_for_language
from .theme import Theme

__all__ = [
    "Block",
    "CodeBlock",
    "Foldable",
    "Kind",
    "Note",
    "UserBlock",
    "can_fold",
    "one_line",
    "truncate_lines",
    "truncate_text",
]

MAX_CHARS = 100_000
"""The maximum length of a text that is painted."""
MAX_LINE_CHARS = 5_000
"""The maximum length of a text on one line, such as a title; every path is shorter."""

Kind: TypeAlias = Literal["info", "good", "warning", "error"]
"""The severity of a note."""

_SAID_CHARS = 4_000
_LINE_END = re.compile(r"\n[^\n]")
_NONE = Style.null()
_MARKS: dict[str, str] = {"info": "·", "good": "✓", "warning": "!", "error": "✗"}


class Block(Protocol):
    """A piece of the history."""

    version: int
    """Changes when the block must be painted again."""
    gap: int
    """The number of empty lines before it."""

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        """Return all its lines; called only for blocks near the view."""
        ...

    def guess(self, width: int) -> int:
        """Estimate the number of lines without painting it."""
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
        """Return whether there is a difference now."""
        ...


def can_fold(block: Block) -> TypeGuard[Foldable]:
    """Return whether a block can be folded now; faster than a check of its type."""
    return getattr(block, "can_fold", False)


class UserBlock:
    """A message of the user: plain text after a mark."""

    def __init__(self, text: str, mark: str = "▌ ", *, gap: int = 1) -> None:
        self.version = 0
        self.gap = gap
        self._mark = mark
        self._text = sanitize_text(text)

    def append(self, text: str) -> list[UserBlock]:
        """Append text; return further blocks if it is too long for one."""
        self._text += sanitize_text(text)
        self.version += 1
        *whole, last = _cut(self._text)
        if not whole:
            return []
        self._text, *others = [*whole, last]
        return [UserBlock(each, self._mark, gap=0) for each in others]

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        """Return its lines on the background of user messages."""
        inner = max(width - len(self._mark), 1)
        rows = plain_rows(self._text.rstrip("\n"), _NONE)
        body = [line for row in rows for line in wrap(row, inner)]
        marked = indent(body, (self._mark, theme.accent))
        return strips(fill(line, width, theme.user) for line in marked)

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return self._text.count("\n") + len(self._text) // width + 1

    def plain(self) -> str:
        """Return the text."""
        return self._text


class Note:
    """A line or two of Parley or the agent that are not part of a message."""

    def __init__(self, text: str, kind: Kind | str = "info", *, more: str = "") -> None:
        self.version = 0
        self.gap = 1
        self._text = one_line(text)
        self._more = truncate_text(more)
        self._kind = kind

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        """Return the text after a mark."""
        style = {
            "good": theme.good,
            "warning": theme.warning,
            "error": theme.bad,
        }.get(self._kind, theme.faint)
        body = wrap([(self._text, style)], width - 2)
        rows = plain_rows(self._more, theme.faint) if self._more else []
        body += [line for row in rows for line in wrap(row, width - 2)]
        return strips(indent(body, (f"{_MARKS.get(self._kind, '·')} ", style)))

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return len(self._text + self._more) // width + self._more.count("\n") + 1

    def plain(self) -> str:
        """Return the text."""
        return f"{self._text}\n{self._more}" if self._more else self._text


class CodeBlock(Struct):
    """A piece of code, highlighted once it is complete."""

    code: str
    """The code, inert already."""
    language: str = ""
    is_open: bool = False
    gap: int = 1
    version: int = 0

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        """Return the code on its own background."""
        return strips(self.rows(width, theme))

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the lines, not yet as strips."""
        lexer = None if self.is_open else lexer_for_language(self.language)
        rows = highlight_code(self.code, lexer, theme)
        body = [line for row in rows for line in chop(row, max(width - 2, 1))]
        return [fill(line, width, theme.fence) for line in indent(body, (" ", _NONE))]

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return self.code.count("\n") + 1

    def plain(self) -> str:
        """Return the code."""
        return self.code


def _cut(text: str) -> list[str]:
    """Split a long text at line ends: a block that changes is painted as a whole."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > _SAID_CHARS:
        room = text[start : start + _SAID_CHARS]
        found = _LINE_END.search(room[::-1])  # no empty line is left at the end of a piece
        end = len(room) if found is None else len(room) - found.end() + 1
        pieces.append(room[:end])
        start += end if found is None else end + 1
    return [*pieces, text[start:]]


def truncate_text(text: str) -> str:
    """Return inert text, cut at a limit with the number of characters that are left out."""
    if len(text) <= MAX_CHARS:
        return sanitize_text(text)
    return f"{sanitize_text(text[:MAX_CHARS])}\n… {len(text) - MAX_CHARS:,} more characters"


def one_line(text: str) -> str:
    """Return inert text on one line, cut with the number of characters that are left out."""
    if len(text) <= MAX_LINE_CHARS:
        return sanitize_text(text, is_line=True)
    shown = sanitize_text(text[:MAX_LINE_CHARS], is_line=True)
    return f"{shown}… {len(text) - MAX_LINE_CHARS:,} more characters"


def truncate_lines(
    lines: list[Line],
    most: int,
    width: int,
    theme: Theme,
    *,
    keeps_end: bool = False,
    unpainted: int = 0,
) -> list[Line]:
    """Return lines up to a limit, and a line with the number of those that are left out.

    Args:
        lines: The lines.
        most: The limit.
        width: The available cells.
        theme: The styles.
        keeps_end: Whether the last lines are kept instead of the first.
        unpainted: The number of further lines that were not painted.
    """
    hidden = len(lines) + unpainted - most
    if hidden <= 1:  # the line with the number would take the same room
        return lines
    hidden_line = clip([(f"… {hidden:,} more lines", theme.faint)], width)
    return [hidden_line, *lines[hidden:]] if keeps_end else [*lines[:most], hidden_line]
