"""The part of a session that Parley drives: updates, turns, cancellation and the end.

The other modules of this package hold a `SessionState`. Programs get a `Session`, which is a view
of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any

from parley.errors import AcpError, ConnectionClosed, MalformedValue, Overloaded
from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.v2 import methods
from parley.session._transcript import Transcript
from parley.transport._notifier import Notifier

from ._session import Session
from ._turn_state import PromptQueue

if TYPE_CHECKING:
    from ._connection_state import ConnectionState


logger = logging.getLogger(__name__)


class SessionState:
    """The state of one session."""

    def __init__(
        self,
        connection: ConnectionState,
        id: v2.SessionId,
        *,
        cwd: str | None = None,
        additional_directories: Sequence[str] = (),
    ) -> None:
        self.connection = connection
        self.id = id
        self.is_foreign = cwd is None
        """Whether the agent started it by itself."""
        self.foreign_bytes = 0
        """The size of its updates, as far as they count against `FOREIGN_BYTES`."""
        self.transcript = Transcript()
        self.is_closed = False
        """Whether the session was closed or deleted here, or the connection has ended."""
        self.is_replaying = False
        """Whether the agent is still replaying the history of a resumed session."""
        self.turns = PromptQueue(self)
        """The unfinished turns."""
        self.update_task: asyncio.Task[Any] | None = None
        """The task that is running `on_update`; None while no call is in progress."""
        self.session = Session(self, cwd=cwd, additional_directories=additional_directories)
        """The program's view."""
        self._state_changes = Notifier()

    def apply(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Fold an update into the transcript and call `on_update`.

        Returns:
            An awaitable that must finish before the next update, or None.
        """
        try:
            self.transcript.fold(update)
        except MalformedValue as error:
            logger.warning("%s: ignored an invalid update: %s", self.connection.name, error)
        if type(update) is v2.StateUpdated:  # a failing `isinstance` takes four times as long
            self._state_changes.notify_all()
        on_update = self.connection.on_update
        return None if on_update is None else on_update(self, update)

    async def until_idle(self) -> None:
        """Wait until the session is idle.

        Raises:
            AcpError: The session or its connection ended first.
        """
        while self.turns.first is not None or self.transcript.state != "idle":
            if self.turns.first is not None:
                await asyncio.wait({self.turns.first.begin()})
            elif self.is_closed:
                raise ConnectionClosed(f"the session {self.id} is closed")
            else:
                await self._state_changes.wait()

    async def cancel(self, *, meta: JsonObject | None = None) -> None:
        """Cancel the turns and open questions, and send `session/cancel`."""
        self._mark_cancelled()
        note = v2.CancelSessionNotification(session_id=self.id, meta=meta)
        await self.connection.adapter.notify(methods.CANCEL_SESSION, note)

    def cancel_now(self) -> None:
        """Do the same as `cancel`, but send before returning, without waiting for room.

        For code that cannot wait. A prompt that the program sends next must not be cancelled too,
        so the notification cannot be left to a task.
        """
        self._mark_cancelled()
        note = v2.CancelSessionNotification(session_id=self.id)
        try:
            self.connection.adapter.notify_now(methods.CANCEL_SESSION, note)
        except ConnectionClosed:
            pass  # the turns end with the connection
        except Overloaded as error:
            logger.error("%s: a turn could not be cancelled: %s", self.connection.name, error)

    def _mark_cancelled(self) -> None:
        self.turns.cancel()
        self.connection.questions.cancel(self.session)
        self.transcript.cancel_unfinished()

    def end(self, error: AcpError) -> None:
        """Mark the session as closed and fail its turns, because no more updates will arrive."""
        self.is_closed = True
        self.connection.questions.cancel(self.session)
        self._state_changes.notify_all()
        self.turns.fail_all(error)
