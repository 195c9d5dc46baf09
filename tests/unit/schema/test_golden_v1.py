"""Every golden file of version 1 is read and written as it says, and nothing lacks a file.

A file in `tests/golden/v1` has a `type` (a name of `schema.v1`), the JSON as `value` or, where the
bytes matter, as text in `raw`, and what to `expect`: `same`, another `value`, or a `refused` with
the text of the error. A `note` says what is worth noticing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec import Struct
from tests.schema_types import declared_methods, exported_types

from parley.errors import MalformedValue
from parley.schema._codec import decode, encode

FILES = sorted((Path(__file__).parents[2] / "golden" / "v1").glob("*.json"))
CASES: dict[str, dict[str, Any]] = {
    file.stem: msgspec.json.decode(file.read_bytes()) for file in FILES
}
TYPES = exported_types(1)


def raw_of(case: dict[str, Any]) -> bytes:
    raw: str | None = case.get("raw")
    return msgspec.json.encode(case["value"]) if raw is None else raw.encode()


def is_refused(case: dict[str, Any]) -> bool:
    return "refused" in case["expect"]


def test_a_golden_file_is_read_and_written_as_it_says() -> None:
    for name, case in CASES.items():
        if not is_refused(case):
            check_accepted(name, case)


def check_accepted(name: str, case: dict[str, Any]) -> None:
    tp, raw, expect = TYPES[case["type"]], raw_of(case), case["expect"]

    value = decode(tp, raw)
    written = encode(value)

    if expect == "same" and "raw" in case:
        assert written == raw, name
    else:
        expected = (case if expect == "same" else expect)["value"]
        assert msgspec.json.decode(written) == expected, name
    assert decode(tp, written) == value, name


def test_a_golden_file_is_refused_with_the_text_that_it_states() -> None:
    for name, case in CASES.items():
        if is_refused(case):
            check_refused(name, case)


def check_refused(name: str, case: dict[str, Any]) -> None:
    with pytest.raises(MalformedValue) as decode_error:
        decode(TYPES[case["type"]], raw_of(case))

    assert str(decode_error.value) == case["expect"]["refused"], name


def test_every_method_has_golden_files_for_its_params_and_its_result() -> None:
    covered = [TYPES[case["type"]] for case in CASES.values() if not is_refused(case)]

    for row in declared_methods(1).values():
        assert any(row.params is tp for tp in covered), row
        assert row.result is None or any(row.result is tp for tp in covered), row


def objects_in(value: object) -> Iterator[Struct]:
    if isinstance(value, Struct):
        yield value
        for name in value.__struct_fields__:
            yield from objects_in(getattr(value, name))
    elif isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            yield from objects_in(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from objects_in(item)


def test_every_class_and_with_it_every_variant_of_a_union_is_in_a_golden_file() -> None:
    seen = {
        type(each)
        for case in CASES.values()
        if not is_refused(case)
        for each in objects_in(decode(TYPES[case["type"]], raw_of(case)))
    }
    classes = {tp for tp in TYPES.values() if isinstance(tp, type) and issubclass(tp, Struct)}

    assert classes - seen == set()
