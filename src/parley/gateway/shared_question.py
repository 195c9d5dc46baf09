"""A question to the user of a shared session: the first answer counts.

The owner gets the agent's own frame. Each controller is asked through its `SharedSessionAgent`, and
its answer is translated back. When the question is settled, the other clients get
`$/cancel_request`. A client that rejects the question has not answered it, and neither has one that
responds `cancelled` although nobody has cancelled: the question ends that way only when no other
client is left. Without any client to ask, it waits until one attaches or the session ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from parley.errors import (
    AcpError,
    ConnectionClosed,
    InternalError,
    MalformedValue,
    RequestCancelled,
    RequestError,
    as_request_error,
)
from parley.proxy import PendingRequest
from parley.rpc._codec import decode as decode_frame
from parley.rpc._message import Success
from parley.schema import v2
from parley.schema._codec import decode
from parley.schema.base import Method
from parley.schema.v2 import methods

if TYPE_CHECKING:
    from .live_session import LiveSession
    from .shared_session_agent import Subscriber

__all__ = ["SharedQuestion"]

logger = logging.getLogger(__name__)


class SharedQuestion:
    """A request of the agent to the user, sent to all clients that may answer it."""

    def __init__(self, session: LiveSession, call: PendingRequest) -> None:
        self._session = session
        self._call = call
        self._owner_is_pending = False
        self._expected: dict[Subscriber, asyncio.Task[Any] | None] = {}
        self._is_withdrawn = False
        self._is_cancelling = False
        self._undecided: bytes | None = None
        call.on_response = self._handle_owner_response
        call.on_cancel = self._withdrawn

    def ask_all(self) -> None:
        """Ask all clients."""
        owner = self._session.owner
        for attached in list(self._session.attached):
            if attached.is_controller:
                self.expect(attached)
                attached.send_question(self)
        if owner is not None:
            self._owner_is_pending = True
            self._call.follow(owner.port)

    def expect(self, attached: Subscriber) -> None:
        """Expect a response of another client."""
        self._expected[attached] = None

    def ask(
        self, attached: Subscriber, ask: Callable[[Method[Any, Any], Any], Awaitable[Any]]
    ) -> None:
        """Ask a client; `ask` is called with the version 2 method and params."""
        if self._call.is_settled or attached not in self._expected:
            return
        task = asyncio.get_running_loop().create_task(self._ask(attached, ask))
        self._expected[attached] = task
        task.add_done_callback(lambda task: self._ask_done(attached, task))

    async def _ask(
        self, attached: Subscriber, ask: Callable[[Method[Any, Any], Any], Awaitable[Any]]
    ) -> None:
        follower = self._session.follower
        try:
            method, params = follower.question(self._call.method, self._call.params)
            response = follower.encode_response(method, await ask(method, params))
        except MalformedValue:
            self._fail_subscriber(attached, InternalError("The question cannot be read"))
        except RequestError as error:
            self._fail_subscriber(attached, as_request_error(error))
        except AcpError as error:
            self._fail_subscriber(attached, InternalError(str(error)))
        else:
            self._expected.pop(attached, None)
            self._handle_response(response)

    def subscriber_left(self, attached: Subscriber) -> None:
        """Handle that a client has left."""
        task = self._expected.get(attached)
        if task is not None:
            task.cancel()
        if attached in self._expected:
            self._fail_subscriber(attached, InternalError("The client has left"))

    def _ask_done(self, attached: Subscriber, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and task.exception() is not None:
            logger.error("a question could not be asked", exc_info=task.exception())
            self._fail_subscriber(attached, InternalError())

    def _fail_subscriber(self, attached: Subscriber, error: RequestError) -> None:
        """Stop waiting for a client."""
        self._expected.pop(attached, None)
        self._failed(error)

    def _handle_response(self, result: bytes) -> None:
        """Handle the response of a client."""
        if self._is_undecided(Raw(result)):
            self._undecided = result
            self._failed(RequestCancelled())
        else:
            self._settle(result)

    def _settle(self, result: bytes) -> None:
        self._forget()
        self._call.respond(Raw(result))

    def _handle_owner_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        """Pass the owner's response on; an undecided one only if nobody else can answer."""
        self._owner_is_pending = False
        response = decode_frame(frame)
        if isinstance(response, Success) and not self._is_undecided(response.result):
            self._forget()
            return False
        if isinstance(response, Success):
            self._undecided = bytes(response.result)
        if self._expected or self._may_wait:
            return True
        self._forget()
        if not is_result and self._undecided is not None:
            self._call.respond(self._undecided)
            return True
        return False

    def _is_undecided(self, result: Raw) -> bool:
        """Return whether a client responded `cancelled` without asking the user."""
        if self._is_cancelling or self._call.method != methods.REQUEST_PERMISSION.name:
            return False
        try:
            outcome = decode(v2.RequestPermissionResponse, result).outcome
        except MalformedValue:
            return False
        return isinstance(outcome, v2.CancelledPermissionOutcome)

    def turn_cancelled(self) -> None:
        """Handle that a client has cancelled the session's work."""
        self._is_cancelling = True
        if self._undecided is not None:
            self._settle(self._undecided)

    @property
    def _may_wait(self) -> bool:
        """Whether a controller may still come: the owner has left, and observers remain."""
        owner = self._session.owner
        has_left = owner is None or owner.port.lost is not None
        return has_left and bool(self._session.attached) and not self._is_withdrawn

    def _failed(self, error: RequestError) -> None:
        if self._owner_is_pending or self._expected or self._may_wait:
            return
        if self._undecided is not None:
            self._settle(self._undecided)
            return
        self._forget()
        self._call.refuse(error)

    def fail(self, reason: ConnectionClosed) -> None:
        """Fail the question, because the session has ended."""
        self._forget()
        self._call.refuse(InternalError(f"Nobody can be asked: {reason}"))

    def _withdrawn(self, call: PendingRequest) -> None:
        """Handle the withdrawal by the agent; the switch notifies the owner, which responds."""
        self._is_withdrawn = True
        self._forget()
        if not self._owner_is_pending:
            call.refuse(RequestCancelled())

    def _forget(self) -> None:
        self._session.questions.pop(self._call, None)
        expected, self._expected = self._expected, {}
        for task in expected.values():
            if task is not None and task is not asyncio.current_task():
                task.cancel()
