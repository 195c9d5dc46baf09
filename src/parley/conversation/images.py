"""The images of a conversation, and copies of them that other programs can show.

A terminal shows no images: each is a line that describes it. Only the user can read a copy, and it
is removed when the chat ends. Data that does not begin like an image is not written: an agent can
call anything an image, such as a page with scripts.
"""

from __future__ import annotations

import binascii
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from parley.schema import v2
from parley.session._transcript import Transcript
from parley.session._transcript_entries import MessageEntry, ToolCallEntry

__all__ = ["ImageCopies", "images_in"]

_MOST = 200
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": ".png",
    b"\xff\xd8\xff": ".jpg",
    b"GIF87a": ".gif",
    b"GIF89a": ".gif",
    b"BM": ".bmp",
}


def images_in(transcript: Transcript) -> list[v2.ImageContent]:
    """Return the images of a conversation, the last first."""
    found: list[v2.ImageContent] = []
    for entry in reversed(transcript.entries):
        blocks: list[object] = []
        if isinstance(entry, MessageEntry):
            blocks = list(entry.content)
        elif isinstance(entry, ToolCallEntry):
            blocks = [each.content for each in entry.content if isinstance(each, v2.Content)]
        found += [each for each in reversed(blocks) if isinstance(each, v2.ImageContent)]
    return found[:_MOST]


class ImageCopies:
    """Copies of images."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._count = 0

    def write(self, picture: v2.ImageContent) -> Path:
        """Write a copy and return where it is.

        Raises:
            ValueError: It is not an image of a known type.
            OSError: It cannot be written.
        """
        try:
            data = binascii.a2b_base64(picture.data)
        except binascii.Error:
            data = b""
        suffix = _suffix(data)
        if not suffix:
            raise ValueError("its content is not PNG, JPEG, GIF, WebP or BMP")
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="parley-", ignore_cleanup_errors=True)
        self._count += 1
        place = Path(self._folder.name, f"picture-{self._count}{suffix}")
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        return place

    def forget(self) -> None:
        """Remove all copies."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _suffix(data: bytes) -> str:
    """Return the file extension for data that begins like an image; empty if it does not."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    known = (ending for begin, ending in _BEGINNINGS.items() if data.startswith(begin))
    return next(known, "")
