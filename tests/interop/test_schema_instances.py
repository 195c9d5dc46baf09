"""Random values that fit the JSON Schemas of the official TypeScript package are read and kept.

Each definition gives values by a small generator with fixed seeds. A value of ours must not refuse
one, and must write it back as it was but for defaults that may be left out. With one wrong value in
it, it is read or refused as the hints of the schema say, and a refusal names the place.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, TypeGuard

import pytest
from tests.schema_types import exported_types, type_stabilities

from parley.errors import MalformedValue
from parley.schema._codec import decode, encode
from parley.schema.base import ALL_OR_DEFAULT, LENIENT

from .json_schema import Definitions, Node, Property, alternatives, definitions, joined, variants
from .parity import Parity, leniency
from .test_schema_parity import EXCLUDED

PER_DEFINITION = 30
DEFAULT_WORDS = ("other", "pending", "object")
RANGES = {
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

both_versions = pytest.mark.parametrize("version", [1, 2])


class Generator:
    """Makes values that fit a definition."""

    def __init__(self, defs: Definitions, seed: str) -> None:
        self.defs = defs
        self.random = random.Random(seed)

    def value(self, node: Node) -> Any:
        if "const" in node:
            return node["const"]
        kind = node.get("type")
        if not isinstance(kind, str | None):
            return self.value({**node, "type": self.random.choice(kind)})
        if kind == "object" or "properties" in node or "allOf" in node or "$ref" in node:
            return self.composed(node)
        either = alternatives(node)
        if either:
            return self.value(self.random.choice(either))
        return self.scalar(node, kind)

    def composed(self, node: Node) -> Any:
        """Make a value of a node with parts; they are objects unless there is a single part."""
        parts = [*node.get("allOf", ()), *([node] if "$ref" in node else ())]
        values = [self.value(self.defs.nodes[part["$ref"].rpartition("/")[2]]) for part in parts]
        if len(values) == 1 and not isinstance(values[0], dict):
            return values[0]
        found: dict[str, Any] = {key: part for value in values for key, part in value.items()}
        inner = node.get("additionalProperties")
        if inner is not None and "properties" not in node:
            count = self.random.randrange(3)
            return {self.text(): self.value({} if inner is True else inner) for _ in range(count)}
        either = alternatives(node)
        if either:
            found |= self.value(self.random.choice(either))
        for name, prop in node.get("properties", {}).items():
            if name in node.get("required", ()) or self.random.random() < 0.5:
                found.setdefault(name, self.value(prop))
        return self.unknown(found, node) if node.get("title") == "other" else found

    def unknown(self, found: dict[str, Any], node: Node) -> dict[str, Any]:
        """Make it a variant that nobody knows; not by its stop reason, see `DIFFERENCES`."""
        tags = [
            name
            for each in node.get("not", {}).get("anyOf", ())
            for name in each.get("properties", {})
        ]
        found |= {name: self.random.choice(["_mine", "future"]) for name in tags}
        return found if "stopReason" in tags else {**found, "more": [1.5, {"a": None}]}

    def scalar(self, node: Node, kind: str | None) -> Any:
        if kind == "array":
            count = self.random.randint(node.get("minItems", 0), 2)
            return [self.value(node["items"]) for _ in range(count)]
        if kind == "integer":
            least, most = RANGES.get(node.get("format", ""), (-5, 5))
            least, most = max(least, node.get("minimum", least)), min(most, 2**63 - 1)
            most = min(most, node.get("maximum", most))
            return self.random.choice(
                [least, most, max(least, 1), self.random.randint(least, most)]
            )
        if kind == "number":
            return self.random.choice([0, 1, 0.25])
        simple: dict[str | None, list[Any]] = {
            "null": [None],
            "boolean": [True, False],
            "string": [self.text()],
            None: [None, True, 7, 0.5, self.text(), [], [1, "a"], {}, {"a": [None]}],
        }
        return self.random.choice(simple[kind])

    def text(self) -> str:
        return self.random.choice(["a", "b c", "ü", "🙂", '"\\', "line\nbreak", "zero\0", "text"])


def parity(version: int) -> Parity:
    found = Parity(
        definitions(version, "schema.json"),
        definitions(version, "schema.unstable.json"),
        exported_types(version),
        type_stabilities(version),
    )
    found.compare(name for name in found.unstable.nodes if name not in EXCLUDED)
    return found


def whole_definitions(found: Parity) -> Iterator[str]:
    """Yield the definitions that stand for themselves, and not for a part of a union's variant."""
    for name in found.unstable.nodes:
        if name not in EXCLUDED and found.ours(name) not in found.variant_classes:
            yield name


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_empty(value: Any) -> bool:
    """Return whether a value may be left out: it is a default somewhere."""
    if is_object(value):
        return all(is_empty(each) for each in value.values())
    return value in (None, False, []) or value in DEFAULT_WORDS


