"""Files that are dropped on the terminal, which pastes their paths: they become mentions.

Terminals write such a path as a shell or a page would: in quotes, with backslashes, as `file://`.
A file of the workspace is mentioned as if it was typed. An image may be anywhere, because
a user who drops one means it. Anything else stays the text that was pasted.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from parley.client._attachments import is_picture

from .mentions import mention

__all__ = ["PastedFiles", "find_pasted_files"]

_MOST_CHARS = 16_384


class PastedFiles(NamedTuple):
    """The text to insert instead of what was pasted, and the images outside of the workspace."""

    text: str
    images: list[str]
    """Paths of images that are not in the workspace."""


def find_pasted_files(text: str, places: Sequence[Path]) -> PastedFiles | None:
    """Return mentions of the files whose paths were pasted; None: something else was pasted.

    Args:
        text: What was pasted.
        places: The directories of the workspace; relative paths begin at the first.
    """
    paths = _paths(text.strip()) if len(text) <= _MOST_CHARS else []
    mentions: list[str] = []
    images: list[str] = []
    for path in paths:
        is_inside = any(path.is_relative_to(each) for each in places)
        if not is_inside and not is_picture(path):
            return None
        if not is_inside:
            images.append(str(path))
        is_near = path.is_relative_to(places[0])
        mentions.append(mention(str(path.relative_to(places[0]) if is_near else path)))
    return PastedFiles(" ".join(mentions) + " ", images) if mentions else None


def _paths(text: str) -> list[Path]:
    """Return the files that a text names and nothing else; none if there is anything else."""
    if not text.startswith(("/", "'", '"', "~", "file://")):
        return []
    whole = _path(text)
    if whole is not None:
        return [whole]
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    found = [_path(each) for each in words]
    return [each for each in found if each is not None] if all(found) else []


def _path(word: str) -> Path | None:
    """Return the file that a word names."""
    if word.startswith("file://"):
        parts = urlsplit(word)
        word = unquote(parts.path) if parts.netloc in ("", "localhost") else ""
    try:
        path = Path(os.path.normpath(Path(word).expanduser()))
        return path if path.is_absolute() and path.is_file() else None
    except (OSError, RuntimeError, ValueError):  # not a path, or an unknown home directory
        return None
