"""Messages as handlers see them: requests and notifications on their way, and responses.

A message is its bytes. They are decoded when `params` is read, and edited only by `change` and
`replace`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from parley.errors import (
    InternalError,
    InvalidParams,
    LocalProtocolError,
    RequestCancelled,
    RequestError,
)
from parley.proxy._switch.messages import (
    PendingRequest,
    RawMessage,
    RawNotification,
)
from parley.proxy._switch.patching import patch_object
from parley.proxy._switch.renumber import renumber_response
from parley.rpc import _codec as codec
from parley.rpc._message import Failure, Success
from parley.schema import v2
from parley.schema._codec import decode
from parley.schema._session_methods import OPENS
from parley.schema.base import Kind
from parley.session._dialect import DialectMethod
from parley.transport._frame_head import peek_session

from .edit_params import edit_params, encode_value, unchanged
from .queues import QueueSlot

if TYPE_CHECKING:
    from .connection import ProxyConnection
    from .direction import Direction
    from .tools import SessionTools


_UPDATE = "session/update"


class _Params(Struct):
    params: Raw = Raw()


class _Kind(Struct):
    kind: str = msgspec.field(name="sessionUpdate", default="")


class _Update(Struct):
    update: Raw = Raw(b"{}")


_decode_params = msgspec.json.Decoder(_Params).decode
_decode_update = msgspec.json.Decoder(_Update).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode


class Message:
    """A message that passes a proxy."""

    def __init__(self, direction: Direction, message: RawMessage) -> None:
        self._direction = direction
        self._message = message
        self._raw: bytes | None = None
        self._params: Any = None
        self._dialect_method: DialectMethod | None = None
        self.slot: QueueSlot | None = None
        """Its place in the queue of its session; later messages wait for it."""
        self.is_over = False
        """Whether its handler has returned."""

    @property
    def connection(self) -> ProxyConnection:
        """The connection that it is on, with its client, its agent and its state."""
        return self._direction.connection

    @property
    def method(self) -> str:
        """Its name, as it is on the wire."""
        return self._message.method

    @property
    def session_id(self) -> str:
        """The session that it names; empty if it names none."""
        return self._message.session_id

    @property
    def is_from_client(self) -> bool:
        """Return whether it comes from the client, not from the agent."""
        return self._direction.to == "agent"

    @property
    def version(self) -> int:
        """The version of the protocol on the wire."""
        return self._direction.connection.dialect.version

    @property
    def frame(self) -> bytes:
        """The whole message, as it came or as it was changed."""
        return self._message.frame

    @property
    def raw(self) -> bytes:
        """The params as JSON, as they came or as they were changed; empty if there are none."""
        if self._raw is None:
            self._raw = bytes(_decode_params(self._message.frame).params)
        return self._raw

    @property
    def params(self) -> Any:
        """The params as version 2 types, or as plain data if the method is unknown.

        Raises:
            MalformedValue: They do not have the shape that the protocol requires.
        """
        if self._params is None:
            typed = decode(self.dialect_method.params, self.raw or None)
            self._params = self.dialect_method.upgrade(typed, self._upgrader(self.session_id))
        return self._params

    @property
    def dialect_method(self) -> DialectMethod:
        """The method: how it is read and written."""
        if self._dialect_method is None:
            kind: Kind = "request" if isinstance(self._message, PendingRequest) else "notification"
            self._dialect_method = self._direction.connection.dialect.method_from_wire(
                kind, self._direction.to, self.method
            )
        return self._dialect_method

    def _upgrader(self, session_id: str) -> Any:
        return self._direction.connection.dialect.upgrader(session_id)

    def change(self, **fields: Any) -> None:
        """Change some fields of the params, and nothing else.

        Args:
            fields: The new values, by version 2's names; entries of a list that was there before
                keep all that they came with.

        Raises:
            Unsupported: The version on the wire cannot express this.
            TypeError: The field is unknown, or does not take this value.
        """
        self.replace(
            edit_params(self.raw or b"{}", self.params, fields, self.dialect_method.downgrade)
        )

    def replace(self, params: object) -> None:
        """Replace all params, by typed ones as on the wire, plain data, or JSON as bytes."""
        self._raw = encode_value(params)
        self._params = None
        self._message.frame = patch_object(self._message.frame, {"params": self._raw})
        if isinstance(self._message, PendingRequest):
            self._message.params = Raw(self._raw)

    def unblock(self) -> None:
        """Release the lane: later messages of the session pass before the handler returns."""
        if self.slot is not None:
            self.slot.end()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method!r}, session {self.session_id!r})"


class Notification(Message):
    """A notification; it is forwarded when its handler returns, unless it is dropped."""

    def __init__(self, direction: Direction, message: RawNotification) -> None:
        super().__init__(direction, message)
        self.note = message
        """The notification as the switchboard knows it."""
        self._updates: list[v2.SessionUpdate] | None = None
        self.is_dropped = False
        """Whether it is not forwarded."""

    def drop(self) -> None:
        """Do not forward it."""
        self.is_dropped = True

    @property
    def kind(self) -> str:
        """The kind of a `session/update`, as version 2 names it; empty for any other method."""
        if self.method != _UPDATE:
            return ""
        tag = _decode_kind(_decode_update(self.raw).update).kind
        return self._direction.connection.dialect.upgrade_tag(tag)

    @property
    def updates(self) -> list[v2.SessionUpdate]:
        """The updates of a `session/update` as version 2 types; one, rarely two or none.

        Raises:
            MalformedValue: It cannot be read.
        """
        if self._updates is None:
            dialect = self._direction.connection.dialect
            self._updates = dialect.updates(self.session_id, Raw(self.raw))
        return self._updates

    @property
    def update(self) -> v2.SessionUpdate | None:
        """The update of a `session/update` as a version 2 type; None if there is none."""
        return self.updates[-1] if self.updates else None

    def change(self, **fields: Any) -> None:
        """Change some fields of the params, or, for a `session/update`, of its update.

        Raises:
            Unsupported: The version on the wire cannot express this.
            TypeError: The update on the wire has no such field, or it does not take this value.
        """
        if self.method != _UPDATE:
            super().change(**fields)
            return
        typed = decode(self.dialect_method.params, self.raw).update
        body = bytes(_decode_update(self.raw).update)
        members = edit_params(body, typed, fields, unchanged)
        self._updates = None
        self.replace(patch_object(self.raw, {"update": members}))


class Request(Message):
    """A request; it is forwarded if its handler returns None, else answered by the handler."""

    def __init__(self, direction: Direction, message: PendingRequest) -> None:
        super().__init__(direction, message)
        self.call = message
        """The request as the switchboard knows it."""
        self.reply: Response | None = None
        """The response to `forward`."""
        self.failure: tuple[RequestError, bytes] | None = None
        """The error that `forward` got, and its bytes."""
        self.session_tools: SessionTools | None = None
        """The tools that handlers have added to the session that it opens."""
        self.is_forwarded = False
        self.response_slot: QueueSlot | None = None
        self._response_arrived: asyncio.Future[None] | None = None

    async def forward(self) -> Response:
        """Forward it with the changes made so far, and return the response.

        Later messages of the session pass meanwhile. Those after the response wait until the
        handler returns.

        Raises:
            RequestError: The other side rejected it; if you let it propagate, it passes unchanged.
            RequestCancelled: The request was cancelled.
            LocalProtocolError: It was forwarded already.
        """
        if self.is_forwarded or self.is_over:
            raise LocalProtocolError(f"{self.method} was forwarded already")
        if self.call.is_settled:
            raise RequestCancelled
        self.is_forwarded = True
        self._response_arrived = asyncio.get_running_loop().create_future()
        self.call.on_response = self._take_response
        self._direction.ask(self.call, self.session_tools)
        self.unblock()
        await self._direction.peer.wait(self._response_arrived)
        if self.failure is not None:
            raise self.failure[0]
        assert self.reply is not None
        return self.reply

    def add_tools(self, *functions: Callable[..., Any]) -> None:
        """Give functions, as MCP tools, to the session that this request opens, and to no other.

        They are like those of `proxy.tool`. An agent that uses no MCP servers gets none.

        Args:
            functions: A parameter of the type `ToolSession` gets the session.

        Raises:
            LocalProtocolError: This request does not open a session, or has been forwarded.
            Unsupported: The `mcp` package is not installed.
            TypeError: One of them cannot be a tool, or the session has one of that name already.
        """
        self._tools_of_session().add_tools(functions)

    def add_mcp_server(self, server: object) -> None:
        """Give a server of the `mcp` package to the session that this request opens.

        A server that the agent reaches by itself is added by `change(mcp_servers=…)`.

        Raises:
            LocalProtocolError: This request does not open a session, or has been forwarded.
            Unsupported: The `mcp` package is not installed.
            TypeError: It is not such a server.
        """
        self._tools_of_session().add_mcp_server(server)

    def _tools_of_session(self) -> SessionTools:
        if self.method not in OPENS or not self.is_from_client:
            raise LocalProtocolError(
                f"{self.method} does not open a session; add tools and MCP servers in a handler of "
                "session/new, session/resume or session/fork"
            )
        if self.is_forwarded or self.is_over:
            raise LocalProtocolError(
                f"{self.method} was forwarded already; add tools and MCP servers before that"
            )
        if self.session_tools is None:
            self.session_tools = self.connection.tools.new_session_tools(self.call)
        return self.session_tools

    def _take_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        frame = self._direction.inspect_response(call, frame, is_result)
        back = self._direction.opposite
        session_id = back.session_of(call, frame, is_result)

        def arrive(slot: QueueSlot | None) -> bool:
            if self.is_over:  # it was cancelled while its answer waited
                return self._direction.settle(call, frame)
            self._arrive(frame)
            self.response_slot = slot
            return True

        if back.holds_back(session_id):
            back.queues.put(session_id, arrive, len(frame))
        else:
            is_free = session_id not in back.queues.occupied
            arrive(back.queues.hold(session_id, len(frame)) if is_free else None)
        return True

    def _arrive(self, frame: bytes) -> None:
        message = codec.decode(frame)
        if isinstance(message, Success):
            self.reply = Response(self, frame, message)
        elif isinstance(message, Failure):
            error = codec.to_exception(message.error)
            self.failure = (error, renumber_response(frame, message, self.call.raw_id))
        assert self._response_arrived is not None
        if not self._response_arrived.done():
            self._response_arrived.set_result(None)

    def result(self, value: object) -> bytes:
        """Return the JSON of a result for the version on the wire."""
        return encode_value(
            self.dialect_method.downgrade_result(value) if isinstance(value, Struct) else value
        )


class Response:
    """The response to a forwarded request; return it from the handler to pass it on."""

    def __init__(self, request: Request, frame: bytes, message: Success) -> None:
        self._request = request
        self._message = message
        self._frame = frame
        self._raw = bytes(message.result)
        self._result: Any = None

    @property
    def raw(self) -> bytes:
        """The result as JSON, as it came or as it was changed."""
        return self._raw

    @property
    def result(self) -> Any:
        """The result as a version 2 type.

        Raises:
            MalformedValue: It does not have the shape that the protocol requires.
        """
        if self._result is None:
            request = self._request
            typed = decode(request.dialect_method.result, self._raw, "result")
            session_id = peek_session(Raw(self._raw)) or request.session_id
            known = request.connection.dialect.upgrader(session_id)
            self._result = request.dialect_method.upgrade_result(typed, known)
        return self._result

    def change(self, **fields: Any) -> None:
        """Change some fields of the result, and nothing else.

        Raises:
            Unsupported: The version on the wire cannot express this.
            TypeError: The field is unknown, or does not take this value.
        """
        dialect_method = self._request.dialect_method
        is_known = dialect_method.is_reversible
        typed = self.result if is_known else decode(dialect_method.result, self._raw, "result")
        lower = dialect_method.downgrade_result if is_known else unchanged
        with self._changing():
            self.replace(edit_params(self._raw, typed, fields, lower))

    def replace(self, result: object) -> None:
        """Replace the result, by a typed one as on the wire, plain data, or JSON as bytes."""
        raw = encode_value(result)
        with self._changing():
            self._frame = patch_object(self._frame, {"result": raw})
        self._raw = raw
        self._result = None
        self._message = Success(self._message.id, Raw(self._raw))

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Report a faulty response as an internal error, not as a fault of the request."""
        try:
            yield
        except InvalidParams as error:
            text = f"The answer to {self._request.method} cannot be used"
            raise InternalError(text, {"problem": error.message}) from error

    @property
    def frame(self) -> bytes:
        """The response as it is passed on, under the id of the origin."""
        return renumber_response(self._frame, self._message, self._request.call.raw_id)

    def __repr__(self) -> str:
        return f"Reply(to {self._request.method!r})"
