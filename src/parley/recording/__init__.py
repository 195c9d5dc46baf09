"""Recordings of connections between a client and an agent, from the first byte to the exit.

`parley tap` makes them. A `RecordingWriter` makes them in a program, a `RecordingStore` is a
directory of them, and a `RecordingReader` reads one. The journal keeps sessions; a recording keeps
a connection, whatever it carried.
"""

from ._format import Header, RecordedEvent, Source
from ._reader import RecordedLine, RecordingReader
from ._store import Recording, RecordingLimits, RecordingStore, recordings_dir
from ._writer import ActiveRecording, RecordingWriter

__all__ = [
    "ActiveRecording",
    "Header",
    "RecordedEvent",
    "RecordedLine",
    "Recording",
    "RecordingLimits",
    "RecordingReader",
    "RecordingStore",
    "RecordingWriter",
    "Source",
    "recordings_dir",
]
