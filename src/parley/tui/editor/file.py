"""The edited file, or the sample; nothing is written before the user saves."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from parley._atomic_file import write_temporary
from parley._languages import language_id_of
from parley.errors import ConfigError

from .sample import SAMPLE, SAMPLE_NAME

__all__ = ["OpenFile", "open_file"]

MAX_BYTES = 4 * 1024 * 1024
_WRITABLE = 0o222


class OpenFile:
    """A text and its file."""

    def __init__(self, path: Path | None, text: str) -> None:
        self.path = path
        """The path; None for the sample, which is not saved."""
        self.saved = text
        """The text on the disk."""

    @property
    def name(self) -> str:
        """The name to show."""
        return SAMPLE_NAME if self.path is None else self.path.name

    @property
    def uri(self) -> str:
        """The URI for the engine."""
        return f"untitled:{SAMPLE_NAME}" if self.path is None else self.path.as_uri()

    @property
    def language_id(self) -> str:
        """The language for the engine."""
        return language_id_of(self.name)

    def save(self, text: str) -> None:
        """Write the text atomically: the file has the old or the new one.

        Raises:
            OSError: It cannot be written.
        """
        if self.path is None:
            raise OSError("this is only a sample; `parley nes demo FILE` edits a file")
        _replace(self.path.resolve(), text.encode())  # a link stays one
        self.saved = text


def open_file(path: Path | None) -> OpenFile:
    """Read a file; a missing one is new, and without a path it is the sample.

    Raises:
        ConfigError: This editor cannot edit the file; the message has the reason.
    """
    if path is None:
        return OpenFile(None, SAMPLE)
    path = path.absolute()
    if not path.exists():
        if not path.parent.is_dir():
            raise ConfigError(f"{path.parent} is not a folder")
        return OpenFile(path, "")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} is too long for this editor: more than {MAX_BYTES} bytes")
        text = path.read_bytes().decode()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not valid UTF-8 text") from error
    if "\0" in text:
        raise ConfigError(f"{path} is not a text file")
    if _as_edited(text) != text:
        raise ConfigError(f"{path} has line ends of several kinds, which this editor would change")
    return OpenFile(path, text)


def _as_edited(text: str) -> str:
    """Return a text as the editor would write it: every line ends like the first one."""
    end = next((each for each in ("\r\n", "\n", "\r") if each in text), "\n")
    lines = text.splitlines()
    return end.join([*lines, ""] if text.endswith(("\n", "\r")) else lines)


def _replace(path: Path, data: bytes) -> None:
    """Write a file next to the existing one, then replace it."""
    if not path.exists():
        path.write_bytes(data)
        return
    mode = path.stat().st_mode & 0o7777
    if not mode & _WRITABLE or not os.access(path, os.W_OK):
        raise OSError(errno.EACCES, "the file is read-only")
    with write_temporary(path, data, mode) as file:
        file.replace(path)
