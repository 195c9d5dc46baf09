"""Compares the types of one version with its JSON Schemas, both ways.

A definition of the schema becomes the fields, variants and words that it asks for; a type of ours
is looked at through msgspec; `Parity` puts one beside the other and lists what differs. No name of
the protocol is known here: what differs on purpose stands in the test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Raw, Struct, StructMeta, UnsetType
from msgspec.structs import FieldInfo

from parley.schema._codec import decode
from parley.schema._strict import choice, members, unwrap
from parley.schema.base import (
    ALL_OR_DEFAULT,
    I32,
    I64,
    LENIENT,
    NULL_DEFAULT,
    OPEN,
    SKIP_INVALID,
    STRICT,
    U16,
    U32,
    U64,
    UNSTABLE,
    Mark,
    NoMember,
)

from .json_schema import Definitions, Node, Property, alternatives, joined, reference, variants

__all__ = ["Parity"]

LENIENCY = (STRICT, NULL_DEFAULT, LENIENT, SKIP_INVALID, ALL_OR_DEFAULT)
INTEGERS: dict[str | None, Any] = {
    None: int,
    "uint16": U16,
    "uint32": U32,
    "uint64": U64,
    "int32": I32,
    "int64": I64,
}
SCALARS: dict[str | None, Any] = {
    None: Any,
    "null": NoneType,
    "boolean": bool,
    "string": str,
    "number": float,
}


class Parity:
    """The differences between one version's types and its schemas."""

    def __init__(
        self,
        stable: Mapping[str, Node],
        unstable: Mapping[str, Node],
        types: Mapping[str, Any],
        stabilities: Mapping[str, str],
    ) -> None:
        self.stable = Definitions(stable)
        self.unstable = Definitions(unstable)
        self.types = types
        """Our types, by name."""
        self.stabilities = stabilities
        """The stability of each of them, as its docstring states it."""
        self.differences: list[str] = []
        self.variant_classes: set[type[Struct]] = set()
        """The classes that stand for variants of a union, as the union says."""

    def ours(self, name: str) -> Any:
        """Return our type of this name; None if there is none."""
        return self.types.get(name)

    def differ(self, place: str, what: str, theirs: object, ours: object) -> None:
        """Note a difference, unless there is none."""
        if theirs != ours:
            self.differences.append(f"{place}: {what}: schema {theirs}, ours {ours}")

    def compare(self, names: Iterable[str]) -> None:
        """Compare these definitions: unions first, for they say what their members look like."""
        classes: dict[str, type[Struct]] = {}
        for name in names:
            ours = self.ours(name)
            if isinstance(ours, StructMeta):
                classes[name] = cast("type[Struct]", ours)
            elif ours is not None:
                self._compare_alias(name, ours)
        bare = self.unstable.used_bare()
        for name, ours in classes.items():
            if ours not in self.variant_classes:
                before = self.stable.nodes.get(name)
                self._compare_class(name, ours, self.unstable.nodes[name], before)
            elif name in bare and ours.__struct_config__.tag is not None:
                self.differ(name, "has a tag", False, True)

    def _compare_alias(self, name: str, ours: Any) -> None:
        node = self.unstable.nodes[name]
        if variants(node).tagged or choice(ours) is not None:
            self._compare_union(name, node, ours)
        else:
            self.differ(name, "type", plainly(self.expected(node)), plainly(ours))

    def _compare_union(self, name: str, node: Node, ours: Any) -> None:
        stable_node = self.stable.nodes.get(name, {})
        theirs, before = variants(node), variants(stable_node)
        tagged, plain, is_open = our_variants(ours)
        self.differ(name, "tags", sorted(theirs.tagged), sorted(tagged))
        self.differ(name, "open", theirs.is_open, is_open)
        self.differ(name, "members without a tag", len(theirs.plain), len(plain))
        for tag in theirs.tagged.keys() & tagged.keys():
            place = f"{name}<{tag}>"
            was = joined(stable_node, before.tagged[tag]) if tag in before.tagged else None
            member = tagged[tag]
            self.differ(place, "tag field", theirs.tag_field, member.__struct_config__.tag_field)
            if stable_node:
                is_stable = self.stabilities[member.__name__] == "stable"
                self.differ(place, "stable", was is not None, is_stable)
            self._compare_variant(place, member, joined(node, theirs.tagged[tag]), was)
        for index, (schema, member) in enumerate(zip(theirs.plain, plain, strict=False)):
            place = f"{name}<{schema.get('title')}>"
            if schema.get("type") == "object" or "properties" in node:
                was = joined(stable_node, before.plain[index]) if before.plain else None
                self._compare_variant(place, member, joined(node, schema), was)
            else:
                self.differ(place, "type", plainly(self.expected(schema)), plainly(member))

    def _compare_variant(
        self, place: str, member: type[Struct], node: Node, before: Node | None
    ) -> None:
        self.variant_classes.add(member)
        for part in node.get("allOf", ()):
            payload = self.ours(reference(part) or "")
            if isinstance(payload, StructMeta):
                self.differ(place, "payload", True, issubclass(member, payload))
        self._compare_class(place, member, node, before)

    def _compare_class(
        self, place: str, cls: type[Struct], node: Node, before: Node | None
    ) -> None:
        theirs = self.unstable.flatten(node)
        fields = {info.encode_name: info for info in msgspec.structs.fields(cls)}
        here = {*fields, cls.__struct_config__.tag_field} - {None}
        # The base of a variant may have what all members of the union have.
        is_base = any(issubclass(variant, cls) for variant in self.variant_classes - {cls})
        for name in theirs.keys() - here if is_base else theirs.keys() ^ here:
            self.differ(f"{place}.{name}", "there", name in theirs, name in here)
        for name in theirs.keys() & fields.keys():
            self._compare_field(f"{place}.{name}", theirs[name], fields[name])
        if before is not None:
            stable = self.stable.flatten(before)
            for name in theirs.keys() & fields.keys():
                _, notes = unwrap(fields[name].type)
                self.differ(f"{place}.{name}", "stable", name in stable, UNSTABLE not in notes)

    def _compare_field(self, place: str, theirs: Property, ours: FieldInfo) -> None:
        _, notes = unwrap(ours.type)
        rest, has_null = without_null(ours.type)
        expected, _ = without_null(self.expected(theirs.node, theirs))
        mark = next((note for note in notes if note in LENIENCY), None)
        hint = leniency(theirs)
        is_nullable = self.unstable.is_nullable(theirs.node)
        self.differ(place, "required", theirs.is_required, ours.required)
        self.differ(place, "type", plainly(expected), plainly(rest))
        if rest is not Any:  # anything fits, so nothing is ever wrong
            # A lenient field with the default null reads a null that is wrong as just that.
            reads_as_default = has_null and hint is None and ours.default is None
            self.differ(place, "nullable", is_nullable or reads_as_default, has_null)
            self.differ(place, "leniency", hint, mark)
        self._compare_default(place, theirs, ours)

    def _compare_default(self, place: str, theirs: Property, ours: FieldInfo) -> None:
        if ours.required:
            return
        default = ours.default if ours.default_factory is NODEFAULT else ours.default_factory()
        if "default" in theirs.node:
            expected = decode(ours.type, json.dumps(theirs.node["default"]).encode())
            self.differ(place, "default", expected, default)
        elif default is not UNSET and default not in (None, [], {}):
            self.differ(place, "default", "none", default)

    def expected(self, node: Node, prop: Property | None = None) -> Any:
        """Return the type that a node asks for, made of our own types."""
        if prop is not None and prop.words:
            words: Any = Literal[tuple(prop.words)]
            # A required second tag decides about the whole object, others about themselves.
            if prop.is_open and prop.is_required:
                return Annotated[words, OPEN]
            return union_of([words, str] if prop.is_open else [words])
        name = reference(node)
        if name is not None:
            return self.ours(name)
        either = alternatives(node)
        if either:
            consts = tuple(each["const"] for each in either if "const" in each)
            others = [self.expected(each) for each in either if "const" not in each]
            return union_of([Literal[consts], *others] if consts else others)
        kind = node.get("type")
        if not isinstance(kind, str | None):
            return union_of(self.expected({**node, "type": each}) for each in kind)
        if kind == "array":
            return limited(list[self.expected(node["items"])], node)  # type: ignore[misc]
        if kind == "object":
            inner = node.get("additionalProperties", True)
            return dict[str, Any if inner is True else self.expected(inner)]  # type: ignore[misc]
        return limited(INTEGERS[node.get("format")] if kind == "integer" else SCALARS[kind], node)


