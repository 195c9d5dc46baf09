"""What a handler of a proxy is given: a request or a notification on its way, and a reply to one.

The bytes are what counts. They are read when somebody asks for `params`, and changed only where
`change` says so.
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
from parley.proxy.wire.patching import patched
from parley.proxy.wire.renumber import renumbered
from parley.proxy.wire.traffic import Call, Note, named
from parley.rpc import _codec as codec
from parley.rpc._message import Failure, Success
from parley.schema import v2
from parley.schema._codec import decode
from parley.schema._session_methods import OPENS
from parley.schema.base import Kind
from parley.session._dialect import DialectMethod

from .changing import as_it_is, changed, encoded
from .lanes import Turn

if TYPE_CHECKING:
    from .link import Link
    from .tools import SessionTools
    from .way import Way

__all__ = ["Message", "Notification", "Reply", "Request"]

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
    """What passes a proxy."""

    def __init__(self, way: Way, traffic: Call | Note) -> None:
        self._way = way
        self._traffic = traffic
        self._raw: bytes | None = None
        self._params: Any = None
        self._word: DialectMethod | None = None
        self.turn: Turn | None = None
        """What holds back those behind it."""
        self.is_over = False
        """Whether its handler is done with it."""

    @property
    def link(self) -> Link:
        """The connection that it is on: its client, its agent, and what you remember of it."""
        return self._way.link

    @property
    def method(self) -> str:
        """Its name, as it is on the wire."""
        return self._traffic.method

    @property
    def session_id(self) -> str:
        """The session that it names; empty if it names none."""
        return self._traffic.session_id

    @property
    def is_from_client(self) -> bool:
        """Whether the client says it, and not the agent."""
        return self._way.to == "agent"

    @property
    def version(self) -> int:
        """The version of the protocol on the wire."""
        return self._way.link.words.version

    @property
    def frame(self) -> bytes:
        """The whole message, as it came or as it was changed."""
        return self._traffic.frame

    @property
    def raw(self) -> bytes:
        """The params as JSON, as they came or as they were changed; empty if there are none."""
        if self._raw is None:
            self._raw = bytes(_decode_params(self._traffic.frame).params)
        return self._raw

    @property
    def params(self) -> Any:
        """The params, typed, in version 2's words; plain data where nobody knows the method.

        Raises:
            MalformedValue: They do not have the shape that the protocol asks for.
        """
        if self._params is None:
            typed = decode(self.word.params, self.raw or None)
            self._params = self.word.upgrade(typed, self._lifting(self.session_id))
        return self._params

    @property
    def word(self) -> DialectMethod:
        """The method: how it is read and written."""
        if self._word is None:
            kind: Kind = "request" if isinstance(self._traffic, Call) else "notification"
            self._word = self._way.link.words.method_from_wire(kind, self._way.to, self.method)
        return self._word

    def _lifting(self, session_id: str) -> Any:
        return self._way.link.words.upgrader(session_id)

    def change(self, **fields: Any) -> None:
        """Change some fields of the params, and nothing else.

        Args:
            fields: The new values, by version 2's names; entries of a list that was there before
                keep all that they came with.

        Raises:
            Unsupported: The version on the wire cannot say this.
            TypeError: There is no such field, or it does not take this value.
        """
        self.replace(changed(self.raw or b"{}", self.params, fields, self.word.downgrade))

    def replace(self, params: object) -> None:
        """Put other params in place of all: typed as on the wire, plain data, or JSON as bytes."""
        self._raw = encoded(params)
        self._params = None
        self._traffic.frame = patched(self._traffic.frame, {"params": self._raw})
        if isinstance(self._traffic, Call):
            self._traffic.params = Raw(self._raw)

    def step_aside(self) -> None:
        """Let those behind it go on, though the handler is not done with it."""
        if self.turn is not None:
            self.turn.end()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method!r}, session {self.session_id!r})"


class Notification(Message):
    """A notification on its way; it goes on when its handler is done, unless it is dropped."""

    def __init__(self, way: Way, traffic: Note) -> None:
        super().__init__(way, traffic)
        self.note = traffic
        """The notification as the switchboard knows it."""
        self._updates: list[v2.SessionUpdate] | None = None
        self.is_dropped = False
        """Whether it goes nowhere."""

    def drop(self) -> None:
        """Have it go nowhere."""
        self.is_dropped = True

    @property
    def kind(self) -> str:
        """Of a `session/update`: what kind of update, in version 2's words; else empty."""
        if self.method != _UPDATE:
            return ""
        tag = _decode_kind(_decode_update(self.raw).update).kind
        return self._way.link.words.upgrade_tag(tag)

    @property
    def updates(self) -> list[v2.SessionUpdate]:
        """Of a `session/update`: what it says, in version 2's words; one, rarely two or none.

        Raises:
            MalformedValue: It cannot be read.
        """
        if self._updates is None:
            words = self._way.link.words
            self._updates = words.updates(self.session_id, Raw(self.raw))
        return self._updates

    @property
    def update(self) -> v2.SessionUpdate | None:
        """Of a `session/update`: what it says, in version 2's words; None if that is nothing."""
        return self.updates[-1] if self.updates else None

    def change(self, **fields: Any) -> None:
        """Change some fields of the params; of a `session/update`, of the update inside.

        Raises:
            Unsupported: The version on the wire cannot say this.
            TypeError: The update on the wire has no such field, or it does not take this value.
        """
        if self.method != _UPDATE:
            super().change(**fields)
            return
        typed = decode(self.word.params, self.raw).update
        body = bytes(_decode_update(self.raw).update)
        members = changed(body, typed, fields, as_it_is)
        self._updates = None
        self.replace(patched(self.raw, {"update": members}))


