"""Keep what passed over a connection, look at it, and save it as JSON lines.

A line of a file is `{"at": seconds, "direction": "inbound", "message": …}`; what is no JSON has
`base64` instead of `message`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from parley.peer.middleware import Direction
from parley.rpc.framing import Frame

__all__ = ["Recorded", "Recorder"]


_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Head(Struct):
    method: str | None = None


class Recorded(Struct, frozen=True):
    """One frame that passed."""

    direction: Direction
    """As the side sees it that recorded."""
    at: float
    """Seconds since the recorder was made."""
    frame: bytes
    """The bytes as they were on the wire."""

    @property
    def message(self) -> Any:
        """The frame parsed; None if it is no JSON."""
        try:
            return msgspec.json.decode(self.frame)
        except _NOT_JSON:
            return None

    @property
    def method(self) -> str | None:
        """The method of a request or a notification; None for anything else."""
        try:
            return msgspec.json.decode(self.frame, type=_Head).method
        except _NOT_JSON:
            return None


class _Line(Struct):
    at: float
    direction: Direction
    message: Raw | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET


class Recorder:
    """An observer of a connection that remembers: `parley.connect(target, observer=Recorder())`."""

    def __init__(self) -> None:
        self.frames: list[Recorded] = []
        """Everything so far, in order."""
        self._began = time.monotonic()
        self._waiting: list[asyncio.Future[None]] = []

    def __call__(self, direction: Direction, frame: Frame) -> None:
        """Take a frame; a connection calls this."""
        at = round(time.monotonic() - self._began, 6)
        self.frames.append(Recorded(direction, at, bytes(frame)))
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def messages(self, direction: Direction | None = None) -> list[Any]:
        """Return what passed, parsed, both ways or one way."""
        return [each.message for each in self.frames if direction in (None, each.direction)]

    def methods(self, direction: Direction | None = None) -> list[str]:
        """Return the methods of the requests and notifications that passed."""
        passed = (each for each in self.frames if direction in (None, each.direction))
        return [each.method for each in passed if each.method is not None]

    async def until(self, is_wanted: Callable[[Recorded], object]) -> Recorded:
        """Wait for a frame, or return the first one that passed already."""
        seen = 0
        while True:
            for each in self.frames[seen:]:
                if is_wanted(each):
                    return each
            seen = len(self.frames)
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future

    def save(self, path: str | Path) -> None:
        """Write everything to a file, one line per frame."""
        lines = [msgspec.json.encode(_line(each)) + b"\n" for each in self.frames]
        Path(path).write_bytes(b"".join(lines))

    @classmethod
    def load(cls, path: str | Path) -> Recorder:
        """Read what `save` has written.

        Raises:
            ValueError: It is something else.
        """
        recorder = cls()
        for text in Path(path).read_bytes().splitlines():
            line = msgspec.json.decode(text, type=_Line)
            frame = bytes(line.message) if isinstance(line.message, Raw) else line.base64
            if not isinstance(frame, bytes):
                raise ValueError("a line has neither a message nor bytes")
            recorder.frames.append(Recorded(line.direction, line.at, frame))
        return recorder


def _line(recorded: Recorded) -> _Line:
    """Keep JSON readable; what would not survive as a part of a line becomes base64."""
    frame = recorded.frame
    is_json = b"\n" not in frame and b"\r" not in frame
    try:
        msgspec.json.decode(frame)
    except _NOT_JSON:
        is_json = False
    if is_json:
        return _Line(recorded.at, recorded.direction, message=Raw(frame))
    return _Line(recorded.at, recorded.direction, base64=frame)
