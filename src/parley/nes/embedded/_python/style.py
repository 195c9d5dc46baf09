"""How a project is kept: what it says about the edits that people make in it.

Where types are annotated and imports are sorted and used, somebody or something watches over the
code, and an edit that leaves it so is likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from parley.nes.embedded._project import Project
from parley.nes.embedded._source import Page

from .imports import imports_of, is_tidy

_MOST_PAGES = 12
_MOST_OPEN = 50
_MANY = 3
"""A file with fewer import statements says nothing."""


def habits_of(page: Page, pages: Mapping[str, Page], project: Project) -> dict[str, float]:
    """Describe the habits of the files near a Python file: shares, or the best of a lone file."""
    found = [x for x in _neighbours(page, pages, project) if len(imports_of(x)) >= _MANY]
    return {
        name: sum(map(has, found)) / len(found) if found else 1.0 for name, has in _HABITS.items()
    }


def _neighbours(page: Page, pages: Mapping[str, Page], project: Project) -> Iterable[Page]:
    """Return some Python files near a page that are not the heads of packages."""
    found = [x for x in islice(pages.values(), _MOST_OPEN) if x.uri != page.uri]
    found += project.pages_with("import", near=page, but=set(pages), most=_MOST_PAGES)
    return [x for x in found if x.language == "python" and x.path.stem != "__init__"]


def _is_neat(page: Page) -> bool:
    """Return whether a page mentions everything that it imports."""
    names = [here for x in imports_of(page) if x.module != "__future__" for _, here in x.names]
    return all(here == "*" or len(page.places(here, 2)) > 1 for here in names)


_HABITS: dict[str, Callable[[Page], bool]] = {
    "typed": lambda page: "->" in page.text,
    "sorted": lambda page: is_tidy(imports_of(page)),
    "neat": _is_neat,
}
