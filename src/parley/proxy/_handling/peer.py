"""A side of a proxy, for requests and notifications of the proxy's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from parley.errors import AcpError, Overloaded, RemoteProtocolError
from parley.proxy._switch.messages import PendingRequest
from parley.proxy._switch.port import Port
from parley.rpc import _codec as codec
from parley.rpc._message import Failure, Success
from parley.schema._codec import decode
from parley.schema.base import Kind, Method
from parley.session._dialect import DialectMethod, To
from parley.transport._frame_head import peek_session

from .edit_params import encode_value

if TYPE_CHECKING:
    from .connection import ProxyConnection


class ProxyPeer:
    """The client, or the agent."""

    def __init__(self, connection: ProxyConnection, to: To, port: Port) -> None:
        self._connection = connection
        self._to: To = to
        self.port = port
        """Its place in the switchboard."""
        self._waiting: set[asyncio.Future[Any]] = set()

    @property
    def awaited(self) -> int:
        """The number of its responses that handlers wait for."""
        return len(self._waiting)

    async def request(self, method: str | Method[Any, Any], params: object = None) -> Any:
        """Send a request of the proxy's own and return its typed result.

        Args:
            method: Its name in version 2, or in version 1 where only that has it.
            params: A version 2 type; or plain data, or JSON as bytes, as on the wire.

        Raises:
            RequestError: It was rejected.
            Unsupported: The version on the wire does not have it.
        """
        dialect_method, body = self._encode("request", method, params)
        message = await self._ask(dialect_method.wire_name, body)
        try:
            typed = decode(dialect_method.result, message.result, "result")
        except AcpError as error:
            raise RemoteProtocolError(
                f"the answer to {dialect_method.wire_name}: {error}"
            ) from error
        session_id = peek_session(message.result) or peek_session(Raw(body))
        return dialect_method.upgrade_result(typed, self._connection.dialect.upgrader(session_id))

    async def request_raw(self, method: str, params: bytes | Raw) -> Raw:
        """Send a request as it is on the wire, and return the JSON of its result.

        Raises:
            RequestError: It was rejected.
        """
        return (await self._ask(method, bytes(params))).result

    async def _ask(self, method: str, body: bytes) -> Success:
        response: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def take(call: PendingRequest, frame: bytes, is_result: bool) -> bool:
            if not response.done():
                response.set_result(frame)
            return True

        call = self.port.request(method, body, peek_session(Raw(body)), take)
        try:
            frame = await self.wait(response)
        except BaseException:  # also when cancelled: the response is no longer awaited
            call.withdraw()
            raise
        message = codec.decode(frame)
        if isinstance(message, Failure):
            raise codec.to_exception(message.error)
        if not isinstance(message, Success):
            raise RemoteProtocolError(f"the answer to {method} cannot be read")
        return message

    async def notify(self, method: str | Method[Any, Any], params: object = None) -> None:
        """Send a notification of the proxy's own, when there is room for it.

        Raises:
            Unsupported: The version on the wire does not have it.
        """
        dialect_method, body = self._encode("notification", method, params)
        self.send(
            codec.encode_notification(dialect_method.wire_name, body),
            peek_session(Raw(body)),
        )
        await self.drained()

    def send(self, frame: bytes, session_id: str) -> None:
        """Send a frame."""
        self.port.send(frame, session_id)

    async def drained(self) -> None:
        """Wait until there is room to send more.

        Ports whose reading is paused until the same room is free are woken in the same turn of the
        event loop. Yielding lets them resume first. Otherwise, a handler that sends endlessly would
        use up the room every time, and nothing would be read any more, not even a cancellation.
        """
        while self.port.lost is None and (room := self.port.transport.drained()) is not None:
            await room
            await asyncio.sleep(0)  # fairness, see above

    async def wait(self, response: asyncio.Future[Any]) -> Any:
        """Wait for a response of this side, and keep reading its other messages."""
        self._waiting.add(response)
        self._connection.check()
        try:
            return await response
        finally:
            self._waiting.discard(response)
            self._connection.check()

    def give_up(self) -> None:
        """Fail what handlers wait for: what comes first cannot be kept any longer."""
        for response in self._waiting:
            if not response.done():
                response.set_exception(Overloaded("Too much waits for the handlers of the proxy"))

    def _encode(
        self, kind: Kind, method: str | Method[Any, Any], params: object
    ) -> tuple[DialectMethod, bytes]:
        name = method if isinstance(method, str) else method.name
        dialect_method = self._connection.dialect.method_to_wire(kind, self._to, name, params)
        if params is None:
            return dialect_method, b"{}"
        return dialect_method, encode_value(
            dialect_method.downgrade(params) if isinstance(params, Struct) else params
        )
