"""Names of Python files: what binds, what uses, and the scopes between them."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from .scopes import Budget, Function, Import, Reading, Scope, Walk, packed, part_of, text_of

BUILTINS = frozenset(dir(builtins)) | {
    "__file__", "__path__", "__class__", "__builtins__", "__module__", "__qualname__",
    "__annotations__", "unicode", "basestring", "long", "xrange", "unichr", "raw_input", "reduce",
    "reload", "buffer", "cmp", "execfile", "file", "apply", "intern", "coerce", "WindowsError",
    "reveal_type",
}  # fmt: skip
_COMPREHENSIONS = {
    "list_comprehension",
    "set_comprehension",
    "dictionary_comprehension",
    "generator_expression",
}
_LEAVES = {
    "comment", "integer", "float", "true", "false", "none", "string_start", "string_content",
    "string_end", "pass_statement", "break_statement", "continue_statement", "ellipsis",
}  # fmt: skip
_TARGETS = {"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "tuple", "list"}

_ANNOTATION = re.compile(r"(?!.*\w +\w)[\w.\[\], |]+", re.ASCII)
_FIRST_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*", re.ASCII)


def walk_python(node: Any, chunk: Reading, budget: Budget) -> None:
    """Read one top-level statement."""
    _Walk(chunk, node.start_point[0], budget).visit(node, chunk.top)


def _walk_function(node: Any, owner: str, budget: Budget, chunk: Reading) -> None:
    """Read what is within a function, apart from all around it."""
    _Walk(chunk, node.start_point[0], budget).function(node, owner, chunk.top)


class _Walk(Walk):
    annotations = 0
    """The depth of annotations around the node that is read."""

    def visit(self, node: Any, scope: Scope) -> None:
        """Read a node in a scope."""
        kind = node.type
        if kind == "identifier":
            scope.use(text_of(node), self.place(node))
            return
        if kind in _LEAVES:
            return
        special = _SPECIAL.get(kind)
        if special is not None:
            special(self, node, scope)
        else:
            for child in node.named_children:
                self.visit(child, scope)

    def _children(self, node: Any, scope: Scope) -> None:
        for child in node.named_children:
            self.visit(child, scope)

    def _bind(self, node: Any, scope: Scope) -> None:
        """Read the left side of an assignment."""
        kind = node.type
        if kind == "identifier":
            scope.bind(text_of(node), self.place(node))
        elif kind in _TARGETS or kind in ("as_pattern_target", "parenthesized_expression"):
            for child in node.named_children:
                self._bind(child, scope)
        else:
            self.visit(node, scope)

    def _field(self, node: Any, name: str, scope: Scope) -> None:
        child = node.child_by_field_name(name)
        if child is not None:
            self.visit(child, scope)

    def on_function_definition(self, node: Any, scope: Scope) -> None:
        name = node.child_by_field_name("name")
        scope.bind(text_of(name), self.place(name))
        owner = scope.name
        scope = self._around(node.child_by_field_name("type_parameters"), scope)
        self._defaults(node.child_by_field_name("parameters"), scope)
        self._field(node, "return_type", scope)
        walk = partial(_walk_function, node, owner, self.budget)
        part = part_of(f"python def {owner}", node, walk, self.budget)
        if part is None:
            self.function(node, owner, scope)
        else:
            self.chunk.parts.append((self.line(node), part, scope))

    def function(self, node: Any, owner: str, scope: Scope) -> None:
        """Read a function's own scope."""
        parameters = node.child_by_field_name("parameters")
        inner = self.chunk.scope("function", scope)
        self._parameters(parameters, inner)
        self.chunk.functions.append(
            Function(
                text_of(node.child_by_field_name("name")),
                self.line(node),
                node.end_point[0] - self.top + 1,
                tuple(
                    text_of(child) for child in parameters.named_children if child.type != "comment"
                ),
                owner,
            )
        )
        self._field(node, "body", inner)

    def on_lambda(self, node: Any, scope: Scope) -> None:
        inner = self.chunk.scope("function", scope)
        parameters = node.child_by_field_name("parameters")
        if parameters is not None:
            self._parameters(parameters, inner)
            self._defaults(parameters, scope)
        self._field(node, "body", inner)

    def _parameters(self, node: Any, inner: Scope) -> None:
        for child in node.named_children:
            if child.type == "identifier":
                inner.bind(text_of(child), self.place(child))
                continue
            name = child.child_by_field_name("name")
            for part in child.named_children:
                if _is_parameter(part, name):
                    self._splat(part, inner)

    def _defaults(self, node: Any, outer: Scope) -> None:
        """Read what is in a list of parameters and is no parameter."""
        for child in node.named_children:
            if child.type != "identifier":
                name = child.child_by_field_name("name")
                for part in child.named_children:
                    if not _is_parameter(part, name):
                        self.visit(part, outer)

    def _splat(self, node: Any, scope: Scope) -> None:
        if node.type == "dictionary_splat_pattern":
            node = node.named_children[0]
        self._bind(node, scope)

    def on_class_definition(self, node: Any, scope: Scope) -> None:
        name = node.child_by_field_name("name")
        scope.bind(text_of(name), self.place(name))
        scope = self._around(node.child_by_field_name("type_parameters"), scope)
        self._field(node, "superclasses", scope)
        self._field(node, "body", self.chunk.scope("class", scope, text_of(name)))

    def on_type_alias_statement(self, node: Any, scope: Scope) -> None:
        name, value = node.named_children[0], node.named_children[-1]
        listed = None
        while name.type != "identifier" and name.named_children:
            listed = next((x for x in name.named_children if x.type == "type_parameter"), listed)
            name = name.named_children[0]
        self._bind(name, scope)
        self.visit(value, self._around(listed, scope))

    def _around(self, listed: Any, scope: Scope) -> Scope:
        """Return the scope of what has type parameters, such as `[T: int, *U]`."""
        if listed is None:
            return scope
        around = self.chunk.scope("function", scope)
        for node in listed.named_children:
            while node.type != "identifier" and node.named_children:
                node, *rest = node.named_children
                for bound in rest:
                    self.visit(bound, around)
            self._bind(node, around)
        return around

    def on_comprehension(self, node: Any, scope: Scope) -> None:
        inner = self.chunk.scope("function", scope)
        for child in node.named_children:
            if child.type == "for_in_clause":
                self._bind(child.child_by_field_name("left"), inner)
                for right in child.children_by_field_name("right"):
                    self.visit(right, inner)
            else:
                self.visit(child, inner)

    def on_assignment(self, node: Any, scope: Scope) -> None:
        self._bind(node.child_by_field_name("left"), scope)
        self._field(node, "type", scope)
        self._field(node, "right", scope)

    def on_augmented_assignment(self, node: Any, scope: Scope) -> None:
        self._bind(node.child_by_field_name("left"), scope)
        self._field(node, "right", scope)

    def on_named_expression(self, node: Any, scope: Scope) -> None:
        self._bind(node.child_by_field_name("name"), scope)
        self._field(node, "value", scope)

    def on_for_statement(self, node: Any, scope: Scope) -> None:
        self._bind(node.child_by_field_name("left"), scope)
        for name in ("right", "body", "alternative"):
            self._field(node, name, scope)

    def on_as_pattern(self, node: Any, scope: Scope) -> None:
        for child in node.named_children:
            if child.type == "as_pattern_target":
                self._bind(child, scope)
            else:
                self.visit(child, scope)

    def on_type(self, node: Any, scope: Scope) -> None:
        self.annotations += 1
        self._children(node, scope)
        self.annotations -= 1

    def on_string(self, node: Any, scope: Scope) -> None:
        """Read the names of an annotation that is written as a string."""
        if not self.annotations:
            self._children(node, scope)
            return
        inside = [x for x in node.named_children if x.type == "string_content"]
        if len(inside) != 1 or not _ANNOTATION.fullmatch(text_of(inside[0])) or _is_value(node):
            return
        line, column = inside[0].start_point
        for found in _FIRST_NAME.finditer(text_of(inside[0])):
            scope.use(found[0], packed(line - self.top, column + found.start()))

    def on_dotted_name(self, node: Any, scope: Scope) -> None:
        self.visit(node.named_children[0], scope)

    def on_case_pattern(self, node: Any, scope: Scope) -> None:
        for child in node.named_children:
            self._pattern(child, scope)

    def _pattern(self, node: Any, scope: Scope) -> None:
        children = node.named_children
        if node.type == "identifier" or (node.type == "dotted_name" and len(children) == 1):
            scope.bind(text_of(node), self.place(node))
        elif node.type == "dotted_name":
            self.visit(node, scope)
        elif node.type in ("class_pattern", "keyword_pattern"):
            if node.type == "class_pattern":
                self.visit(children[0], scope)
            for child in children[1:]:
                self._pattern(child, scope)
        else:
            for child in children:
                self._pattern(child, scope)

    def on_global_statement(self, node: Any, scope: Scope) -> None:
        scope.outer |= {text_of(child) for child in node.named_children}

    on_nonlocal_statement = on_global_statement

    def on_attribute(self, node: Any, scope: Scope) -> None:
        self._field(node, "object", scope)
        name = node.child_by_field_name("attribute")
        self.chunk.members.setdefault(text_of(name), []).append(self.place(name))

    def on_keyword_argument(self, node: Any, scope: Scope) -> None:
        self._field(node, "value", scope)

    def on_call(self, node: Any, scope: Scope) -> None:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        last = function.child_by_field_name("attribute") if function.type == "attribute" else None
        if arguments.type == "argument_list" and (last or function.type == "identifier"):
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
        self._children(node, scope)

    def on_import_statement(self, node: Any, scope: Scope) -> None:
        self._import(node, "", node.children_by_field_name("name"), scope)

    def on_import_from_statement(self, node: Any, scope: Scope) -> None:
        module = text_of(node.child_by_field_name("module_name"))
        if any(child.type == "wildcard_import" for child in node.named_children):
            self.chunk.is_open = True
        self._import(node, module, node.children_by_field_name("name"), scope)

    def on_future_import_statement(self, node: Any, scope: Scope) -> None:
        self._import(node, "__future__", [], scope)

    def _import(self, node: Any, module: str, found: list[Any], scope: Scope) -> None:
        names: list[tuple[str, str]] = []
        for child in found:
            alias = child.child_by_field_name("alias")
            name = text_of(child.child_by_field_name("name") if alias else child)
            here = text_of(alias) if alias else name if module else name.split(".")[0]
            names.append((name, here))
            scope.bind(here, self.place(alias or child))
        line = self.line(node)
        self.chunk.imports.append(
            Import(
                line, node.end_point[0] - self.top + 1, module, tuple(names), scope.kind != "file"
            )
        )


_SPECIAL: dict[str, Callable[[_Walk, Any, Scope], None]] = {
    name[3:]: method for name, method in vars(_Walk).items() if name.startswith("on_")
} | dict.fromkeys(_COMPREHENSIONS, _Walk.on_comprehension)


def _is_value(node: Any) -> bool:
    """Return whether a string in an annotation is what it says, as those of `Literal[…]` are."""
    while node is not None and node.type != "block":
        if node.type in ("generic_type", "subscript"):
            name = text_of(node.named_children[0]).rpartition(".")[2]
            if name in ("Annotated", "Literal"):
                return True
        node = node.parent
    return False


def _is_parameter(node: Any, name: Any) -> bool:
    return (
        node == name
        or (name is None and node.type in ("identifier", *_TARGETS))
        or node.type in ("list_splat_pattern", "dictionary_splat_pattern")
    )
