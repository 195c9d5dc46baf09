"""The thread that writes the SQLite journal, and what waits for it.

`put` and `append` fill a buffer and return. The thread takes all that has gathered
and writes it in one transaction, with one wait for the disk: at once when somebody waits for a
commit or much has gathered, else a moment after the first of it. So a crash loses at most that
moment, and nothing that was committed.

When it cannot write, it says so once, keeps what it has and tries again, now and then and whenever
somebody commits. The buffer is bounded: while writing works, an append waits above the bound; while
it does not, further entries are dropped, and a note in their session says how many.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TypeAlias

import msgspec

from parley.errors import JournalError

from ._base import Record
from ._rows import KINDS, Packed

logger = logging.getLogger(__name__)

DELAY_SECONDS = 0.1
"""The maximum delay before an entry is written."""
ENOUGH_BYTES = 1024 * 1024
"""The number of buffered bytes that are written at once."""
MAX_BYTES = 32 * 1024 * 1024
"""The maximum size of unwritten entries."""
RETRY_SECONDS = 5.0
"""The delay after a failed write."""
ENTRY_BYTES = 128
"""The weight of an entry in addition to its data."""

OnWritten: TypeAlias = Callable[[JournalError | None], None]
"""Called in the writer's thread when what came before is written, or could not be."""


