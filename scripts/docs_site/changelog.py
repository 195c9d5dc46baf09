"""The changelog as a page of the site.

It is a file of the repository's root, where Git hosts and packages look for it. The page in `docs/`
only links to it; on the site, the page has its text instead.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

FILE = Path(__file__).parents[2] / "CHANGELOG.md"
PAGE = "reference/changelog"


def insert_changelog(app: Sphinx, document: str, source: list[str]) -> None:
    """Replace the text of the page by the changelog."""
    if document == PAGE:
        app.env.note_dependency(str(FILE))
        source[0] = FILE.read_text().replace("](docs/", "](../")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension."""
    app.connect("source-read", insert_changelog)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
