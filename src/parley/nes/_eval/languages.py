"""The languages that can be measured: which files are theirs, and which of their lines import."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from parley._languages import LANGUAGE_IDS

_TYPES = {
    "python": ("python",),
    "typescript": ("typescript", "typescriptreact", "javascript", "javascriptreact"),
    "go": ("go",),
    "rust": ("rust",),
    "java": ("java",),
    "c": ("c", "cpp"),
}
LANGUAGES = {
    name: {ending: type for ending, type in LANGUAGE_IDS.items() if type in types}
    for name, types in _TYPES.items()
}
"""The languages, each with the endings of its files and what an editor calls them.

JavaScript goes with TypeScript and C++ with C: they are mixed in one project.
"""

_IMPORTS = {
    "python": re.compile(r"\s*(import|from)\s+[\w.]"),
    "typescript": re.compile(
        r"import\b(?!\s*\()|(const|let|var)\s[^=]*=\s*require\(|export\s[^=]*\sfrom\s"
    ),
    "go": re.compile(r"import\b"),
    "rust": re.compile(r"\s*(pub(\([^)]*\))?\s+)?use\s|extern\s+crate\s"),
    "java": re.compile(r"import\s"),
    "c": re.compile(r"\s*#\s*include\b"),
}
_ENDINGS = {ending: name for name, files in LANGUAGES.items() for ending in files}


def language_of(path: str) -> str | None:
    """Return the language of a file; None if it cannot be measured."""
    return _ENDINGS.get(PurePosixPath(path).suffix)


def patterns(languages: Iterable[str]) -> list[str]:
    """Return path patterns for git that match only files of these languages."""
    return [f":(glob)**/*{ending}" for each in languages for ending in LANGUAGES[each]]


def import_lines(lines: Sequence[str], language: str) -> set[int]:
    """Return the numbers of the lines that import, with those on which an import continues."""
    begins, found = _IMPORTS[language], set[int]()
    depth, goes_on = 0, False
    for number, line in enumerate(lines):
        if not goes_on and not begins.match(line):
            continue
        found.add(number)
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        goes_on = depth > 0 or line.rstrip().endswith("\\")
        depth = max(depth, 0)
    return found
