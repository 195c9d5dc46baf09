"""A side of a switch: a transport, its pending requests, and those it has not answered.

Theory of operation. A frame is examined as little as possible. Of updates, which are nearly all
frames, only the session is read, and they are forwarded unchanged. Of all others the envelope is
read, and only ids are exchanged, in the bytes. A port sends requests to its peer under ids of its
own (*unanswered*) and keeps the requests of the peer by the peer's ids (*pending*); a
`PendingRequest` joins the two. `$/cancel_request` applies to one hop and is sent again with the id
of the next.

Backpressure works in pairs: a port that sends to a full one is not read until there is room. The
full port itself is still read, so responses in the other direction pass. If there is no room within
its `drain_timeout`, it is closed, because it must not block others forever.

A request is kept until it is answered, so requests are limited by number and by bytes, and further
ones are rejected. The port is still read, because responses for others and cancellations come from
there too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from parley.errors import (
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    Overloaded,
    ParseError,
    RequestError,
)
from parley.rpc import _codec as codec
from parley.rpc._framing import Frame
from parley.rpc._message import (
    Batch,
    Failure,
    Id,
    Malformed,
    Notification,
    Request,
    Success,
)
from parley.transport._base import Transport
from parley.transport._frame_head import peek_params, peek_session, peek_update_session

from .disconnect import disconnect_error
from .messages import (
    IdSequence,
    OnResponse,
    PendingRequest,
    RawMessage,
    RawNotification,
    ResponseBatch,
    Route,
    error_response,
)
from .renumber import CANCEL, renumber_request, renumber_response, replace_member
from .splice import AmbiguousMessage, is_ambiguous, splice_id

if TYPE_CHECKING:
    from .switch import Switch


logger = logging.getLogger(__name__)

Router: TypeAlias = Callable[["Port", RawMessage], "Route"]
"""Decides where a message goes: to a port, back with a response, or None. Then a notification goes
nowhere, and the router keeps a request, to forward or answer it later."""
Tap: TypeAlias = Callable[[bool, bytes, str], None]
"""Called for each frame as the port's peer sends or receives it: is it inbound, frame, session."""

_SMALL_BYTES = 64 * 1024
"""A request up to this size is not refused for the bytes of others."""


class PortOptions(Struct, frozen=True, kw_only=True):
    """The behavior of one port, decided when it is added to a switch."""

    is_trusted: bool = True
    """Whether the peer reads JSON as we do. A message of an untrusted peer is rejected if two
    readers could understand it differently."""
    skips_noise: bool = False
    """Whether lines that are not JSON are skipped instead of rejected."""
    takes_arrays: bool = True
    """Whether messages that arrived as an array are forwarded as one."""
    drain_timeout: float | None = None
    """How many seconds the peer may take nothing while others wait for it; None: forever."""
    tap: Tap | None = None
    """Called with each frame that the peer sends or is sent."""
    keeps: Callable[[PendingRequest], bool] | None = None
    """Decides which pending requests of a lost peer continue, because others need the result."""
    on_response_sent: Callable[[PendingRequest, bytes], None] | None = None
    """Called with each request of the peer and the frame that answers it."""
    on_lost: Callable[[Port, ConnectionClosed], None] | None = None
    """Called once, when the peer is lost."""
    explain: Callable[[str, ConnectionClosed], RequestError] = disconnect_error
    """Returns the error of requests that a lost peer leaves unanswered."""


DEFAULT_OPTIONS = PortOptions()


