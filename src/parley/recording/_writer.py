"""Writing recordings, in a thread of its own.

The thread that carries a connection hands over bytes and goes on. The queue between them is
bounded. When it is full, the connection waits as long as the writer makes progress: a flood is
slowed down to the speed of the disk rather than lost. When the writer does nothing for a second,
such as on a disk that hangs, nothing waits for it any more; an event loop never waits. Bytes are
then lost for the recording, never for the connection. They are counted, with the line that they are
in, and reported by an event in the recording and by `ActiveRecording.lost_bytes`.

What has gathered is written after a tenth of a second, or when it is much: waking the thread for
each message would cost more than all the rest. The file itself is created at once.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import parley

from ._format import Header, RecordedEvent, Source
from ._recording_file import RecordingFile
from ._store import RecordingLimits, RecordingStore, configured_limits, new_key

logger = logging.getLogger(__name__)

DELAY_SECONDS = 0.1
"""The maximum delay before something is written."""
ENOUGH_BYTES = 256 * 1024
"""When this much has gathered, it is written at once."""
MAX_QUEUE_BYTES = 16 * 1024 * 1024
"""The maximum size of what waits for the writer."""
STUCK_SECONDS = 1.0
"""When the writer has done nothing for this long, nothing waits for it."""
_BATCH_BYTES = 1024 * 1024
"""The approximate size of what is written at once."""
_ITEM_BYTES = 200
"""The approximate memory of an item in addition to its data."""
_TOO_SLOW = "the recording could not be written fast enough"

_Payload: TypeAlias = bytes | int | RecordedEvent | Literal["open", "close"]
"""Bytes of a stream, a number of lost bytes, an event, or the beginning or end of a recording."""
_Item: TypeAlias = tuple[RecordingFile, float, Source | None, _Payload]
"""What to do with a file: the time in the recording, the stream if it is about one, the payload."""


class _Queue:
    """What waits for the writer's thread; bounded in bytes."""

    def __init__(self, *, may_wait: bool) -> None:
        self._may_wait = may_wait
        lock = threading.Lock()
        self._condition = threading.Condition(lock)
        """Wakes the writer's thread."""
        self._has_room = threading.Condition(lock)
        """Wakes threads that wait for the writer."""
        self._items: deque[tuple[_Item, int]] = deque()
        self._bytes = 0
        """The size of what was put and not released."""
        self._is_idle = False
        """Whether the thread waits for a first item."""
        self._is_urgent = False
        """Whether the thread takes the next items without a delay."""
        self._is_stuck = False
        self._is_closed = False

    def put(self, item: _Item, size: int = 0) -> bool:
        """Add an item; returns False if it has data and there is no room."""
        is_urgent = item[3] in ("open", "close")
        cost = size + _ITEM_BYTES
        with self._condition:
            if size and not self._has_room_for(cost):
                return False
            self._items.append((item, cost))
            self._bytes += cost
            self._is_urgent = self._is_urgent or is_urgent
            is_enough = self._bytes - cost < ENOUGH_BYTES <= self._bytes
            if self._is_idle or is_urgent or is_enough:
                self._condition.notify()
        return True

    def _has_room_for(self, cost: int) -> bool:
        """Return whether there is room; wait for it while the writer makes progress."""
        may_wait = self._may_wait and not self._is_stuck
        while self._bytes + cost > MAX_QUEUE_BYTES and self._bytes and may_wait:
            self._condition.notify()
            may_wait = self._has_room.wait(STUCK_SECONDS)
            self._is_stuck = not may_wait
        return self._bytes + cost <= MAX_QUEUE_BYTES

    def take(self) -> tuple[list[_Item], int]:
        """Wait for items and take some, with their size; there are none after the end."""
        with self._condition:
            self._is_idle = True
            self._condition.wait_for(lambda: self._items or self._is_closed)
            self._is_idle = False
            self._condition.wait_for(self._has_no_delay, DELAY_SECONDS)
            self._is_urgent = False
            items: list[_Item] = []
            taken = 0
            while self._items and taken < _BATCH_BYTES:
                item, cost = self._items.popleft()
                items.append(item)
                taken += cost
        # A thread may hand over a reaction before another one hands over its cause. The items of
        # one stream are in the order of their times already, so sorting keeps their order.
        items.sort(key=lambda item: item[1])
        return items, taken

    def _has_no_delay(self) -> bool:
        return self._is_closed or self._is_urgent or self._bytes >= ENOUGH_BYTES

    def release(self, size: int) -> None:
        """Make room: what was taken is written."""
        with self._condition:
            self._bytes -= size
            self._is_stuck = False
            self._has_room.notify_all()

    def close(self) -> None:
        """Let the thread end after the items that are there."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()


class ActiveRecording:
    """The recording of an open connection. `RecordingWriter.start` returns it.

    No method raises, and none waits for a writer that makes no progress. All may be called from any
    thread, but the calls for one stream must come from one thread, since their order counts.
    """

    def __init__(self, key: str, file: RecordingFile, queue: _Queue) -> None:
        self.key = key
        """The name of the recording."""
        self.path = file.path
        """The file."""
        self._file = file
        self._queue = queue
        self._began = time.monotonic()
        self._dropped: Counter[Source] = Counter()
        self._is_closed = False
        queue.put((file, 0.0, None, "open"))

    def write(self, source: Source, data: bytes, read_at: float | None = None) -> None:
        """Record bytes of a stream, as they were read; a line may come in several pieces.

        Args:
            source: The stream.
            data: The bytes.
            read_at: When they were read, as `time.monotonic()` says it; by default now. Where
                several threads pass on streams, this tells what was a reaction to what.
        """
        if self._is_closed:
            return
        at = max(0.0, (time.monotonic() if read_at is None else read_at) - self._began)
        if self._dropped and (size := self._dropped.pop(source, 0)):
            self._queue.put((self._file, at, source, size))
        if not self._queue.put((self._file, at, source, data), len(data)):
            self._dropped[source] += len(data)

    def write_event(
        self,
        event: Literal["started", "closed", "exited", "signal", "failed"],
        *,
        source: Source | None = None,
        pid: int | None = None,
        code: int | None = None,
        signal: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Record an event; `RecordedEvent` says which fields go with it."""
        if self._is_closed:
            return
        at = round(time.monotonic() - self._began, 6)
        record = RecordedEvent(
            at=at, event=event, source=source, pid=pid, code=code, signal=signal, reason=reason
        )
        self._queue.put((self._file, at, source, record))

    def close(self) -> None:
        """End the recording; what was handed over before is still written."""
        if self._is_closed:
            return
        self._is_closed = True
        at = time.monotonic() - self._began
        for source, size in self._dropped.items():
            self._queue.put((self._file, at, source, size))
        self._queue.put((self._file, at, None, "close"))

    @property
    def lost_bytes(self) -> int:
        """The number of bytes that are not in the recording; final when the writer is closed."""
        return self._file.lost_bytes

    @property
    def problem(self) -> str | None:
        """Why something is not in the recording; None if everything is."""
        return self._file.problem


