"""Syntax highlighting by Pygments, in the styles of a `Theme`.

Long code and very long lines stay without colours: a lexer consists of regular expressions, and an
agent chooses their input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import PurePath
from typing import TypeAlias, cast

from pygments import lexers
from pygments.lexer import Lexer
from pygments.util import ClassNotFound
from rich.style import Style

from .lines import TAB_CELLS, Run, plain_rows
from .theme import Theme

__all__ = ["highlight_code", "lexer_for_language", "lexer_for_path"]

_MAX_CHARS = 20_000
_MAX_LINE_CHARS = 400

_Kind: TypeAlias = tuple[str, ...]
_NONE = Style.null()
_named = cast("Callable[..., Lexer]", getattr(lexers, "get_lexer_by_name"))  # noqa: B009 - untyped
_for_file = cast("Callable[..., Lexer]", getattr(lexers, "get_lexer_for_filename"))  # noqa: B009
_styles: dict[tuple[int, _Kind], Style] = {}


@lru_cache(64)
def lexer_for_language(language: str) -> Lexer | None:
    """Return the lexer for the language of a fence."""
    try:
        return _named(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def lexer_for_path(path: str) -> Lexer | None:
    """Return the lexer for a file name."""
    name = PurePath(path).name
    return _lexer_of_suffix(f"x{PurePath(name).suffix}" if "." in name else name)


@lru_cache(64)
def _lexer_of_suffix(name: str) -> Lexer | None:
    try:
        return _for_file(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def highlight_code(code: str, lexer: Lexer | None, theme: Theme) -> list[list[Run]]:
    """Return code as rows, highlighted if there is a lexer and the code is short."""
    code = code.expandtabs(TAB_CELLS)
    is_long = len(code) > _MAX_CHARS or max(map(len, code.split("\n"))) > _MAX_LINE_CHARS
    if lexer is None or is_long or not theme.syntax:
        return plain_rows(code, _NONE)
    rows: list[list[Run]] = [[]]
    # Pygments carries no types: a token is its kind, a tuple of words, and its text.
    for kind, text in cast("Iterable[tuple[_Kind, str]]", lexer.get_tokens(code)):
        style = _style(kind, theme)
        head, *others = text.split("\n")
        if head:
            rows[-1].append((head, style))
        for other in others:
            rows.append([(other, style)] if other else [])
    return rows


def _style(kind: _Kind, theme: Theme) -> Style:
    key = (id(theme), kind)
    if key not in _styles:
        _styles[key] = _find_style(kind, theme)
    return _styles[key]


def _find_style(kind: _Kind, theme: Theme) -> Style:
    for length in range(len(kind), 0, -1):
        style = theme.syntax.get(".".join(kind[:length]))
        if style is not None:
            return style
    return _NONE