class Port:
    """A peer of a switch; made by `Switch.add`."""

    def __init__(
        self,
        switch: Switch,
        transport: Transport,
        name: str,
        *,
        options: PortOptions = DEFAULT_OPTIONS,
        ids: IdSequence | None = None,
    ) -> None:
        self.switch = switch
        self.transport = transport
        self.name = name
        """The name in logs and errors."""
        self.lost: ConnectionClosed | None = None
        """The reason of the disconnect; None while the peer is connected."""
        self.backpressure = Backpressure(self, options.drain_timeout)
        """Which ports wait for this one, and for which ones it waits."""
        self._is_trusted = options.is_trusted
        self._options = options
        self._tap = options.tap
        self._route: Router
        self._ids = IdSequence() if ids is None else ids
        self._holds: set[object] = set()
        self._unanswered: dict[int, PendingRequest] = {}
        self._pending: dict[PendingRequest, int] = {}
        self._pending_bytes = 0
        self._pending_by_id: dict[Id, PendingRequest] = {}
        self._arrays: dict[Port, list[tuple[bytes, str]]] | None = None

    def start(self, route: Router) -> None:
        """Begin to read; `route` decides where each message goes."""
        self._route = route
        self.transport.start(self)

    @property
    def unanswered(self) -> int:
        """Return the number of requests that the peer has not answered."""
        return len(self._unanswered)

    @property
    def pending(self) -> int:
        """Return the number of the peer's own requests without a response."""
        return len(self._pending)

    @property
    def pending_bytes(self) -> int:
        """Return the total size of these requests."""
        return self._pending_bytes

    @property
    def pending_requests(self) -> list[PendingRequest]:
        """Its requests that have no answer."""
        return list(self._pending)

    # What comes in

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Take what the transport has read."""
        for frame in frames:
            session_id = peek_update_session(frame) if self._is_trusted else None
            if session_id is None:
                self._take(frame, None)
            else:
                self._note(RawNotification("session/update", session_id, bytes(frame)))

    def _take(self, frame: Frame, group: ResponseBatch | None) -> None:
        message = codec.decode(frame)
        match message:
            case None:
                pass
            case Notification(method, params):
                self._notified(method, params, bytes(frame))
            case Request():
                self._called(message, bytes(frame), group)
            case Success(id):
                self._handle_response(id, bytes(frame), message)
            case Failure(id):
                self._handle_response(id, bytes(frame), message)
            case Batch():
                self._array(bytes(frame), message)
            case _:
                self._malformed(frame, message, group)

    def _notified(self, method: str, params: Raw, frame: bytes) -> None:
        if method == CANCEL:
            self._cancelled(params)
        elif not self._is_trusted and is_ambiguous(frame, params):
            logger.warning("%s: a notification has a duplicate key; dropped", self.name)
        else:
            self._note(RawNotification(method, peek_session(params), frame))

    def _note(self, note: RawNotification) -> None:
        if self._tap is not None:
            self._tap(True, note.frame, note.session_id)
        port = self._route(self, note)
        if isinstance(port, Port):
            self.forward(port, note.frame, note.session_id)

    def _called(self, request: Request, frame: bytes, group: ResponseBatch | None) -> None:
        try:
            spliced = splice_id(frame, b"0")
            if not self._is_trusted and is_ambiguous(frame, request.params):
                raise AmbiguousMessage
        except AmbiguousMessage:
            error = InvalidRequest("The message has a duplicate key")
            self._refuse(request.id, error, group)
            return
        raw_id = msgspec.json.encode(request.id) if spliced is None else spliced[1]
        call = PendingRequest(self, request.id, raw_id, request.method, request.params, frame)
        call.group = group
        if group is not None:
            group.missing += 1
        overload = self._overload(len(frame))
        self._pending[call] = len(frame)
        self._pending_bytes += len(frame)
        if request.id in self._pending_by_id:
            call.refuse(InvalidRequest("A request with this id is under way"))
            return
        if request.id is not None:
            self._pending_by_id[request.id] = call
        if overload is not None:
            call.refuse(overload)
            return
        if self._tap is not None:
            self._tap(True, frame, call.session_id)
        call.follow(self._route(self, call))

    def _overload(self, size: int) -> Overloaded | None:
        """Return why one more request of this size is refused; None if there is room for it."""
        most = self.switch.in_flight_bytes
        if len(self._pending) >= self.switch.in_flight:
            return Overloaded(f"{self.switch.in_flight} requests are under way already")
        if size > _SMALL_BYTES and self._pending_bytes > most:
            return Overloaded(f"Requests of more than {most} bytes are under way already")
        return None

    def _cancelled(self, params: Raw) -> None:
        """Pass on that a request of this port's is withdrawn, under the id of the next hop."""
        id = peek_params(params).request_id
        if id is UNSET:
            return
        call = self._pending_by_id.get(id)
        if call is None:
            logger.debug("%s cancels a request that is not under way", self.name)
            return
        if call.on_cancel is not None:
            call.on_cancel(call)
        if call.destination is not None:
            body = replace_member(bytes(params), "requestId", b"%d" % call.destination_id)
            call.destination.send(codec.encode_notification(CANCEL, body), call.session_id)

    def _handle_response(self, id: Id, frame: bytes, message: Success | Failure) -> None:
        call = self._unanswered.pop(id, None) if type(id) is int else None
        if call is None:
            is_late = type(id) is int and 0 <= id < self._ids.next
            log = logger.debug if is_late else logger.warning
            log("%s: a response without a request; dropped", self.name)
            return
        if self._tap is not None:
            self._tap(True, frame, call.session_id)
        call.destination = None
        is_result = isinstance(message, Success)
        if call.on_response is None or not call.on_response(call, frame, is_result):
            call.settle(renumber_response(frame, message, call.raw_id))

    def settle(self, call: PendingRequest, frame: bytes) -> None:
        """Pass a delayed response of this port's peer to the requester."""
        message = codec.decode(frame)
        if isinstance(message, Success | Failure):
            call.settle(renumber_response(frame, message, call.raw_id))

    def _fail(self, call: PendingRequest, error: RequestError) -> None:
        """Answer for this port's peer, which does not."""
        call.destination = None
        frame = error_response(call.raw_id, error)
        if call.on_response is None or not call.on_response(call, frame, False):
            call.settle(frame)

    def _array(self, frame: bytes, batch: Batch) -> None:
        """Take the entries in order; forward them together, and respond to requests together."""
        try:
            entries = [bytes(entry) for entry in msgspec.json.decode(frame, type=list[Raw])]
        except codec.DECODE_ERRORS:
            self._refuse(None, ParseError())
            return
        group = ResponseBatch(self)
        self._arrays = {}
        try:
            for entry, item in zip(entries, batch.items, strict=True):
                if isinstance(item, Malformed):
                    self._malformed(entry, item, group)
                else:
                    self._take(entry, group)
        finally:
            arrays, self._arrays = self._arrays, None
        for port, entries_out in arrays.items():
            if port._options.takes_arrays and len(entries_out) > 1:
                for each, session_id in entries_out:
                    port.show(each, session_id)
                port.write(codec.encode_batch([each for each, _ in entries_out]))
            else:
                for each, session_id in entries_out:
                    port.send(each, session_id)
            self.backpressure.check(port)
        group.add(None)

    def _malformed(self, frame: Frame, message: Malformed, group: ResponseBatch | None) -> None:
        is_awaited = type(message.id) is int and message.id in self._unanswered
        if message.role == "response" or (message.role == "unclear" and is_awaited):
            call = self._unanswered.pop(message.id, None) if type(message.id) is int else None
            logger.warning("%s: %s", self.name, message.problem)
            if call is not None:
                self._fail(call, InternalError(f"{self.name} answered with {message.problem}"))
        elif message.role == "notification":
            logger.warning("%s: %s; dropped", self.name, message.problem)
        elif (
            self._options.skips_noise
            and not message.is_json
            and not frame.lstrip().startswith(b"{")
        ):
            logger.info("%s: a line that is not JSON; dropped", self.name)
            found = codec.find_message(frame)
            if found is not None:
                self._take(frame[frame.find(b'{"') :], None)
        else:
            error = InvalidRequest() if message.is_json else ParseError()
            error.data = {"problem": message.problem}
            self._refuse(message.id, error, group)

    def _refuse(self, id: Id, error: RequestError, group: ResponseBatch | None = None) -> None:
        frame = error_response(msgspec.json.encode(id), error)
        if group is None:
            self.send(frame, "")
        else:
            group.missing += 1
            group.add(frame)
        self.backpressure.check(self)  # who does not read that is not read

    # What goes out

    def ask(self, call: PendingRequest) -> None:
        """Send a request of another port's, or the program's own."""
        if self.lost is not None:
            self._fail(call, self._options.explain(self.name, self.lost))
            return
        id = self._ids.take()
        frame = renumber_request(call, id)
        self._unanswered[id] = call
        call.destination, call.destination_id = self, id
        if call.origin is None:
            self.send(frame, call.session_id)
        else:
            call.origin.forward(self, frame, call.session_id)

    def request(
        self, method: str, params: bytes, session_id: str, on_response: OnResponse
    ) -> PendingRequest:
        """Ask something by ourselves; the frame of the answer is handed to `on_response`."""
        frame = codec.encode_request(None, method, params)
        call = PendingRequest(None, None, b"null", method, Raw(params), frame)
        call.session_id = session_id
        call.on_response = on_response
        self.ask(call)
        return call

    def find_unanswered(self, id: Id) -> PendingRequest | None:
        """Return the request that the peer knows by this id."""
        return self._unanswered.get(id) if type(id) is int else None

    def withdraw(self, call: PendingRequest) -> None:
        """Cancel a request at the peer; its response will be ignored."""
        if self._unanswered.pop(call.destination_id, None) is not None:
            body = b'{"requestId":%d}' % call.destination_id
            self.send(codec.encode_notification(CANCEL, body), call.session_id)

    def record_response(self, call: PendingRequest, frame: bytes) -> None:
        """Record that a request of this port's is answered now, with this frame."""
        self._pending_bytes -= self._pending.pop(call, 0)
        if self._pending_by_id.get(call.id) is call:
            del self._pending_by_id[call.id]
        if self._options.on_response_sent is not None:
            self._options.on_response_sent(call, frame)

    def reject_pending(self, error: RequestError) -> None:
        """Answer all that this port waits for with an error."""
        for call in list(self._pending):
            call.refuse(error)

    def send(self, frame: bytes, session_id: str) -> None:
        """Send a frame; to a port that is gone it is not sent."""
        if self._tap is not None:
            self.show(frame, session_id)
        self.write(frame)

    def show(self, frame: bytes, session_id: str) -> None:
        """Show the tap a frame that is sent."""
        if self._tap is not None and self.lost is None:
            self._tap(False, frame, session_id)

    def write(self, frame: bytes) -> None:
        """Hand a frame to the transport."""
        if self.lost is not None:
            return
        try:
            self.transport.send(frame)
        except ConnectionClosed:
            logger.debug("%s is gone; what was to be sent is dropped", self.name)

    def forward(self, port: Port, frame: bytes, session_id: str) -> None:
        """Send something of this port's to another, and wait for room there."""
        if self._arrays is not None:
            self._arrays.setdefault(port, []).append((frame, session_id))
            return
        port.send(frame, session_id)
        self.backpressure.check(port)

    # What is read

    def pause(self, why: object) -> None:
        """Read nothing for as long as there is a reason."""
        if not self._holds:
            self.transport.pause_reading()
        self._holds.add(why)

    def resume(self, why: object) -> None:
        """Resume reading, if that was the last reason."""
        if why in self._holds:
            self._holds.discard(why)
            if not self._holds and self.lost is None:
                self.transport.resume_reading()

    # The end

    def give_up(self) -> None:
        """Disconnect a peer that does not read."""
        logger.warning("%s does not read; closing its connection", self.name)
        self.connection_lost(
            ConnectionClosed(f"did not read for {self.backpressure.drain_timeout:g} seconds")
        )
        self.switch.close(self)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Fail the requests to this port, and withdraw its own."""
        if self.lost is not None:
            return
        self.lost = reason
        unanswered, self._unanswered = self._unanswered, {}
        for call in unanswered.values():
            self._fail(call, self._options.explain(self.name, reason))
        pending, self._pending, self._pending_by_id = self._pending, {}, {}
        self._pending_bytes = 0
        for call in pending:
            call.is_settled = True
            if call.on_cancel is not None:
                call.on_cancel(call)
            if self._options.keeps is None or not self._options.keeps(call):
                call.withdraw()
        self.backpressure.release_all()
        self.switch.ports.discard(self)
        if self._options.on_lost is not None:
            self._options.on_lost(self, reason)

    def __repr__(self) -> str:
        return f"Port({self.name!r}, unanswered {self.unanswered}, pending {self.pending})"


class Backpressure:
    """The pairs that a port is part of, as far as one of them waits for the other."""

    def __init__(self, port: Port, drain_timeout: float | None) -> None:
        self._port = port
        self.drain_timeout = drain_timeout
        """How many seconds the port may take nothing while others wait for it; None: forever."""
        self._waits_for: set[Port] = set()
        self._delays: set[Port] = set()
        self._timer: asyncio.TimerHandle | None = None

    def check(self, other: Port) -> None:
        """Read no more from the port while another one, to which it has just sent, is full."""
        if other not in self._waits_for:
            self._look(other)

    def _look(self, other: Port) -> None:
        room = None if other.lost is not None else other.transport.drained()
        if room is None:
            self._open(other)
            return
        if other not in self._waits_for:
            self._waits_for.add(other)
            other.backpressure._delays.add(self._port)
            if len(self._waits_for) == 1:
                self._port.pause(self)
        other.backpressure.watch()
        room.add_done_callback(lambda _: self._look(other))

    def _open(self, other: Port) -> None:
        if other not in self._waits_for:
            return
        self._waits_for.discard(other)
        other.backpressure._delays.discard(self._port)
        other.backpressure._cancel_timer()
        if not self._waits_for:
            self._port.resume(self)

    def limit(self, drain_timeout: float) -> None:
        """Bound from now on how long the port may take nothing while others wait for it."""
        self.drain_timeout = drain_timeout
        self.watch()

    def watch(self) -> None:
        """Begin to lose patience with the port, if it has to take something and may not wait."""
        if self._delays and self.drain_timeout is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.drain_timeout, self._give_up)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._delays:
            self._port.give_up()

    def release_all(self) -> None:
        """Release the ports on both sides of a wait: this port is disconnected."""
        self._cancel_timer()
        for other in self._waits_for:
            other.backpressure._delays.discard(self._port)
        self._waits_for.clear()
        for other in list(self._delays):
            other.backpressure._open(self._port)
