"""Content blocks that attach a file to a prompt: its contents, or a link to it.

The media type is guessed from the file name. The caller checks whether the file may be read and
which content types the agent accepts. Paths are absolute.
"""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path

from parley.schema import v2

MAX_ATTACHED_BYTES = 16 * 1024 * 1024
"""The largest file that is attached with its contents."""


def kind_of(path: Path) -> str:
    """Return the media type of a file; empty if its name does not reveal it."""
    return mimetypes.guess_type(path.name)[0] or ""


def is_picture(path: Path) -> bool:
    """Return whether a file is an image; SVG counts as text."""
    kind = kind_of(path)
    return kind.startswith("image/") and not kind.endswith("svg+xml")


def picture_block(path: Path, data: bytes) -> v2.ImageContent:
    """Return an image as a content block."""
    encoded = base64.b64encode(data).decode()
    return v2.ImageContent(data=encoded, mime_type=kind_of(path), uri=path.as_uri())


def text_block(path: Path, text: str, part: str = "") -> v2.EmbeddedResource:
    """Return a text as an embedded resource; `part` is a URI fragment such as `#L1-L2`."""
    kind = kind_of(path) or "text/plain"
    contents = v2.TextResourceContents(uri=f"{path.as_uri()}{part}", text=text, mime_type=kind)
    return v2.EmbeddedResource(resource=contents)


def link_block(path: Path, size: int | None, description: str | None = None) -> v2.ResourceLink:
    """Return a link to a file, which the agent may be able to read."""
    return v2.ResourceLink(
        uri=path.as_uri(),
        name=path.name,
        mime_type=kind_of(path) or None,
        size=size,
        description=description,
    )
