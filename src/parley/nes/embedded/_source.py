"""A file as rules read it: its lines without their ends, and where words stand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate, islice
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

from parley.nes._documents.ends import same_ends
from parley.nes._documents.paths import path_of
from parley.nes._syntax import Tree, language_of, parse

from ._tokens import is_part, words

T = TypeVar("T")
_MOST_CHANGED = 100
_LONGEST = 5_000


class SourceFile:
    """The text of a file at one moment; what is computed of it is kept."""

    def __init__(
        self, uri: str, lines: list[str], language_id: str = "", language: str = ""
    ) -> None:
        self.uri = uri
        self.path = PurePosixPath(path_of(uri) or uri)
        self.lines = lines
        self.language = language or language_of(language_id, self.path.suffix)
        self.eol = "\n"
        """The end of its lines."""
        self.is_open = True
        """Whether somebody edits it, so that its tree is kept; there are many other files."""
        self._tree: Tree | None = None
        self.notes: dict[str, Any] = {}
        """Results of others about it, by name."""
        self._found: dict[tuple[str, int], tuple[list[int], bool]] = {}
        """The lines of texts that were looked for, and whether these are all."""
        self._known: dict[tuple[str, int], tuple[list[int], bool]] = {}
        self._has: dict[str, bool] = {}

    @cached_property
    def text(self) -> str:
        """The lines, joined."""
        return "\n".join(self.lines)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folders that it is in, the outermost first."""
        return self.path.parent.parts

    @cached_property
    def is_test(self) -> bool:
        """Return whether it is among the tests."""
        return "test" in str(self.path)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts in the text."""
        return [0, *accumulate(map((1).__add__, map(len, self.lines[:-1])))]

    @cached_property
    def words(self) -> frozenset[str]:
        """Every identifier in the text."""
        return frozenset(words(self.text))

    @property
    def tree(self) -> Tree | None:
        """The syntax tree, if a grammar is installed; None if a machine wrote the file."""
        if self._tree is not None:
            return self._tree
        found = parse(self.uri, self.language, self.text) if self.is_by_hand else None
        if self.is_open:
            self._tree = found
        return found

    @cached_property
    def is_by_hand(self) -> bool:
        """Return whether its lines are not too long for anybody to have written them."""
        return max(map(len, self.lines), default=0) <= _LONGEST

    def since(self, base: SourceFile | None, what: str, find: Callable[[], T]) -> T:
        """Return what is found by comparing it with an earlier file; they are compared once."""
        kept = self.notes.get(what)
        if kept is None or kept[0] is not base:
            kept = self.notes[what] = (base, find())
        found: T = kept[1]
        return found

    def has(self, word: str) -> bool:
        """Return whether a word stands in it."""
        if "words" in vars(self):
            return word in self.words
        if word not in self._has:
            self._has[word] = bool(self.places(word, 1))
        return self._has[word]

    def places(self, needle: str, most: int = 400) -> list[int]:
        """Return the offsets of a text; one that begins or ends with a word matches whole words."""
        return list(islice(_places(needle, self.text), most))

    def line_of(self, offset: int) -> int:
        """Return the line in which an offset is."""
        return bisect_right(self.starts, offset) - 1

    def column_of(self, line: int, column: int) -> int:
        """Return a column in characters for one in bytes, as syntax trees count them."""
        return len(self.lines[line].encode()[:column].decode("utf-8", "replace"))

    def lines_with(self, needle: str, most: int = 400) -> list[int]:
        """Return the lines in which a text stands."""
        if "\n" in needle or not needle:
            return []
        key = needle, most
        if key not in self._found:
            if key in self._known:
                self._found[key] = self._known[key]
            else:
                places = self.places(needle, most)
                self._found[key] = self._lines_of(places), len(places) < most
        return self._found[key][0]

    def _lines_of(self, offsets: list[int]) -> list[int]:
        """Return the lines in which some offsets are, one after the other."""
        lines: dict[int, None] = {}
        text, line, last = self.text, 0, 0
        for at in offsets:
            line += text.count("\n", last, at)
            last = at
            lines[line] = None
        return list(lines)

    def follow(self, last: SourceFile) -> None:
        """Take over where texts stand from the file before a change; only the change is read."""
        top, tail = same_ends(last.lines, self.lines)
        end, grown = len(last.lines) - tail, len(self.lines) - len(last.lines)
        changed = [*enumerate(self.lines[top : end + grown], top)]
        if len(changed) > _MOST_CHANGED:
            return
        for (needle, most), (lines, is_complete) in last._found.items():
            fresh = [at for at, text in changed if needle in text and _stands(needle, text)]
            first, after = bisect_left(lines, top), bisect_left(lines, end)
            known = lines[:first] + fresh
            known += [x + grown for x in lines[after:]] if grown else lines[after:]
            if is_complete:
                if len(known) < most:
                    self._known[needle, most] = known, True
            elif first == len(lines):
                # Lines below the last one that is kept do not count.
                self._known[needle, most] = lines, False
            elif first == after and not fresh:
                self._known[needle, most] = known, False


def _places(needle: str, text: str) -> Iterator[int]:
    head, tail = is_part(needle[:1]), is_part(needle[-1:])
    at = text.find(needle)
    while at >= 0:
        before = text[at - 1 : at] if at else ""
        after = text[at + len(needle) : at + len(needle) + 1]
        if not (head and is_part(before)) and not (tail and is_part(after)):
            yield at
        at = text.find(needle, at + 1)


def _stands(needle: str, text: str) -> bool:
    return next(_places(needle, text), None) is not None


_BLOCKS = {
    "block", "module", "statement_block", "program", "source_file", "compound_statement",
    "translation_unit", "class_body", "declaration_list", "field_declaration_list",
}  # fmt: skip


class StatementRange(NamedTuple):
    """A statement, in the lines `start:end`."""

    start: int
    end: int
    kind: str
    """The name of the node in the grammar."""
    is_lonely: bool
    """Whether its block has nothing else."""

    @property
    def is_simple(self) -> bool:
        """Return whether it has no statements in it."""
        return self.kind in _SIMPLE


_SIMPLE = {
    "expression_statement", "assert_statement", "return_statement", "delete_statement",
    "raise_statement", "import_statement", "import_from_statement", "global_statement",
    "nonlocal_statement", "print_statement", "lexical_declaration", "variable_declaration",
    "short_var_declaration", "assignment_statement", "let_declaration", "use_declaration",
    "local_variable_declaration", "type_alias_statement", "assignment",
}  # fmt: skip


def statement_at(file: SourceFile, line: int, column: int) -> StatementRange | None:
    """Return the smallest statement at a place, whose column counts bytes."""
    if file.tree is None:
        return None
    node: Any = file.tree.root.descendant_for_point_range((line, column), (line, column))
    while node is not None and (node.parent is None or node.parent.type not in _BLOCKS):
        node = node.parent
    if node is None:
        return None
    kind, parent = node.type, node.parent
    if kind == "decorated_definition":
        kind = node.child_by_field_name("definition").type
    start, end = node.start_point[0], node.end_point[0] + 1
    if any(
        x != node and (x.start_point[0] < end and start <= x.end_point[0])
        for x in (node.prev_named_sibling, node.next_named_sibling)
        if x is not None and x.type != "comment"
    ):
        return None
    return StatementRange(start, end, kind, parent.named_child_count == 1)


def cleared(file: SourceFile, start: int, end: int) -> tuple[int, int]:
    """Return the lines that go with some lines: blank ones that would be too many without them."""
    lines = file.lines
    below = end
    while below < len(lines) and not lines[below].strip():
        below += 1
    above = start
    while above > 0 and not lines[above - 1].strip():
        above -= 1
    if below == len(lines):
        return above, below if lines[-1].strip() else below - 1
    return start, end + min(start - above, below - end)
