"""Write a page of the API reference for each public module, from the table in `api.md`.

The pages are written to `docs/reference/api/` when the site is built, and are not committed. A name
that several modules export is documented once, in the one closest to its definition; the others
refer to it. The types of the protocol are in `schema_pages.py`.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from scripts.docs_site import schema_pages
from scripts.docs_site.docstrings import first_paragraph, setup_docstrings
from scripts.docs_site.navigation import toctree
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

ROW = re.compile(r"^\| `(parley[\w.]*)` \| (.*) \|$", re.MULTILINE)
FRONT_DOOR = "parley"
GROUPS = {
    "autoclass": "Classes",
    "autofunction": "Functions",
    "autoexception": "Exceptions",
    "autodata": "Values and types",
}


def exports(table: str) -> dict[str, list[str]]:
    """Return the names of each public module that has any."""
    found = {module: re.findall(r"`(\w+)`", names) for module, names in ROW.findall(table)}
    return {module: names for module, names in found.items() if names}


def homes(modules: dict[str, list[str]]) -> dict[tuple[str, str], str]:
    """Return the module that documents each name that a module exports."""
    places: dict[tuple[str, int], list[str]] = {}
    for module, names in modules.items():
        for name in names:
            places.setdefault((name, id(_value(module, name))), []).append(module)
    return {
        (module, name): max(found, key=lambda each: _closeness(each, _value(each, name)))
        for (name, _), found in places.items()
        for module in found
    }


def _value(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _closeness(module: str, value: Any) -> tuple[bool, bool, int]:
    """Order the modules that export a value; the largest one documents it."""
    defined_in = f"{getattr(value, '__module__', '')}."
    return (module != FRONT_DOOR, defined_in.startswith(f"{module}."), len(module))


def page(module: str, names: list[str], home: dict[tuple[str, str], str]) -> str:
    """Return the page of a module."""
    intro = first_paragraph(importlib.import_module(module))
    parts = [f"{module}\n{'=' * len(module)}\n", f".. py:module:: {module}\n", intro, ""]
    here = [name for name in names if home[module, name] == module]
    if len(here) > 1:
        parts += [" · ".join(f":py:obj:`{name} <{module}.{name}>`" for name in here), ""]
    for directive, title in GROUPS.items():
        group = [name for name in here if _directive(_value(module, name)) == directive]
        if group:
            parts += [f"{title}\n{'-' * len(title)}\n"]
            parts += [_entry(directive, module, name) for name in group]
    elsewhere = [name for name in names if home[module, name] != module]
    if elsewhere:
        title = "Documented elsewhere"
        parts += [f"{title}\n{'-' * len(title)}\n"]
        parts += [f"- :py:obj:`{name} <{home[module, name]}.{name}>`" for name in elsewhere]
    return "\n".join(parts) + "\n"


def _directive(value: Any) -> str:
    if inspect.isclass(value):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    return "autofunction" if inspect.isroutine(value) else "autodata"


def _entry(directive: str, module: str, name: str) -> str:
    options = "   :no-value:\n" if directive == "autodata" else ""
    return f".. {directive}:: {module}.{name}\n{options}"


def write_pages(app: Sphinx) -> None:
    """Write the pages that have changed, and remove those of modules that are gone."""
    folder = Path(app.srcdir, "reference", "api")
    folder.mkdir(exist_ok=True)
    modules = exports((folder.parent / "api.md").read_text())
    home = homes(modules)
    pages = {module: page(module, names, home) for module, names in modules.items()}
    pages |= schema_pages.pages()
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    for file in folder.glob("*.rst"):
        if file.stem not in pages:
            file.unlink()


def link_table(app: Sphinx, document: str, source: list[str]) -> None:
    """Link the modules and the names in the table to the pages about them."""
    if document != "reference/api":
        return
    modules = exports(source[0])
    home = homes(modules)

    def linked(row: re.Match[str]) -> str:
        module, names = row.groups()
        for name in modules.get(module, ()):
            role = f"{{py:obj}}`{name} <{home[module, name]}.{name}>`"
            names = names.replace(f"`{name}`", role, 1)
        has_page = module in modules or module in schema_pages.VERSIONS
        page = f"[`{module}`](api/{module}.rst)" if has_page else f"`{module}`"
        return f"| {page} | {names} |"

    source[0] = ROW.sub(linked, source[0])
    pages = sorted([*modules, *schema_pages.VERSIONS])
    source[0] += toctree([f"api/{module}" for module in pages])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_table)
    setup_docstrings(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
