"""The navigation of the site is the lists of links in the pages called `index.md`.

Sphinx wants a `toctree`, which a Git host would show as a block of code. A list reads well on both.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

ENTRY = re.compile(r"^- \[[^]]+\]\(([^):#]+)\.md\): ", re.MULTILINE)


def add_toctree(app: Sphinx, document: str, source: list[str]) -> None:
    """Append the toctree of an index: the pages that its list names, in that order."""
    if document.rpartition("/")[2] == "index":
        source[0] += toctree(ENTRY.findall(source[0]))


def toctree(pages: list[str]) -> str:
    """Return a toctree that is only in the navigation."""
    listed = "\n".join(pages)
    return f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension."""
    app.connect("source-read", add_toctree)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
