"""The translation table covers every method, and nothing else lists the pairs again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.schema_types import declared_methods, exported_types

import parley
from parley.schema._codec import decode, encode
from parley.session._capabilities import ClientFeatures
from parley.session._v1_method_translations import (
    TRANSLATIONS,
    V1_TRANSLATIONS,
    MethodTranslation,
)
from parley.session._v1_session_downgrader import SessionDowngrader
from parley.session._v1_session_upgrader import SessionUpgrader

GOLDEN = Path(__file__).parents[2] / "golden" / "v1"
ROWS = [row for rows in TRANSLATIONS.values() for row in rows]
V1_TYPES = exported_types(1)
NOT_TRANSLATED = ("initialize", "proxy/", "_proxy/", "workspace/", "$/cancel_request")
"""Methods that are handled before there is an adapter, or that have the same types in both."""
MCP_CONNECTIONS = {"mcp/connect", "mcp/disconnect"}
ONLY_V1 = {
    "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output",
    "terminal/wait_for_exit", "terminal/kill", "terminal/release",
}  # fmt: skip
ONLY_V2 = {"tool_call/cancel", "terminal/cancel", "session/load"}
UPDATES = {"session/update"}


def untranslated(version: int, translated: set[tuple[Any, str]]) -> set[str]:
    methods = declared_methods(version).values()
    names = {each.name for each in methods if (each.kind, each.name) not in translated}
    return {name for name in names if not name.startswith(NOT_TRANSLATED)}


def test_every_method_is_translated_or_is_in_one_version_only() -> None:
    assert untranslated(1, {*V1_TRANSLATIONS}) == ONLY_V1 | MCP_CONNECTIONS | UPDATES
    assert untranslated(2, {*TRANSLATIONS}) == ONLY_V2 | MCP_CONNECTIONS | UPDATES


def test_each_method_has_one_usual_form_and_it_comes_first() -> None:
    for usual, *others in TRANSLATIONS.values():
        assert usual.applies is None
        assert all(row.applies is not None for row in others)


def golden(method1: Any) -> list[tuple[str, Any]]:
    """Return the golden params and result of a version 1 method, without their variants."""
    found: list[tuple[str, Any]] = []
    slug = method1.name.replace("/", "-")
    for file in (GOLDEN / f"{slug}{end}.json" for end in ("", "-params", "-result")):
        if not file.exists():
            continue
        case = msgspec.json.decode(file.read_bytes())
        if case["expect"] != "same" or "value" not in case:
            continue
        tp = V1_TYPES[case["type"]]
        if tp is method1.params:
            found.append(("params", case["value"]))
        elif tp is method1.result:
            found.append(("result", case["value"]))
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.v1.kind}-{row.v1.name}")
def test_golden_messages_survive_the_way_to_version_2_and_back(row: MethodTranslation) -> None:
    declared = next(
        each
        for each in declared_methods(1).values()
        if (each.kind, each.name, each.stability) == (row.v1.kind, row.v1.name, row.v1.stability)
    )
    upgrader = SessionUpgrader(prefix="")
    downgrader = SessionDowngrader(ClientFeatures(boolean_options=True))
    for part, value in golden(declared):
        if part == "params" and not (row.v1.to == "client" and row.v1.name.endswith("permission")):
            if row.v1.name == "session/set_mode":  # it depends on the modes of the session
                continue
            typed = row.upgrade(decode(row.v1.params, msgspec.json.encode(value)), upgrader)
            again = row.downgrade(typed, upgrader)
        elif part == "result" and row.is_reversible:
            typed = decode(row.v1.result, msgspec.json.encode(value))
            again = row.downgrade_result(row.upgrade_result(typed, upgrader, None), downgrader)
        else:
            continue
        assert msgspec.json.decode(encode(again)) == value


def test_only_the_table_makes_rows() -> None:
    source = Path(parley.__file__).parent
    makers = {
        file.name
        for file in source.rglob("*.py")
        if "MethodTranslation(" in file.read_text(encoding="utf-8")
    }
    assert makers == {"_v1_method_translations.py"}
