"""A file as a block of a prompt: what is in it, or a link to it. Its kind is told by its name.

Whether a file may be read, and what the agent takes, is for the caller to see. Paths are absolute.
"""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path

from parley.schema import v2

__all__ = [
    "MAX_ATTACHED_BYTES",
    "is_picture",
    "kind_of",
    "link_block",
    "picture_block",
    "text_block",
]

MAX_ATTACHED_BYTES = 16 * 1024 * 1024
"""How long a file may be that is sent along."""


def kind_of(path: Path) -> str:
    """Return the media type of a file; empty where its name does not tell."""
    return mimetypes.guess_type(path.name)[0] or ""


def is_picture(path: Path) -> bool:
    """Tell whether a file is a picture; what is drawn by words is a text."""
    kind = kind_of(path)
    return kind.startswith("image/") and not kind.endswith("svg+xml")


def picture_block(path: Path, data: bytes) -> v2.ImageContent:
    """Return a picture."""
    encoded = base64.b64encode(data).decode()
    return v2.ImageContent(data=encoded, mime_type=kind_of(path), uri=path.as_uri())


def text_block(path: Path, text: str, part: str = "") -> v2.EmbeddedResource:
    """Return a text, or a part of it that is named as in an address: `#L1-L2`."""
    kind = kind_of(path) or "text/plain"
    contents = v2.TextResourceContents(uri=f"{path.as_uri()}{part}", text=text, mime_type=kind)
    return v2.EmbeddedResource(resource=contents)


def link_block(path: Path, size: int | None, description: str | None = None) -> v2.ResourceLink:
    """Return a link, which the agent may be able to follow."""
    return v2.ResourceLink(
        uri=path.as_uri(),
        name=path.name,
        mime_type=kind_of(path) or None,
        size=size,
        description=description,
    )