class Request(Message):
    """A request on its way: goes on when its handler returns None, or is answered by it."""

    def __init__(self, way: Way, traffic: Call) -> None:
        super().__init__(way, traffic)
        self.call = traffic
        """The request as the switchboard knows it."""
        self.reply: Reply | None = None
        """What was answered to `forward`."""
        self.failure: tuple[RequestError, bytes] | None = None
        """The error that was answered to `forward`, and the bytes of it."""
        self.session_tools: SessionTools | None = None
        """What handlers have given to the session that it opens."""
        self.is_forwarded = False
        self.answer_turn: Turn | None = None
        self._answered: asyncio.Future[None] | None = None

    async def forward(self) -> Reply:
        """Send it on, as it is by now, and return what is answered.

        Those behind it go on meanwhile. What follows the answer waits for the handler's end.

        Raises:
            RequestError: What the other side answered; raised on, it passes as it came.
            RequestCancelled: Nobody wants it any more.
            LocalProtocolError: It was sent on already.
        """
        if self.is_forwarded or self.is_over:
            raise LocalProtocolError(f"{self.method} was forwarded already")
        if self.call.is_settled:
            raise RequestCancelled
        self.is_forwarded = True
        self._answered = asyncio.get_running_loop().create_future()
        self.call.on_answer = self._take_answer
        self._way.ask(self.call, self.session_tools)
        self.step_aside()
        await self._way.end.wait(self._answered)
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
            self.session_tools = self.link.tools.new_session_tools(self.call)
        return self.session_tools

    def _take_answer(self, call: Call, frame: bytes, is_result: bool) -> bool:
        frame = self._way.seen(call, frame, is_result)
        back = self._way.reverse
        session_id = back.session_of(call, frame, is_result)

        def arrive(turn: Turn | None) -> bool:
            if self.is_over:  # it was cancelled while its answer waited
                return self._way.settle(call, frame)
            self._arrive(frame)
            self.answer_turn = turn
            return True

        if back.holds_back(session_id):
            back.lanes.put(session_id, arrive, len(frame))
        else:
            is_free = session_id not in back.lanes.held
            arrive(back.lanes.hold(session_id, len(frame)) if is_free else None)
        return True

    def _arrive(self, frame: bytes) -> None:
        message = codec.decode(frame)
        if isinstance(message, Success):
            self.reply = Reply(self, frame, message)
        elif isinstance(message, Failure):
            error = codec.to_exception(message.error)
            self.failure = (error, renumbered(frame, message, self.call.raw_id))
        assert self._answered is not None
        if not self._answered.done():
            self._answered.set_result(None)

    def result(self, value: object) -> bytes:
        """Return a result in version 2's words as it goes on the wire."""
        return encoded(self.word.downgrade_result(value) if isinstance(value, Struct) else value)


class Reply:
    """What was answered to a request; returned by the handler, it goes on."""

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
        """The result, typed, in version 2's words.

        Raises:
            MalformedValue: It does not have the shape that the protocol asks for.
        """
        if self._result is None:
            request = self._request
            typed = decode(request.word.result, self._raw, "result")
            session_id = named(Raw(self._raw)).session_id or request.session_id
            known = request.link.words.upgrader(session_id)
            self._result = request.word.upgrade_result(typed, known)
        return self._result

    def change(self, **fields: Any) -> None:
        """Change some fields of the result, and nothing else.

        Raises:
            Unsupported: The version on the wire cannot say this.
            TypeError: There is no such field, or it does not take this value.
        """
        word = self._request.word
        is_known = word.is_reversible
        typed = self.result if is_known else decode(word.result, self._raw, "result")
        lower = word.downgrade_result if is_known else as_it_is
        with self._changing():
            self.replace(changed(self._raw, typed, fields, lower))

    def replace(self, result: object) -> None:
        """Put another result in place of all: typed as on the wire, plain data, or JSON."""
        raw = encoded(result)
        with self._changing():
            self._frame = patched(self._frame, {"result": raw})
        self._raw = raw
        self._result = None
        self._message = Success(self._message.id, Raw(self._raw))

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Have what is wrong with the answer not look as if the request were wrong."""
        try:
            yield
        except InvalidParams as error:
            text = f"The answer to {self._request.method} cannot be used"
            raise InternalError(text, {"problem": error.message}) from error

    @property
    def frame(self) -> bytes:
        """The answer as it goes on, under the id of who asked."""
        return renumbered(self._frame, self._message, self._request.call.raw_id)

    def __repr__(self) -> str:
        return f"Reply(to {self._request.method!r})"
