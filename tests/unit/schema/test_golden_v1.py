"""Every golden file of version 1 is read, and written again as it says it should be.

A file in `tests/golden/v1` has a `type` (a name of `schema.v1` or `schema.v1.unstable`), the JSON
as `value` or, where the bytes matter, as text in `raw`, and what to `expect`: `same`, another
`value`, or a `refused` with the text of the error. A `note` says what is worth noticing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from parley.errors import MalformedValue
from parley.schema import v1
from parley.schema.base import Method
from parley.schema.codec import decode, encode
from parley.schema.v1 import former_methods, methods, unstable

FILES = sorted((Path(__file__).parents[2] / "golden" / "v1").glob("*.json"))
NAMES = {name: getattr(module, name) for module in (v1, unstable) for name in module.__all__}
GROUPS: tuple[tuple[Method[Any, Any], ...], ...] = (
    methods.TABLE.methods,
    former_methods.NES_METHODS,
    former_methods.DOCUMENT_METHODS,
    former_methods.WORKSPACE_METHODS,
    (former_methods.MESSAGE_MCP_CONNECTION, former_methods.MESSAGE_MCP_CONNECTION_NOTIFICATION),
)


def load(file: Path) -> dict[str, Any]:
    golden: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return golden


def read(golden: dict[str, Any]) -> Any:
    raw = golden["raw"] if "raw" in golden else json.dumps(golden["value"])
    return decode(NAMES[golden["type"]], raw.encode())


def inside(value: object) -> Iterator[Struct]:
    if isinstance(value, Struct):
        yield value
        for name in value.__struct_fields__:
            yield from inside(getattr(value, name))
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType] - any list will do
            yield from inside(item)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, dict):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from inside(item)  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_golden_file_is_read_and_written_as_it_says(file: Path) -> None:
    golden = load(file)
    expected = golden["expect"]

    if isinstance(expected, dict) and "refused" in expected:
        with pytest.raises(MalformedValue) as refusal:
            read(golden)
        assert str(refusal.value) == expected["refused"]
        return

    value = read(golden)
    written = encode(value)
    if expected == "same" and "raw" in golden:
        assert written.decode() == golden["raw"]
    else:
        assert json.loads(written) == (golden["value"] if expected == "same" else expected["value"])
    assert decode(NAMES[golden["type"]], written) == value


def test_every_method_has_a_golden_file_for_its_params_and_its_result() -> None:
    covered = {load(file)["type"] for file in FILES}
    wanted = {
        name
        for group in GROUPS
        for method in group
        for name, tp in NAMES.items()
        if name.endswith(("Request", "Response", "Notification"))
        and (tp is method.params or (tp is method.result and name.endswith("Response")))
    }

    assert wanted - covered == {"ExtNotification"} - covered