class RecordingWriter:
    r"""Writes any number of recordings, in one thread.

    ```python
    with RecordingWriter() as writer:
        recording = writer.start("opencode", ["opencode", "acp"])
        recording.write("client", frame + b"\n")
        recording.close()
    ```
    """

    def __init__(
        self,
        store: RecordingStore | None = None,
        *,
        limits: RecordingLimits | None = None,
        environ: Mapping[str, str] | None = None,
        may_wait: bool = True,
    ) -> None:
        """Prepare to write; the thread starts with the first recording.

        Args:
            store: Where recordings are written; by default with those of this user.
            limits: When recordings are deleted, oldest first; this happens once, after the first
                recording was created. By default those of the configuration.
            environ: The environment whose secrets are masked; by default that of this process.
            may_wait: Whether a connection waits when the queue is full. A program with an event
                loop says False: then bytes are lost for the recording instead.
        """
        self._store = RecordingStore() if store is None else store
        self._limits = limits
        self._environ = dict(os.environ if environ is None else environ)
        self._queue = _Queue(may_wait=may_wait)
        self._open: set[RecordingFile] = set()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(
        self,
        name: str,
        command: Sequence[str] = (),
        *,
        cwd: str = "",
        path: str | Path | None = None,
        hop: str = "",
        chain: str = "",
    ) -> ActiveRecording:
        """Start a recording.

        Args:
            name: The name of the agent, for lists and for the key.
            command: Its command line, whose secrets are masked; empty for an agent that is no
                process.
            cwd: Its working directory.
            path: The file to write instead of one in the store. An earlier recording there is
                replaced; a file that is not a recording is left alone, and the problem reported.
            hop: The part of a chain of proxies that is recorded.
            chain: What the recordings of one chain have in common, for example a random id.
        """
        began = time.time()
        header = Header(
            key=new_key(name, began),
            name=name,
            command=list(command),
            cwd=cwd,
            pid=os.getpid(),
            started_at=round(began, 6),
            parley=parley.__version__,
            hop=hop,
            chain=chain,
        )
        is_new = path is None
        where = self._store.path(header.key) if path is None else Path(path)
        file = RecordingFile(where, header, self._environ, is_new=is_new)
        recording = ActiveRecording(header.key, file, self._queue)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="parley recording", daemon=True)
            self._thread.start()
        return recording

    def close(self, timeout: float | None = None) -> bool:
        """Write what was handed over, end all recordings, and end the thread.

        Args:
            timeout: How many seconds to wait for the disk.

        Returns:
            Whether everything was written, or counted as lost, within the time.
        """
        self._queue.close()
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        limits = configured_limits() if self._limits is None else self._limits
        is_pruned = False
        while True:
            items, size = self._queue.take()
            if not items:
                break
            try:
                self._write(items, limits)
                if not is_pruned:
                    is_pruned = True
                    self._store.prune(limits)
            except Exception:  # a mistake of ours must not end the thread, which other files need
                logger.exception("a part of a recording could not be written")
            self._queue.release(size)
        for file in self._open:
            file.close()

    def _write(self, items: Sequence[_Item], limits: RecordingLimits) -> None:
        touched: set[RecordingFile] = set()
        for file, at, source, payload in items:
            if payload == "open":
                file.open(limits.max_bytes)
                self._open.add(file)
            elif payload == "close":
                file.close()
                self._open.discard(file)
            elif isinstance(payload, bytes) and source is not None:
                file.add_chunk(at, source, payload)
            elif isinstance(payload, int) and source is not None:
                file.add_lost(source, payload, _TOO_SLOW)
            elif isinstance(payload, RecordedEvent):
                file.add_event(payload)
            touched.add(file)
        for file in touched & self._open:
            file.flush()
