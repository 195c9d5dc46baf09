"""A piece of Markdown painted as lines.

Nothing is lost and nothing is obeyed: a link shows its target, an image is its words and its
address, HTML is text. A line break in the source stays one. What is nested too deep for the width
goes on without further indentation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct
from rich.style import Style
from textual.strip import Strip

from parley._display_text import sanitize_text

from .blocks import Code
from .lines import Line, Run, indent, plain_rows, strips, wrap
from .painting import Look
from .tables import table_lines

__all__ = ["DEEPEST", "Prose", "prose_lines"]

DEEPEST = 100
"""How deep Markdown is read: the parser drops what is nested deeper, and what follows it."""
_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    .enable(["table", "strikethrough"])
    .disable(["reference"])  # a piece does not know the others
)
_NONE = Style.null()
_LEAST_WIDTH = 16
"""Below this, nothing is indented any more."""
_BULLETS = ("• ", "◦ ", "▪ ")


class Prose(Struct):
    """A paragraph, a heading, an item of a list: one piece of Markdown."""

    source: str
    """The Markdown, inert already."""
    number: int | None = None
    """For an item of a numbered list, which one it is."""
    gap: int = 1
    version: int = 0

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Return it painted."""
        return strips(prose_lines(self.source, width, look, number=self.number))

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return self.source.count("\n") + len(self.source) // width + 1

    def plain(self) -> str:
        """Return the source."""
        return self.source


def prose_lines(
    source: str, width: int, look: Look, *, number: int | None = None, style: Style = _NONE
) -> list[Line]:
    """Paint Markdown; where it is nested too deep to be read, as it is written.

    Args:
        source: The Markdown, inert already.
        width: How long lines may be.
        look: The colours.
        number: What the first item of a first, numbered list is called instead of its own number.
        style: What text looks like that is nothing special.
    """
    tokens = _MARKDOWN.parse(source)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return [line for row in plain_rows(source, style) for line in wrap(row, width)]
    return _Page(tokens, look, number, style).blocks(width, until=None)


