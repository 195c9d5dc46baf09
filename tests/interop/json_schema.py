"""Reads the JSON Schemas that the official TypeScript package ships."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

__all__ = [
    "Definitions",
    "Node",
    "Property",
    "Variants",
    "alternatives",
    "definitions",
    "joined",
    "reference",
    "variants",
]

Node: TypeAlias = Mapping[str, Any]

PREFIXES = (Path(__file__).parent, Path(__file__).parents[2] / ".venvs/npm")


@cache
def definitions(version: int, file: str) -> dict[str, Node]:
    """Return the definitions of a schema file, or skip the test where the package is absent."""
    named = os.environ.get("PARLEY_ACP_NPM")
    packages = [prefix / "node_modules/@agentclientprotocol/sdk" for prefix in PREFIXES]
    for package in [Path(named)] if named else packages:
        path = package / f"schema/v{version}/{file}"
        if path.exists():
            found: dict[str, Node] = json.loads(path.read_bytes())["$defs"]
            return found
    reason = "@agentclientprotocol/sdk is not there; run `make interop`, or set PARLEY_ACP_NPM"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Property:
    """What a schema says about one key of an object."""

    node: Node
    is_required: bool
    words: list[Any] = field(default_factory=list[Any])
    """The constants that variants ask for here."""
    is_open: bool = False
    """Whether other words are allowed too."""


@dataclass
class Variants:
    """The alternatives of a union."""

    tag_field: str | None = None
    tagged: dict[str, Node] = field(default_factory=dict[str, Node])
    plain: list[Node] = field(default_factory=list[Node])
    is_open: bool = False


def alternatives(node: Node) -> list[Node]:
    """Return what a value has to be one of."""
    return [*node.get("anyOf", ()), *node.get("oneOf", ())]


def variants(node: Node) -> Variants:
    """Sort the alternatives of a union of objects by what tells them apart."""
    found = Variants()
    for each in alternatives(node):
        for name, prop in each.get("properties", {}).items():
            if "const" in prop:
                found.tag_field = name
                found.tagged[prop["const"]] = each
    for each in alternatives(node):
        tag = each.get("properties", {}).get(found.tag_field)
        if tag is None:
            found.plain.append(each)
        elif tag.get("type") == "string" and "const" not in tag:
            found.is_open = True
    return found


def reference(node: Node) -> str | None:
    """Return the name of the definition that a node stands for."""
    parts = node.get("allOf", ())
    target = node.get("$ref") or (parts[0].get("$ref") if len(parts) == 1 else None)
    return target.rpartition("/")[2] if target else None


def joined(union: Node, variant: Node) -> Node:
    """Return a variant together with what its union asks of all of them."""
    common = union.get("properties", {})
    required = [*union.get("required", ()), *variant.get("required", ())]
    properties = {**common, **variant.get("properties", {})}
    return {**variant, "properties": properties, "required": required}


class Definitions:
    """One schema file."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes

    def flatten(self, node: Node) -> dict[str, Property]:
        """Return all keys that an object can have, with those of its parts and variants."""
        required = node.get("required", ())
        found = {
            name: Property(prop, name in required)
            for name, prop in node.get("properties", {}).items()
        }
        parts = [*node.get("allOf", ()), *([node] if "$ref" in node else ())]
        for part in parts:
            found |= self.flatten(self.nodes[part["$ref"].rpartition("/")[2]])
        if alternatives(node):
            self._fold(found, node)
        return found

    def _fold(self, found: dict[str, Property], node: Node) -> None:
        """Add the keys of the variants: required only if every known variant requires them."""
        sorted_out = variants(node)
        known = [self.flatten(each) for each in [*sorted_out.tagged.values(), *sorted_out.plain]]
        for name in dict.fromkeys(name for each in known for name in each):
            having = [each[name] for each in known if name in each]
            everywhere = len(having) == len(known) and all(prop.is_required for prop in having)
            first = having[0]
            added = Property(first.node, everywhere, first.words, first.is_open)
            prop = found.setdefault(name, added)
            if name == sorted_out.tag_field:
                prop.words = [*sorted_out.tagged]
                prop.is_open = sorted_out.is_open

    def used_bare(self) -> set[str]:
        """Return the definitions that are used otherwise than as the payload of a tag."""
        found: set[str] = set()
        for node in self.nodes.values():
            _collect_references(node, found)
        return found

    def is_nullable(self, node: Node) -> bool:
        """Return whether null is a value of its own here."""
        types = node.get("type")
        if types == "null" or (isinstance(types, list) and "null" in types):
            return True
        name = reference(node)
        if name is not None:
            return self.is_nullable(self.nodes[name])
        return any(self.is_nullable(each) for each in alternatives(node))


def _collect_references(node: Node, found: set[str]) -> None:
    if "$ref" in node:
        found.add(node["$ref"].rpartition("/")[2])
    properties: Mapping[str, Node] = node.get("properties", {})
    has_tag = any("const" in prop for prop in properties.values())
    inner: list[Node] = [*properties.values(), *alternatives(node)]
    inner += [] if has_tag else node.get("allOf", ())
    inner += [
        node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), dict)
    ]
    for each in inner:
        _collect_references(each, found)
