"""A piece of Markdown as a block.

Nothing is lost and nothing is executed: a link shows its target, an image its description and its
address, HTML is text. A line break in the source stays one. Below a minimum width, nested parts are
not indented further.
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

from .blocks import CodeBlock
from .lines import Line, Run, indent, plain_rows, strips, wrap
from .tables import table_lines
from .theme import Theme

__all__ = ["MAX_NESTING", "MarkdownBlock", "markdown_lines"]

MAX_NESTING = 100
"""The maximum nesting: the parser would drop deeper parts and everything after them."""
_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    .enable(["table", "strikethrough"])
    .disable(["reference"])  # a piece does not know the others
)
_NONE = Style.null()
_MIN_WIDTH = 16
"""Below this width, nothing is indented further."""
_BULLETS = ("• ", "◦ ", "▪ ")


class MarkdownBlock(Struct):
    """A paragraph, a heading, an item of a list: one piece of Markdown."""

    source: str
    """The Markdown, inert already."""
    number: int | None = None
    """The number of an item of a numbered list."""
    gap: int = 1
    version: int = 0

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        """Return the painted lines."""
        return strips(markdown_lines(self.source, width, theme, number=self.number))

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return self.source.count("\n") + len(self.source) // width + 1

    def plain(self) -> str:
        """Return the source."""
        return self.source


def markdown_lines(
    source: str, width: int, theme: Theme, *, number: int | None = None, style: Style = _NONE
) -> list[Line]:
    """Return Markdown as lines; if it is nested too deeply, the source.

    Args:
        source: The Markdown, inert already.
        width: The available cells.
        theme: The styles.
        number: The number of the first list item, if it is not the one in the source.
        style: The style of plain text.
    """
    tokens = _MARKDOWN.parse(source)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        return [line for row in plain_rows(source, style) for line in wrap(row, width)]
    return _TokenRenderer(tokens, theme, number, style).blocks(width, until=None)


class _TokenRenderer:
    """Renders tokens as lines; each method consumes the tokens that it renders."""

    def __init__(
        self, tokens: Sequence[Token], theme: Theme, number: int | None, style: Style
    ) -> None:
        self._tokens = tokens
        self._at = 0
        self._theme = theme
        self._number = number
        self._style = style
        self._depth = 0

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def blocks(self, width: int, *, until: str | None) -> list[Line]:
        """Return the lines of the tokens up to a closing token."""
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
        lines = self._inline(width, self._theme.heading, "heading_close")
        level = int(token.tag[1:])
        if self._theme.has_colours and level < 3:
            return lines
        return indent(lines, ("#" * level + " ", self._theme.faint))

    def _inline(self, width: int, style: Style, until: str) -> list[Line]:
        lines: list[Line] = []
        while (token := self._next()).type != until:
            if token.children:
                rows = _rows(token.children, style, self._theme)
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
            marked = (mark(number), self._theme.accent)
            inner = width - len(marked[0])
            body = self.blocks(max(inner, _MIN_WIDTH), until="list_item_close")
            lines += indent(body or [[]], marked, None if inner >= _MIN_WIDTH else ("", _NONE))
            number += 1
        self._depth -= 1
        return lines

    def _quote(self, _token: Token, width: int) -> list[Line]:
        outer, self._style = self._style, self._style + self._theme.quote
        body = self.blocks(max(width - 2, _MIN_WIDTH), until="blockquote_close")
        self._style = outer
        bar = ("▎ " if width - 2 >= _MIN_WIDTH else "", self._theme.faint)
        return indent(body or [[]], bar, bar)

    def _code(self, token: Token, width: int) -> list[Line]:
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
        return CodeBlock(token.content.rstrip("\n"), language).rows(width, self._theme)

    def _rule(self, _token: Token, width: int) -> list[Line]:
        return wrap([("─" * min(width, 40), self._theme.faint)], width)

    def _table(self, _token: Token, width: int) -> list[Line]:
        rows: list[list[list[Run]]] = []
        right: set[int] = set()
        while (token := self._next()).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open" and token.attrGet("style") == "text-align:right":
                right.add(len(rows[-1]))
            elif token.type == "inline":
                style = self._theme.strong if len(rows) == 1 else self._style
                cell = _rows(token.children or [], style, self._theme)
                rows[-1].append([run for row in cell for run in row])
        return table_lines(rows, width, self._theme, right)

    _paints: ClassVar[dict[str, Callable[[_TokenRenderer, Token, int], list[Line]]]] = {
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


def _rows(tokens: Sequence[Token], base: Style, theme: Theme) -> list[list[Run]]:
    """Return the content of a paragraph as rows, one for each line of the source."""
    rows: list[list[Run]] = [[]]
    styles = [base]
    opened = {
        "strong_open": theme.strong,
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
            styles.append(style + theme.link)
        elif token.type == "link_close":
            target, since = targets.pop()
            styles.pop()
            shown = "".join([text for text, _ in rows[-1][since:]])
            if target.removeprefix("mailto:") != shown:
                rows[-1].append((f" ({_inert(target)})", styles[-1] + theme.faint))
        elif token.nesting == -1:
            styles.pop()
        elif token.type in ("softbreak", "hardbreak"):
            rows.append([])
        else:
            rows[-1] += _leaf(token, style, theme)
    return rows


def _leaf(token: Token, style: Style, theme: Theme) -> list[Run]:
    text = _inert(token.content)
    if token.type == "code_inline":
        return [(text, style + theme.code)]
    if token.type == "image":
        source = _inert(str(token.attrs.get("src", "")))
        return [(f"[image: {text}]", style), (f" ({source})", style + theme.faint)]
    return [(text, style)] if text else []


def _inert(text: str) -> str:
    """Make text inert again: it may have contained control characters as entities."""
    return sanitize_text(text).replace("\t", " ").replace("\n", " ")
