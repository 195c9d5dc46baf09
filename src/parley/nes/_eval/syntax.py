"""Syntax errors of a text, counted by tree-sitter; none where it is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from parley._languages import language_id_of
from parley.nes._syntax import language_of, parse


def errors_in(path: str, lines: Sequence[str]) -> int:
    """Return how many syntax errors a file has; 0 if there is no parser for it."""
    return _errors(language_of(language_id_of(path), ""), "".join(lines))


@lru_cache(maxsize=8)
def _errors(language: str, text: str) -> int:
    tree = parse("", language, text, keep=False)
    return 0 if tree is None else tree.errors()