def our_variants(tp: Any) -> tuple[dict[str, type[Struct]], list[Any], bool]:
    """Return the members of a union of ours: by tag, without one; and whether it is open."""
    among = choice(tp)
    if among is not None:
        tagged = {tag: cls for by_tag in among.tagged.values() for tag, cls in by_tag.items()}
        return tagged, among.plain, among.is_open
    bare, notes = unwrap(tp)
    structs = [member for member in members(bare) if not issubclass(member, NoMember)]
    return {cls.__struct_config__.tag: cls for cls in structs}, [], OPEN in notes


def leniency(prop: Property) -> Mark | None:
    """Return the mark that the three hints of the schema amount to."""
    on_error = prop.node.get("x-deserialize-default-on-error", False)
    skips = prop.node.get("x-deserialize-skip-invalid-items", False)
    kind = prop.node.get("type")
    is_list = kind == "array" or (isinstance(kind, list) and "array" in kind)
    if prop.node.get("x-deserialize-default-on-null", False):
        return NULL_DEFAULT
    if not on_error:
        return SKIP_INVALID if skips else None if prop.is_required else STRICT
    if prop.is_required:
        return LENIENT
    return ALL_OR_DEFAULT if is_list and not skips else None


def limited(tp: Any, node: Node) -> Any:
    """Return the type with the bounds that the node adds to it."""
    bare, notes = unwrap(tp)
    own = notes[0] if notes else Meta()
    limits = {
        "ge": node.get("minimum", own.ge),
        "le": node.get("maximum", own.le),
        "min_length": node.get("minItems", node.get("minLength")),
    }
    if bare is NoneType or all(limit is None for limit in limits.values()):
        return bare
    return Annotated[bare, Meta(**limits)]


