"""The path of a URI on this machine, or at least the name of its file."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


def path_of(uri: str) -> str | None:
    """Return the absolute path of a `file:` URI on this machine; None for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    is_here = parts.scheme == "file" and parts.netloc in ("", "localhost")
    if not is_here or "\0" in path or not os.path.isabs(path):  # noqa: PTH117 - a client's text
        return None
    return path


def is_same_file(one: str, other: str) -> bool:
    """Return whether two URIs name the same file, however they are spelled."""
    path = path_of(one)
    return one == other or (path is not None and path == path_of(other))


def name_of(uri: str) -> str:
    """Return how a file is called, wherever it is; empty if the URI does not say."""
    return _path(uri).name


def parts_of(uri: str) -> tuple[str, ...]:
    """Return the folders that a file is in and its name, wherever it is."""
    return _path(uri).parts


def _path(uri: str) -> PurePosixPath:
    try:
        path = urlsplit(uri).path
    except ValueError:
        path = uri
    return PurePosixPath(unquote(path))
