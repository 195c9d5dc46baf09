"""A tab with a conversation: the view that shows it and puts its questions to the user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from difflib import get_close_matches
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast
from urllib.parse import urlsplit

from textual import events, on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from parley.client import PermissionDecision, Session, TerminalLogin, TurnResult
from parley.client._elicitation import Reply
from parley.conversation.completion import Completion, completion_at
from parley.conversation.conversation import Conversation
from parley.conversation.pasted_files import find_pasted_files
from parley.conversation.permission_answer import PermissionAnswer
from parley.conversation.prompt_history import PromptHistory
from parley.conversation.setup import ConversationSetup
from parley.conversation.view import ALL_QUESTIONS, View
from parley.conversation.workspace_files import WorkspaceFiles
from parley.errors import AcpError, ProcessExited, RequestError
from parley.journal import Record
from parley.schema import v2

from .commands import COMMANDS, command_list
from .composer import Composer
from .dialogs.dialog import Dialog
from .dialogs.dock import Dock
from .dialogs.form_card import FormCard
from .dialogs.permission_card import PermissionCard
from .dialogs.permission_details import describe_decision
from .dialogs.pickers import LoginPicker
from .dialogs.url_card import UrlCard
from .render.blocks import Block, Kind, Note, one_line
from .render.welcome import Welcome
from .status import MARKS, describe_exit, pieces_of
from .tab import Tab

if TYPE_CHECKING:
    from .app import ChatApp

__all__ = ["Chat"]

T = TypeVar("T")

_FOCUS_AFTER = 1.0
"""How many seconds after the last key a question takes the focus."""

_QUEUED_LINES = 3
_BACK_FOR = 3.0
"""How many seconds the status shows that a remote agent is back."""
_THERE = ("idle", "running", "waiting")
_PHASES = {"starting": "start", "running": "turn", "waiting": "turn"}
"""The phase that the status shows the duration of, by state."""

_OWN_COMMANDS = tuple(each.name for each in COMMANDS)


class Chat(Tab, View):
    """A tab with a conversation."""

    questions = ALL_QUESTIONS
    shows_history = True

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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab", "other", "Go from the input to the rest, and back", show=False)
    ]

    class Commanded(Message):
        """The user wants one of our commands."""

        def __init__(self, command: str, argument: str) -> None:
            super().__init__()
            self.command = command
            self.argument = argument

    def __init__(
        self, setup: ConversationSetup, *, record: Record | None = None, name: str = ""
    ) -> None:
        """Prepare a conversation; it begins when the tab is shown.

        Args:
            setup: Which agent, where, with what; for a record it is the setup of that record.
            record: The session of the journal to resume.
            name: The name of a new session in the journal.
        """
        super().__init__()
        self.dock = Dock()
        self.recall = PromptHistory(setup.journal, setup.cwd)
        self.composer = Composer(self.recall, self._complete, self._take_back, self._pasted)
        self._queue = Static(id="queue", markup=False)
        self._dead = Static(id="dead", markup=False)
        self._early: list[Block] = []
        self._is_dirty = True
        self._phase: str | None = None
        self._was_away = False
        self._since = 0.0
        self._prepare(setup, record, name)

    def _prepare(self, setup: ConversationSetup, record: Record | None, name: str = "") -> None:
        self.conversation = Conversation(setup, self, record=record, name=name)
        self._files = WorkspaceFiles([setup.cwd, *setup.additional_directories])

    def welcome(self) -> None:
        """Show the first steps if no agent is configured."""
        if self.conversation.setup.is_demo and self.conversation.resumable is None:
            self._add_early(Welcome())

    # What the app wants to know

    @property
    def label(self) -> str:
        """The title of the session, or the name of the agent."""
        return self.conversation.title or self.conversation.name

    @property
    def mark(self) -> str:
        """The state as one character; empty if nothing happens."""
        state = self.conversation.state
        return "" if state in ("idle", "closed") else MARKS[state]

    @property
    def is_waiting(self) -> bool:
        """Return whether a question to the user is open."""
        return self.conversation.state == "waiting"

    @property
    def is_unused(self) -> bool:
        """Return whether there is no prompt yet."""
        return not self.conversation.transcript.entries and not self.conversation.queue

    # The screen

    def compose_below(self) -> ComposeResult:
        """Lay out questions, the queue, and the input."""
        yield self.dock
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

    async def renew(self, setup: ConversationSetup, record: Record | None = None) -> None:
        """Begin another conversation here, in place of this one."""
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
        if self.dock.card is not None and not self.composer.text:
            self.dock.card.focus()
        else:
            self.composer.focus_input()

    def notify_style_update(self) -> None:
        """Draw the status in the new colours too."""
        super().notify_style_update()
        self._is_dirty = True

    def tick(self) -> None:
        """Show what has changed."""
        super().tick()
        state = self.conversation.state
        phase = _PHASES.get(state)
        if phase != self._phase:
            self._phase, self._since = phase, monotonic()
        if not self._is_dirty and phase is None:
            return
        self._is_dirty = False
        if self._was_away and not self.conversation.away_reason and state in _THERE:
            self.status.say(f"{self.conversation.name} is back", _BACK_FOR)
        self._was_away = bool(self.conversation.away_reason)
        has_card = self.dock.card is not None and self.dock.card.has_focus_within
        seconds = None if phase is None else monotonic() - self._since
        self.status.show(
            pieces_of(self.conversation, self.theme, seconds=seconds, has_card=has_card)
        )
        _show_line(self._queue, self._queued())
        _show_line(self._dead, describe_exit(self.conversation) if state == "dead" else "")

    def _queued(self) -> str:
        queue = self.conversation.queue
        lines = [f"⏳ {one_line(each.text)}" for each in queue[:_QUEUED_LINES]]
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
        elif text.startswith("/") and self._is_own_command(word):
            self.post_message(self.Commanded(word, argument.strip()))
        else:
            if text.startswith("/"):
                self._check_command(word)
            self.recall.add(text)
            self.conversation.send(text)
            self.history.follow()

    def _is_own_command(self, word: str) -> bool:
        return word not in self._agent_commands() and word in _OWN_COMMANDS

    def _agent_commands(self) -> list[str]:
        commands = self.conversation.transcript.commands
        return [each.name for each in commands if isinstance(each, v2.Command)]

    def _check_command(self, word: str) -> None:
        """Report an unknown command, if the agent has listed its commands."""
        offered = self._agent_commands()
        if offered and word not in offered and word.isidentifier():
            close = get_close_matches(word, [*offered, *_OWN_COMMANDS], 1)
            hint = f"; /{close[0]} is one" if close else ""
            self.note(f"there is no command /{word}{hint}: it is sent to the agent as text")

    def on_key(self, event: events.Key) -> None:
        """Write what is typed in the history and means nothing there."""
        is_free = self.history.has_focus and event.key not in self.screen.active_bindings
        if is_free and event.is_printable and event.character:
            event.stop()
            self.composer.write(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Write what is pasted while the history has the keys."""
        if self.history.has_focus:
            event.stop()
            self.composer.write(self._pasted(event.text))

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
        elif self.dock.card is not None:
            self.dock.card.focus()
        else:
            self.history.focus()

    def _take_back(self) -> str | None:
        queue = self.conversation.queue
        return self.conversation.unqueue(len(queue) - 1).text if queue else None

    def _pasted(self, text: str) -> str:
        """Mention the files that were dropped here."""
        setup = self.conversation.setup
        found = find_pasted_files(text, (setup.cwd, *setup.additional_directories))
        if found is None:
            return text
        self.conversation.dropped_images.update(found.images)
        return found.text

    def _complete(self, text: str, cursor: int) -> Completion | None:
        if "@" in text and not self._files.is_fresh:
            self.work(self._list_files, "files")
        commands = [*self.conversation.transcript.commands, *command_list()]
        return completion_at(text, cursor, commands, self._files.find)

    async def _list_files(self) -> None:
        await self._files.refresh()
        self.composer.refresh_completions()

    # What the conversation reports

    def opened(self, conversation: Conversation, *, is_again: bool) -> None:
        """Show another transcript; our remarks before it stay."""
        if conversation is not self.conversation:
            return
        if is_again:
            self.shown.transcript = conversation.transcript
            if conversation.is_resumed:
                verb = "is there" if conversation.setup.is_remote else "runs"
                self.note(f"{conversation.name} {verb} again, and the session is resumed")
            return
        self.begin(conversation.transcript)
        for note in self._early:
            self.shown.add(note)

    def updated(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Show an update."""
        room = self.shown.update(update)
        return None if room is None else _waited(room)

    def changed(self) -> None:
        """Look at the state soon."""
        self._is_dirty = True

    def noted(self, text: str) -> None:
        """Show a remark of this program."""
        self.note(text)

    def note(self, text: str, kind: Kind = "info", *, more: str = "") -> None:
        """Show a remark; an error is not repeated when the session opens."""
        note = Note(text, kind, more=more)
        if kind == "error":
            self.shown.add(note)
        else:
            self._add_early(note)

    def _add_early(self, block: Block) -> None:
        """Show a block, and once more when the session is there, if it is not yet."""
        self.shown.add(block)
        if self.conversation.session is None:
            self._early.append(block)

    def slow(self, hint: str) -> None:
        """Show what may be wrong with an agent that does not respond, and its stderr so far."""
        stderr = self.conversation.stderr_tail
        is_silent = not stderr and not self.conversation.setup.is_remote
        log = "; it has written nothing to stderr" if is_silent else "; stderr:" if stderr else ""
        self.shown.add(Note(f"{hint}{log}", "warning", more=stderr))

    def decided(self, decided: PermissionDecision) -> None:
        """Show how a question for permission ended."""
        question = describe_decision(decided)
        chosen = "no answer" if decided.option is None else decided.option.name
        if decided.by == "user":
            verdict = "allowed" if decided.is_allowed else "not allowed"
            self.note(
                f"{question} — you: {chosen} ({verdict})", "good" if decided.is_allowed else "info"
            )
        else:
            self.note(f"{question} — {chosen}: {decided.verdict.reason}")

    def ended(self, result: TurnResult) -> None:
        """Look at the state soon; the stop reason is an update."""
        self._is_dirty = True

    def failed(self, error: AcpError) -> None:
        """Show an error, unless the update that ended the turn has shown it."""
        shown = self.conversation.transcript.error
        is_shown = (
            shown is not None
            and isinstance(error, RequestError)
            and (error.message, error.code) == (shown.message, shown.code)
        )
        if not is_shown:
            self.note(str(error), "error")

    def died(self, error: AcpError) -> None:
        """Show why the agent has ended, and the end of its stderr."""
        text = error.summary if isinstance(error, ProcessExited) else str(error)
        self.note(text, "error", more=self.conversation.stderr_tail)

    # Questions

    async def ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> PermissionAnswer:
        """Ask whether something may be done."""
        call = session.tool_call_of(request)
        cwd = session.cwd or str(self.conversation.setup.cwd)
        return await self._ask(PermissionCard(request, call, cwd=cwd))

    async def ask_form(self, form: v2.ElicitationFormMode, session: Session | None) -> Reply:
        """Ask the user to fill in a form."""
        return await self._ask(FormCard(form, agent=self.conversation.name))

    async def ask_url(self, request: v2.ElicitationUrlMode, session: Session | None) -> Reply:
        """Ask whether to open a page."""
        card = UrlCard(request, agent=self.conversation.name, opener=self._chat_app.opener)
        answer = await self._ask(card)
        if isinstance(answer, v2.ElicitationAcceptAction):
            host = urlsplit(request.url).hostname
            self.note(f"you opened the page on {host}; the agent reports when it is done")
        return answer

    def completed(self, elicitation_id: str) -> None:
        """Close the question whether to open a page: the agent has what it is for."""
        card = self.dock.card
        if isinstance(card, UrlCard) and card.request.elicitation_id == elicitation_id:
            card.complete()
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
            status = await self._chat_app.terminal_handover.run(login)
        except SuspendNotSupported:
            self.note(f"{name}: this terminal cannot be handed over; use `parley login`", "error")
        except OSError as error:
            self.note(f"{name}: its program could not be started: {error}", "error")
        else:
            if status == 0:
                self.note(f"{name}: done, the agent starts again", "good")
            return status
        return None

    @property
    def _chat_app(self) -> ChatApp:
        return cast("ChatApp", self.whole)

    async def _ask(self, card: Dialog[T]) -> T:
        return await self.dock.ask(card, self._on_question, self.composer.focus_input)

    def _on_question(self) -> None:
        """Leave the focus in the input while the user types; no key may be taken for an answer."""
        is_still = monotonic() - self.composer.touched_at > _FOCUS_AFTER
        if self.composer.text or not is_still:
            self.composer.focus_input()


def _show_line(line: Static, text: str) -> None:
    """Show a text on a line, and hide the line if the text is empty."""
    line.display = bool(text)
    if text and str(line.content) != text:
        line.update(Content(text))


async def _waited(room: Awaitable[object]) -> None:
    await room
