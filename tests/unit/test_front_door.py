"""The front door: what `import parley` offers, and what it costs."""

from __future__ import annotations

import importlib
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import parley
from parley import errors

ROOT = Path(__file__).parents[2]
IMPORT = re.compile(r"^ *from (parley\.[\w.]+) import (\([^)]*\)|[^\n(]+)$", re.MULTILINE)
PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py"), ROOT / "README.md"]


def fresh(code: str) -> str:
    """Run code in a new interpreter and return what it prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", parley.__all__)
def test_every_name_of_the_front_door_comes_from_its_package(name: str) -> None:
    value = getattr(parley, name)
    package = ".".join(value.__module__.split(".")[:2])
    assert getattr(importlib.import_module(package), name) is value


def test_the_errors_of_the_front_door_are_those_of_the_errors_module() -> None:
    kinds = [getattr(parley, name) for name in parley.__all__ if hasattr(errors, name)]
    assert parley.AcpError in kinds
    assert parley.Unauthorized in kinds


@pytest.mark.parametrize("name", sorted(parley._PACKAGES))
def test_a_package_is_an_attribute_without_an_import_of_its_own(name: str) -> None:
    assert fresh(f"import parley; print(parley.{name}.__name__)") == f"parley.{name}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Clinet'"):
        _ = parley.Clinet  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


def test_dir_lists_the_names_and_the_packages() -> None:
    assert {*parley.__all__, *parley._PACKAGES} <= set(dir(parley))
    assert [name for name in dir(parley) if re.match("_[^_]", name)] == []


def test_help_describes_the_names() -> None:
    text = pydoc.plain(pydoc.render_doc(parley))
    for name in ("class Agent", "class Session", "connect(", "Write an agent"):
        assert name in text


def test_importing_parley_loads_neither_the_protocol_nor_asyncio() -> None:
    loaded = fresh("import parley, sys; print(*sys.modules)").split()
    assert [name for name in loaded if name.startswith("parley.")] == []
    assert not {"asyncio", "msgspec"} & set(loaded)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documents_and_examples_import_from_the_front_door_what_it_has(page: Path) -> None:
    for module, names in IMPORT.findall(page.read_text()):
        for name in set(re.findall(r"\w+", names)) & set(parley.__all__):
            # Another package may have something else under the same name.
            found = getattr(importlib.import_module(module), name)
            assert found is not getattr(parley, name), f"{module}.{name}"
