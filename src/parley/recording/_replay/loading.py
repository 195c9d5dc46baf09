"""Reading whatever a replay can play: a recording, its JSON lines, or an export of the journal."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from parley.errors import RecordingError
from parley.recording._format import Header, RecordedEvent
from parley.recording._jsonl import read_jsonl
from parley.recording._reader import RecordedLine
from parley.recording._store import SUFFIX, RecordingStore


class LoadedRecording(Struct, frozen=True):
    """A recording in memory."""

    name: str
    """The key or the file, for messages."""
    items: list[RecordedLine | RecordedEvent]

    @property
    def lost_bytes(self) -> int:
        """The number of bytes that are missing in it."""
        return sum(
            item.size or 0
            for item in self.items
            if isinstance(item, RecordedEvent) and item.event == "lost"
        )


def load_recording(word: str, store: RecordingStore | None = None) -> LoadedRecording:
    """Load a recording.

    Args:
        word: A key, the beginning of one, the name of an agent, or a file.
        store: The recordings of the user.

    Raises:
        RecordingError: There is none, it cannot be read, or nothing of a client is in it.
    """
    path = Path(word)
    if path.suffix != SUFFIX and path.is_file():
        loaded = LoadedRecording(word, _read_lines(path))
    else:
        recording = (store or RecordingStore()).find(word)
        with recording.open() as reader:
            loaded = LoadedRecording(recording.key, list(reader))
    # Each stream is recorded by a thread of its own, so a reaction may come first in the file.
    loaded.items.sort(key=lambda item: item.at)
    if not any(isinstance(each, RecordedLine) for each in loaded.items):
        raise RecordingError(f"{word} has no messages to replay")
    return loaded


def _read_lines(path: Path) -> list[RecordedLine | RecordedEvent]:
    try:
        with path.open("rb") as file:
            found = list(read_jsonl(file))
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
    except RecordingError as error:
        raise RecordingError(f"{path} cannot be replayed: {error}") from error
    return [each for each in found if not isinstance(each, Header)]
