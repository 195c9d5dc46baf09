"""A transport for clients that speak only version 2: it translates if the agent speaks version 1.

The browser page is such a client. It says so in `initialize`, with
`_meta: {"parley": {"onlyVersion": 2}}`, and nothing else about it is special.

Theory of operation. The transport passes frames on unchanged until the agent has responded to
`initialize`. If the response is in version 2, that is all it ever does. If it is in version 1, the
transport puts a `VersionTranslator` in between, as the built-in proxy `v1-v2` does. The translator
is an agent of version 2 for the client, and a client of version 1 for the agent. Both repeat the
`initialize` that has already taken place:

    client     Version2Transport                                           ClientConnection
      |            |------- initialize {protocolVersion: 2} ------------------->|
      |            |<------ result {protocolVersion: 1} ------------------------|
      |            |
      |      -- initialize (kept) -->  VersionTranslator  -- initialize -->  result (kept)
      |<-------- result {protocolVersion: 2} ---------|

The rest of the gateway sees a client of version 1. Everything outside of this transport, such as
the numbered messages with which an HTTP client resumes, stays the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Raw

from parley.errors import AcpError, ConnectionClosed
from parley.peer._initialize import version_of
from parley.proxy.builtin._versions import VersionTranslator
from parley.rpc import _codec as codec
from parley.rpc._framing import Frame
from parley.rpc._message import Failure, Request, Success
from parley.transport._base import Receiver, Transport, send_close_reason
from parley.transport._frame_head import FrameHead, peek_meta
from parley.transport._memory import memory_pair

__all__ = ["Version2Transport"]

logger = logging.getLogger(__name__)


class Version2Transport:
    """The transport of a client that may speak only version 2; implements `Transport`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._receiver: Receiver | None = None
        self._initialize: bytes | None = None
        """The `initialize` of a client that speaks only version 2, until it is answered."""
        self._early: list[Frame] = []
        """The frames after it, which may have to be translated."""
        self._is_decided = False
        """Whether frames pass unchanged, or are translated, from now on."""
        self._is_paused = False
        self._translation: _Translation | None = None

    def start(self, receiver: Receiver) -> None:
        """Begin delivering inbound frames to the receiver."""
        self._receiver = receiver
        self._transport.start(self)

    # From the client

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Pass frames of the client on, unchanged or to the translator."""
        assert self._receiver is not None
        if self._translation is not None:
            self._translation.client.frames_received(frames)
        elif self._is_decided:
            self._receiver.frames_received(frames)
        else:
            for frame in frames:
                self._take_first(frame, self._receiver)

    def _take_first(self, frame: Frame, receiver: Receiver) -> None:
        if self._initialize is not None:
            self._early.append(frame)
            return
        if _speaks_only_version_2(frame):
            self._initialize = bytes(frame)
        else:
            self._is_decided = True
        receiver.frames_received([frame])

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Handle the loss of the client."""
        assert self._receiver is not None
        if self._translation is not None:
            self._translation.client.connection_lost(reason)
        self._receiver.connection_lost(reason)

    # To the client

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send a frame of the agent to the client, unchanged or through the translator.

        Raises:
            ConnectionClosed: The connection is closed.
        """
        if self._translation is not None:
            self._translation.agent.send(frame, head)
            return
        if self._initialize is not None and self._begins_translation(frame, self._initialize):
            return
        self._transport.send(frame, head)

    def _begins_translation(self, frame: bytes, initialize: bytes) -> bool:
        """Decide, if this is the response to `initialize`; return whether to translate."""
        request, response = codec.decode(initialize), codec.decode(frame)
        assert isinstance(request, Request)
        if not isinstance(response, Success | Failure) or response.id != request.id:
            return False
        self._initialize = None
        asyncio.get_running_loop().call_soon(self._take_early)
        if isinstance(response, Failure):
            return False  # the client may try again
        self._is_decided = True
        if not _is_version_1(response.result):
            return False
        assert self._receiver is not None
        self._translation = _Translation(
            self._transport, self._receiver, initialize, response.result
        )
        if self._is_paused:
            self._translation.agent.pause_reading()
            self._transport.resume_reading()
        return True

    def _take_early(self) -> None:
        early, self._early = self._early, []
        if early:
            self.frames_received(early)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more; None while there is room."""
        if self._translation is not None:
            return self._translation.agent.drained()
        return self._transport.drained()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._is_paused = True
        self._reader.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        self._is_paused = False
        self._reader.resume_reading()

    @property
    def _reader(self) -> Transport:
        return self._transport if self._translation is None else self._translation.agent

    def set_close_reason(self, reason: ConnectionClosed) -> None:
        """Set the reason that the client receives when the connection is closed."""
        send_close_reason(self._transport, reason)

    async def aclose(self) -> None:
        """Close the connection; the client still gets what was sent before."""
        if self._translation is not None:
            await self._translation.aclose()
        await self._transport.aclose()


