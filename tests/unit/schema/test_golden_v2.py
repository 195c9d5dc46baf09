"""Every golden file of version 2 reads and writes as it says, and no method or variant lacks one.

A file has a type, a value (or raw JSON where the bytes matter) and what is expected: `same`,
another value, or a refusal with its text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from tests.schema_types import declared_methods, exported_types

from parley.errors import MalformedValue
from parley.schema._codec import decode, encode

FILES = sorted((Path(__file__).parents[2] / "golden" / "v2").glob("*.json"))
CASES: dict[str, dict[str, Any]] = {
    file.stem: msgspec.json.decode(file.read_bytes()) for file in FILES
}
TYPES = exported_types(2)


def test_a_golden_file_reads_and_writes_as_it_says() -> None:
    for name, case in CASES.items():
        check_case(name, case)


def check_case(name: str, case: dict[str, Any]) -> None:
    tp, expect = TYPES[case["type"]], case["expect"]
    raw = case["raw"].encode() if "raw" in case else msgspec.json.encode(case["value"])
    if "refused" in expect:
        with pytest.raises(MalformedValue) as caught:
            decode(tp, raw)
        assert str(caught.value) == expect["refused"], name
        return
    value = decode(tp, raw)
    written = encode(value)
    if expect == "same" and "raw" in case:
        assert written == raw, name
    else:
        expected = case["value"] if expect == "same" else expect["value"]
        assert msgspec.json.decode(written) == expected, name
    assert decode(tp, written) == value, name


def _types_with_a_file() -> set[int]:
    return {id(TYPES[case["type"]]) for case in CASES.values() if "refused" not in case["expect"]}


def test_every_method_has_golden_files() -> None:
    covered = _types_with_a_file()
    for row in declared_methods(2).values():
        assert id(row.params) in covered, row
        assert row.result is None or id(row.result) in covered, row


def _unions() -> dict[str, dict[str, str]]:
    """Return the tags of every union of tagged classes, each with its tag field."""
    found: dict[str, dict[str, str]] = {}
    for name, tp in TYPES.items():
        union = get_args(tp)[0] if get_args(tp) else tp
        configs = [getattr(member, "__struct_config__", None) for member in get_args(union)]
        tags = {
            str(config.tag): str(config.tag_field) for config in configs if config and config.tag
        }
        if tags:
            found[name] = {tag: field for tag, field in tags.items() if tag.isprintable()}
    return found


@pytest.mark.parametrize(("name", "tags"), _unions().items())
def test_every_variant_and_both_kinds_of_unknown_have_a_golden_file(
    name: str, tags: dict[str, str]
) -> None:
    (tag_field,) = set(tags.values())
    kept = [
        case["value"].get(tag_field)
        for case in CASES.values()
        if case["type"] == name and case["expect"] == "same" and "value" in case
    ]
    assert set(tags) <= set(kept)
    unknown = {str(word) for word in kept if word and word not in tags}
    assert any(word.startswith("_") for word in unknown)
    assert any(not word.startswith("_") for word in unknown)
