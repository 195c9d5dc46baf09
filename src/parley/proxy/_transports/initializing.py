"""The beginning of a connection to a component: `initialize` under the name of its place.

Whoever speaks to a component, another proxy or the client, says `initialize`. What goes to a proxy
is `proxy/initialize`, in the older spelling if it does not know that; what goes to the agent stays.
The rest of the connection passes as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from parley.errors import ConnectionClosed, InternalError, InvalidParams, MethodNotFound
from parley.proxy._switch.messages import error_response
from parley.proxy._switch.patching import patch_object, remove_path, set_path
from parley.proxy._transports.timeout import ComponentTimeout
from parley.rpc import _codec as codec
from parley.rpc._framing import Frame
from parley.rpc._message import (
    Failure,
    Id,
    Request,
    Success,
)
from parley.transport._base import Receiver, Transport
from parley.transport._frame_head import FrameHead, peek_meta, peek_params

DEPTH = ("_meta", "parley", "depth")
"""Where a conductor tells those inside it how many conductors they are in."""


def conductor_depth(params: Raw) -> int:
    """Return in how many conductors whoever hears this is."""
    depth = peek_meta(params, *DEPTH[1:])
    return max(0, depth) if type(depth) is int else 0


class InitializingTransport:
    """A transport to a component, which looks at the beginning of the conversation."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        methods: tuple[str, ...],
        *,
        depth: int | None,
        timeout: ComponentTimeout,
        on_method: Callable[[str], None] | None = None,
        on_lost: Callable[[str, ConnectionClosed], None] | None = None,
    ) -> None:
        """Prepare to introduce a component.

        Args:
            transport: What leads to it.
            name: What it is called in errors.
            methods: How it may be told; the next one is tried if one is not known to it.
            depth: How many conductors it is in; 0 is not told, None leaves what is said about it.
            timeout: Runs until it answers.
            on_method: Called with the method by which it is told.
            on_lost: Called when it is lost, before its receiver is.
        """
        self.name = name
        self._transport = transport
        self._methods = methods
        self._method = methods[0]
        self._depth = depth
        self._timeout = timeout
        self._on_method = on_method
        self._on_lost = on_lost
        self._receiver: Receiver | None = None
        self._asked: tuple[Id, bytes, int] | None = None
        self._is_known = False
        self.drained = transport.drained
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    @property
    def transport(self) -> Transport:
        """What leads to it."""
        return self._transport

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        self._transport.start(self)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send a frame; the one that begins the conversation in its own words."""
        if not self._is_known and b"initialize" in frame:
            message = codec.decode(frame)
            if isinstance(message, Request) and message.method == "initialize":
                try:
                    self._introduce(frame, message)
                except InvalidParams as error:
                    self._refuse(message.id, error)
                return
        self._transport.send(frame, head)

    async def aclose(self) -> None:
        """Close the connection."""
        self._timeout.end()
        await self._transport.aclose()

    def _introduce(self, frame: bytes, request: Request) -> None:
        params = bytes(request.params) or b"{}"
        if self._depth:
            frame = patch_object(frame, {"params": set_path(params, DEPTH, b"%d" % self._depth)})
        elif self._depth == 0 and conductor_depth(request.params):
            frame = patch_object(frame, {"params": remove_path(params, DEPTH)})
        self._asked = (request.id, frame, peek_params(request.params).protocol_version or 0)
        self._say(self._method)

    def _refuse(self, id: Id, error: InvalidParams) -> None:
        """Answer for it what cannot be told it."""
        assert self._receiver is not None
        frame = error_response(msgspec.json.encode(id), error)
        asyncio.get_running_loop().call_soon(self._receiver.frames_received, [frame])

    def _say(self, method: str) -> None:
        assert self._asked is not None
        self._method = method
        if self._on_method is not None:
            self._on_method(method)
        self._timeout.begin()
        frame = self._asked[1]
        if method != "initialize":
            frame = patch_object(frame, {"method": b'"%b"' % method.encode()})
        self._transport.send(frame)

    # What comes in

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Pass on what it says; look for its answer."""
        assert self._receiver is not None
        if self._asked is None:
            self._receiver.frames_received(frames)
            return
        passed = [each for frame in frames if (each := self._seen(frame)) is not None]
        if passed:
            self._receiver.frames_received(passed)

    def _seen(self, frame: Frame) -> Frame | None:
        """Look at a frame while its answer is awaited; None if it goes no further."""
        message = codec.decode(frame)
        if self._asked is None or not isinstance(message, Success | Failure):
            return frame
        id, _, asked = self._asked
        if message.id != id:
            return frame
        following = self._methods[self._methods.index(self._method) + 1 :]
        is_unknown = isinstance(message, Failure) and message.error.code == MethodNotFound.code
        if is_unknown and following:
            self._say(following[0])
            return None
        self._asked = None
        self._timeout.end()
        if is_unknown and self._method != "initialize":
            text = f"{self.name} is not a proxy: it does not support {self._methods[0]}"
            return error_response(msgspec.json.encode(id), InternalError(text))
        if isinstance(message, Success):
            if (answered := peek_params(message.result).protocol_version or 0) > asked > 0:
                text = f"{self.name} answered in version {answered} of the protocol, not in {asked}"
                return error_response(msgspec.json.encode(id), InternalError(text))
            self._is_known = True
        return frame

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Record that it is gone."""
        self._timeout.end()
        if self._on_lost is not None:
            self._on_lost(self.name, reason)
        if self._receiver is not None:
            self._receiver.connection_lost(reason)
