"""A recorder that captures the frames of a connection and saves them as JSON Lines.

A line of a file is `{"at": seconds, "direction": "inbound", "message": …}`; a frame that is not
valid JSON has `base64` instead of `message`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from parley.peer._tracing import Direction
from parley.rpc._framing import Frame
from parley.transport._frame_head import peek
from parley.transport._notifier import Notifier

_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class CapturedFrame(Struct, frozen=True):
    """A frame captured by a `Recorder`."""

    direction: Direction
    """The direction, as seen by the side that recorded."""
    at: float
    """Seconds since the recorder was created."""
    frame: bytes
    """The exact bytes on the wire."""

    @property
    def message(self) -> Any:
        """The parsed frame; None if it is not valid JSON."""
        try:
            return msgspec.json.decode(self.frame)
        except _NOT_JSON:
            return None

    @property
    def method(self) -> str | None:
        """The method of a request or a notification; None for anything else."""
        method = peek(self.frame).method
        return None if method is UNSET else method


class _Line(Struct):
    at: float
    direction: Direction
    message: Raw | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET


class Recorder:
    """An observer that captures every frame of a connection.

    ```python
    recorder = Recorder()
    async with parley.connect(agent, observer=recorder) as client:
        await client.new_session()
    assert recorder.methods("outbound") == ["initialize", "session/new"]
    ```

    `frames`, `messages()` and `methods()` return what was captured so far, `until` waits for a
    frame, and `save` and `load` use JSON Lines.
    """

    def __init__(self) -> None:
        self.frames: list[CapturedFrame] = []
        """All frames so far, in order."""
        self._began = time.monotonic()
        self._frame_captured = Notifier()

    def __call__(self, direction: Direction, frame: Frame) -> None:
        """Capture a frame; called by the connection."""
        at = round(time.monotonic() - self._began, 6)
        self.frames.append(CapturedFrame(direction, at, bytes(frame)))
        self._frame_captured.notify_all()

    def messages(self, direction: Direction | None = None) -> list[Any]:
        """Return the parsed frames, of both directions or of one."""
        return [each.message for each in self.frames if direction in (None, each.direction)]

    def methods(self, direction: Direction | None = None) -> list[str]:
        """Return the methods of all requests and notifications, of both directions or of one."""
        frames = (each for each in self.frames if direction in (None, each.direction))
        return [each.method for each in frames if each.method is not None]

    async def until(self, predicate: Callable[[CapturedFrame], object]) -> CapturedFrame:
        """Return the first frame that satisfies a predicate; wait if there is none yet."""
        seen = 0
        while True:
            for each in self.frames[seen:]:
                if predicate(each):
                    return each
            seen = len(self.frames)
            await self._frame_captured.wait()

    def save(self, path: str | Path) -> None:
        """Write all frames to a file, one line each."""
        lines = [msgspec.json.encode(_line(each)) + b"\n" for each in self.frames]
        Path(path).write_bytes(b"".join(lines))

    @classmethod
    def load(cls, path: str | Path) -> Recorder:
        """Read a file written by `save`.

        Raises:
            ValueError: The file has another format.
        """
        recorder = cls()
        for text in Path(path).read_bytes().splitlines():
            line = msgspec.json.decode(text, type=_Line)
            frame = bytes(line.message) if isinstance(line.message, Raw) else line.base64
            if not isinstance(frame, bytes):
                raise ValueError("a line has neither 'message' nor 'base64'")
            recorder.frames.append(CapturedFrame(line.direction, line.at, frame))
        return recorder


def _line(recorded: CapturedFrame) -> _Line:
    """Keep JSON readable; a frame that would not survive inside a line becomes base64."""
    frame = recorded.frame
    is_json = b"\n" not in frame and b"\r" not in frame
    try:
        msgspec.json.decode(frame)
    except _NOT_JSON:
        is_json = False
    if is_json:
        return _Line(recorded.at, recorded.direction, message=Raw(frame))
    return _Line(recorded.at, recorded.direction, base64=frame)
