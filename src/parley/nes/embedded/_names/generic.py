"""Names of Go, Rust, Java, C and C++ files: by the kind of node, with one scope for each function.

What a top-level item or a function in it binds inside is its own; the item's name is the file's.
That is coarse, and enough to know that a name has lost its definition.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .scopes import Budget, Function, Reading, Scope, Walk, packed, part_of, text_of

_NAMES = {"identifier", "type_identifier", "package_identifier", "namespace_identifier"}
_MEMBERS = {"field_identifier"}
_BINDS = ("declaration", "definition", "_item", "declarator", "specifier", "parameter", "_spec")
_CALLS = {"call_expression", "method_invocation"}
_FUNCTIONS = {
    "function_item", "function_definition", "function_declaration", "method_declaration",
    "constructor_declaration",
}  # fmt: skip
_FIELDS = ("name", "declarator", "pattern", "left")


def walk_generic(node: Any, chunk: Reading, budget: Budget) -> None:
    """Read one top-level item."""
    walk = _Walk(chunk, node.start_point[0], budget)
    inner = chunk.scope("function", chunk.top)
    for child in node.children_by_field_name("name") + node.children_by_field_name("declarator"):
        walk.name(child, chunk.top)
    walk.read(node, inner)


def _walk_function(node: Any, budget: Budget, chunk: Reading) -> None:
    """Read what is within a function, apart from all around it."""
    walk = _Walk(chunk, node.start_point[0], budget)
    inner = chunk.scope("function", chunk.top)
    for child in node.children_by_field_name("name") + node.children_by_field_name("declarator"):
        walk.name(child, Scope("around"))
    chunk.functions.clear()
    walk.read(node, inner)


class _Walk(Walk):
    def __init__(self, chunk: Reading, top: int, budget: Budget) -> None:
        super().__init__(chunk, top, budget)
        self._taken: set[int] = set()

    def name(self, node: Any, scope: Scope) -> None:
        """Bind the name that a declarator is about."""
        while node is not None and node.type not in _NAMES | _MEMBERS:
            inside = node.child_by_field_name("declarator")
            node = inside if inside is not None else node.child_by_field_name("name")
        if node is None:
            return
        self._taken.add(node.start_byte)
        if node.type in _MEMBERS:
            line = self.line(node)
            self.chunk.functions.append(Function(text_of(node), line, line + 1, (), "type"))
        else:
            scope.bind(text_of(node), self.place(node))

    def visit(self, node: Any, scope: Scope) -> None:
        """Read a node; a function that is a part of its own only once for its text."""
        part = None
        if node.type in _FUNCTIONS:
            part = part_of("plain", node, partial(_walk_function, node, self.budget), self.budget)
        if part is None:
            self.read(node, scope)
            return
        for field in ("name", "declarator"):
            for child in node.children_by_field_name(field):
                self.name(child, scope)
        self.chunk.parts.append((self.line(node), part, scope))

    def read(self, node: Any, scope: Scope) -> None:
        """Read a node."""
        kind = node.type
        if kind in _NAMES:
            if node.start_byte not in self._taken:
                scope.use(text_of(node), self.place(node))
            return
        if kind in _MEMBERS:
            if node.start_byte not in self._taken:
                self.chunk.members.setdefault(text_of(node), []).append(self.place(node))
            return
        if kind.endswith(_BINDS) and kind != "parameter_declaration_list":
            for field in _FIELDS:
                for child in node.children_by_field_name(field):
                    self.bind(child, scope)
        if kind in _CALLS:
            self.call(node)
        for child in node.named_children:
            self.visit(child, scope)

    def bind(self, node: Any, scope: Scope) -> None:
        if node.start_byte in self._taken:
            return
        if node.type == "expression_list":
            for child in node.named_children:
                self.bind(child, scope)
        elif node.type in _NAMES | _MEMBERS or node.type.endswith("declarator"):
            self.name(node, scope)

    def call(self, node: Any) -> None:
        function = node.child_by_field_name("function") or node.child_by_field_name("name")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return
        last = function.child_by_field_name("field")
        line, column = arguments.end_point
        self.chunk.calls.append(
            (
                text_of(last or function),
                self.place(arguments),
                packed(line - self.top, column),
                tuple(text_of(x) for x in arguments.named_children if "comment" not in x.type),
                last is not None or node.child_by_field_name("object") is not None,
            )
        )
