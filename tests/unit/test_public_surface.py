"""The documented surface of the core is the real one: `docs/reference/api.md` lists its names."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import parley

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
CORE = (
    "agent",
    "asgi_server",
    "client",
    "config",
    "errors",
    "export",
    "journal",
    "mcp",
    "nes",
    "peer",
    "policy",
    "proxy",
    "recording",
    "rpc",
    "schema",
    "session",
    "testing",
    "transport",
)
TYPES = re.compile(r"parley\.schema\.(v[12]\.|drafts\b|ids$)")
"""The topics of the schema: their names are exported by `schema.v1` and `schema.v2`."""


def documented() -> dict[str, set[str]]:
    """Return the names of each public module, as the page lists them."""
    rows = re.findall(r"^\| `(parley[\w.]*)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    return {module: set(re.findall(r"`(\w+)`", names)) for module, names in rows}


def public_modules() -> Iterator[str]:
    """Yield every module of the core that has no underscore in its path."""
    for found in pkgutil.walk_packages(parley.__path__, "parley."):
        parts = found.name.split(".")[1:]
        if parts[0] in CORE and not any(part.startswith("_") for part in parts):
            yield found.name


def test_every_public_module_of_the_core_is_documented() -> None:
    modules = {name for name in public_modules() if not TYPES.match(name)}
    assert {name for name in documented() if name != "parley"} == modules


def test_every_public_name_is_documented() -> None:
    listed = documented()
    for module, names in listed.items():
        if names:  # the page refers to another one for the schema's types
            assert names == set(importlib.import_module(module).__all__), module


def test_private_modules_of_the_core_list_no_names() -> None:
    root = Path(parley.__file__).parent
    private = [
        path
        for name in CORE
        for path in (root / name).rglob("*.py")
        if any(part.startswith("_") for part in path.relative_to(root).parts)
        and path.name not in {"__init__.py", "__main__.py"}
    ]
    assert private
    assert [path.name for path in private if "\n__all__ = " in path.read_text()] == []