class Batch:
    """Puts and appends that follow each other; their order among sessions does not matter."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.fields: dict[str, set[str] | None] = {}
        """Which fields of a record count; None: all."""
        self.entries: dict[str, list[Packed]] = {}

    def put(self, record: Record, fields: Sequence[str]) -> None:
        """Update the record of a session; fields that are not given keep their values."""
        key = record.key
        known = self.records.get(key)
        before = self.fields.get(key, set())
        if known is None or not fields:
            self.records[key] = record
        else:
            for name in fields:
                setattr(known, name, getattr(record, name))
        self.fields[key] = None if before is None or not fields else before | set(fields)


Step: TypeAlias = Batch | Callable[[sqlite3.Connection], object]
"""The work of the thread, in order: batches, and other work on the file."""


class Writer:
    """Writes steps in their order, in a thread of its own."""

    def __init__(self, write: Callable[[Sequence[Step]], None], tidy: Callable[[], bool]) -> None:
        """Start no thread before there is something to do.

        Args:
            write: Writes some steps for good, all or none; a `JournalError` says why it cannot.
            tidy: Does a piece of the work that can wait; returns whether there is more.
        """
        self._write = write
        self._tidy = tidy
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._relief = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._steps: list[Step] = []
        self._batch: Batch | None = None
        """The last of the steps, where it can take more."""
        self._bytes = 0
        self._callbacks: list[OnWritten] = []
        self._is_waiting = False
        self._is_writing = False
        self._is_stopping = False
        self._problem: JournalError | None = None
        self._dropped: dict[str, int] = {}

    def put(self, record: Record, fields: Sequence[str]) -> None:
        """Update the record of a session."""
        with self._lock:
            if not self._is_stopping:
                self._open_batch().put(record, fields)
                self._notice()

    def extend(self, key: str, at: float, kind: int, data: Sequence[bytes]) -> None:
        """Take entries of a session; all of them, or none if there is no room."""
        if not data:
            return
        size = ENTRY_BYTES * len(data) + sum(map(len, data))
        with self._lock:
            if self._is_stopping:
                return
            if self._bytes > MAX_BYTES and not self._has_room():
                self._dropped[key] = self._dropped.get(key, 0) + len(data)
                return
            batch = self._batch or self._open_batch()
            known = batch.entries.get(key)
            if known is None:
                known = batch.entries[key] = []
            known += zip(repeat(at), repeat(kind), data)
            self._bytes += size
            if self._is_waiting or self._thread is None or self._bytes > ENOUGH_BYTES:
                self._notice()

    def do(self, step: Callable[[sqlite3.Connection], object]) -> None:
        """Take something else that is to be done with the file."""
        with self._lock:
            if not self._is_stopping:
                self._steps.append(step)
                self._batch = None
                self._notice()

    def tell(self, callback: OnWritten) -> None:
        """Call back when everything taken so far is written, and begin to write now."""
        with self._lock:
            if not self._is_stopping:
                self._callbacks.append(callback)
                self._notice()
                return
        callback(None)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all that was taken is written.

        Raises:
            JournalError: It could not be.
        """
        if not self.is_behind:
            return
        is_done = threading.Event()
        problems: list[JournalError | None] = []

        def on_written(problem: JournalError | None) -> None:
            problems.append(problem)
            is_done.set()

        self.tell(on_written)
        is_done.wait(timeout)
        if problems and problems[0] is not None:
            raise problems[0]

    @property
    def is_behind(self) -> bool:
        """Whether something is not written yet."""
        return bool(self._steps or self._dropped or self._is_writing)

    def stop(self) -> None:
        """Write the rest, as far as that works, and end the thread; nothing is taken any more."""
        with self._lock:
            self._is_stopping = True
            self._wake.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _open_batch(self) -> Batch:
        if self._batch is None:
            self._batch = Batch()
            self._steps.append(self._batch)
        return self._batch

    def _has_room(self) -> bool:
        """Wait until the buffer has room; while writing fails it has none."""
        while self._bytes > MAX_BYTES and self._problem is None and not self._is_stopping:
            self._wake.notify()
            self._relief.wait()
        return self._bytes <= MAX_BYTES

    def _notice(self) -> None:
        """Wake the thread, or start it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="parley journal", daemon=True)
            self._thread.start()
        self._wake.notify()

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            steps, size, waiting = taken
            problem = self._try_to_write(steps)
            with self._lock:
                self._settle(steps, size, problem)
                if self._is_stopping and problem is not None:
                    self._steps = []
            for callback in waiting:
                callback(problem)
            while problem is None and self._has_time and self._tidy():
                pass

    def _take(self) -> tuple[list[Step], int, list[OnWritten]] | None:
        """Wait for something to write; None at the end."""
        with self._lock:
            self._is_waiting = True
            while not (self._steps or self._callbacks or self._is_stopping):
                self._wake.wait()
            self._is_waiting = False
            delay = DELAY_SECONDS if self._problem is None else RETRY_SECONDS
            until = time.monotonic() + delay
            while not (self._callbacks or self._is_stopping or self._is_enough):
                if not self._wake.wait(max(until - time.monotonic(), 0)):
                    break
            if not (self._steps or self._callbacks):
                return None
            self._is_writing = True
            steps, size, waiting = self._steps, self._bytes, self._callbacks
            self._steps, self._batch, self._callbacks = [], None, []
            return steps, size, waiting

    @property
    def _has_time(self) -> bool:
        """Whether nothing is more urgent than what can wait."""
        return not (self._callbacks or self._is_stopping or self._is_enough)

    @property
    def _is_enough(self) -> bool:
        return self._bytes > ENOUGH_BYTES and self._problem is None

    def _try_to_write(self, steps: list[Step]) -> JournalError | None:
        try:
            if steps:
                self._write(steps)
        except JournalError as problem:
            return problem
        except Exception as error:  # of ours: callers must be notified, and the next batch written
            logger.exception("the journal has lost something that it cannot write")
            steps.clear()  # to try again would fail again
            return JournalError(f"something could not be written to the journal: {error}")
        return None

    def _settle(self, steps: list[Step], size: int, problem: JournalError | None) -> None:
        """Record whether steps were written; those that were not stay the first."""
        if problem is not None and steps:
            self._steps[:0] = steps
            if self._problem is None:
                logger.error("%s; up to %d MiB are kept and tried again", problem, MAX_BYTES >> 20)
        else:
            self._bytes -= size
            if self._problem is not None:
                logger.warning("the journal is written again")
            for key, count in self._dropped.items():
                note = msgspec.json.encode({"note": "lost", "entries": count})
                entry = (time.time(), KINDS.index("note"), note)
                self._open_batch().entries.setdefault(key, []).append(entry)
                self._bytes += len(note) + ENTRY_BYTES
            self._dropped.clear()
        self._problem = problem if steps else None
        self._is_writing = False
        self._relief.notify_all()
