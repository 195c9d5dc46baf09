"""How far a statement goes: its lines, and those that go with it when it is taken away."""

from __future__ import annotations

from typing import Any, NamedTuple

from .page import Page

__all__ = ["Extent", "cleared", "statement_at"]

_BLOCKS = {
    "block", "module", "statement_block", "program", "source_file", "compound_statement",
    "translation_unit", "class_body", "declaration_list", "field_declaration_list",
}  # fmt: skip


class Extent(NamedTuple):
    """A statement, in the lines `start:end`."""

    start: int
    end: int
    kind: str
    """What the grammar calls it."""
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


def statement_at(page: Page, line: int, column: int) -> Extent | None:
    """Return the smallest statement at a place, whose column counts bytes."""
    if page.tree is None:
        return None
    node: Any = page.tree.root.descendant_for_point_range((line, column), (line, column))
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
    return Extent(start, end, kind, parent.named_child_count == 1)


def cleared(page: Page, start: int, end: int) -> tuple[int, int]:
    """Return the lines that go with some lines: blank ones that would be too many without them."""
    lines = page.lines
    below = end
    while below < len(lines) and not lines[below].strip():
        below += 1
    above = start
    while above > 0 and not lines[above - 1].strip():
        above -= 1
    if below == len(lines):
        return above, below if lines[-1].strip() else below - 1
    return start, end + min(start - above, below - end)
