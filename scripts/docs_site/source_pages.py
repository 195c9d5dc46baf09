"""Files of the repository that a page links to, such as examples and tests, as pages of the site.

A link to `../../examples/ask.py` works on a Git host as it is. The site has no such file beside it,
so each linked file becomes a page with its text, and the link leads there.
"""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge
from sphinx.transforms import SphinxTransform
from sphinx.util.typing import ExtensionMetadata

ROOT = Path(__file__).parents[2]
LANGUAGES = {".py": "python", ".md": "markdown", ".toml": "toml", ".lua": "lua", ".json": "json"}


class LinkSources(SphinxTransform):
    """Replace links that Sphinx would copy as downloads by links to pages."""

    default_priority = 10

    def apply(self, **kwargs: Any) -> None:
        """Run on one document."""
        folder = Path(self.env.srcdir, self.env.docname).parent
        for link in list(self.document.findall(addnodes.download_reference)):
            path = (folder / link["reftarget"]).resolve().relative_to(ROOT).as_posix()
            page = f"source/{path}{self.app.builder.out_suffix}"  # type: ignore[attr-defined]
            uri = posixpath.relpath(page, posixpath.dirname(self.env.docname) or ".")
            self.env.metadata[self.env.docname].setdefault("sources", []).append(path)
            link.replace_self(nodes.reference("", "", *link.children, refuri=uri, internal=True))


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file that some page links to."""
    linked = {path for each in app.env.metadata.values() for path in each.get("sources", ())}
    highlighter = PygmentsBridge("html")
    for path in sorted(linked):
        file = ROOT / path
        if not file.is_file():
            continue
        code = highlighter.highlight_block(file.read_text(), LANGUAGES.get(file.suffix, "none"))
        heading = html.escape(path)
        yield f"source/{path}", {"title": heading, "body": f"<h1>{heading}</h1>{code}"}, "page.html"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension."""
    app.add_transform(LinkSources)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
