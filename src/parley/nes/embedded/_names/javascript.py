"""Names of JavaScript and TypeScript files: what binds, what uses, and the scopes between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .scopes import Budget, Function, Import, Reading, Scope, Walk, packed, part_of, text_of

_USES = {"identifier", "type_identifier", "shorthand_property_identifier"}
_NAMED = {
    "class_declaration", "abstract_class_declaration", "interface_declaration",
    "type_alias_declaration", "enum_declaration",
}  # fmt: skip
_FUNCTIONS = {
    "function_declaration", "function_expression", "generator_function_declaration",
    "generator_function", "arrow_function", "method_definition", "function_signature",
}  # fmt: skip
_BLOCKS = {"statement_block", "for_statement", "class_body"}
_MEMBERS = {"property_identifier", "private_property_identifier"}


def walk_javascript(node: Any, chunk: Reading, budget: Budget) -> None:
    """Read one top-level statement."""
    _Walk(chunk, node.start_point[0], budget).visit(node, chunk.top)


def _walk_function(node: Any, budget: Budget, chunk: Reading) -> None:
    """Read what is within a function, apart from all around it."""
    _Walk(chunk, node.start_point[0], budget).within(node, chunk.top)


class _Walk(Walk):
    def visit(self, node: Any, scope: Scope) -> None:
        """Read a node in a scope."""
        kind = node.type
        if kind in _USES:
            scope.use(text_of(node), self.place(node))
        elif kind in _MEMBERS:
            self.chunk.members.setdefault(text_of(node), []).append(self.place(node))
        elif kind in _FUNCTIONS:
            self.function(node, scope)
        elif kind in _NAMED:
            self.named(node, scope)
        elif kind in _BLOCKS:
            self.children(node, self.chunk.scope("block", scope))
        elif kind in _SPECIAL:
            _SPECIAL[kind](self, node, scope)
        else:
            self.children(node, scope)

    def children(self, node: Any, scope: Scope) -> None:
        for child in node.named_children:
            self.visit(child, scope)

    def bind(self, node: Any, scope: Scope) -> None:
        """Read a pattern that binds names."""
        kind = node.type
        if kind in ("identifier", "shorthand_property_identifier_pattern", "type_identifier"):
            scope.bind(text_of(node), self.place(node))
        elif kind == "pair_pattern":
            self.bind(node.child_by_field_name("value"), scope)
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            self.bind(node.child_by_field_name("left"), scope)
            self.visit(node.child_by_field_name("right"), scope)
        elif kind in ("required_parameter", "optional_parameter"):
            self.parameter(node, scope)
        elif kind in ("object_pattern", "array_pattern", "rest_pattern"):
            for child in node.named_children:
                self.bind(child, scope)
        else:
            self.visit(node, scope)

    def parameter(self, node: Any, scope: Scope) -> None:
        self.binding(node, node.child_by_field_name("pattern"), scope, scope)

    def function(self, node: Any, scope: Scope) -> None:
        name = node.child_by_field_name("name")
        if name is not None and name.type == "identifier" and _is_declared(node):
            scope.bind(text_of(name), self.place(name))
        walk = partial(_walk_function, node, self.budget)
        part = part_of("javascript function", node, walk, self.budget)
        if part is None:
            self.within(node, scope)
        else:
            self.chunk.parts.append((self.line(node), part, scope))

    def within(self, node: Any, scope: Scope) -> None:
        """Read a function's own scope."""
        name = node.child_by_field_name("name")
        inner = self.chunk.scope("function", scope)
        if name is not None and name.type == "identifier" and not _is_declared(node):
            inner.bind(text_of(name), self.place(name))
        single = node.child_by_field_name("parameter")
        listed = node.child_by_field_name("parameters")
        if single is not None:
            self.bind(single, inner)
        found = [x for x in listed.named_children if x.type != "comment"] if listed else []
        for child in found:
            self.bind(child, inner)
        if name is not None:
            self.chunk.functions.append(
                Function(
                    text_of(name),
                    self.line(node),
                    node.end_point[0] - self.top + 1,
                    tuple(text_of(x) for x in found),
                    "class" if name.type in _MEMBERS else "",
                )
            )
        for field in ("return_type", "body"):
            child = node.child_by_field_name(field)
            if child is not None:
                self.visit(child, inner)

    def named(self, node: Any, scope: Scope) -> None:
        name = node.child_by_field_name("name")
        scope.bind(text_of(name), self.place(name))
        for child in node.named_children:
            if child != name:
                self.visit(child, scope)

    def declarator(self, node: Any, scope: Scope) -> None:
        is_var = node.parent is not None and node.parent.type == "variable_declaration"
        self.bind(node.child_by_field_name("name"), _home(scope) if is_var else scope)
        for field in ("type", "value"):
            child = node.child_by_field_name(field)
            if child is not None:
                self.visit(child, scope)

    def catch(self, node: Any, scope: Scope) -> None:
        block = self.chunk.scope("block", scope)
        self.binding(node, node.child_by_field_name("parameter"), block, block)

    def for_in(self, node: Any, scope: Scope) -> None:
        block = self.chunk.scope("block", scope)
        kind = node.child_by_field_name("kind")
        left = node.child_by_field_name("left") if kind is not None else None
        self.binding(node, left, _home(scope) if text_of(kind) == "var" else block, block)

    def binding(self, node: Any, pattern: Any, home: Scope, scope: Scope) -> None:
        """Read a node of which one part binds names."""
        for child in node.named_children:
            if child == pattern:
                self.bind(child, home)
            else:
                self.visit(child, scope)

    def pair(self, node: Any, scope: Scope) -> None:
        value = node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope)

    def call(self, node: Any, scope: Scope) -> None:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        last = function.child_by_field_name("property") if function is not None else None
        is_plain = function is not None and function.type == "identifier"
        if arguments is not None and (last is not None or is_plain):
            line, column = arguments.end_point
            self.chunk.calls.append(
                (
                    text_of(last or function),
                    self.place(arguments),
                    packed(line - self.top, column),
                    tuple(text_of(x) for x in arguments.named_children if x.type != "comment"),
                    last is not None,
                )
            )
        self.children(node, scope)

    def imported(self, node: Any, scope: Scope) -> None:
        source = node.child_by_field_name("source")
        names: list[tuple[str, str]] = []
        todo = list(node.named_children)
        while todo:
            child = todo.pop(0)
            if child.type == "import_specifier":
                alias = child.child_by_field_name("alias")
                name = child.child_by_field_name("name")
                names.append((text_of(name), text_of(alias or name)))
                scope.bind(text_of(alias or name), self.place(alias or name))
            elif child.type == "identifier":
                names.append(("default", text_of(child)))
                scope.bind(text_of(child), self.place(child))
            elif child != source:
                todo = list(child.named_children) + todo
        module = text_of(source).strip("'\"")
        line = self.line(node)
        self.chunk.imports.append(
            Import(line, node.end_point[0] - self.top + 1, module, tuple(names))
        )


_SPECIAL: dict[str, Callable[[_Walk, Any, Scope], None]] = {
    "variable_declarator": _Walk.declarator,
    "import_statement": _Walk.imported,
    "call_expression": _Walk.call,
    "catch_clause": _Walk.catch,
    "for_in_statement": _Walk.for_in,
    "pair": _Walk.pair,
}


def _home(scope: Scope) -> Scope:
    """Return where `var` binds: in the function, not in the block."""
    while scope.kind == "block" and scope.parent is not None:
        scope = scope.parent
    return scope


def _is_declared(node: Any) -> bool:
    return bool(node.type.endswith("declaration"))
