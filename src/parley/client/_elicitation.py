"""Elicitation: questions to the user, with a form or on a web page.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec.structs import replace

from parley._user_code import reraise_if_ending
from parley.errors import InvalidParams, MalformedValue
from parley.peer import RequestContext
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown
from parley.session._forms import check_content

from ._calling import call_maybe_async

if TYPE_CHECKING:
    from ._connection_state import ConnectionState
    from ._session import Session


logger = logging.getLogger(__name__)

Reply: TypeAlias = Mapping[str, Any] | str | v2.CreateElicitationResponse | None
"""The content of the form, or `accept`, `decline`, `cancel`; None means `cancel`."""
Elicit: TypeAlias = Callable[[v2.ElicitationFormMode, "Session | None"], Reply | Awaitable[Reply]]
"""Gets a form and its session; returns the content of the form, or the user's action. The session
is None if the question belongs to a request, such as a login."""
ElicitUrl: TypeAlias = Callable[[v2.ElicitationUrlMode, "Session | None"], Reply | Awaitable[Reply]]
"""Gets a web page to open and its session, as above; returns the user's action."""

_ACTIONS: dict[str, v2.CreateElicitationResponse] = {
    "accept": v2.ElicitationAcceptAction(),
    "decline": v2.ElicitationDeclineAction(),
    "cancel": v2.ElicitationCancelAction(),
}

_RESPONSES = (
    v2.ElicitationAcceptAction,
    v2.ElicitationDeclineAction,
    v2.ElicitationCancelAction,
    Unknown,
)


class ElicitationHandler:
    """Handles elicitation requests with functions of the program."""

    def __init__(
        self,
        connection: ConnectionState,
        elicit: Elicit | None,
        elicit_url: ElicitUrl | None,
        completed: Callable[[v2.ElicitationId], object] | None,
    ) -> None:
        self._connection = connection
        self._elicit = elicit
        self._elicit_url = elicit_url
        self._completed = completed
        self._open: set[v2.ElicitationId] = set()

    async def handle_request(
        self, request: v2.CreateElicitationRequest, context: RequestContext
    ) -> v2.CreateElicitationResponse:
        """Handle `elicitation/create`; a failure never counts as consent.

        Raises:
            InvalidParams: The request has a mode that was not offered.
        """
        del context
        match request:
            case v2.ElicitationFormMode() if self._elicit is not None:
                response = await self._in_session(request, self._elicit)
                return self._checked(request.requested_schema, response)
            case v2.ElicitationUrlMode() if self._elicit_url is not None:
                self._open.add(request.elicitation_id)  # it may complete before the reply
                response = await self._in_session(request, self._elicit_url)
                if isinstance(response, v2.ElicitationAcceptAction):
                    return replace(response, content=None)  # only a form has content
                self._open.discard(request.elicitation_id)
                return response
            case _:
                raise InvalidParams("This elicitation mode is not supported")

    def _checked(
        self, form: v2.ElicitationSchema, response: v2.CreateElicitationResponse
    ) -> v2.CreateElicitationResponse:
        """Return the response to send: `cancel` if the content does not fit the form."""
        if isinstance(response, v2.ElicitationAcceptAction):
            try:
                check_content(form, response.content)
                encode(response)  # a field of an unknown kind may hold anything
            except (MalformedValue, TypeError, ValueError) as error:
                name = self._connection.name
                logger.error("%s: the user's input does not fit the form: %s", name, error)
                return v2.ElicitationCancelAction()
        return response

    async def complete(self, note: v2.CompleteElicitationNotification) -> None:
        """Handle `elicitation/complete` for a web page; an unknown id is ignored."""
        if note.elicitation_id in self._open:
            self._open.discard(note.elicitation_id)
            if self._completed is not None:
                await call_maybe_async(self._completed, note.elicitation_id)

    async def _in_session(
        self,
        request: v2.ElicitationFormMode | v2.ElicitationUrlMode,
        function: Callable[[Any, Any], Any],
    ) -> v2.CreateElicitationResponse:
        """Ask the user; return `cancel` if the session's work is cancelled first."""
        id = request.session_id
        state = None if id is None else self._connection.find_session(id)
        if state is None:
            return await self._ask(request, None, function)
        question = self._ask(request, state.session, function)
        response = await self._connection.questions.ask(state.session, question)
        return v2.ElicitationCancelAction() if response is None else response

    async def _ask(
        self, request: Any, session: Session | None, function: Callable[[Any, Any], Any]
    ) -> v2.CreateElicitationResponse:
        """Call a function of the program and convert its reply; a wrong one means `cancel`."""
        try:
            reply: object = await call_maybe_async(function, request, session)
        except BaseException as error:  # the program's: the agent still needs a response
            reraise_if_ending(error)
            logger.exception("%s: the elicitation function failed", self._connection.name)
            return v2.ElicitationCancelAction()
        if reply is None:
            return v2.ElicitationCancelAction()
        is_form = isinstance(request, v2.ElicitationFormMode)
        if is_form and isinstance(reply, Mapping):
            return v2.ElicitationAcceptAction(content=dict(cast("Mapping[str, Any]", reply)))
        if isinstance(reply, _RESPONSES):
            return reply
        known = _ACTIONS.get(reply) if isinstance(reply, str) else None
        if known is None:
            logger.error(
                "%s: the elicitation function returned %s, which is not a response; return %s"
                "'accept', 'decline' or None. The agent gets `cancel`.",
                self._connection.name,
                type(reply).__name__,  # not the value, which may be what the user typed
                "a dict, " if is_form else "",
            )
        return known or v2.ElicitationCancelAction()
