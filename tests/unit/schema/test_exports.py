"""Both versions have the same layout: what they export, what they declare, what they load."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from collections import Counter
from types import ModuleType

import pytest
from msgspec import StructMeta
from tests.schema_types import declared_methods, exported_types

from parley.schema import drafts, v1, v2
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

PACKAGES = {1: v1, 2: v2}
TABLES = {1: methods1.TABLE, 2: methods2.TABLE}

both_versions = pytest.mark.parametrize("version", [1, 2])


def topics(package: ModuleType) -> list[ModuleType]:
    """Return the modules of a package that define types."""
    return [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
        if module.name != "methods"
    ]


@both_versions
def test_a_version_exports_every_type_of_its_topics_and_of_the_drafts(version: int) -> None:
    modules = [*topics(PACKAGES[version]), *topics(drafts)]
    names = [name for module in modules for name in module.__all__]
    assert sorted(names) == sorted(exported_types(version))
    for module in modules:
        for name in module.__all__:
            assert getattr(PACKAGES[version], name) is getattr(module, name)


def test_a_draft_is_one_class_in_both_versions() -> None:
    assert v1.SetProviderRequest is v2.SetProviderRequest
    shared = {name for module in topics(drafts) for name in module.__all__}
    one, two = exported_types(1), exported_types(2)
    classes = {name for name in one.keys() & two.keys() if isinstance(one[name], StructMeta)}
    assert {name for name in classes if one[name] is two[name]} == classes & shared


@both_versions
def test_each_method_is_declared_once(version: int) -> None:
    rows = declared_methods(version).values()
    # The older form of `mcp/message`, with connections, has the name of the current one.
    declared = Counter((row.name, row.kind, row.stability) for row in rows)
    assert [key for key, count in declared.items() if count > 1] == []
    in_table = Counter((row.name, row.kind) for row in TABLES[version].methods)
    assert [key for key, count in in_table.items() if count > 1] == []


@both_versions
def test_the_table_has_every_row_of_the_schema_in_the_order_of_declaration(version: int) -> None:
    rows = declared_methods(version).values()
    expected = [row for row in rows if row.stability in {"stable", "unstable"}]
    assert list(TABLES[version].methods) == expected


@both_versions
def test_every_other_row_is_in_one_group(version: int) -> None:
    members = vars(importlib.import_module(f"parley.schema.v{version}.methods"))
    groups = [set(rows) for name, rows in members.items() if name.endswith("_METHODS")]
    assert len(groups) == 5
    others = {
        name: row
        for name, row in declared_methods(version).items()
        if row.stability in {"former", "proposal"}
    }
    alone = {name for name, row in others.items() if sum(row in group for group in groups) != 1}
    # An adapter of version 2 adds this row by itself; `MCP_CONNECTION_METHODS` has rows that read
    # both forms of a message.
    known = {"MESSAGE_MCP_CONNECTION", "MESSAGE_MCP_CONNECTION_NOTIFICATION"}
    assert alone == known | ({"LOAD_SESSION"} if version == 2 else set())


@pytest.mark.parametrize("package", [drafts, v1, v2], ids=lambda package: package.__name__)
def test_every_topic_points_to_the_spec(package: ModuleType) -> None:
    for module in topics(package):
        assert "https://agentclientprotocol.com/" in str(module.__doc__), module.__name__


@pytest.mark.parametrize(("loaded", "other"), [("v1", "v2"), ("v2", "v1")])
def test_the_types_of_one_version_load_neither_methods_nor_the_other_version(
    loaded: str, other: str
) -> None:
    script = f"import sys, parley.schema.{loaded}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    modules = run.stdout.split()
    assert f"parley.schema.{loaded}.updates" in modules
    assert f"parley.schema.{loaded}.methods" not in modules
    assert not [name for name in modules if name.startswith(f"parley.schema.{other}")]
