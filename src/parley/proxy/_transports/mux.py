"""Two connections on one pipe: a proxy talks to its client and to its successor.

Both ends of the pipe use it. In a proxy, `front` leads to the client and `back` to the successor;
in a conductor, `front` talks to the proxy as its client does, `back` as its successor. What goes
over `back` is wrapped (`wrapping.py`). Responses are told apart by their ids: requests on
the front have even ones, on the back odd ones. `$/cancel_request` names an id of the pipe: both
sides receive it, and one knows it.

Backpressure is of each side. A side that is not read has a queue, and the other side is read on, so
that the responses that travel the other way pass. A queue must not grow: its sender can only be
stopped at the source. In a conductor that is possible, since a proxy sends on one side what it
received on the other: while much waits on one side, the other takes nothing (`is_through`). A
proxy that floods by itself is stopped by the last bound, at which the pipe is not read at all. Then
its answers are not read either. If the flooded side waits for the proxy in turn, this is a
deadlock, so the conductor ends the chain when no side accepts anything for a while (`patience`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence

import msgspec
from msgspec import Raw

from parley.errors import ConnectionClosed
from parley.proxy._switch.messages import IdSequence, error_response
from parley.proxy._switch.renumber import CANCEL
from parley.rpc import _codec as codec
from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._framing import Frame
from parley.rpc._message import (
    Batch,
    Failure,
    Malformed,
    Notification,
    Success,
)
from parley.transport._base import (
    HIGH_WATER_BYTES,
    LOW_WATER_BYTES,
    Receiver,
    Transport,
)
from parley.transport._frame_head import FrameHead, peek_update_session

from .timeout import ComponentTimeout
from .wrapping import SUCCESSOR, WrapRejected, successor_for, unwrap, wrap

logger = logging.getLogger(__name__)

QUEUE_BYTES = 8 * 1024 * 1024
"""How many bytes may wait on a channel before the pipe is paused."""
_BURST = 64
"""How many frames of a queue are handed out before a look whether that was enough."""
_BURSTS = 16


def ids_for(transport: object) -> IdSequence:
    """Return the ids of requests that are sent on a transport."""
    side = getattr(transport, "transport", transport)
    return side.ids if isinstance(side, MuxChannel) else IdSequence()


class MuxTransport:
    """The two sides of a pipe."""

    def __init__(
        self,
        transport: Transport,
        *,
        successor: str = SUCCESSOR,
        is_through: bool = False,
        queue_bytes: int = QUEUE_BYTES,
        timeout: ComponentTimeout | None = None,
    ) -> None:
        """Share a transport.

        Args:
            transport: The pipe.
            successor: How to spell what wraps a message; either spelling is read.
            is_through: Whether the peer forwards the messages of one side to the other.
            queue_bytes: How much may wait on a side before the pipe is not read.
            timeout: Runs while the pipe is not read and no side accepts anything.
        """
        self.pipe = transport
        self.successor = successor
        self.is_through = is_through
        self.queue_bytes = queue_bytes
        self.lost: ConnectionClosed | None = None
        self.front = MuxChannel(self, 0)
        """Carries what is not wrapped."""
        self.back = MuxChannel(self, 1)
        """Carries what is wrapped."""
        self.is_full = False
        """Whether so much waits on a side that the pipe is not read."""
        self._is_deaf = False
        """Whether the peer does not take what it is refused; then it is not read."""
        self._timeout = timeout
        self._is_stopped = False
        self._is_started = False

    def start(self) -> None:
        """Begin to read; what is for a side that has not begun waits for it."""
        if not self._is_started:
            self._is_started = True
            self.pipe.start(self)

    def use_spelling(self, method: str) -> None:
        """Wrap in the spelling that belongs to this spelling of `proxy/initialize`."""
        self.successor = successor_for(method)

    def check(self) -> None:
        """Pause or resume reading, by how much waits."""
        waiting = max(self.front.waiting_bytes, self.back.waiting_bytes)
        if waiting > self.queue_bytes:
            self.is_full = True
        elif waiting <= self.queue_bytes // 2:
            self.is_full = False
        self._stop_or_go()

    def _stop_or_go(self) -> None:
        stops = self.is_full or self._is_deaf
        if stops and not self._is_stopped:
            self.pipe.pause_reading()
            if self._timeout is not None and self.lost is None:
                self._timeout.begin()
        elif self._is_stopped and not stops:
            if self._timeout is not None:
                self._timeout.end()
            if self.lost is None:
                self.pipe.resume_reading()
        self._is_stopped = stops

    def restart_timeout(self) -> None:
        """Restart the wait: a side has accepted something."""
        if self._timeout is not None and self._timeout.is_waiting:
            self._timeout.begin()

    # What comes in

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Hand each frame to its side."""
        front: list[Frame] = []
        back: list[Frame] = []
        for frame in frames:
            if peek_update_session(frame) is not None:
                front.append(frame)
            else:
                self._sort(frame, front, back)
        if front:
            self.front.take(front)
        if back:
            self.back.take(back)

    def _sort(self, frame: Frame, front: list[Frame], back: list[Frame]) -> None:
        try:
            found = unwrap(frame)
        except WrapRejected as refused:
            self._refuse(refused)
            return
        match found:
            case bytes():
                back.append(found)
            case Success(id) | Failure(id) | Malformed(id=id):
                (back if type(id) is int and id & 1 else front).append(frame)
            case Notification(method=method) if method == CANCEL:
                front.append(frame)
                back.append(frame)
            case Batch():
                self._sort_array(bytes(frame), front, back)
            case _:
                front.append(frame)

    def _sort_array(self, frame: bytes, front: list[Frame], back: list[Frame]) -> None:
        """Make an array of what is for each side."""
        try:
            entries = [bytes(entry) for entry in msgspec.json.decode(frame, type=list[Raw])]
        except DECODE_ERRORS:
            front.append(frame)
            return
        of_front: list[Frame] = []
        of_back: list[Frame] = []
        for entry in entries:
            self._sort(entry, of_front, of_back)
        if of_front:
            front.append(codec.encode_batch([bytes(each) for each in of_front]))
        if of_back:
            back.append(codec.encode_batch([bytes(each) for each in of_back]))

    def _refuse(self, refused: WrapRejected) -> None:
        if not len(refused.id):
            logger.warning("a wrapped notification is dropped: %s", refused)
            return
        try:
            self.pipe.send(error_response(bytes(refused.id), refused.error))
        except ConnectionClosed:
            logger.debug("the pipe is closed; a refusal is not sent")
            return
        room = self.pipe.drained()
        if room is not None and not self._is_deaf:
            self._is_deaf = True
            self._stop_or_go()
            room.add_done_callback(self._on_drained)

    def _on_drained(self, _: object) -> None:
        self._is_deaf = False
        self._stop_or_go()

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Hand the remaining frames and the disconnect to both channels."""
        self.lost = reason
        if self._timeout is not None:
            self._timeout.end()
        for side in (self.front, self.back):
            side.lose(reason)


class MuxChannel:
    """A transport for either connection of a `MuxTransport`."""

    def __init__(self, split: MuxTransport, parity: int) -> None:
        self._split = split
        self._parity = parity
        self._receiver: Receiver | None = None
        self._queue: deque[Frame] = deque()
        self._is_paused = False
        self._is_handing = False
        self._is_lost = False
        self._waiters: list[asyncio.Future[None]] = []
        self.waiting_bytes = 0
        """How many bytes were read and wait for the receiver."""

    @property
    def ids(self) -> IdSequence:
        """The ids of requests to the peer on this side."""
        return IdSequence(self._parity, 2)

    @property
    def _other(self) -> MuxChannel:
        return self._split.front if self._parity else self._split.back

    def start(self, receiver: Receiver) -> None:
        """Begin to take what is for this side."""
        self._receiver = receiver
        self._split.start()
        if self._split.lost is not None:
            asyncio.get_running_loop().call_soon(self.lose, self._split.lost)
        self._hand_out_soon()

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send a frame, wrapped if this is the back."""
        self._split.pipe.send(wrap(frame, self._split.successor) if self._parity else frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for: room in the pipe, and that the other side is taken."""
        room = self._split.pipe.drained()
        if room is not None or not self._split.is_through or self._split.lost is not None:
            return room
        return self._other.taken()

    def taken(self) -> asyncio.Future[None] | None:
        """Return what to wait for until less waits here; None while there is little."""
        if self.waiting_bytes <= HIGH_WATER_BYTES:
            return None
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    def pause_reading(self) -> None:
        """Leave what comes in the queue."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Take what is in the queue, and what comes."""
        self._is_paused = False
        self._hand_out_soon()

    async def aclose(self) -> None:
        """Close the pipe, and with it the other side."""
        await self._split.pipe.aclose()

    # What comes in

    def take(self, frames: list[Frame]) -> None:
        """Hand frames to the receiver, or keep them for it."""
        if self._receiver is not None and not self._is_paused and not self._queue:
            self._receiver.frames_received(frames)
            return
        self._queue.extend(frames)
        self.waiting_bytes += sum(map(len, frames))
        self._split.check()

    def _hand_out_soon(self) -> None:
        if self._queue and not self._is_handing and not self._is_paused and self._receiver:
            self._is_handing = True
            asyncio.get_running_loop().call_soon(self._hand_out)

    def _hand_out(self) -> None:
        self._is_handing = False
        for _ in range(_BURSTS):
            if not self._queue or self._is_paused or self._is_lost:
                break
            self._hand_some()
        self._split.check()
        self._hand_out_soon()

    def _hand_some(self) -> None:
        assert self._receiver is not None
        some = [self._queue.popleft() for _ in range(min(_BURST, len(self._queue)))]
        self.waiting_bytes -= sum(map(len, some))
        self._split.restart_timeout()
        self._receiver.frames_received(some)
        if self.waiting_bytes <= LOW_WATER_BYTES:
            self._release()

    def _release(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def lose(self, reason: ConnectionClosed) -> None:
        """Take the rest, and learn that nothing more comes."""
        if self._is_lost or self._receiver is None:
            return
        while self._queue:
            self._hand_some()
        self._is_lost = True
        self._release()
        self._receiver.connection_lost(reason)
