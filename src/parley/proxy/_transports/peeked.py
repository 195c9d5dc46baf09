"""The first message of a connection, read before it is decided who takes the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from parley.errors import ConnectionClosed, InvalidRequest, ParseError, RequestError
from parley.proxy._switch.messages import error_response
from parley.proxy._switch.splice import has_duplicate_keys
from parley.rpc import _codec as codec
from parley.rpc._framing import Frame
from parley.rpc._message import (
    Batch,
    Malformed,
    Message,
    Request,
)
from parley.transport._base import Receiver, Transport
from parley.transport._frame_head import FrameHead

from .wrapping import INITIALIZE


class PeekedTransport:
    """A transport that is read up to `initialize`, which its receiver then gets first."""

    def __init__(self, transport: Transport) -> None:
        """Begin to read."""
        self._transport = transport
        self._kept: list[Frame] = []
        self._receiver: Receiver | None = None
        self._lost: ConnectionClosed | None = None
        self._is_waiting = False
        self._first: asyncio.Future[Request | None] = asyncio.get_running_loop().create_future()
        self.send = transport.send
        self.drained = transport.drained
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.aclose = transport.aclose
        transport.start(self)

    def count_sent(self) -> Callable[[], int]:
        """Return a function that counts the frames sent from now on."""
        count = 0

        def send(frame: bytes, head: FrameHead | None = None) -> None:
            nonlocal count
            count += 1
            self._transport.send(frame, head)

        self.send = send
        return lambda: count

    @property
    def is_taken(self) -> bool:
        """Return whether a receiver reads and answers the peer's messages."""
        return self._receiver is not None

    async def first(self) -> Request | None:
        """Return the request that begins the conversation; None if the peer is gone before."""
        return await self._first

    def start(self, receiver: Receiver) -> None:
        """Hand everything to somebody, beginning with the first request."""
        self._receiver = receiver
        kept, self._kept = self._kept, []
        if kept:
            receiver.frames_received(kept)
        if self._lost is not None:
            asyncio.get_running_loop().call_soon(receiver.connection_lost, self._lost)
        else:
            self._transport.resume_reading()

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Look for the beginning, or pass on what comes after it."""
        if self._receiver is not None:
            self._receiver.frames_received(frames)
            return
        for frame in frames:
            if self._first.done():
                self._kept.append(frame)
            else:
                self._look(frame, codec.decode(frame))

    def _look(self, frame: Frame, message: Message | None) -> None:
        if isinstance(message, Request) and message.method in ("initialize", *INITIALIZE):
            if has_duplicate_keys(bytes(frame)):
                twice = InvalidRequest("The message has a duplicate key")
                self._refuse(message.id, twice)
                return
            self._kept.append(frame)
            self._first.set_result(message)
            self._transport.pause_reading()
        elif isinstance(message, Request):
            self._refuse(message.id, InvalidRequest("Initialize the connection first"))
        elif isinstance(message, Batch):
            self._refuse(None, InvalidRequest("Initialize the connection first"))
        elif isinstance(message, Malformed) and message.role in ("request", "unclear"):
            error = InvalidRequest() if message.is_json else ParseError()
            self._refuse(message.id, error)

    def _refuse(self, id: object, error: RequestError) -> None:
        self._transport.send(error_response(msgspec.json.encode(id), error))
        room = self._transport.drained()
        if room is not None and not self._is_waiting:  # a peer that does not read is not read from
            self._is_waiting = True
            self._transport.pause_reading()
            room.add_done_callback(self._resume)

    def _resume(self, _: object) -> None:
        self._is_waiting = False
        if self._lost is None and not self._first.done():
            self._transport.resume_reading()

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Record that the peer is gone."""
        self._lost = reason
        if not self._first.done():
            self._first.set_result(None)
        if self._receiver is not None:
            self._receiver.connection_lost(reason)
