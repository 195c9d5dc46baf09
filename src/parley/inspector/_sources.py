"""What can be inspected: the recordings of this user, and files.

An `InspectedRecording` reads a recording into a `FrameTable`, and again when more has been written.
A file of JSON lines is converted to a recording in a temporary directory first.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from parley.errors import RecordingError
from parley.recording import Header, Recording, RecordingStore
from parley.recording._file_lock import is_locked
from parley.recording._format import Chunk, Parser
from parley.recording._store import SUFFIX

from ._frames import FrameTable

_READ_BYTES = 1024 * 1024


class InspectedRecording:
    """A recording and its rows, as far as they were read."""

    def __init__(self, path: Path) -> None:
        """Open a recording and read its header.

        Raises:
            RecordingError: It cannot be read.
        """
        self.path = path
        self.table = FrameTable()
        self._problem: str | None = None
        self._parser = Parser()
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
        while self._parser.header is None and self._read():
            pass
        if self._parser.header is None:
            self.close()
            why = self.problem or "the file ends before the header is complete"
            raise RecordingError(f"{path} cannot be read: {why}")
        self.header: Header = self._parser.header
        self.is_live = is_locked(self._file.fileno())
        """Whether more may come, as far as was known when the end was read last."""

    @property
    def problem(self) -> str | None:
        """The reason why it cannot be read further; None if it can."""
        return self._problem

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> bool:
        if self._problem is not None:
            return False
        try:
            data = self._file.read(_READ_BYTES)
            if not data:
                return False
            for record in self._parser.feed(data):
                size = len(record.data) if isinstance(record, Chunk) else 0
                self.table.add(record, self._parser.position - 1 - size)
        except OSError as error:
            self._problem = error.strerror or str(error)
        except RecordingError as error:
            self._problem = str(error)
        return True

    def read_part(self) -> bool:
        """Read the next part; return whether there was one, and set `is_live` at the end."""
        is_live = is_locked(self._file.fileno())  # asked first: what comes later is not missed
        if self._read():
            return True
        self.is_live = is_live and self.problem is None
        return False

    def read_all(self) -> None:
        """Read everything that has been written so far."""
        while self.read_part():
            pass

    def data(self, number: int, start: int = 0, size: int | None = None) -> bytes:
        """Return a part of the bytes of a frame.

        Raises:
            RecordingError: The file cannot be read.
        """
        place, length = self.table.place(number)
        size = length - start if size is None else min(size, length - start)
        if size <= 0:
            return b""
        try:
            return os.pread(self._file.fileno(), size, place + start)
        except OSError as error:
            raise RecordingError(f"{self.path} cannot be read: {error.strerror}") from error


@contextmanager
def located(word: str, store: RecordingStore | None = None) -> Generator[Recording]:
    """Find a recording by its key, the beginning of one, or the name of an agent, or in a file.

    A file of JSON lines is converted to a recording that is deleted at the end of the block.

    Raises:
        RecordingError: There is none, or it cannot be read.
    """
    path = Path(word)
    if path.is_file() and path.suffix != SUFFIX:
        with tempfile.TemporaryDirectory(prefix="parley-inspect-") as folder:
            yield import_lines(path, Path(folder))
    else:
        yield (store or RecordingStore()).find(word)


@contextmanager
def open_source(word: str, store: RecordingStore | None = None) -> Generator[InspectedRecording]:
    """Open a recording that is found as `located` does.

    Raises:
        RecordingError: There is none, or it cannot be read.
    """
    path = Path(word)
    if path.is_file() and path.suffix == SUFFIX:  # also one that is damaged
        with closing(InspectedRecording(path)) as recording:
            yield recording
        return
    with located(word, store) as found, closing(InspectedRecording(found.path)) as recording:
        yield recording


def import_lines(path: Path, folder: Path) -> Recording:
    """Convert a file of JSON lines to a recording in a directory.

    Raises:
        RecordingError: It cannot be read, or is something else.
    """
    try:
        with path.open("rb") as file:
            return RecordingStore(folder).import_lines(file)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
    except RecordingError as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
