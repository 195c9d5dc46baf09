"""What reading names is in every language: a piece of a tree, and where its nodes are in it."""

from __future__ import annotations

from typing import Any

from .scopes import Budget, Reading, packed

__all__ = ["Walk", "text_of"]


class Walk:
    """Reads a piece of a tree; places are counted from the piece's first line."""

    def __init__(self, chunk: Reading, top: int, budget: Budget) -> None:
        self.chunk = chunk
        self.top = top
        self.budget = budget

    def place(self, node: Any) -> int:
        """Return where a node begins, as a number."""
        line, column = node.start_point
        return packed(line - self.top, column)

    def line(self, node: Any) -> int:
        """Return in which line a node begins."""
        return int(node.start_point[0]) - self.top


def text_of(node: Any) -> str:
    """Return the text of a node; nothing if there is none."""
    return node.text.decode("utf-8", "replace") if node is not None else ""
