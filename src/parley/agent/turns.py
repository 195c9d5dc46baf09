"""The rules of turns: one at a time in a session, and each comes to an end.

A prompt is answered when it is accepted; then its message is reported, then that the session runs,
then whatever the handler says, at last that the session is idle, with the reason. Prompts that come
meanwhile wait, at most `MAX_WAITING`; their messages are reported when it is their turn, so that a
message and the idle state behind it belong together.

Cancelling ends the turn that runs and those that wait, each with the reason `cancelled`, whatever
their handlers do: one that raises is not heard, one that returns late is waited for, and one that
has not ended after a time of grace is given up and may say nothing more. A handler that fails
otherwise ends the turn with the reason `error`; a `RequestError` is told as it is, `Unsupported` by
its text, and of anything else the client learns nothing but that.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import UNSET

from parley.errors import (
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    RequestError,
    Unsupported,
    told,
)
from parley.schema import v2

from .session import Session
from .store import now
from .turn import StopTurn, Turn

__all__ = ["GIVE_UP_AFTER", "MAX_WAITING", "PromptHandler", "Turns"]

logger = logging.getLogger(__name__)

PromptHandler: TypeAlias = Callable[[Turn], Awaitable[v2.StopReason | None]]
"""`async def reply(turn)`, which may return why it stopped."""

MAX_WAITING = 16
"""How many prompts of a session may wait for their turn."""
GIVE_UP_AFTER = 5.0
"""How many seconds a cancelled handler has to end."""


class Turns:
    """The turns of one session."""

    def __init__(
        self,
        session: Session,
        handler: PromptHandler,
        *,
        save: Callable[[Session], Awaitable[None]],
        grace_after: float = GIVE_UP_AFTER,
    ) -> None:
        self.session = session
        """The session."""
        self._handler = handler
        self._save = save
        self._grace_after = grace_after
        self._waiting: list[Turn] = []
        self._worker: asyncio.Task[None] | None = None
        self._done: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_working(self) -> bool:
        """Whether a turn runs or waits, or its end is not told yet."""
        return self._worker is not None or self.is_busy

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or waits."""
        turn = self.session.turn
        return bool(self._waiting) or (turn is not None and not turn.is_over)

    def add(self, turn: Turn) -> None:
        """Take a prompt; `begin` follows when the client knows of it.

        Raises:
            InvalidRequest: Too many wait already.
        """
        if len(self._waiting) >= MAX_WAITING + (self._worker is None):
            raise InvalidRequest(f"{MAX_WAITING} prompts wait for their turn already")
        self._waiting.append(turn)

    def remove(self, turn: Turn) -> None:
        """Take a prompt back that was not accepted after all; those behind it need not wait."""
        self._waiting.remove(turn)
        self._start()

    def begin(self, turn: Turn) -> None:
        """Run a turn as soon as those before it are over."""
        turn.is_accepted = True
        self._start()

    def _start(self) -> None:
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    def cancel(self) -> None:
        """Cancel the turn that runs and those that wait."""
        for waiting in self._waiting:
            waiting.cancelled = True
        turn = self.session.turn
        if turn is None or turn.cancelled or turn.is_over:
            return
        turn.cancelled = True
        if turn.task is not None and self._done is not None:
            turn.task.cancel()
            self._timer = asyncio.get_running_loop().call_later(
                self._grace_after, _finish, self._done
            )

    async def stop(self) -> None:
        """Cancel everything and wait for the end of it."""
        self.cancel()
        if self._worker is not None:
            await asyncio.wait({self._worker}, timeout=2 * self._grace_after)

    async def _work(self) -> None:
        try:
            while self._waiting and self._waiting[0].is_accepted:
                self.session.turn = turn = self._waiting.pop(0)
                try:
                    await self._run(turn)
                except ConnectionClosed:
                    logger.debug("a turn ended with its connection")
                except Exception:  # nobody awaits this task; the next turn must begin
                    logger.exception("the end of a turn could not be reported")
                finally:
                    turn.is_over = True
                    self.session.turn = None
        finally:
            self._worker = None

    async def _run(self, turn: Turn) -> None:
        session = self.session
        session.end_message()
        await session.update(turn.message)
        if not turn.cancelled:
            await session.enter("running")
        reason: v2.StopReason = "cancelled"
        error: RequestError | None = None
        if not turn.cancelled:
            turn.task = asyncio.get_running_loop().create_task(self._handle(turn))
            await self._wait(turn.task)
            _check_exit(turn.task)
            reason, error = self._outcome(turn, turn.task)
            if turn.is_given_up:
                await self._give_up_parts(turn.task)
        session.stored.updated_at = now()
        await self._save(session)
        turn.is_over = True
        await self._end(turn, reason, error)

    async def _end(self, turn: Turn, reason: v2.StopReason, error: RequestError | None) -> None:
        enter = self.session.enter
        try:
            await enter("idle", reason, error=_as_data(error), usage=turn.usage)
        except ConnectionClosed:
            raise
        except Exception:  # the program's data may fail to encode in any way
            logger.exception("what the program says about the end of a turn cannot be written")
            bare = None if error is None else v2.Error(code=error.code, message=error.message)
            await enter("idle", reason, error=bare)

    async def _handle(self, turn: Turn) -> v2.StopReason:
        return StopTurn(await self._handler(turn) or "end_turn").reason

    async def _wait(self, task: asyncio.Task[Any]) -> None:
        """Wait until a handler has ended or is given up."""
        self._done = done = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: _finish(done))
        await done
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _outcome(
        self, turn: Turn, task: asyncio.Task[v2.StopReason]
    ) -> tuple[v2.StopReason, RequestError | None]:
        """Return why a turn ended."""
        if not task.done():
            turn.is_given_up = True
            logger.error(
                "%s: the handler of a prompt does not end %s s after it was cancelled; given up",
                self.session.connection.name,
                self._grace_after,
            )
            self.session.connection.keep(task)
            return "cancelled", None
        error = None if task.cancelled() else task.exception()
        if turn.cancelled or task.cancelled():
            if error is not None:
                logger.info("a handler failed while it was cancelled", exc_info=error)
            return "cancelled", None
        match error:
            case None:
                return task.result(), None
            case StopTurn():
                return error.reason, None
            case ConnectionClosed():
                return "cancelled", None
            case RequestError() | Unsupported():
                return "error", told(error)
            case _:
                logger.error("the handler of a prompt failed", exc_info=error)
                return "error", InternalError()

    async def _give_up_parts(self, task: asyncio.Task[Any]) -> None:
        for part in list(self.session.parts.values()):
            if part.task is task:
                await part.give_up()


def _check_exit(task: asyncio.Task[Any]) -> None:
    """Say no more when a handler has ended the process: the client learns it by its exit code."""
    if task.done() and not task.cancelled() and isinstance(task.exception(), SystemExit):
        raise ConnectionClosed("a handler has ended the process")


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _as_data(error: RequestError | None) -> v2.Error | None:
    if error is None:
        return None
    data = None if error.data is UNSET else error.data
    return v2.Error(code=error.code, message=error.message, data=data)
