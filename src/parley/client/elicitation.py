"""Questions to the user, with a form or behind a URL.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from parley.errors import InvalidParams, MalformedValue
from parley.peer import RequestContext
from parley.schema import v2
from parley.session.forms import check_content

from .calling import called

if TYPE_CHECKING:
    from .connection import Connection
    from .session import Session

__all__ = ["Elicit", "ElicitUrl", "ElicitationDesk"]

logger = logging.getLogger(__name__)

Reply: TypeAlias = Mapping[str, Any] | str | v2.CreateElicitationResponse | None
"""What was filled in, or `accept`, `decline`, `cancel`; None is `cancel`."""
Elicit: TypeAlias = Callable[[v2.ElicitationFormMode, "Session | None"], Reply | Awaitable[Reply]]
"""Gets a form and its session; returns what was filled in, or a word for what was done. There is
no session where the question belongs to a request, such as a login."""
ElicitUrl: TypeAlias = Callable[[v2.ElicitationUrlMode, "Session | None"], Reply | Awaitable[Reply]]
"""Gets a page to send the user to, likewise; returns a word for what was done."""

_ACTIONS: dict[str, v2.CreateElicitationResponse] = {
    "accept": v2.ElicitationAcceptAction(),
    "decline": v2.ElicitationDeclineAction(),
    "cancel": v2.ElicitationCancelAction(),
}


class ElicitationDesk:
    """Answers questions with what functions of the program return."""

    def __init__(
        self,
        connection: Connection,
        elicit: Elicit | None,
        elicit_url: ElicitUrl | None,
        completed: Callable[[v2.ElicitationId], object] | None,
    ) -> None:
        self._connection = connection
        self._elicit = elicit
        self._elicit_url = elicit_url
        self._completed = completed
        self._open: set[v2.ElicitationId] = set()

    async def answer(
        self, request: v2.CreateElicitationRequest, context: RequestContext
    ) -> v2.CreateElicitationResponse:
        """Answer a question; whatever goes wrong, the user has not consented.

        Raises:
            InvalidParams: It comes in a mode that was not offered.
        """
        del context
        match request:
            case v2.ElicitationFormMode() if self._elicit is not None:
                answer = await self._in_session(request, self._elicit)
                return self._fitting(request.requested_schema, answer)
            case v2.ElicitationUrlMode() if self._elicit_url is not None:
                self._open.add(request.elicitation_id)  # it may be done before we have an answer
                answer = await self._in_session(request, self._elicit_url)
                if not isinstance(answer, v2.ElicitationAcceptAction):
                    self._open.discard(request.elicitation_id)
                return answer
            case _:
                raise InvalidParams("This mode of elicitation is not offered")

    def _fitting(
        self, form: v2.ElicitationSchema, answer: v2.CreateElicitationResponse
    ) -> v2.CreateElicitationResponse:
        """Return an answer that may be sent: one that does not fit its form is none."""
        if isinstance(answer, v2.ElicitationAcceptAction):
            try:
                check_content(form, answer.content)
            except MalformedValue as error:
                name = self._connection.name
                logger.error("%s: an answer does not fit its form: %s", name, error)
                return v2.ElicitationCancelAction()
        return answer

    async def complete(self, note: v2.CompleteElicitationNotification) -> None:
        """Tell the program that something behind a URL is done; an unknown id is ignored."""
        if note.elicitation_id in self._open:
            self._open.discard(note.elicitation_id)
            if self._completed is not None:
                await called(self._completed, note.elicitation_id)

    async def _in_session(
        self,
        request: v2.ElicitationFormMode | v2.ElicitationUrlMode,
        function: Callable[[Any, Any], Any],
    ) -> v2.CreateElicitationResponse:
        """Ask, but no longer than the work of the session goes on."""
        id = request.session_id
        session = None if id is None else self._connection.session_of(id)
        if session is None:
            return await self._ask(request, None, function)
        answer = await session.unless_cancelled(self._ask(request, session, function))
        return v2.ElicitationCancelAction() if answer is None else answer

    async def _ask(
        self, request: Any, session: Session | None, function: Callable[[Any, Any], Any]
    ) -> v2.CreateElicitationResponse:
        try:
            reply: Reply = await called(function, request, session)
        except Exception:  # of the program: the agent needs an answer
            logger.exception("%s: asking the user failed", self._connection.name)
            return v2.ElicitationCancelAction()
        if reply is None:
            return v2.ElicitationCancelAction()
        if isinstance(reply, Mapping):
            return v2.ElicitationAcceptAction(content=dict(reply))
        if isinstance(reply, str):
            if reply not in _ACTIONS:
                logger.error("%s: %r is no answer to a question", self._connection.name, reply)
            return _ACTIONS.get(reply, v2.ElicitationCancelAction())
        return reply
