"""A conversation: an agent, a session, and the queue of prompts.

Theory of operation. A conversation is a series of runs of its agent. In each run the agent is
started, the session opened or resumed, and then the queue is worked off, one prompt after the
other. A run ends by an error: the agent has exited, could not be started, or requires a login that
the user did not give. The view is notified, the queue stays, and `restart` begins the next run,
which resumes the session if the agent can do that. No error of an agent is raised here.

The phase is kept; `_TRANSITIONS` lists what can follow what. The state that views see is the phase
together with two facts: whether a question to the user is open, and whether the agent works.

    phase      entered when                                nothing   the agent   a question
                                                           to do     works       is open
    starting   a run begins, or its session is left        starting  starting    waiting
    open       the session is open                         idle      running     waiting
    dead       an error has ended the run                  dead      dead        dead
    closed     `close` was called, and no process is left  closed    closed      closed

The history of a resumed session is shown in one of three ways. An agent that can load a session
replays it, and the view gets that. If it can only resume, the view gets it from the journal.
After a restart the view has it already: then only the new transcript is filled, and the view gets
no updates. A view that shows no history gets none of this.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct, structs

from parley._stderr_excerpt import stderr_excerpt
from parley.client import (
    Connection,
    ConnectOptions,
    PermissionDecision,
    PromptTurn,
    Session,
    SessionOptions,
    TurnResult,
    connect,
    subject_in,
)
from parley.errors import (
    AcpError,
    AuthRequired,
    ConnectFailed,
    ConnectionClosed,
    LocalProtocolError,
    RequestCancelled,
    RequestError,
    TransportError,
    Unsupported,
)
from parley.journal import Record
from parley.peer._tracing import Direction
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.session._transcript import Transcript
from parley.session.frame_replay import transcript_from_frames
from parley.transport._child_process import SIGKILL, signal_group

from .agent_run import AgentRun, ResumableSession
from .cancelled_calls import call_statuses, show_cancelled_calls, stop_commands
from .custom_notifications import custom_notification
from .denied_actions import DeniedActions
from .login_hint import key_hint
from .mentions import attach_mentions
from .permission_answer import PermissionAnswer
from .refused_writes import RefusedWrites
from .setup import ConversationSetup
from .start_hint import start_hint
from .view import View

__all__ = ["SLOW_AFTER", "UNRESPONSIVE_AFTER", "Conversation", "Prompt", "State"]

T = TypeVar("T")
Phase: TypeAlias = Literal["starting", "open", "dead", "closed"]
Event: TypeAlias = Literal["started", "opened", "left", "failed", "closed"]
State: TypeAlias = Literal["starting", "idle", "running", "waiting", "dead", "closed"]

_TRANSITIONS: dict[tuple[Phase, Event], Phase] = {
    ("starting", "started"): "starting",
    ("dead", "started"): "starting",
    ("starting", "opened"): "open",
    ("open", "left"): "starting",
    ("starting", "left"): "starting",
    ("starting", "failed"): "dead",
    ("starting", "closed"): "closed",
    ("dead", "closed"): "closed",
    ("closed", "closed"): "closed",
}
"""A session is left when a run ends, for any reason, and when a login restarts the agent."""
_STATES: dict[Phase, tuple[State, State, State]] = {
    "starting": ("starting", "starting", "waiting"),
    "open": ("idle", "running", "waiting"),
    "dead": ("dead", "dead", "dead"),
    "closed": ("closed", "closed", "closed"),
}
"""The state by phase: nothing to do, the agent works, a question is open."""

SLOW_AFTER = 10.0
"""How many seconds an agent has to respond to `initialize` before the user gets a hint."""
UNRESPONSIVE_AFTER = 5.0
"""How many seconds a cancelled turn has to end before the user is notified that it does not."""
_LONGEST_TITLE = 80
_STDERR_BYTES = 16 * 1024
_WORKING = frozenset({"running", "requires_action"})
_STATUS_UPDATES = frozenset(
    {
        v2.AvailableCommandsUpdate,
        v2.ConfigOptionUpdate,
        v2.SessionInfoUpdate,
        v2.StateUpdated,
        v2.UsageUpdate,
    }
)
"""The updates of what a status line shows."""


class Prompt(Struct):
    """A prompt of the user."""

    content: tuple[str | v2.ContentBlock, ...]
    is_retry: bool = False
    """Whether it was sent before, and the agent required a login for it."""

    @property
    def text(self) -> str:
        """Its text, without other content."""
        return "\n".join(each for each in self.content if isinstance(each, str))


class Conversation:
    """A conversation with an agent, for a view."""

    def __init__(
        self, setup: ConversationSetup, view: View, *, record: Record | None = None, name: str = ""
    ) -> None:
        """Prepare it; `run` begins it.

        Args:
            setup: Which agent, where, with what; for a record it is the setup of that record.
            view: Shows it.
            record: The session of the journal to resume.
            name: The name that the first new session gets in the journal.
        """
        self.setup = setup
        self.view = view
        self.queue: list[Prompt] = []
        """The prompts that wait, the next one first."""
        self.error: AcpError | None = None
        """Why the agent is dead."""
        self.away_reason = ""
        """Why a remote agent is not reachable now, while we wait for it; else empty."""
        self.session: Session | None = None
        """The session; that of the last run until the next one has its own."""
        self.resumable = (
            None if record is None else ResumableSession(record.session_id, record.cwd or None)
        )
        """The session that the next run resumes."""
        self.dropped_images: set[str] = set()
        """Images outside of the workspace that the user has dropped into a prompt."""
        self.slow_after = SLOW_AFTER
        self.unresponsive_after = UNRESPONSIVE_AFTER
        self._denied_actions = DeniedActions(setup.policy)
        self._refused_writes = RefusedWrites()
        self._record = record
        self._name = name
        self._phase: Phase = "starting"
        self._run = AgentRun()
        self._is_shown = False
        """Whether the view has the history of the session."""
        self._is_closing = self._is_start_cancelled = False
        self._restarted = asyncio.Event()
        self._ended = asyncio.Event()

    # State

    @property
    def state(self) -> State:
        """The state, as views show it."""
        nothing, works, asks = _STATES[self._phase]
        return asks if self._run.open_questions else works if self._is_busy else nothing

    def _move(self, event: Event) -> None:
        """Change the phase."""
        self._phase = _TRANSITIONS[self._phase, event]

    @property
    def _is_busy(self) -> bool:
        """Return whether the agent works on something, also on what did not begin here."""
        run = self._run
        return run.turn is not None or run.is_preparing or self.transcript.state in _WORKING

    @property
    def is_cancelling(self) -> bool:
        """Return whether a turn was cancelled and has not ended yet."""
        return self._run.is_cancelling

    @property
    def connection(self) -> Connection | None:
        """The connection to the agent; that of the last run until the next one begins."""
        return self._run.connection

    @property
    def name(self) -> str:
        """The name of the agent."""
        info = None if self.connection is None else self.connection.info
        own = "" if info is None else info.title or info.name
        return self.setup.agent.name or own or self.setup.label

    @property
    def transcript(self) -> Transcript:
        """Return the transcript, with title, usage, cost, options and commands."""
        return Transcript() if self.session is None else self.session.transcript

    @property
    def is_resumed(self) -> bool:
        """Return whether the session is the one that there was before."""
        resumable, session = self.resumable, self.session
        return resumable is not None and session is not None and resumable.session_id == session.id

    @property
    def title(self) -> str:
        """The name of the session; without one, its title or the beginning of the first prompt."""
        record, transcript = self.record, self.transcript
        name, title = (None, None) if record is None else (record.name, record.title)
        first = next((each.text for each in transcript.messages if each.role == "user"), "")
        begin = " ".join(first[: 10 * _LONGEST_TITLE].split())  # called often; it may be long
        return name or transcript.title or title or begin[:_LONGEST_TITLE]

    @property
    def record(self) -> Record | None:
        """The record of the session in the journal; None if there is none."""
        if self.connection is not None and self.session is not None:
            recorder = self.connection.recorder
            known = None if recorder is None else recorder.record_of(self.session.id)
            self._record = known or self._record
        return self._record

    @property
    def stderr_tail(self) -> str:
        """Return the last lines on stderr in this run: errors first, sanitized."""
        return stderr_excerpt(self._run.stderr.decode(errors="replace"))

    # What the user does

    def send(self, *content: str | v2.ContentBlock) -> None:
        """Queue a prompt; in a string, `@path` attaches a file."""
        self.queue.append(Prompt(content))
        self._notify()

    def unqueue(self, index: int) -> Prompt:
        """Take a waiting prompt back, and return it."""
        prompt = self.queue.pop(index)
        self._notify()
        return prompt

    def _notify(self) -> None:
        self._run.news.set()
        self.view.changed()

    async def cancel(self) -> None:
        """Cancel what the agent does; if it is not ready yet, cancel its start."""
        if self._phase == "open":
            await self._cancel_turn()
        elif self._phase == "starting" and self._run.task is not None:
            self._is_start_cancelled = True
            self._run.task.cancel()

    async def restart(self) -> None:
        """Start the agent again, even if it is alive, and resume the session if it can do that.

        Returns when the agent before has ended.
        """
        self._restarted.set()
        if (task := self._run.task) is not None:
            task.cancel()
            await asyncio.wait({task})

    def finish(self) -> None:
        """Begin to close the conversation; `run` returns when the agent has ended."""
        self._is_closing = True
        self._restarted.set()
        if self._run.task is None:
            self._move("closed")
        else:
            self._run.task.cancel()

    async def close(self) -> None:
        """Close the conversation; returns when no process is left."""
        self.finish()
        if self._run.task is not None:
            await self._ended.wait()

    def kill(self) -> None:
        """Kill an agent that does not exit by itself."""
        pid = self._run.pid
        if pid is not None and self._phase not in ("dead", "closed"):
            signal_group(pid, SIGKILL)

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Set a config option of the session, such as its mode; the view is notified of errors."""
        try:
            if self.session is None:
                raise LocalProtocolError("there is no session yet; wait until there is")
            await self.session.set_config_option(config_id, value)
        except AcpError as error:
            self.view.failed(error)

    def rename(self, name: str | None) -> None:
        """Set the name of the session in the journal."""
        recorder = None if self.connection is None else self.connection.recorder
        if recorder is not None and self.session is not None:
            recorder.rename(self.session.id, name)
            self.view.changed()

    # Runs

    async def run(self) -> None:
        """Run the agent, and run it again after each restart, until the conversation is closed."""
        try:
            while not self._is_closing:
                await self._run_agent()
                if not self._is_closing:
                    await self._restarted.wait()
        finally:
            self._move("closed")
            self._ended.set()
            self.view.changed()

    async def _run_agent(self) -> None:
        self.error = None
        self.away_reason = ""
        self._is_start_cancelled = False
        self._restarted.clear()
        run = self._run = AgentRun()
        self._move("started")
        self.view.changed()
        error = await self._outcome(run)
        if error is None and self._is_start_cancelled:
            error = ConnectFailed(f"the start of {self.name} was cancelled")
        if error is not None and not self._is_closing:
            self._move("failed")
            self.error = error
            self.away_reason = ""
            self._cancel_unfinished()
            self._give_key_hint(error)
            self.view.died(error)
            self.view.changed()

    async def _outcome(self, run: AgentRun) -> AcpError | None:
        """Run the agent to its end, and return the error that ended it; None if we ended it."""
        task = run.task = asyncio.create_task(self._serve(run))
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._move("left")
            run.is_cancelling = False
            if run.watcher is not None:
                run.watcher.cancel()
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, AcpError):
            raise error  # of the view, or a defect in this program
        return error

    async def _serve(self, run: AgentRun) -> None:
        """Connect, open the session, and work off the queue."""
        setup = self.setup
        hint = asyncio.get_running_loop().call_later(self.slow_after, self._give_start_hint)
        async with AsyncExitStack() as stack:
            stack.callback(hint.cancel)
            connecting = connect(setup.agent.target, setup.cwd, **self._connect_options())
            connection = run.connection = await stack.enter_async_context(connecting)
            hint.cancel()
            await self._open(connection)
            run.watcher = asyncio.create_task(self._watch(connection))
            while True:
                if run.lost is not None:
                    raise run.lost
                if self.queue and not self._is_busy:
                    await self._take_turn(connection)
                else:
                    run.news.clear()
                    await run.news.wait()

    def _give_start_hint(self) -> None:
        self.view.slow(start_hint(self.setup.agent, self.slow_after))

    def _connect_options(self) -> ConnectOptions:
        setup = self.setup
        process = replace(
            setup.process, on_start=self._process_started, on_stderr=self._stderr_received
        )
        return {
            **setup.connect_options(self._command_output, self._refused_writes.add_refusal),
            **self._question_options(),
            "process": process,
            "remote": replace(setup.remote, on_state=self.remote_changed),
            "on_update": self._updated,
            "on_decision": self._decided,
            "observer": self._observe,
        }

    async def _watch(self, connection: Connection) -> None:
        reason = await connection.peer.wait_closed()
        if not self._run.is_logging_in:
            self._run.lost = reason
            self._run.news.set()

    # The session

    async def _open(self, connection: Connection) -> None:
        """Resume the session if there was one, else start one."""
        options, left_out = self.setup.session_options(connection.features)
        for text in () if self._is_shown else left_out:
            self.view.noted(text)
        session = await self._resumed(connection, options)
        # After a restart the session may have options that the user has set since.
        is_configured = self._is_shown and session is not None
        if session is None:
            session = await connection.new_session(**options)
            if self._name and connection.recorder is not None:
                connection.recorder.rename(session.id, self._name)
            self._name = ""
        self._begin(session)
        self.resumable = ResumableSession(session.id, session.cwd)
        self._is_shown = True
        self._move("opened")
        self.view.changed()
        if not is_configured:
            await self._set_chosen_options(session)

    async def _set_chosen_options(self, session: Session) -> None:
        """Set the config options that the user has chosen for every session."""
        for config_id, value in self.setup.options.config_options:
            try:
                await session.set_config_option(config_id, value)
            except AcpError as error:
                if self.setup.options.is_strict:
                    raise
                self.view.failed(error)

    async def _resumed(self, connection: Connection, options: SessionOptions) -> Session | None:
        """Resume the session that there was; None if there was none, or it cannot be resumed."""
        resumable, features = self.resumable, connection.features
        if resumable is None:
            return None
        if not (features.load or features.resume):
            error = Unsupported(f"{connection.name} cannot resume sessions")
            self._start_over("cannot resume sessions", error)
            return None
        self._run.history = await self._known_history(connection)
        replay = self.view.shows_history and not self._is_shown
        try:
            return await connection.resume_session(
                resumable.session_id,
                resumable.cwd,
                replay=replay,
                history=self._run.history,
                **options,
            )
        except AuthRequired:
            raise
        except RequestError as error:
            self._start_over(f"did not resume the session: {error}", error)
            return None

    def _start_over(self, why: str, error: AcpError) -> None:
        """Report that a new session replaces the one that could not be resumed.

        Raises:
            AcpError: The user has chosen that nothing be replaced.
        """
        if self.setup.options.is_strict:
            raise error
        self._run.history = []
        self.view.noted(f"{self.name} {why}; a new session has begun, without the earlier messages")

    async def _known_history(self, connection: Connection) -> list[v2.SessionUpdate]:
        """Return the earlier messages that the agent will not replay."""
        features = connection.features
        if self._is_shown:
            return list(self.transcript.replay()) if features.resume else []
        journal, record = self.setup.journal, self.record
        if features.load or journal is None or record is None or not self.view.shows_history:
            return []

        def read() -> list[v2.SessionUpdate]:
            return list(transcript_from_frames(journal.entries(record.key)).replay())

        return await asyncio.to_thread(read)

    def _begin(self, session: Session) -> None:
        """Make a session the one of this conversation, together with its history."""
        if session is self.session:
            return
        history, self._run.history = self._run.history, []
        self.session = session
        self.view.opened(self, is_again=self._is_shown)
        for update in () if self._is_shown else history:
            self.view.updated(update)

    # What arrives

    def _updated(self, session: Session, update: v2.SessionUpdate) -> Awaitable[None] | None:
        if session is not self.session:
            is_early = self._phase == "starting" and self.view.shows_history
            if not is_early or session.cwd is None:
                return None  # a subagent's
            self._begin(session)
        if isinstance(update, v2.ToolCallUpdate | v2.ToolCallContentChunk):
            self._run.announced.add(update.tool_call_id)
        if self._is_known(session):
            return None
        self._denied_actions.add_update(update)
        self._refused_writes.add_update(update)
        if type(update) in _STATUS_UPDATES:
            self._notify()
        return self.view.updated(update)

    def _observe(self, direction: Direction, frame: Frame) -> None:
        """Show what is in no update."""
        if direction != "inbound":
            return
        if (update := custom_notification(frame)) is not None:
            self.view.updated(update)
        elif self.connection is not None and not self._is_known(self.session):
            for content in self.connection.adapter.unknown_content(frame):
                self.view.updated(content)

    def _is_known(self, session: Session | None) -> bool:
        """Return whether the view already has what arrives now in a session."""
        return session is not None and session.is_replaying and self._is_shown

    def _process_started(self, pid: int) -> None:
        self._run.pid = pid

    def _stderr_received(self, data: bytes) -> None:
        self._run.stderr = (self._run.stderr + data)[-_STDERR_BYTES:]
        self.view.stderr_received(data)
        self.view.changed()

    def _command_output(self, session: Session, terminal_id: str, data: bytes) -> None:
        if session is self.session:
            text = base64.b64encode(data).decode()
            self.view.updated(v2.TerminalOutputChunk(terminal_id=terminal_id, data=text))

    def remote_changed(self, state: str, reason: str) -> None:
        """Handle that a remote agent has become unreachable, or reachable again.

        One that is gone for good stays away until its run has ended, which happens next: it must
        not look as if it had come back in between.
        """
        self.view.remote_changed(state, reason)
        if state != "gone":
            self.away_reason = reason or "the connection broke" if state == "away" else ""
            self.view.changed()

    # Turns

    async def _take_turn(self, connection: Connection) -> None:
        """Send the next prompt, and follow its turn to the end."""
        run = self._run
        prompt = self.queue.pop(0)
        running = set(self.transcript.terminals)
        try:
            turn = run.turn = await self._prepared(prompt, connection)
            self.view.changed()
            result = await self._follow(turn)
            if run.is_cancelling:
                await stop_commands(turn.session, running)
        except ConnectionClosed:
            if run.turn is None or not run.turn.is_accepted:
                self.queue.insert(0, prompt)
            raise
        except AuthRequired as error:
            await self._log_in_and_retry(prompt, connection, error)
        except AcpError as error:
            self.view.failed(error)
        else:
            self.view.ended(result)
        finally:
            run.turn = None
            run.is_cancelling = False
            self.view.changed()

    async def _follow(self, turn: PromptTurn) -> TurnResult:
        """Follow a turn to its end, however it ends, and report what no rule could hold back."""
        try:
            return await self.view.follow(turn)
        finally:
            for sentence in await self._denied_actions.report(turn.session, self.name):
                self.view.noted(sentence)
            if hint := await self._refused_writes.hint(turn.session, self.name):
                self.view.noted(hint)

    async def _prepared(self, prompt: Prompt, connection: Connection) -> PromptTurn:
        """Attach the files that a prompt mentions, and return its turn.

        Raises:
            RequestCancelled: The user has cancelled meanwhile.
            AcpError: The agent does not accept the content, or is gone.
        """
        run, session = self._run, self.session
        assert session is not None
        run.is_preparing = True
        self.view.changed()
        try:
            expanded = [await self._expanded(part, connection) for part in prompt.content]
        finally:
            run.is_preparing = False
        if run.is_cancelling:
            raise RequestCancelled("cancelled before it was sent")
        if session.is_closed:
            raise await connection.peer.wait_closed()
        blocks = [block for part in expanded for block in part]
        self.setup.open_files.add_attachments(blocks)
        return session.prompt(*blocks)

    async def _expanded(
        self, part: str | v2.ContentBlock, connection: Connection
    ) -> list[str | v2.ContentBlock]:
        """Return a part of a prompt, followed by the files that it mentions."""
        if not isinstance(part, str) or "@" not in part:
            return [part]
        roots = (self.setup.cwd, *self.setup.additional_directories)
        found, problems = await asyncio.to_thread(
            attach_mentions, part, roots, connection.features, self.dropped_images
        )
        for problem in problems:
            self.view.noted(problem)
        return [part, *found]

    async def _cancel_turn(self) -> None:
        """Cancel what the agent does, if it does anything."""
        run, session = self._run, self.session
        if session is None or not self._is_busy:
            return
        run.is_cancelling = True
        before = call_statuses(session, run.announced)
        with suppress(AcpError):  # it is gone, and the view is notified of that
            if not run.is_preparing:
                await session.cancel()
        show_cancelled_calls(session, before, self.view)
        self.view.changed()
        loop = asyncio.get_running_loop()
        loop.call_later(self.unresponsive_after, self._check_cancelled, run.turn)

    def _check_cancelled(self, turn: PromptTurn | None) -> None:
        """Report a turn that was cancelled a while ago and has not ended."""
        if self._run.is_cancelling and self._run.turn is turn:
            self.view.noted(
                f"{self.name} was asked to stop but is still working; restart it to end that"
            )

    def _cancel_unfinished(self) -> None:
        """Mark as cancelled what the agent has left unfinished."""
        session = self.session
        if session is not None:
            before = call_statuses(session, self._run.announced)
            session.transcript.cancel_unfinished()
            show_cancelled_calls(session, before, self.view)

    # Questions

    def _question_options(self) -> ConnectOptions:
        """Return the handlers for the kinds of questions that the view can put to the user."""
        view, kinds = self.view, self.view.questions
        options: ConnectOptions = {}
        if "permission" in kinds:
            options["permission"] = self._ask_permission
        if "form" in kinds:
            options["elicit"] = lambda form, session: self._ask(view.ask_form(form, session))
        if "url" in kinds:
            options["elicit_url"] = lambda page, session: self._ask(view.ask_url(page, session))
            options["on_elicitation_complete"] = view.completed
        if "terminal_login" in kinds:
            options["terminal_login"] = lambda login: self._ask(view.run_login(login))
        if "login" in kinds or self.setup.options.login is not None:
            options["login"] = self._choose_login
        return options

    async def _ask(self, work: Awaitable[T]) -> T:
        run = self._run
        run.open_questions += 1
        self.view.changed()
        try:
            return await work
        finally:
            run.open_questions -= 1
            self.view.changed()

    async def _ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> str | None:
        self._show_subject(request, session)
        answer = await self._ask(self.view.ask_permission(request, session))
        self._remember(answer, request, session)
        return answer.option_id

    def _remember(
        self, answer: PermissionAnswer, request: v2.RequestPermissionRequest, session: Session
    ) -> None:
        """Remember an answer, if the user wants that, for the next request for exactly the same."""
        if answer.scope is None:
            return
        problem = "nothing distinguishes this call from others"
        try:
            subject = subject_in(session, request)
            if self.setup.policy.remember(subject, answer.decision, answer.scope):
                return
        except OSError as error:
            problem = str(error)
        self.view.noted(f"could not remember this answer: {problem}")

    def _decided(self, decided: PermissionDecision, session: Session) -> None:
        if decided.by != "user":
            self._show_subject(decided.request, session)
        if session is self.session:
            self._denied_actions.add_decision(decided)
            self._refused_writes.add_decision(decided)
        self.view.decided(decided)

    def _show_subject(self, request: v2.RequestPermissionRequest, session: Session) -> None:
        """Show what a permission request adds to its tool call, which is in the transcript.

        Not for a call that only the request names: some agents use another id for what they then
        do.
        """
        if session is self.session and isinstance(request.subject, v2.ToolCallPermissionSubject):
            call = request.subject.tool_call
            if call.tool_call_id in self._run.announced:
                self.view.updated(v2.ToolCallUpdated(**structs.asdict(call)))

    async def _choose_login(self, methods: list[v2.AuthMethod]) -> str | None:
        """Return the login method that the user has chosen, before or now; None for none."""
        chosen = self.setup.options.login
        return chosen or await self._ask(self.view.choose_login(methods))

    async def _log_in_and_retry(
        self, prompt: Prompt, connection: Connection, refusal: AuthRequired
    ) -> None:
        """Log in because a prompt requires it, and queue the prompt again.

        Raises:
            AcpError: The agent is gone, or does not resume the session.
        """
        try:
            if prompt.is_retry:
                raise refusal
            await self._log_in(connection, refusal)
        except TransportError:
            raise
        except AcpError as error:
            self._give_key_hint(error)
            self.view.failed(error)
            return
        prompt.is_retry = True
        self.queue.insert(0, prompt)
        if self.session is not None and self.session.is_closed:  # it was a login in a terminal
            self._move("left")
            await self._open(connection)
            self._run.watcher = asyncio.create_task(self._watch(connection))

    async def _log_in(self, connection: Connection, refusal: AuthRequired) -> None:
        """Log in as when a session is opened: once, and with the methods listed if it fails."""
        refusals = [refusal]

        async def require_login() -> None:
            if refusals:
                raise refusals.pop()

        self._run.is_logging_in = True
        try:
            await connection.with_login(require_login)
        except (LocalProtocolError, Unsupported) as error:  # an unknown login method
            raise AuthRequired(str(error)) from error
        except RequestError as error:
            if isinstance(error, AuthRequired):
                raise
            raise AuthRequired(f"The login failed: {error}") from error
        finally:
            self._run.is_logging_in = False

    def _give_key_hint(self, error: AcpError) -> None:
        """Name the keys that are set but not passed on, if a login is required."""
        if isinstance(error, AuthRequired) and (
            hint := key_hint(error, self.setup, self.connection)
        ):
            self.view.noted(hint)
