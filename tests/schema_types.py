"""The types and methods that a version of the schema exports, and the stability of each type."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import Any

import parley.schema
from parley.schema.base import Method

__all__ = ["declared_methods", "exported_types", "type_stabilities"]

_SCHEMA = Path(parley.schema.__file__).parent
_STABILITIES = ("unstable", "former", "proposal")


def exported_types(version: int) -> dict[str, Any]:
    """Return every type that `parley.schema.vN` exports, by name."""
    module = importlib.import_module(f"parley.schema.v{version}")
    return {name: value for name, value in vars(module).items() if name[0].isupper()}


def declared_methods(version: int) -> dict[str, Method[Any, Any]]:
    """Return every public row of `parley.schema.vN.methods`, by the name of its constant."""
    members = vars(importlib.import_module(f"parley.schema.v{version}.methods")).items()
    return {
        name: value
        for name, value in members
        if isinstance(value, Method) and not name.startswith("_")
    }


@cache
def type_stabilities(version: int) -> dict[str, str]:
    """Return the stability with which the docstring of each type starts; `stable` without one."""
    files = [*(_SCHEMA / f"v{version}").glob("*.py"), *(_SCHEMA / "drafts").glob("*.py")]
    docstrings = {name: text for file in files for name, text in _docstrings(file).items()}
    return {name: _stability(docstrings.get(name, "")) for name in exported_types(version)}


def _stability(docstring: str) -> str:
    word = docstring.partition(":")[0].lower()
    return word if word in _STABILITIES else "stable"


def _docstrings(file: Path) -> dict[str, str]:
    """Return the docstrings of the classes and of the aliases in a file, by name."""
    found: dict[str, str] = {}
    body = ast.parse(file.read_text()).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef):
            found[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[node.target.id] = text
                case _:
                    pass
    return found
