"""What a conversation tells whoever shows it, and what it asks there."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from parley.client import PermissionDecision, Session, TerminalLogin, TurnResult
from parley.client._elicitation import Reply
from parley.errors import AcpError
from parley.schema import v2

if TYPE_CHECKING:
    from .conversation import Conversation

__all__ = ["View"]


class View(Protocol):
    """Shows a conversation; everything is called on the event loop.

    All text that comes here may be an agent's: it is not inert yet.
    """

    def opened(self, conversation: Conversation, *, is_again: bool) -> None:
        """Record that there is a session, and its transcript.

        What was said in it before follows as updates. After a restart (`is_again`) that is on the
        screen already and does not follow: only the transcript is another one.
        """
        ...

    def updated(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Show an update, which is in the transcript; returns what to wait for before the next."""
        ...

    def changed(self) -> None:
        """Record that something to be read off the conversation may have changed.

        That is the state, the queue, title, usage, options, commands, and the last words. It comes
        often: note it, and look later.
        """
        ...

    def noted(self, text: str) -> None:
        """Show something that we say ourselves."""
        ...

    def decided(self, decided: PermissionDecision) -> None:
        """Show how a question for permission ended."""
        ...

    def ended(self, result: TurnResult) -> None:
        """Record that a turn has ended, and is in the journal."""
        ...

    def failed(self, error: AcpError) -> None:
        """Record that a turn, or something that was asked for, has failed; the agent lives."""
        ...

    def died(self, error: AcpError) -> None:
        """Record that the agent is gone, or never came; `ProcessExited` has its exit code."""
        ...

    async def ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> str | None:
        """Return the id of the option that the user chose, None for none.

        It is cancelled when the answer no longer matters; so are the other questions.
        """
        ...

    async def ask_form(self, form: v2.ElicitationFormMode, session: Session | None) -> Reply:
        """Return what the user filled in, or `decline`, or `cancel`."""
        ...

    async def ask_url(self, request: v2.ElicitationUrlMode, session: Session | None) -> Reply:
        """Ask whether to open a page, and open it: `accept`, `decline` or `cancel`."""
        ...

    def completed(self, elicitation_id: str) -> None:
        """Record that what a page is for is done; the question for it may still be open."""
        ...

    async def choose_login(self, methods: list[v2.AuthMethod]) -> str | None:
        """Return the id of the way to log in that the user chose, None for none."""
        ...

    async def run_login(self, login: TerminalLogin) -> int | None:
        """Give the terminal away, run a login in it, and return its exit status."""
        ...