class _Page:
    """Tokens on their way to lines; each method takes the tokens of what it paints."""

    def __init__(
        self, tokens: Sequence[Token], look: Look, number: int | None, style: Style
    ) -> None:
        self._tokens = tokens
        self._at = 0
        self._look = look
        self._number = number
        self._style = style
        self._depth = 0

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def blocks(self, width: int, *, until: str | None) -> list[Line]:
        """Paint what follows, up to a token that closes it."""
        lines: list[Line] = []
        is_loose = False
        while self._at < len(self._tokens):
            token = self._next()
            if token.type == until:
                break
            paint = self._paints.get(token.type)
            if paint is None:
                continue
            painted = paint(self, token, width)
            is_tight = token.hidden or (lines and not is_loose and token.type.endswith("list_open"))
            if lines and not is_tight:
                lines.append([])
            is_loose = not token.hidden
            lines += painted
        return lines

    def _paragraph(self, token: Token, width: int) -> list[Line]:
        return self._inline(width, self._style, f"{token.type.removesuffix('open')}close")

    def _heading(self, token: Token, width: int) -> list[Line]:
        lines = self._inline(width, self._look.heading, "heading_close")
        level = int(token.tag[1:])
        if self._look.has_colours and level < 3:
            return lines
        return indent(lines, ("#" * level + " ", self._look.faint))

    def _inline(self, width: int, style: Style, until: str) -> list[Line]:
        lines: list[Line] = []
        while (token := self._next()).type != until:
            if token.children:
                rows = _rows(token.children, style, self._look)
                lines += [line for row in rows for line in wrap(row, width)]
        return lines

    def _bullets(self, _token: Token, width: int) -> list[Line]:
        bullet = _BULLETS[min(self._depth, len(_BULLETS) - 1)]
        return self._items(width, "bullet_list_close", lambda _: bullet)

    def _numbers(self, token: Token, width: int) -> list[Line]:
        start = int(token.attrs.get("start", 1))
        if self._number is not None:
            start, self._number = self._number, None
        return self._items(width, "ordered_list_close", lambda number: f"{start + number}. ")

    def _items(self, width: int, until: str, mark: Callable[[int], str]) -> list[Line]:
        lines: list[Line] = []
        number = 0
        self._depth += 1
        while self._next().type != until:
            first = self._tokens[self._at]
            if lines and first.type == "paragraph_open" and not first.hidden:
                lines.append([])
            marked = (mark(number), self._look.accent)
            inner = width - len(marked[0])
            body = self.blocks(max(inner, _LEAST_WIDTH), until="list_item_close")
            lines += indent(body or [[]], marked, None if inner >= _LEAST_WIDTH else ("", _NONE))
            number += 1
        self._depth -= 1
        return lines

    def _quote(self, _token: Token, width: int) -> list[Line]:
        outer, self._style = self._style, self._style + self._look.quote
        body = self.blocks(max(width - 2, _LEAST_WIDTH), until="blockquote_close")
        self._style = outer
        bar = ("▎ " if width - 2 >= _LEAST_WIDTH else "", self._look.faint)
        return indent(body or [[]], bar, bar)

    def _code(self, token: Token, width: int) -> list[Line]:
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
        return Code(token.content.rstrip("\n"), language).rows(width, self._look)

    def _rule(self, _token: Token, width: int) -> list[Line]:
        return wrap([("─" * min(width, 40), self._look.faint)], width)

    def _table(self, _token: Token, width: int) -> list[Line]:
        rows: list[list[list[Run]]] = []
        right: set[int] = set()
        while (token := self._next()).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open" and token.attrGet("style") == "text-align:right":
                right.add(len(rows[-1]))
            elif token.type == "inline":
                style = self._look.strong if len(rows) == 1 else self._style
                cell = _rows(token.children or [], style, self._look)
                rows[-1].append([run for row in cell for run in row])
        return table_lines(rows, width, self._look, right)

    _paints: ClassVar[dict[str, Callable[[_Page, Token, int], list[Line]]]] = {
        "paragraph_open": _paragraph,
        "heading_open": _heading,
        "bullet_list_open": _bullets,
        "ordered_list_open": _numbers,
        "blockquote_open": _quote,
        "fence": _code,
        "code_block": _code,
        "hr": _rule,
        "table_open": _table,
    }


def _rows(tokens: Sequence[Token], base: Style, look: Look) -> list[list[Run]]:
    """Return what stands in a paragraph as rows, one per line of the source."""
    rows: list[list[Run]] = [[]]
    styles = [base]
    opened = {
        "strong_open": look.strong,
        "em_open": Style(italic=True),
        "s_open": Style(strike=True),
    }
    targets: list[tuple[str, int]] = []
    for token in tokens:
        style = styles[-1]
        if token.type in opened:
            styles.append(style + opened[token.type])
        elif token.type == "link_open":
            targets.append((str(token.attrs.get("href", "")), len(rows[-1])))
            styles.append(style + look.link)
        elif token.type == "link_close":
            target, since = targets.pop()
            styles.pop()
            shown = "".join([text for text, _ in rows[-1][since:]])
            if target.removeprefix("mailto:") != shown:
                rows[-1].append((f" ({_inert(target)})", styles[-1] + look.faint))
        elif token.nesting == -1:
            styles.pop()
        elif token.type in ("softbreak", "hardbreak"):
            rows.append([])
        else:
            rows[-1] += _leaf(token, style, look)
    return rows


def _leaf(token: Token, style: Style, look: Look) -> list[Run]:
    text = _inert(token.content)
    if token.type == "code_inline":
        return [(text, style + look.code)]
    if token.type == "image":
        source = _inert(str(token.attrs.get("src", "")))
        return [(f"[image: {text}]", style), (f" ({source})", style + look.faint)]
    return [(text, style)] if text else []


def _inert(text: str) -> str:
    """Make text inert once more: a character may have been written as an entity."""
    return sanitize_text(text).replace("\t", " ").replace("\n", " ")
