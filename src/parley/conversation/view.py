"""The view of a conversation: it is notified of everything, and puts questions to the user."""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from typing import TYPE_CHECKING, Literal, TypeAlias

from parley.client import PermissionDecision, PromptTurn, Session, TerminalLogin, TurnResult
from parley.client._elicitation import Reply
from parley.errors import AcpError
from parley.schema import v2

from .permission_answer import PermissionAnswer

if TYPE_CHECKING:
    from .conversation import Conversation

__all__ = ["ALL_QUESTIONS", "Question", "View"]

Question: TypeAlias = Literal["permission", "form", "url", "login", "terminal_login"]
ALL_QUESTIONS: frozenset[Question] = frozenset(
    {"permission", "form", "url", "login", "terminal_login"}
)


class View:
    """Shows a conversation; every method is called on the event loop.

    The defaults show nothing and ask nothing. All text that arrives here may be the agent's and is
    not sanitized yet. An exception other than `AcpError` ends the conversation and is raised by
    `Conversation.run`.
    """

    questions: Collection[Question] = ()
    """The kinds of questions that it can put to the user; the agent is offered no others."""
    shows_history = False
    """Whether it shows the history of a session that is resumed."""

    def opened(self, conversation: Conversation, *, is_again: bool) -> None:
        """Handle that there is a session and its transcript.

        With `shows_history`, the history follows as updates. After a restart (`is_again`)
        that is on the screen already and does not follow: only the transcript is another one.
        """

    def updated(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Show an update, which is in the transcript; return what to wait for before the next."""
        return None

    async def follow(self, turn: PromptTurn) -> TurnResult:
        """Follow a turn to its end; a view can loop over the updates of the turn alone."""
        return await turn

    def changed(self) -> None:
        """Handle that properties of the conversation may have changed.

        These are the state, the queue, the title, usage, options, commands, and the end of stderr.
        It is called often: make a note, and look later.
        """

    def noted(self, text: str) -> None:
        """Show a remark of this program."""

    def slow(self, hint: str) -> None:
        """Show a hint about an agent that does not respond to `initialize`."""
        self.noted(hint)

    def remote_changed(self, state: str, reason: str) -> None:
        """Show that the connection to a remote agent is `away`, `connected` again, or `gone`."""

    def stderr_received(self, data: bytes) -> None:
        """Handle what the agent has written to stderr."""

    def decided(self, decided: PermissionDecision) -> None:
        """Show the outcome of a permission request."""

    def ended(self, result: TurnResult) -> None:
        """Handle that a turn has ended, and is in the journal."""

    def failed(self, error: AcpError) -> None:
        """Handle that a turn, or another request of the user, has failed; the agent lives."""

    def died(self, error: AcpError) -> None:
        """Handle that the agent has ended or never started; `ProcessExited` has its exit code."""

    def completed(self, elicitation_id: str) -> None:
        """Handle that the user has finished on a web page; its question may still be open."""

    # Questions. They are cancelled when the answer no longer matters.

    async def ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> PermissionAnswer:
        """Return the option that the user chose, and whether to remember the answer."""
        return PermissionAnswer()

    async def ask_form(self, form: v2.ElicitationFormMode, session: Session | None) -> Reply:
        """Return the values that the user filled in, or `decline`, or `cancel`."""
        return "cancel"

    async def ask_url(self, request: v2.ElicitationUrlMode, session: Session | None) -> Reply:
        """Ask whether to open a web page, and open it: `accept`, `decline` or `cancel`."""
        return "cancel"

    async def choose_login(self, methods: list[v2.AuthMethod]) -> str | None:
        """Return the id of the login method that the user chose, None for none."""
        return None

    async def run_login(self, login: TerminalLogin) -> int | None:
        """Run a login in the terminal, and return its exit status; None if that is impossible."""
        return None
