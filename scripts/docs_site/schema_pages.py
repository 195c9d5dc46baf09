"""Pages with the types of the protocol, one for each version, in a compact form.

A type is shown as it is declared: a few lines of code say more about fields, defaults and unions
than a paragraph for each field would.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from types import ModuleType

VERSIONS = ("parley.schema.v1", "parley.schema.v2")
INTRO = """The types of version {number}, by topic. Import them from ``{package}``.
:doc:`../methods` lists the methods. Fields that every type has, such as ``meta``, are those of
:py:class:`parley.schema.base.Object`.
"""


def pages() -> dict[str, str]:
    """Return a page for each version."""
    return {package: _page(importlib.import_module(package)) for package in VERSIONS}


def _page(package: ModuleType) -> str:
    name = package.__name__
    intro = INTRO.format(number=name[-1], package=name)
    parts = [f"{name}\n{'=' * len(name)}\n", f".. py:module:: {name}\n", intro]
    for topic in _topics(package):
        parts += _section(topic, package)
    return "\n".join(parts)


def _topics(package: ModuleType) -> Iterator[ModuleType]:
    """Yield the modules whose names a version exports, those of the version first."""
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    for node in sorted(imports, key=lambda each: each.level == 0):
        if node.names[0].name == "*":
            topic = f"{package.__name__}.{node.module}" if node.level else str(node.module)
            yield importlib.import_module(topic)


def _section(topic: ModuleType, package: ModuleType) -> Iterator[str]:
    """Yield the parts of the section about one topic."""
    is_draft = not topic.__name__.startswith(f"{package.__name__}.")
    title = topic.__name__.rpartition(".")[2].replace("_", " ").capitalize()
    title += " (drafts)" if is_draft else ""
    yield f"{title}\n{'-' * len(title)}\n"
    yield (inspect.getdoc(topic) or "").partition("\n\n")[0] + "\n"
    source = inspect.getsource(topic)
    tree = ast.parse(source)
    for position, node in enumerate(tree.body):
        name = _declared_name(node)
        if name in topic.__all__:
            following = tree.body[position + 1] if position + 1 < len(tree.body) else None
            text, code = _declaration(node, following, source)
            yield _entry(name, text, code, "" if is_draft else topic.__name__)


def _declared_name(node: ast.stmt) -> str:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _declaration(node: ast.stmt, following: ast.stmt | None, source: str) -> tuple[str, str]:
    """Return the docstring of a type and its declaration without it."""
    lines = source.splitlines()
    if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
        string = node.body[0]
        assert string.end_lineno is not None
        lines[string.lineno - 1 : string.end_lineno] = [""] * (
            string.end_lineno - string.lineno + 1
        )
        text = ast.get_docstring(node) or ""
    else:
        match following:
            case ast.Expr(value=ast.Constant(value=str(text))):
                text = inspect.cleandoc(text)
            case _:
                text = ""
    code = "\n".join(lines[node.lineno - 1 : node.end_lineno])
    return text, "\n".join(line for line in code.splitlines() if line.strip())


def _entry(name: str, text: str, code: str, topic: str) -> str:
    canonical = f"   :canonical: {topic}.{name}\n" if topic else ""
    listing = indent(f".. code-block:: python\n\n{indent(dedent(code), '   ')}", "   ")
    return (
        f".. py:class:: {name}\n{canonical}   :no-index-entry:\n\n"
        f"{indent(text, '   ')}\n\n{listing}\n"
    )
