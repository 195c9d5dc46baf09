"""Prepare docstrings for Sphinx, which reads reStructuredText and Google's sections.

Ours have code between fences, as in Markdown, and fields documented by a string below them.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from types import ModuleType
from typing import Any

import msgspec
from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

FENCE = re.compile(r"( *)```(\w*)$")


def first_paragraph(module: ModuleType) -> str:
    """Return the first paragraph of a module's docstring; the rest is for maintainers."""
    return (inspect.getdoc(module) or "").partition("\n\n")[0]


def as_blocks(lines: list[str]) -> list[str]:
    """Replace fences by directives."""
    converted: list[str] = []
    indent: str | None = None
    for line in lines:
        if (fence := FENCE.match(line)) is None:
            converted.append(line if indent is None or not line else f"   {line}")
        elif indent is None:
            indent = fence[1]
            converted += ["", f"{indent}.. code-block:: {fence[2] or 'none'}", ""]
        else:
            indent = None
            converted.append("")
    return converted


def prepare(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Change the lines of a docstring in place."""
    if what == "data":
        lines[:] = [*_data_docstring(*name.rpartition(".")[::2]), ""]
    lines[:] = as_blocks(lines)
    if what not in ("attribute", "data", "property"):  # napoleon takes "word: …" for a type there
        docstring = GoogleDocstring(lines, name=name, obj=value, options=options)
        lines[:] = docstring.lines()


def _data_docstring(module: str, name: str) -> list[str]:
    """Return the string below an assignment, in the module that a package imports it from."""
    while True:
        try:
            analyzer = ModuleAnalyzer.for_module(module)
        except PycodeError:
            return []
        if found := analyzer.find_attr_docs().get(("", name)):
            return found
        imported = re.search(
            rf"^from (\S+) import (?:\([^)]*\b{name}\b|[^(\n]*\b{name}\b)", analyzer.code, re.M
        )
        if imported is None:
            return []
        package = module if analyzer.srcname.endswith("__init__.py") else module.rpartition(".")[0]
        module = importlib.util.resolve_name(imported[1], package)


def shorten_signature(
    app: Sphinx, what: str, name: str, value: Any, *_: Any
) -> tuple[str, str] | None:
    """Leave out the types of a struct's fields, which follow, and the `*args` of a protocol."""
    if what != "class":
        return None
    if getattr(value, "_is_protocol", False):
        return "", ""
    if not issubclass(value, msgspec.Struct):
        return None
    fields = inspect.signature(value).parameters.values()
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in fields]
    return str(inspect.Signature(bare)), ""


def setup_docstrings(app: Sphinx) -> None:
    """Register the functions; before napoleon, which reads the sections."""
    app.connect("autodoc-process-docstring", prepare, priority=400)
    app.connect("autodoc-process-signature", shorten_signature)
