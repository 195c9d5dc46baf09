"""What a conversation asks, put to the user: questions docked below it, pickers, logins."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

from textual.app import SuspendNotSupported

from parley.client import Session, TerminalLogin
from parley.client._elicitation import Reply
from parley.conversation.conversation import Conversation
from parley.schema import v2

from .composer import Composer
from .dialogs.asked import Asked
from .dialogs.dock import Dock
from .dialogs.forms import FormCard
from .dialogs.pages import UrlCard
from .dialogs.pickers import LoginPicker
from .dialogs.questions import PermissionCard
from .tab import Tab

if TYPE_CHECKING:
    from .app import ChatApp

__all__ = ["Answering"]

T = TypeVar("T")

_QUIET_AFTER = 1.0
"""So many seconds after the last key a question takes the focus."""


class Answering(Tab):
    """A tab in which a conversation asks the user."""

    composer: Composer
    conversation: Conversation

    def __init__(self) -> None:
        super().__init__()
        self.dock = Dock()

    async def ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> str | None:
        """Ask whether something may be done, and remember the answer where that is wanted."""
        call = session.tool_call_of(request)
        cwd = session.cwd or str(self.conversation.setup.cwd)
        answer = await self._ask(PermissionCard(request, call, cwd=cwd))
        if answer.scope is not None:
            self.conversation.remember(request, session, answer.decision, answer.scope)
        return answer.option_id

    async def ask_form(self, form: v2.ElicitationFormMode, session: Session | None) -> Reply:
        """Let the user fill in a form."""
        return await self._ask(FormCard(form, agent=self.conversation.name))

    async def ask_url(self, request: v2.ElicitationUrlMode, session: Session | None) -> Reply:
        """Ask whether to open a page."""
        card = UrlCard(request, agent=self.conversation.name, opener=self._chat_app.opener)
        answer = await self._ask(card)
        if isinstance(answer, v2.ElicitationAcceptAction):
            host = urlsplit(request.url).hostname
            self.note(f"you went to the page on {host}; the agent says when that is done")
        return answer

    def completed(self, elicitation_id: str) -> None:
        """Close the question whether to open a page: the agent has what it is for."""
        card = self.dock.card
        if isinstance(card, UrlCard) and card.request.elicitation_id == elicitation_id:
            card.be_done()
        self.note("what that page is for is done", "good")

    async def choose_login(self, methods: list[v2.AuthMethod]) -> str | None:
        """Ask how to log in."""
        picker = LoginPicker(methods)
        try:
            return await self.whole.push_screen_wait(picker)
        except asyncio.CancelledError:
            if picker.is_current:
                picker.dismiss(None)
            raise

    async def run_login(self, login: TerminalLogin) -> int | None:
        """Give the terminal to a login, and take it back."""
        name = login.method.name
        try:
            status = await self._chat_app.lending.run(login)
        except SuspendNotSupported:
            self.note(f"{name}: this terminal cannot be given away; try `parley login`", "error")
        except OSError as error:
            self.note(f"{name}: its program cannot be started: {error}", "error")
        else:
            if status == 0:
                self.note(f"{name}: done, the agent starts again", "good")
            return status
        return None

    @property
    def _chat_app(self) -> ChatApp:
        return cast("ChatApp", self.whole)

    async def _ask(self, card: Asked[T]) -> T:
        return await self.dock.ask(card, self._asked, self.composer.focus_input)

    def _asked(self) -> None:
        """Leave the focus to who is typing; nothing of that may be taken for an answer."""
        is_still = monotonic() - self.composer.touched_at > _QUIET_AFTER
        if self.composer.text or not is_still:
            self.composer.focus_input()