def union_of(types: Iterable[Any]) -> Any:
    """Return the union; beside something that takes anything, the rest says nothing."""
    found = tuple(types)
    return Any if Any in found else Union[found]  # noqa: UP007 - the members are computed


def without_null(tp: Any) -> tuple[Any, bool]:
    """Return the type without null, absence and notes on its field; and whether it had null."""
    bare, notes = unwrap(tp)
    either = members(bare)
    rest = [member for member in either if member not in (NoneType, UnsetType)]
    kept = tuple(note for note in notes if note is OPEN or not isinstance(note, Mark))
    found = union_of(rest) if rest else NoneType
    return (Annotated[found, *kept] if kept else found), NoneType in either


def plainly(tp: Any) -> str:
    """Write a type so that equal types read the same."""
    bare, notes = unwrap(Any if tp is Raw else tp)
    limits = "".join(f" {note!r}" for note in notes if note is OPEN or isinstance(note, Meta))
    if get_origin(bare) is Literal:
        return " | ".join(sorted(repr(word) for word in get_args(bare))) + limits
    if len(members(bare)) > 1:
        return " | ".join(sorted(map(plainly, members(bare)))) + limits
    if get_args(bare):
        inner = ", ".join(map(plainly, get_args(bare)))
        return f"{get_origin(bare).__name__}[{inner}]{limits}"
    return getattr(bare, "__name__", str(bare)) + limits
