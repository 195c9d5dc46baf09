"""Files that are not open: their text, from the folders of the workspace and from nowhere else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from parley.client.workspace._roots import Roots
from parley.errors import RequestError

from .paths import path_of

MAX_FILE_BYTES = 4 * 1024 * 1024
"""A larger file is not read."""


class Files:
    """The files of a workspace."""

    def __init__(self, folders: Sequence[str], *, max_bytes: int = MAX_FILE_BYTES) -> None:
        self._roots = Roots(folders)
        self._max_bytes = max_bytes

    async def read(self, uri: str) -> str | None:
        """Return the text of a file; None if it is not in the workspace, no text, or too large."""
        path = path_of(uri)
        if path is None or not self._roots.directories:
            return None
        return await asyncio.to_thread(self._read, path)

    def _read(self, path: str) -> str | None:
        try:
            place = self._roots.confine(path)
            with place.parent() as (directory, _):
                descriptor = place.open(directory, os.O_RDONLY)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(self._max_bytes + 1)
            return None if len(data) > self._max_bytes else data.decode("utf-8")
        except (OSError, RequestError, UnicodeDecodeError):
            return None


def folders_of(uris: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that are on this machine, each once."""
    paths = [path for path in map(path_of, uris) if path is not None]
    # `Path.is_dir` raises for a name that is too long, or is in a folder that nobody may look into.
    return tuple(dict.fromkeys(path for path in paths if os.path.isdir(path)))  # noqa: PTH112