class _Translation:
    """A translator between a client of version 2 and the gateway, which sees one of version 1."""

    def __init__(
        self, transport: Transport, receiver: Receiver, initialize: bytes, result: Raw
    ) -> None:
        self.client = _ClientSide(transport, initialize)
        """Its transport to the client."""
        self.agent, below = memory_pair()
        """The gateway's transport to it."""
        self.agent.start(_AgentSide(self.agent, receiver, result))
        translator = VersionTranslator(
            self.client, below, client_versions=(2,), agent_versions=(1,)
        )
        self._task = asyncio.get_running_loop().create_task(translator.run())

    async def aclose(self) -> None:
        """End the translation after what was sent has been translated."""
        await self.agent.aclose()
        try:
            await self._task
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        except Exception:  # a bug in the translator must not keep the connection open
            logger.exception("a connection could not be translated")


class _ClientSide:
    """The translator's transport to the client; the first frame is the kept `initialize`."""

    def __init__(self, transport: Transport, initialize: bytes) -> None:
        self._receiver: Receiver | None = None
        self._kept: list[Frame] = [initialize]
        self._lost: ConnectionClosed | None = None
        self.send = transport.send
        self.drained = transport.drained
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.aclose = transport.aclose

    def start(self, receiver: Receiver) -> None:
        """Begin delivering inbound frames to the receiver."""
        self._receiver = receiver
        kept, self._kept = self._kept, []
        receiver.frames_received(kept)
        if self._lost is not None:
            receiver.connection_lost(self._lost)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Pass frames of the client on, or keep them until the translator has started."""
        if self._receiver is None:
            self._kept.extend(frames)
        else:
            self._receiver.frames_received(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Pass the loss of the client on."""
        self._lost = reason
        if self._receiver is not None:
            self._receiver.connection_lost(reason)


class _AgentSide:
    """Receives from the translator; responds to its `initialize`, and passes the rest on."""

    def __init__(self, transport: Transport, receiver: Receiver, result: Raw) -> None:
        self._transport = transport
        self._receiver = receiver
        self._result: Raw | None = result

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Pass frames of the translator on."""
        if self._result is not None:
            request = codec.decode(frames[0])
            assert isinstance(request, Request)
            self._transport.send(codec.encode_success(request.id, bytes(self._result)))
            self._result = None
            frames = frames[1:]
        if frames:
            self._receiver.frames_received(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Pass the end of the translator on."""
        self._receiver.connection_lost(reason)


def _speaks_only_version_2(frame: Frame) -> bool:
    """Return whether a frame is the `initialize` of a client that speaks only version 2."""
    if b'"onlyVersion"' not in frame:
        return False
    request = codec.decode(frame)
    if not isinstance(request, Request) or request.method != "initialize":
        return False
    return peek_meta(request.params, "parley", "onlyVersion") == 2


def _is_version_1(result: Raw) -> bool:
    try:
        return version_of(result) == 1
    except AcpError:  # the client rejects what cannot be read
        return False
