"""One life of an agent: from its start to its end, with the session that is open meanwhile.

What was said before is told in one of three ways. An agent that can load a session replays it, and
the view gets that. One that can only resume it says nothing, so the view gets it from the journal.
After a restart the view has it already: then only the new transcript is filled, without a word.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from parley._display_text import sanitize_text
from parley.client import (
    Connection,
    ConnectOptions,
    PromptTurn,
    Session,
    SessionOptions,
    connect,
)
from parley.errors import (
    AcpError,
    AuthRequired,
    ConnectionClosed,
    RequestCancelled,
    RequestError,
    TransportError,
)
from parley.peer._tracing import Direction
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.session.frame_replay import transcript_from_frames

from .asking import Asking
from .cancelled_calls import statuses, stop_commands, tell_cancelled
from .custom_notifications import unnamed
from .mentions import attached

if TYPE_CHECKING:
    from .conversation import Conversation, Prompt

__all__ = ["Life", "Past"]

_TAIL_BYTES = 16 * 1024
_LAST_LINES = 20
_WORKING = frozenset({"running", "requires_action"})
_STATUS = frozenset(
    {
        v2.AvailableCommandsUpdate,
        v2.ConfigOptionUpdate,
        v2.SessionInfoUpdate,
        v2.StateUpdated,
        v2.UsageUpdate,
    }
)
"""What the status line shows."""


class Past(NamedTuple):
    """A session that can be opened again."""

    session_id: str
    cwd: str | None


class Life:
    """An agent that was started, and what it does for a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.connection: Connection | None = None
        self.pid: int | None = None
        """The process of the agent, once it is started."""
        self.is_open = False
        """Whether there is a session, and all that was said in it is known."""
        self.is_cancelling = False
        self.asking = Asking(conversation)
        """What the agent asks the user."""
        self.news = asyncio.Event()
        """Set when there may be something to do."""
        self._conversation = conversation
        self._setup = conversation.setup
        self._view = conversation.view
        self._history: list[v2.SessionUpdate] = []
        self._turn: PromptTurn | None = None
        self._is_preparing = False
        self._is_logging_in = False
        self._lost: ConnectionClosed | None = None
        self._stderr = b""
        self._task: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the agent works on something."""
        is_ours = self._turn is not None or self._is_preparing
        return is_ours or self._conversation.transcript.state in _WORKING

    @property
    def last_words(self) -> str:
        """The end of what the agent wrote to stderr, made inert."""
        lines = self._stderr.decode(errors="replace").rstrip().splitlines()
        return sanitize_text("\n".join(lines[-_LAST_LINES:]))

    async def live(self) -> AcpError | None:
        """Start the agent and converse until it is gone; returns why, None if we ended it."""
        task = self._task = asyncio.create_task(self._live())
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self.is_open = self.is_cancelling = False
            if self._watcher is not None:
                self._watcher.cancel()
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, AcpError):
            raise error  # a mistake of ours
        return error

    def end(self) -> None:
        """Begin to end the agent."""
        if self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Wait until it has ended."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _live(self) -> None:
        setup = self._setup
        async with connect(setup.agent.target, setup.cwd, **self._options()) as connection:
            self.connection = connection
            await self._open(connection)
            self._watcher = asyncio.create_task(self._watch(connection))
            while True:
                if self._lost is not None:
                    raise self._lost
                if self._conversation.queue and not self.is_busy:
                    await self._take_turn(connection)
                else:
                    self.news.clear()
                    await self.news.wait()

    def _options(self) -> ConnectOptions:
        setup = self._setup
        process = replace(setup.process, on_start=self._start, on_stderr=self._hear)
        return {
            **setup.connect_options(self._see_output),
            **self.asking.options(),
            "process": process,
            "remote": replace(setup.remote, on_state=self._conversation.see_remote),
            "on_update": self._updated,
            "observer": self._observe,
        }

    async def _watch(self, connection: Connection) -> None:
        reason = await connection.peer.wait_closed()
        if not self._is_logging_in:
            self._lost = reason
            self.news.set()

    # The session

    async def _open(self, connection: Connection) -> None:
        """Open the session, again where there was one."""
        conversation = self._conversation
        options, left_out = self._setup.session_options(connection.features)
        for text in () if conversation.is_shown else left_out:
            self._view.noted(text)
        session = await self._resumed(connection, options)
        is_new = session is None
        if session is None:
            session = await connection.new_session(**options)
        self._begin(session)
        conversation.past = Past(session.id, session.cwd)
        conversation.is_shown = self.is_open = True
        self._view.changed()
        for config_id, value in self._setup.choices.options if is_new else ():
            await conversation.set_option(config_id, value)

    async def _resumed(self, connection: Connection, options: SessionOptions) -> Session | None:
        """Open the session again that there was; None if there was none, or it cannot be."""
        past, features = self._conversation.past, connection.features
        if past is None:
            return None
        if not (features.load or features.resume):
            self._begin_anew("cannot open sessions again")
            return None
        self._history = await self._what_was_said(connection)
        replay = not self._conversation.is_shown
        try:
            return await connection.resume_session(
                past.session_id, past.cwd, replay=replay, history=self._history, **options
            )
        except AuthRequired:
            raise
        except RequestError as error:
            self._begin_anew(f"does not open the session again: {error}")
            return None

    def _begin_anew(self, why: str) -> None:
        self._history = []
        what = "a new one has begun, which knows nothing of what was said"
        self._view.noted(f"{self._conversation.name} {why}; {what}")

    async def _what_was_said(self, connection: Connection) -> list[v2.SessionUpdate]:
        """Return what the agent will not tell."""
        conversation, features = self._conversation, connection.features
        if conversation.is_shown:
            return list(conversation.transcript.replay()) if features.resume else []
        journal, record = self._setup.journal, conversation.record
        if features.load or journal is None or record is None:
            return []

        def read() -> list[v2.SessionUpdate]:
            return list(transcript_from_frames(journal.entries(record.key)).replay())

        return await asyncio.to_thread(read)

    def _begin(self, session: Session) -> None:
        """Have a session, with what was said in it."""
        conversation, history = self._conversation, self._history
        if session is conversation.session:
            return
        conversation.session, self._history = session, []
        self._view.opened(conversation, is_again=conversation.is_shown)
        for update in () if conversation.is_shown else history:
            self._view.updated(update)

    # What comes

    def _updated(self, session: Session, update: v2.SessionUpdate) -> Awaitable[None] | None:
        conversation = self._conversation
        if session is not conversation.session:
            if self.is_open or session.cwd is None:
                return None  # a subagent's
            self._begin(session)
        if isinstance(update, v2.ToolCallUpdate | v2.ToolCallContentChunk):
            self.asking.announced.add(update.tool_call_id)
        if self._is_known(session):
            return None
        if type(update) in _STATUS:
            self.news.set()
            self._view.changed()
        return self._view.updated(update)

    def _observe(self, direction: Direction, frame: Frame) -> None:
        """Show what is in no update."""
        if direction != "inbound":
            return
        if (update := unnamed(frame)) is not None:
            self._view.updated(update)
        elif self.connection is not None and not self._is_known(self._conversation.session):
            for content in self.connection.adapter.unknown_content(frame):
                self._view.updated(content)

    def _is_known(self, session: Session | None) -> bool:
        """Return whether the view has what comes now in a session."""
        return session is not None and session.is_replaying and self._conversation.is_shown

    def _start(self, pid: int) -> None:
        self.pid = pid

    def _hear(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-_TAIL_BYTES:]
        self._view.changed()

    def _see_output(self, session: Session, terminal_id: str, data: bytes) -> None:
        if session is self._conversation.session:
            text = base64.b64encode(data).decode()
            self._view.updated(v2.TerminalOutputChunk(terminal_id=terminal_id, data=text))

    # Turns

    async def _take_turn(self, connection: Connection) -> None:
        """Send the next prompt, and wait for what becomes of it."""
        conversation = self._conversation
        prompt = conversation.queue.pop(0)
        self._turn = None
        running = set(conversation.transcript.terminals)
        try:
            turn = self._turn = await self._prepared(prompt, connection)
            self._view.changed()
            result = await turn
            if self.is_cancelling:
                await stop_commands(turn.session, running)
        except ConnectionClosed:
            if self._turn is None or not self._turn.is_accepted:
                conversation.queue.insert(0, prompt)
            raise
        except AuthRequired as error:
            if prompt.is_second or not await self._log_in(connection):
                self._view.failed(error)
            else:
                prompt.is_second = True
                conversation.queue.insert(0, prompt)
        except AcpError as error:
            self._view.failed(error)
        else:
            self._view.ended(result)
        finally:
            self._turn = None
            self.is_cancelling = False
            self._view.changed()

    async def _prepared(self, prompt: Prompt, connection: Connection) -> PromptTurn:
        """Attach what the prompt names, and make a turn of it.

        Raises:
            RequestCancelled: The user has cancelled meanwhile.
            AcpError: The agent does not take this, or is gone.
        """
        session = self._conversation.session
        assert session is not None
        self._is_preparing = True
        self._view.changed()
        try:
            blocks: list[str | v2.ContentBlock] = []
            for each in prompt.content:
                blocks += await self._expanded(each, connection)
        finally:
            self._is_preparing = False
        if self.is_cancelling:
            raise RequestCancelled("cancelled before it was sent")
        if session.is_closed:
            raise await connection.peer.wait_closed()
        return session.prompt(*blocks)

    async def _expanded(
        self, part: str | v2.ContentBlock, connection: Connection
    ) -> list[str | v2.ContentBlock]:
        if not isinstance(part, str) or "@" not in part:
            return [part]
        places = (self._setup.cwd, *self._setup.additional_directories)
        found, problems = await asyncio.to_thread(
            attached, part, places, connection.features, self._conversation.given
        )
        for problem in problems:
            self._view.noted(problem)
        return [part, *found]

    async def cancel(self) -> None:
        """Stop what the agent does."""
        session = self._conversation.session
        if session is None or not self.is_busy:
            return
        self.is_cancelling = True
        known = statuses(session, self.asking.announced)
        with suppress(AcpError):  # it is gone, and the view is told that
            if not self._is_preparing:
                await session.cancel()
        tell_cancelled(session, known, self._view)
        self._view.changed()
        patience = self._conversation.patience_after
        asyncio.get_running_loop().call_later(patience, self._complain, self._turn)

    def settle(self) -> None:
        """Cancel what the agent has left unfinished."""
        session = self._conversation.session
        if session is not None:
            known = statuses(session, self.asking.announced)
            session.transcript.cancel_unfinished()
            tell_cancelled(session, known, self._view)

    def _complain(self, turn: PromptTurn | None) -> None:
        if self.is_cancelling and self._turn is turn:
            name = self._conversation.name
            self._view.noted(f"{name} was told to stop and goes on; restart it if that is too long")

    async def _log_in(self, connection: Connection) -> bool:
        """Log in because a prompt needs it; tells whether that has worked.

        Raises:
            AcpError: The agent is gone, or does not open the session again.
        """
        methods = list(connection.auth_methods)
        chosen = await self.asking.choose_login(methods) if methods else None
        if chosen is None:
            return False
        self._is_logging_in = True
        try:
            await connection.login(chosen)
        except TransportError:
            raise
        except AcpError as error:
            self._view.noted(f"the login has failed: {error}")
            return False
        finally:
            self._is_logging_in = False
        session = self._conversation.session
        if session is not None and session.is_closed:  # it was one in a terminal
            self.is_open = False
            await self._open(connection)
            self._watcher = asyncio.create_task(self._watch(connection))
        return True
