"""What an agent asks the user: permissions, forms, pages, logins, each put to the view."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from parley.client import ConnectOptions, PermissionDecision, Session
from parley.schema import v2

if TYPE_CHECKING:
    from .conversation import Conversation

__all__ = ["Asking"]

T = TypeVar("T")


class Asking:
    """The questions of one life."""

    def __init__(self, conversation: Conversation) -> None:
        self.open = 0
        """How many questions wait for the user."""
        self.announced: set[str] = set()
        """The tool calls that updates have told of."""
        self._conversation = conversation
        self._view = conversation.view

    def options(self) -> ConnectOptions:
        """Return what `connect` gets to ask with."""
        view = self._view
        return {
            "permission": self._ask_permission,
            "on_decision": self._decided,
            "elicit": lambda form, session: self._ask(view.ask_form(form, session)),
            "elicit_url": lambda page, session: self._ask(view.ask_url(page, session)),
            "on_elicitation_complete": view.completed,
            "login": self.choose_login,
            "terminal_login": lambda login: self._ask(view.run_login(login)),
        }

    async def choose_login(self, methods: list[v2.AuthMethod]) -> str | None:
        """Return the way to log in that the user has chosen, before or now; None for none."""
        chosen = self._conversation.setup.choices.login
        return chosen or await self._ask(self._view.choose_login(methods))

    async def _ask(self, work: Awaitable[T]) -> T:
        self.open += 1
        self._view.changed()
        try:
            return await work
        finally:
            self.open -= 1
            self._view.changed()

    async def _ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> str | None:
        self._tell_subject(request, session)
        return await self._ask(self._view.ask_permission(request, session))

    def _decided(self, decided: PermissionDecision, session: Session) -> None:
        if decided.by != "user":
            self._tell_subject(decided.request, session)
        self._view.decided(decided)

    def _tell_subject(self, request: v2.RequestPermissionRequest, session: Session) -> None:
        """Tell the view what a question says of its tool call, which is in the transcript.

        Not of one that only the question names: some agents use another id for what then happens.
        """
        if session is self._conversation.session and isinstance(
            request.subject, v2.ToolCallPermissionSubject
        ):
            call = request.subject.tool_call
            if call.tool_call_id in self.announced:
                self._view.updated(v2.ToolCallUpdated(**structs.asdict(call)))
