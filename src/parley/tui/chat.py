"""One conversation on the screen: what it tells is shown, what it asks is put to the user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import monotonic
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from parley.client import Decided, Session, TerminalLogin, TurnResult, run_login
from parley.client.elicitation import Reply
from parley.errors import AcpError
from parley.inert import inert
from parley.journal import Record
from parley.schema import v2

from .asked import Asked
from .blocks import Note
from .commands import ours
from .completion import Completion, completion_at
from .composer import Composer
from .conversation import Conversation
from .dock import Dock
from .files import Files
from .forms import FormCard
from .pickers import LoginPicker
from .questions import PermissionCard, UrlCard
from .recall import Recall
from .setup import Setup
from .status import pieces_of
from .tab import Tab

__all__ = ["Chat"]

T = TypeVar("T")

_QUIET_AFTER = 1.0
"""So many seconds after the last key a question takes the focus."""
_QUEUED_LINES = 3
_MARKS = {"starting": "◌", "running": "▶", "waiting": "?", "dead": "✗"}
_LAST_WORDS = "; its last words:"
HINT = (
    "No agent is configured, so the demo agent answers; say help to see what it knows.",
    "Add a real one with `parley agents add NAME --default -- COMMAND`, "
    'or try it at once: `parley chat "opencode acp"`.',
)


class Chat(Tab):
    """A tab with a conversation."""

    DEFAULT_CSS = """
    Chat #queue, Chat #dead {
        display: none;
        height: auto;
        max-height: 5;
        padding: 0 1;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    Chat #queue {
        color: $text-muted;
    }
    Chat #dead {
        color: $error;
        text-wrap: wrap;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab,shift+tab", "other", show=False)]

    class Commanded(Message):
        """The user wants one of our commands."""

        def __init__(self, command: str, argument: str) -> None:
            super().__init__()
            self.command = command
            self.argument = argument

    def __init__(self, setup: Setup, *, record: Record | None = None, called: str = "") -> None:
        """Prepare a conversation; it begins when the tab is shown.

        Args:
            setup: Which agent, where, with what.
            record: The session of the journal to go on with.
            called: What to call a new session in the journal.
        """
        super().__init__()
        self.recall = Recall(setup.journal, setup.cwd)
        self.composer = Composer(self.recall, self._complete, self._take_back)
        self._dock = Dock()
        self._queue = Static(id="queue", markup=False)
        self._dead = Static(id="dead", markup=False)
        self._called = called
        self._early: list[Note] = []
        self._is_dirty = True
        self._since: float | None = None
        self._prepare(setup, record)

    def _prepare(self, setup: Setup, record: Record | None) -> None:
        fitting = setup if record is None else setup.for_record(record)
        self.conversation = Conversation(fitting, self, record=record)
        self._files = Files([fitting.cwd, *fitting.additional_directories])

    def welcome(self) -> None:
        """Say what to do to who has no agent yet."""
        if self.conversation.setup.is_demo and self.conversation.past is None:
            self.noted(HINT[0], more=HINT[1])

    # What the app wants to know

    @property
    def label(self) -> str:
        """The title of the session, or the name of the agent."""
        return self.conversation.title or self.conversation.name

    @property
    def mark(self) -> str:
        """What goes on."""
        return _MARKS.get(self.conversation.state, "")

    @property
    def is_waiting(self) -> bool:
        """Whether the agent asks something."""
        return self.conversation.state == "waiting"

    @property
    def is_unused(self) -> bool:
        """Whether nothing was said yet."""
        return not self.conversation.transcript.entries and not self.conversation.queue

    # The screen

    def compose_below(self) -> ComposeResult:
        """Lay out questions, the queue, and the input."""
        yield self._dock
        yield self._dead
        yield self._queue
        yield self.composer

    def on_mount(self) -> None:
        """Begin."""
        self.composer.focus_input()
        self.work(self.recall.load, "recall")
        self._converse()

    def _converse(self) -> None:
        self.work(self.conversation.run, "conversation")

    async def renew(self, setup: Setup, record: Record | None = None) -> None:
        """Begin another conversation here.

        Raises:
            ConfigError: The session's directory is gone, or a file of the user's is wrong.
            ConnectFailed: Its agent is not known any more.
        """
        old = self.conversation
        self._early = []
        self._prepare(setup, record)
        self._is_dirty = True
        self.begin(self.conversation.transcript)
        for note in self._early:
            self.shown.add(note)
        await old.close()
        self._converse()

    async def shut(self) -> None:
        """End the agent; returns when no process is left."""
        await self.conversation.close()

    def kill(self) -> None:
        """End the agent without mercy."""
        self.conversation.kill()

    def take_focus(self) -> None:
        """Put the focus on a question, else on the input."""
        if self._dock.card is not None and not self.composer.text:
            self._dock.card.focus()
        else:
            self.composer.focus_input()

    def tick(self) -> None:
        """Show what has changed."""
        super().tick()
        state = self.conversation.state
        is_busy = state in ("running", "waiting")
        self._since = (self._since or monotonic()) if is_busy else None
        if not self._is_dirty and not is_busy:
            return
        self._is_dirty = False
        has_card = self._dock.card is not None and self._dock.card.has_focus_within
        seconds = None if self._since is None else monotonic() - self._since
        self.status.show(
            pieces_of(self.conversation, self.look, seconds=seconds, has_card=has_card)
        )
        _tell(self._queue, self._queued())
        _tell(self._dead, _how_to_go_on(self.conversation) if state == "dead" else "")

    def _queued(self) -> str:
        queue = self.conversation.queue
        lines = [f"⏳ {inert(each.text, is_line=True)}" for each in queue[:_QUEUED_LINES]]
        if len(queue) > _QUEUED_LINES:
            lines.append(f"   … {len(queue) - _QUEUED_LINES} more")
        if lines:
            lines[-1] += "   (Up takes the last one back)"
        return "\n".join(lines)

    # What the user does

    @on(Composer.Sent)
    async def _send(self, event: Composer.Sent) -> None:
        event.stop()
        text = event.text.strip()
        word, _, argument = text.removeprefix("/").partition(" ")
        if not text:
            if self.conversation.state == "dead":
                await self.conversation.restart()
        elif text.startswith("/") and self._is_ours(word):
            self.post_message(self.Commanded(word, argument.strip()))
        else:
            self.recall.add(text)
            self.conversation.send(text)
            self.history.follow()

    def _is_ours(self, word: str) -> bool:
        theirs = self.conversation.transcript.commands
        is_theirs = any(isinstance(each, v2.Command) and each.name == word for each in theirs)
        return not is_theirs and any(getattr(each, "name", "") == word for each in ours())

    @on(Composer.Turned)
    def _turn_page(self, event: Composer.Turned) -> None:
        event.stop()
        if event.pages < 0:
            self.history.scroll_page_up()
        else:
            self.history.scroll_page_down()

    async def action_back(self) -> None:
        """Stop what the agent does, and go back to the input."""
        self.composer.focus_input()
        await self.conversation.cancel()

    def action_other(self) -> None:
        """Go from the input to what is above it, and back."""
        if not self.composer.has_keys:
            self.composer.focus_input()
        elif self._dock.card is not None:
            self._dock.card.focus()
        else:
            self.history.focus()

    def _take_back(self) -> str | None:
        queue = self.conversation.queue
        return self.conversation.unqueue(len(queue) - 1).text if queue else None

    def _complete(self, text: str, cursor: int) -> Completion | None:
        if "@" in text and not self._files.is_fresh:
            self.work(self._list_files, "files")
        commands = [*ours(), *self.conversation.transcript.commands]
        return completion_at(text, cursor, commands, self._files.find)

    async def _list_files(self) -> None:
        await self._files.refresh()
        self.composer.look()

    # What the conversation tells

    def opened(self, conversation: Conversation, *, is_again: bool) -> None:
        """Show another transcript; what we have said before it stays."""
        if conversation is not self.conversation:
            return
        if is_again:
            self.shown.transcript = conversation.transcript
            return
        self.begin(conversation.transcript)
        for note in self._early:
            self.shown.add(note)
        if self._called:
            conversation.rename(self._called)
            self._called = ""

    def updated(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Show an update."""
        room = self.shown.update(update)
        return None if room is None else _waited(room)

    def changed(self) -> None:
        """Look at the state soon."""
        self._is_dirty = True

    def noted(self, text: str, more: str = "") -> None:
        """Show something that we say ourselves."""
        note = Note(text, more=more)
        self.shown.add(note)
        if self.conversation.session is None:
            self._early.append(note)

    def decided(self, decided: Decided) -> None:
        """Show how a question for permission ended."""
        what = decided.request.title
        chosen = "no answer" if decided.option is None else decided.option.name
        if decided.by == "user":
            said = "allowed" if decided.is_allowed else "not allowed"
            self.note(f"{what} — you: {chosen} ({said})", "good" if decided.is_allowed else "info")
        else:
            self.note(f"{what} — {chosen}: {decided.verdict.reason}")

    def ended(self, result: TurnResult) -> None:
        """Look at the state soon; why it ended is an update."""
        self._is_dirty = True

    def failed(self, error: AcpError) -> None:
        """Show what went wrong."""
        self.note(str(error), "error")

    def died(self, error: AcpError) -> None:
        """Show why the agent is gone, and its last words."""
        text = str(error).partition(_LAST_WORDS)[0]
        self.note(text, "error", more=self.conversation.last_words)

    # What it asks

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
        return await self._ask(FormCard(form))

    async def ask_url(self, request: v2.ElicitationUrlMode, session: Session | None) -> Reply:
        """Ask whether to open a page."""
        return await self._ask(UrlCard(request))

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
        with self.whole.batch_update(), self.whole.suspend():
            return await run_login(login)

    async def _ask(self, card: Asked[T]) -> T:
        return await self._dock.ask(card, self._asked, self.composer.focus_input)

    def _asked(self) -> None:
        """Leave the focus to who is typing; nothing of that may be taken for an answer."""
        is_still = monotonic() - self.composer.touched_at > _QUIET_AFTER
        if self.composer.text or not is_still:
            self.composer.focus_input()


def _tell(line: Static, text: str) -> None:
    """Show a text where it is another one; without a text there is no line."""
    line.display = bool(text)
    if text and str(line.content) != text:
        line.update(Content(text))


async def _waited(room: Awaitable[object]) -> None:
    await room


def _how_to_go_on(conversation: Conversation) -> str:
    name = inert(conversation.name, is_line=True)
    goes_on = " and goes on" if conversation.session is not None else ""
    return f"✗ {name} has ended. F5, or Enter, starts it again{goes_on}; Ctrl-N begins anew."
