"""Atomic replacement of files: a reader sees the old content or the new one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_temporary(path: Path, data: bytes, mode: int | None = None) -> Generator[Path]:
    """Write data to a temporary file next to `path`, to be moved there in one step.

    At the end of the block, the file is deleted if it is still there.

    Args:
        path: The file to replace.
        data: The content.
        mode: The permissions; by default, only the user may read and write it.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                temporary.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:  # also when interrupted
        temporary.unlink(missing_ok=True)