def same(sent: Any, written: Any) -> bool:
    """Compare two values, but for what may be left out."""
    if is_object(sent) and is_object(written):
        either = sent.keys() ^ written.keys()
        return all(is_empty(sent.get(key, written.get(key))) for key in either) and all(
            same(sent[key], written[key]) for key in sent.keys() & written.keys()
        )
    if is_array(sent) and is_array(written):
        return len(sent) == len(written) and all(map(same, sent, written))
    return bool(sent == written)


def trip(name: str, tp: Any, sent: Any) -> Iterator[str]:
    """Read a value and write it back; yield what went wrong."""
    raw = json.dumps(sent).encode()
    try:
        value = decode(tp, raw, name)
    except MalformedValue as error:
        yield f"{error} in {sent}"
        return
    written = encode(value)
    if not same(sent, json.loads(written)):
        yield f"{name}: {sent} is written as {json.loads(written)}"
    if decode(tp, written) != value:
        yield f"{name}: {written!r} is read otherwise than {raw!r}"


@both_versions
def test_valid_values_are_read_and_written_back(version: int) -> None:
    found = parity(version)
    problems: list[str] = []
    for name in whole_definitions(found):
        for seed in range(PER_DEFINITION):
            sent = Generator(found.unstable, f"{name} {seed}").value(found.unstable.nodes[name])
            problems += trip(name, found.ours(name), sent)
    assert problems == []


def objects(found: Parity) -> Iterator[tuple[str, Any, Node]]:
    """Yield every object of the schema as it stands on the wire: its name, our type, its node."""
    for name in whole_definitions(found):
        node = found.unstable.nodes[name]
        tagged = variants(node).tagged
        if tagged and "stopReason" not in node.get("properties", {}):
            for tag, variant in tagged.items():
                yield f"{name}<{tag}>", found.ours(name), joined(node, variant)
        elif "properties" in node:
            yield name, found.ours(name), node


def kinds(defs: Definitions, node: Node) -> set[str]:
    """Return the types of JSON value that may fit; none if any may."""
    target = [*node.get("allOf", ()), *([node] if "$ref" in node else ())]
    if target:
        return kinds(defs, defs.nodes[target[0]["$ref"].rpartition("/")[2]])
    if alternatives(node):
        each = [kinds(defs, either) for either in alternatives(node)]
        return {kind for found in each for kind in found} if all(each) else set()
    kind: str | list[str] = node.get("type", [])
    return {kind} if isinstance(kind, str) else {*kind}


def wrong_value(defs: Definitions, prop: Property) -> Any:
    """Return a value that cannot fit; None if any can."""
    fitting = kinds(defs, prop.node)
    if not fitting:
        return None
    others: dict[str, Any] = {"string": "x", "boolean": True, "object": {"x": 1}, "array": [{}]}
    return next(value for kind, value in others.items() if kind not in fitting)


def is_forgiven(prop: Property) -> bool:
    return leniency(prop) in (LENIENT, ALL_OR_DEFAULT) or (
        leniency(prop) is None and not prop.is_required
    )


def refused_at(tp: Any, raw: bytes, path: str) -> str | None:
    try:
        decode(tp, raw, path)
    except MalformedValue as error:
        return error.path
    return None


@both_versions
def test_one_wrong_value_is_forgiven_or_refused_as_the_hints_say(version: int) -> None:
    found = parity(version)
    problems: list[str] = []
    for name, tp, node in objects(found):
        scopes = {"sessionId", "requestId"} if name.startswith("CreateElicitation") else set[str]()
        for key, prop in found.unstable.flatten(node).items():
            wrong = wrong_value(found.unstable, prop)
            if wrong is None or key in scopes or prop.words or "const" in prop.node:
                continue
            sent = {**Generator(found.unstable, name).value(node), key: wrong}
            expected = None if is_forgiven(prop) else f"{name}.{key}"
            refused = refused_at(tp, json.dumps(sent).encode(), name)
            if refused != expected:
                problems.append(f"{name}.{key}: refused at {refused}: {sent}")
    assert problems == []
