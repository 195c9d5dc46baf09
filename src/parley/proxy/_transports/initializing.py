"""The beginning of a connection to a component: `initialize` under the name of its place.

Another proxy or the client sends a component `initialize`. A proxy receives `proxy/initialize`
instead, in the older spelling if it does not know that; an agent receives the request as it is. The
rest of the connection passes unchanged.
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
"""The member with the number of conductors around a component."""


def conductor_depth(params: Raw) -> int:
    """Return the number of conductors around the receiver of these params."""
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
        """Wrap the transport to a component.

        Args:
            transport: The transport to it.
            name: Its name in errors.
            methods: The methods to try in order, until it knows one.
            depth: The number of conductors around it; 0 is not sent, None changes nothing.
            timeout: Runs until it answers.
            on_method: Called with each method that is sent.
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
        self._request: tuple[Id, bytes, int] | None = None
        self._is_known = False
        self.drained = transport.drained
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    @property
    def transport(self) -> Transport:
        """Return the transport to the component."""
        return self._transport

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        self._transport.start(self)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send a frame; `initialize` under the method that the component knows."""
        if not self._is_known and b"initialize" in frame:
            message = codec.decode(frame)
            if isinstance(message, Request) and message.method == "initialize":
                try:
                    self._begin(frame, message)
                except InvalidParams as error:
                    self._refuse(message.id, error)
                return
        self._transport.send(frame, head)

    async def aclose(self) -> None:
        """Close the connection."""
        self._timeout.end()
        await self._transport.aclose()

    def _begin(self, frame: bytes, request: Request) -> None:
        params = bytes(request.params) or b"{}"
        if self._depth:
            frame = patch_object(frame, {"params": set_path(params, DEPTH, b"%d" % self._depth)})
        elif self._depth == 0 and conductor_depth(request.params):
            frame = patch_object(frame, {"params": remove_path(params, DEPTH)})
        self._request = (request.id, frame, peek_params(request.params).protocol_version or 0)
        self._send_request(self._method)

    def _refuse(self, id: Id, error: InvalidParams) -> None:
        """Respond in its place to a request that cannot be forwarded."""
        assert self._receiver is not None
        frame = error_response(msgspec.json.encode(id), error)
        asyncio.get_running_loop().call_soon(self._receiver.frames_received, [frame])

    def _send_request(self, method: str) -> None:
        assert self._request is not None
        self._method = method
        if self._on_method is not None:
            self._on_method(method)
        self._timeout.begin()
        frame = self._request[1]
        if method != "initialize":
            frame = patch_object(frame, {"method": b'"%b"' % method.encode()})
        self._transport.send(frame)

    # What comes in

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Pass its frames on, and look for its response to `initialize`."""
        assert self._receiver is not None
        if self._request is None:
            self._receiver.frames_received(frames)
            return
        passed = [each for frame in frames if (each := self._inspect(frame)) is not None]
        if passed:
            self._receiver.frames_received(passed)

    def _inspect(self, frame: Frame) -> Frame | None:
        """Look at a frame while the response is awaited; return None if it is consumed."""
        message = codec.decode(frame)
        if self._request is None or not isinstance(message, Success | Failure):
            return frame
        id, _, requested = self._request
        if message.id != id:
            return frame
        following = self._methods[self._methods.index(self._method) + 1 :]
        is_unknown = isinstance(message, Failure) and message.error.code == MethodNotFound.code
        if is_unknown and following:
            self._send_request(following[0])
            return None
        self._request = None
        self._timeout.end()
        if is_unknown and self._method != "initialize":
            text = f"{self.name} is not a proxy: it does not support {self._methods[0]}"
            return error_response(msgspec.json.encode(id), InternalError(text))
        if isinstance(message, Success):
            if (answered := peek_params(message.result).protocol_version or 0) > requested > 0:
                text = f"{self.name} responded with protocol version {answered}, not {requested}"
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
