"""The view of `parley run`: a conversation with one prompt, shown as it is answered."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from parley.client import PermissionDecision, PromptTurn, Session, TerminalLogin, TurnResult
from parley.client import run_login as run_login_in_terminal
from parley.conversation.conversation import Conversation
from parley.conversation.permission_answer import PermissionAnswer
from parley.conversation.setup import ConversationSetup
from parley.conversation.view import View
from parley.errors import (
    AcpError,
    LocalProtocolError,
    RequestCancelled,
    RequestError,
    Unsupported,
)
from parley.journal import Journal, Record
from parley.schema import v2

from .attachments import attachments, check
from .conversation_setup import conversation_options, conversation_setup, record_to_resume
from .display import Display, JsonLines, Quiet, Readable
from .failures import failure_of
from .flags import remote_words
from .held_stderr import hold_stderr
from .interrupts import Interrupts
from .journal import open_journal
from .questions import Questions
from .reporting import Exit, Failure, say, say_state, write_agent_stderr
from .run_limits import RunLimits
from .turn_canceller import TurnCanceller

__all__ = ["RunView"]

GRACE = 1.0
"""Seconds that the agent has to exit by itself after the turn."""
STOPS = {
    "refusal": Exit.REFUSED,
    "cancelled": Exit.CANCELLED,
    "max_tokens": Exit.CUT,
    "max_turn_requests": Exit.CUT,
}


class RunView(View):
    """Runs a conversation with one prompt, shows it, and ends it after the turn.

    Without a terminal it offers no questions: what no rule allows is then refused.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Check the command line.

        Raises:
            Failure: One of the arguments is not valid.
        """
        self._arguments = arguments
        for given in ([arguments.cwd] if arguments.cwd else []) + arguments.add_dir:
            if not Path(given).is_dir():
                raise Failure(f"there is no directory {given}", Exit.USAGE)
        if arguments.session is not None and not arguments.session.strip():
            raise Failure("--session: the name is empty; give one, or leave it out", Exit.USAGE)
        self._options = conversation_options(
            arguments,
            arguments.agent,
            allows_unasked=arguments.yes,
            is_strict=True,
            grace_after=GRACE,
        )
        check(arguments.file)
        self._prompt = _read_prompt(arguments.prompt)
        self._display: Display = (
            JsonLines() if arguments.json else Quiet() if arguments.quiet else Readable()
        )
        self._canceller = TurnCanceller()
        self._limits = RunLimits(
            self._canceller, timeout=arguments.timeout, max_cost=arguments.max_cost
        )
        self._questions: Questions | None = None
        if sys.stdin is not None and sys.stdin.isatty():
            self._questions = Questions()
            self.questions = ("permission", "form", "url", "terminal_login")
        self._record: Record | None = None
        self._conversation: Conversation | None = None
        self._error: AcpError | None = None
        self._code = Exit.FAILED

    async def run(self) -> int:
        """Prompt the agent and return the exit code."""
        with Interrupts(
            self._canceller, end_line=self._display.pause, kill_agent=self._kill_agent
        ) as interrupts:
            self._limits.start()
            try:
                async with open_journal(is_wanted=not self._arguments.no_journal) as journal:
                    return await self._converse(journal)
            except AcpError as error:
                if interrupts.has_ended:
                    return Exit.CANCELLED
                if self._limits.reached is not None:
                    return self._given_up()
                self._display.fail(error)
                raise self._failure(error) from error
            except Failure as failure:
                self._display.fail(failure)
                raise
            except asyncio.CancelledError:
                if interrupts.has_ended or self._limits.reached is None:
                    raise
                return self._given_up()
            finally:
                self._limits.stop()
                self._display.wait("")

    def _given_up(self) -> int:
        """Stop at a limit though the turn has not ended."""
        self._display.fail(RequestCancelled(self._limits.reached))
        return self._stopped()

    def _stopped(self) -> Exit:
        """Report which limit was reached."""
        self._display.pause()
        say(f"parley: stopped: {self._limits.reached}{self._how_to_resume()}")
        return self._limits.code

    async def _converse(self, journal: Journal | None) -> int:
        """Run the conversation to its end, and return the exit code.

        Raises:
            AcpError: The turn failed, or the agent ended before it.
            Failure: The agent, the session or a file cannot be used.
        """
        record = self._record = record_to_resume(self._arguments, journal)
        setup = conversation_setup(self._options, journal, record)
        if setup.is_demo and record is None and not self._arguments.quiet:
            say(
                "parley: the demo agent answers; choose another one with -a, "
                'such as -a "opencode acp", or add one with `parley agents add`'
            )
        name = self._arguments.session or ""
        conversation = Conversation(setup, self, record=record, name=name)
        self._conversation = conversation
        self._display.wait(f"starting {setup.label}")
        await conversation.run()
        if self._error is not None:
            if (failure := self._resume_failure(self._error)) is not None:
                raise failure from self._error
            raise self._error
        return self._code

    @property
    def _current(self) -> Conversation:
        assert self._conversation is not None
        return self._conversation

    @property
    def _setup(self) -> ConversationSetup:
        return self._current.setup

    @property
    def _has_connected(self) -> bool:
        return self._conversation is not None and self._conversation.connection is not None

    @property
    def _session(self) -> Session | None:
        return None if self._conversation is None else self._conversation.session

    def _kill_agent(self) -> None:
        if self._conversation is not None:
            self._conversation.kill()

    # What the conversation reports

    def opened(self, conversation: Conversation, *, is_again: bool) -> None:
        """Send the prompt, unless the session is open again after a login."""
        if is_again:
            return
        session, connection = conversation.session, conversation.connection
        assert session is not None
        assert connection is not None
        self._display.begin(session, self._key(), is_resumed=self._record is not None)
        files = attachments(self._arguments.file, connection.features)
        conversation.send(v2.TextContent(text=self._prompt), *files)

    async def follow(self, turn: PromptTurn) -> TurnResult:
        """Show the updates of the turn."""
        self._canceller.begin(turn)
        self._display.wait(f"waiting for {self._setup.label}")
        try:
            async for update in turn:
                if self._questions is not None:
                    await self._questions.answered()
                self._display.update(update, turn.session.transcript)
                self._limits.see(update)
            return await turn
        finally:
            self._canceller.end()

    def ended(self, result: TurnResult) -> None:
        """Show how the turn ended, and end the conversation."""
        self._limits.stop()  # it has ended, however long it takes to leave the agent
        self._display.end(result, self._current.transcript, self._limits.reached)
        self._code = STOPS.get(result.stop_reason, Exit.DONE)
        if self._limits.reached is not None:
            self._code = self._stopped()
        self._current.finish()

    def failed(self, error: AcpError) -> None:
        """End the conversation."""
        self._error = error
        self._current.finish()

    def died(self, error: AcpError) -> None:
        """End the conversation."""
        self.failed(error)

    def noted(self, text: str) -> None:
        """Show a remark of this program."""
        self._display.pause()
        say(f"parley: {text}")

    def slow(self, hint: str) -> None:
        """Show what may be wrong with an agent that does not respond."""
        is_logging = self._arguments.verbose or self._setup.is_remote
        log = "" if is_logging else "; run with -v to see its stderr"
        self.noted(f"{hint}{log}; Ctrl-C ends it")

    def decided(self, decided: PermissionDecision) -> None:
        """Show the outcome of a permission request."""
        with suppress(OSError):  # nobody reads any more: the next update ends the run
            self._display.decision(decided)

    def remote_changed(self, state: str, reason: str) -> None:
        """Show that a remote agent is away, or back."""
        self._display.pause()
        say_state(self._setup.label, state, reason)

    def stderr_received(self, data: bytes) -> None:
        """Show what the agent writes to stderr, with -v."""
        if self._arguments.verbose:
            write_agent_stderr(data)

    # Questions

    async def ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> PermissionAnswer:
        """Ask the user on the terminal."""
        return await self._open_questions().permission(
            request,
            session.tool_call_of(request),
            agent=self._setup.label,
            cwd=session.cwd or str(session.connection.cwd),
        )

    async def ask_form(
        self, form: v2.ElicitationFormMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        """Ask the user to fill in a form, field by field."""
        return await self._open_questions().form(form, self._setup.label)

    async def ask_url(
        self, request: v2.ElicitationUrlMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        """Show the address of a web page."""
        return await self._open_questions().address(request, self._setup.label)

    async def run_login(self, login: TerminalLogin) -> int:
        """Run a login in this terminal."""
        self._display.pause()
        say(f"parley: to log in, this runs: {login.line}")
        with hold_stderr():  # the program of the login has the terminal
            return await run_login_in_terminal(login)

    def _open_questions(self) -> Questions:
        """Make room on the terminal for a question."""
        assert self._questions is not None
        self._display.pause()
        return self._questions

    # Failures

    def _key(self) -> str | None:
        """Return the session's key in the journal."""
        connection, session = self._current.connection, self._session
        if session is None or connection is None or connection.recorder is None:
            return None
        record = connection.recorder.record_of(session.id)
        return None if record is None else record.key

    def _how_to_resume(self) -> str:
        key = None if self._conversation is None else self._key()
        if key is None:
            return ""
        words = ["--session", self._arguments.session or key, *remote_words(self._arguments)]
        return f"; resume with `parley run {shlex.join(words)} …`"

    def _resume_failure(self, error: AcpError) -> Failure | None:
        """Return what to report if the session could not be resumed; None for another error."""
        record, connection = self._record, self._current.connection
        if record is None or connection is None or self._session is not None:
            return None
        shown = record.name or record.key
        if not (connection.features.resume or connection.features.load):
            return Failure(
                f"{connection.name} cannot resume sessions; `parley sessions show {shown}` has "
                "what was said, and without --session and --resume a new one begins"
            )
        if isinstance(error, RequestError):
            return Failure(
                f"{connection.name} did not resume the session {shown}: {error}; "
                f"`parley sessions show {shown}` has what was said"
            )
        return None

    def _failure(self, error: AcpError) -> Failure:
        """Return what to report about an error, and how to exit."""
        has_method = self._arguments.login is not None
        opens = self._has_connected and self._session is None
        if opens and has_method and isinstance(error, LocalProtocolError | Unsupported):
            return Failure(str(error), Exit.AUTH)
        failure = failure_of(
            error,
            is_connected=self._has_connected,
            is_configured=bool(self._setup.agent.name),
            login_hint="" if has_method else "; choose one with --login METHOD",
            log_hint="" if self._arguments.verbose else "; run with -v to see what it logged",
        )
        how = self._how_to_resume() if self._session is not None else ""
        if failure.code is Exit.DIED and how:
            return Failure(f"{failure}\nparley: the session is saved{how}", Exit.DIED)
        return failure


def _read_prompt(words: str | None) -> str:
    """Return the prompt; bytes that are not text are replaced."""
    data = os.fsencode(words or "")
    if words in (None, "-") and sys.stdin is not None:
        if words is None and sys.stdin.isatty():
            raise Failure("there is no prompt; say what the agent should do", Exit.USAGE)
        data = sys.stdin.buffer.read()
    text = data.decode(errors="replace").removesuffix("\n")
    if not text.strip():
        raise Failure("the prompt is empty; say what the agent should do", Exit.USAGE)
    return text
