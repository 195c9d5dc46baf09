"""The style of a project, and what it tells about edits.

Where types are annotated and imports are sorted and used, somebody or something watches over the
code, and an edit that leaves it so is likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from parley.nes.embedded._project import Project
from parley.nes.embedded._source import SourceFile

from .imports import imports_of, is_tidy

_MOST_PAGES = 12
_MOST_OPEN = 50
_MANY = 3
"""A file with fewer import statements says nothing."""


def project_style(
    file: SourceFile, files: Mapping[str, SourceFile], project: Project
) -> dict[str, float]:
    """Describe the style of the Python files near one: shares, or the best of a lone file."""
    found = [x for x in _neighbours(file, files, project) if len(imports_of(x)) >= _MANY]
    return {
        name: sum(map(has, found)) / len(found) if found else 1.0 for name, has in _STYLE.items()
    }


def _neighbours(
    file: SourceFile, files: Mapping[str, SourceFile], project: Project
) -> Iterable[SourceFile]:
    """Return some neighbouring Python files that are not the heads of packages."""
    found = [x for x in islice(files.values(), _MOST_OPEN) if x.uri != file.uri]
    found += project.files_with("import", near=file, but=set(files), most=_MOST_PAGES)
    return [x for x in found if x.language == "python" and x.path.stem != "__init__"]


def _is_neat(file: SourceFile) -> bool:
    """Return whether a file mentions everything that it imports."""
    names = [here for x in imports_of(file) if x.module != "__future__" for _, here in x.names]
    return all(here == "*" or len(file.places(here, 2)) > 1 for here in names)


_STYLE: dict[str, Callable[[SourceFile], bool]] = {
    "typed": lambda file: "->" in file.text,
    "sorted": lambda file: is_tidy(imports_of(file)),
    "neat": _is_neat,
}
