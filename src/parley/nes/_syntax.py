"""Syntax trees by tree-sitter, where its grammars are installed; nothing otherwise.

A tree is made from the last one of the same file, so a keystroke costs little. Offsets are bytes
of UTF-8 in the tree and code points everywhere else; `Tree` translates by line and column.

A parse cannot be interrupted, and takes about 150 ms for a megabyte. So a long file is parsed piece
by piece, each time from the tree of the pieces before: that is what `growing` does. Lines that no
person writes are not parsed at all.

Some broken texts take very much longer, because a grammar looks for a way out of an error again and
again. Of such a file there is no tree from then on, until `forget` is called: it is plain text.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from time import perf_counter, thread_time
from typing import Any

from parley._languages import LANGUAGE_IDS
from parley.nes._documents.ends import same_ends

logger = logging.getLogger(__name__)

_BY_ID = {
    "python": "python",
    "javascript": "javascript",
    "javascriptreact": "javascript",
    "typescript": "typescript",
    "typescriptreact": "tsx",
    "go": "go",
    "rust": "rust",
    "java": "java",
    "c": "c",
    "cpp": "cpp",
}
_GRAMMARS = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
MAX_BYTES = 500_000
"""A longer text is not parsed."""
_MOST_KEPT = 64
_MOST_KEPT_BYTES = 4_000_000
_PIECE = 8_000
"""The bytes that are parsed in the first step; the next steps are as large as time allows."""
_STEP = 0.003
_SLOW = 0.1
"""A file of which one parse takes longer, in seconds of CPU, is not parsed again."""
_MOST_SLOW = 1_000
_MARGIN = re.compile(rb"^(?=[^\s)\]}])", re.MULTILINE)
BEFORE = "#before"
"""Ends the name of a file as it was; the first tree of one as it is is made from that one's."""


def language_of(language_id: str, ending: str) -> str:
    """Return the language of a file by what the editor calls it, or by its name's ending."""
    by_name = LANGUAGE_IDS.get(ending.lower(), "")
    return _BY_ID.get(language_id) or _BY_ID.get(by_name, "")


class Tree:
    """A syntax tree, with its text."""

    def __init__(self, tree: Any, data: bytes) -> None:
        self.tree = tree
        self.data = data

    @property
    def root(self) -> Any:
        """The node of the whole file."""
        return self.tree.root_node

    def errors(self) -> int:
        """Count what could not be parsed."""
        return _errors(self.root)

    def kind_at(self, line: int, column: int, text: str) -> str:
        """Return the kind of the smallest node at a place of a line, whose text is given."""
        place = (line, len(text[:column].encode()))
        return str(self.root.descendant_for_point_range(place, place).type)

    def is_within(self, kind: str, line: int, column: int) -> bool:
        """Return whether a place is in a node of a kind; the column is in bytes."""
        node = self.root.descendant_for_point_range((line, column), (line, column))
        while node is not None and node.type != kind:
            node = node.parent
        return node is not None

    def is_prose(self, line: int, column: int, text: str) -> bool:
        """Return whether a place is in a string or in a comment."""
        kind = self.kind_at(line, column, text)
        return "string" in kind or "comment" in kind or kind in ("escape_sequence", "char_literal")


@cache
def _parser(language: str) -> Any:
    module, function = _GRAMMARS.get(language, (f"tree_sitter_{language}", "language"))
    try:
        base = import_module("tree_sitter")
        grammar = import_module(module)
    except ImportError as error:
        logger.warning(
            "%s: literal rules only without tree-sitter: pip install 'parley-acp[nes]'", language
        )
        logger.debug("%s", error)
        return None
    return base.Parser(base.Language(getattr(grammar, function)()))


