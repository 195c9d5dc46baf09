"""The journal: every session the person had, frame by frame, and what can be done with it.

`Journal` is the interface, `MemoryJournal` and `SqliteJournal` implement it, a `Recorder` fills it
from a connection.
"""

from ._base import Entry, Hit, Journal, Kind, Record, Role, new_key
from ._memory import MemoryJournal
from ._recorder import Recorder
from ._sqlite import SqliteJournal

__all__ = [
    "Entry",
    "Hit",
    "Journal",
    "Kind",
    "MemoryJournal",
    "Record",
    "Recorder",
    "Role",
    "SqliteJournal",
    "new_key",
]
