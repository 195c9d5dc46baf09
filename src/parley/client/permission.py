"""Questions for permission: only what was offered and chosen is allowed.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#requesting-permission
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from parley.peer import RequestContext
from parley.schema import v2

from .calling import called

if TYPE_CHECKING:
    from .connection import Connection
    from .session import Session

__all__ = ["Decide", "PermissionDesk"]

logger = logging.getLogger(__name__)

Choice: TypeAlias = str | v2.PermissionOption | None
Decide: TypeAlias = Callable[[v2.RequestPermissionRequest, "Session"], Choice | Awaitable[Choice]]
"""Gets the question and its session, whose transcript has the tool call; returns an option of the
question, or the id of one, or None for no decision."""


class PermissionDesk:
    """Answers questions for permission with what a function of the program decides."""

    def __init__(self, connection: Connection, decide: Decide | None) -> None:
        self._connection = connection
        self._decide = decide

    async def answer(
        self, request: v2.RequestPermissionRequest, context: RequestContext
    ) -> v2.RequestPermissionResponse:
        """Answer a question; whatever goes wrong, nothing is allowed by it."""
        del context
        session = self._connection.session_of(request.session_id)
        chosen: str | None = None
        if session is not None:
            if isinstance(request.subject, v2.ToolCallPermissionSubject):
                session.transcript.fold(request.subject.tool_call)
            chosen = await session.unless_cancelled(self._choose(request, session))
        if chosen is None:
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        return v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id=chosen))

    async def _choose(self, request: v2.RequestPermissionRequest, session: Session) -> str | None:
        """Return the id of the option that was chosen; None if none was."""
        if self._decide is None:
            return None
        try:
            choice = await called(self._decide, request, session)
        except Exception:  # of the program: then nothing is allowed
            logger.exception("%s: deciding a permission failed", self._connection.name)
            return None
        chosen = choice.option_id if isinstance(choice, v2.PermissionOption) else choice
        offered = [each.option_id for each in request.options]
        if chosen is not None and offered.count(chosen) != 1:
            problem = "offered twice" if chosen in offered else "not offered"
            known = ", ".join(map(repr, offered))
            name = self._connection.name
            logger.error(
                "%s: %r was %s as a permission; there were %s", name, chosen, problem, known
            )
            return None
        return chosen