class _Kept:
    """The last trees, by the names of their files and their languages."""

    def __init__(self) -> None:
        self._trees: OrderedDict[tuple[str, str], Tree] = OrderedDict()
        self._bytes = 0

    def get(self, name: str, language: str) -> Tree | None:
        """Return the last tree of a file, or that of the file as it was."""
        found = self._trees.get((name, language))
        return found or self._trees.get((f"{name}{BEFORE}", language))

    def put(self, name: str, language: str, tree: Tree) -> None:
        """Keep a tree; the oldest ones make room for it."""
        self._forget(name, language)
        self._trees[name, language] = tree
        self._bytes += len(tree.data)
        while len(self._trees) > _MOST_KEPT or (
            self._bytes > _MOST_KEPT_BYTES and len(self._trees) > 1
        ):
            self._forget(*next(iter(self._trees)))

    def drop(self, name: str) -> None:
        """Keep no tree of a file, in whichever language."""
        for key in [each for each in self._trees if each[0].removesuffix(BEFORE) == name]:
            self._forget(*key)

    def _forget(self, name: str, language: str) -> None:
        old = self._trees.pop((name, language), None)
        self._bytes -= len(old.data) if old else 0


_kept = _Kept()
_slow: dict[str, None] = {}
"""The files that take too long, the oldest first."""


def forget(name: str) -> None:
    """Keep nothing of a file that was closed: no tree, nor that it took too long."""
    _slow.pop(name, None)
    _kept.drop(name)


def _timed(name: str, parser: Any, data: bytes, last: Tree | None) -> Tree | None:
    """Parse, and return nothing if that took too long; a file without a name is not remembered."""
    began = thread_time()
    tree = parser.parse(data, _edited(last, data)) if last else parser.parse(data)
    if thread_time() - began <= _SLOW:
        return Tree(tree, data)
    if name:
        logger.info("%s takes too long to parse, and is read as plain text", name)
        _slow[name.removesuffix(BEFORE)] = None
        while len(_slow) > _MOST_SLOW:
            del _slow[next(iter(_slow))]
    return None


def _prepared(name: str, language: str, text: str) -> tuple[Any, bytes]:
    """Return a parser and the bytes for it; no parser for what cannot or should not be parsed."""
    if not language or len(text) > MAX_BYTES or name.removesuffix(BEFORE) in _slow:
        return None, b""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a character, which no file can have
        return None, b""
    return (_parser(language) if len(data) <= MAX_BYTES else None), data


def parse(name: str, language: str, text: str, *, keep: bool = True) -> Tree | None:
    """Parse a text of a named file; None without a grammar, or if it is very long or slow.

    Only a kept tree is what the next one is made from.
    """
    parser, data = _prepared(name, language, text)
    if parser is None:
        return None
    last = _kept.get(name, language)
    if last is not None and last.data == data:
        return last
    tree = _timed(name, parser, data, last)
    if keep and tree is not None:
        _kept.put(name, language, tree)
    return tree


def growing(name: str, language: str, text: str) -> Iterator[None]:
    """Parse a text piece by piece; then `parse` has its tree at once, unless that takes long."""
    parser, data = _prepared(name, language, text)
    if parser is None or is_parsed(name, language):
        return
    tree: Tree | None = None
    end, size = 0, _PIECE
    while end < len(data):
        began = perf_counter()
        cut = _MARGIN.search(data, end + size)
        end = cut.start() if cut else len(data)
        piece = data[:end]
        tree = _timed(name, parser, piece, tree)
        if tree is None:
            return
        size = size * 2 if perf_counter() - began < _STEP / 2 else max(size // 2, _PIECE)
        yield
    if tree is not None and not is_parsed(name, language):
        _kept.put(name, language, tree)


def is_parsed(name: str, language: str) -> bool:
    """Return whether there is a tree of a file, or of the file as it was, to make one from."""
    return _kept.get(name, language) is not None


def _edited(last: Tree, data: bytes) -> Any:
    """Return a copy of the last tree that knows what was changed since."""
    old = last.data
    head, tail = same_ends(old, data)
    tree = last.tree.copy()
    tree.edit(
        start_byte=head,
        old_end_byte=len(old) - tail,
        new_end_byte=len(data) - tail,
        start_point=_point(old, head),
        old_end_point=_point(old, len(old) - tail),
        new_end_point=_point(data, len(data) - tail),
    )
    return tree


def _point(data: bytes, offset: int) -> tuple[int, int]:
    return data.count(b"\n", 0, offset), offset - data.rfind(b"\n", 0, offset) - 1


def _errors(root: Any) -> int:
    """Count errors; only where there are some is looked further."""
    found, todo = 0, [root]
    while todo:
        node = todo.pop()
        if node.has_error:
            found += int(node.is_error or node.is_missing)
            todo += node.children
    return found
