"""Questions to the user that are waiting for a decision, on all sessions of a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from parley.schema import v2
from parley.session._transcript_entries import ToolCallEntry

if TYPE_CHECKING:
    from ._connection_state import ConnectionState
    from ._session import Session


T = TypeVar("T")


class OpenQuestions:
    """The questions that the program is asking the user for the agent.

    A question ends early when its session is cancelled or closed. While a permission request is
    open, the tool call that it is about is frozen, so that the user decides what was asked.
    """

    def __init__(self, connection: ConnectionState) -> None:
        self._connection = connection
        self._cancellations: dict[asyncio.Future[None], Session] = {}
        self._tool_calls: dict[int, ToolCallEntry | None] = {}
        """The frozen tool calls, by the `id` of the request object."""

    async def ask(self, session: Session, question: Coroutine[Any, Any, T]) -> T | None:
        """Run a coroutine that waits for the user; return None if the session is cancelled first.

        Args:
            session: The session that the question belongs to.
            question: Asks the user and returns the decision.
        """
        if self._connection.is_cancelling(session):
            question.close()
            return None
        cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = self._connection.spawn(question)
        self._cancellations[cancelled] = session
        try:
            waiting: set[asyncio.Future[Any]] = {task, cancelled}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() and not cancelled.done() else None
        finally:
            del self._cancellations[cancelled]
            task.cancel()

    def cancel(self, session: Session) -> None:
        """Cancel the open questions of a session."""
        for cancelled, owner in self._cancellations.items():
            if owner is session and not cancelled.done():
                cancelled.set_result(None)

    def tool_call_of(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> ToolCallEntry | None:
        """Return the tool call that a permission request is about, as it was when it arrived."""
        if id(request) in self._tool_calls:
            return self._tool_calls[id(request)]
        match request.subject:
            case v2.ToolCallPermissionSubject(tool_call=call):
                return session.transcript.tool_calls.get(call.tool_call_id)
            case v2.CommandPermissionSubject(tool_call_id=str(tool_call_id)):
                return session.transcript.tool_calls.get(tool_call_id)
            case _:
                return None

    @contextmanager
    def freeze_tool_call(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> Generator[None]:
        """Freeze what `tool_call_of` returns for a request while the block runs."""
        call = self.tool_call_of(request, session)
        if call is None and isinstance(request.subject, v2.ToolCallPermissionSubject):
            call = ToolCallEntry(request.subject.tool_call.tool_call_id)  # a request of our own
            call.apply(request.subject.tool_call)
        self._tool_calls[id(request)] = None if call is None else _copy(call)
        try:
            yield
        finally:
            del self._tool_calls[id(request)]


def _copy(call: ToolCallEntry) -> ToolCallEntry:
    """Return a copy of a tool call that later updates do not change."""
    copied = ToolCallEntry(call.id)
    for update in call.replay():
        copied.apply(update)
    return copied
