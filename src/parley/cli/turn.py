"""One run of `parley run`: an agent is reached, a session opened, a prompt answered."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from parley import config
from parley.client import (
    Connection,
    ConnectOptions,
    PermissionDecision,
    Process,
    Session,
    SessionOptions,
    TerminalLogin,
    TurnResult,
    Workspace,
    connect,
    run_login,
    subject_in,
)
from parley.client._target_settings import merged_process
from parley.config.servers import mcp_servers
from parley.errors import (
    AcpError,
    ConfigError,
    LocalProtocolError,
    RequestCancelled,
    RequestError,
    Unsupported,
)
from parley.journal import Journal, Record
from parley.policy import Policy, Rule, Verdict, load_policy
from parley.schema import v2
from parley.transport._target import is_remote

from .attachments import attachments, check
from .bounds import Bounds
from .display import Display, JsonLines, Quiet, Readable
from .exits import Exit, Failure, pass_on, say, say_state
from .failures import NO_ANSWER, failure_of
from .flags import option, remote, remote_words, rules, variables
from .history import find_session, keeping
from .interrupts import Interrupts
from .questions import Questions
from .targets import Resolved, agent_of, resolve

__all__ = ["Run"]

HINT_AFTER = 10.0
"""After so many seconds without an answer to initialize a hint is shown."""
GRACE = 1.0
"""How many seconds the agent has to go by itself when the turn is over."""
STOPS = {
    "refusal": Exit.REFUSED,
    "cancelled": Exit.CANCELLED,
    "max_tokens": Exit.CUT,
    "max_turn_requests": Exit.CUT,
}


class Run:
    """One run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Look at the command line.

        Raises:
            Failure: Something in it cannot be.
        """
        self._arguments = arguments
        for given in ([arguments.cwd] if arguments.cwd else []) + arguments.add_dir:
            if not Path(given).is_dir():
                raise Failure(f"there is no directory {given}", Exit.USAGE)
        if arguments.session is not None and not arguments.session.strip():
            raise Failure("--session: the name is empty; give one, or leave it out", Exit.USAGE)
        self._rules = rules(arguments)
        self._further = [Path(each).absolute() for each in arguments.add_dir]
        self._process = variables(arguments)
        self._remote = remote(arguments)
        self._set = [option(each) for each in arguments.set]
        check(arguments.file)
        self._prompt = _read_prompt(arguments.prompt)
        self._display: Display = (
            JsonLines() if arguments.json else Quiet() if arguments.quiet else Readable()
        )
        self._bounds = Bounds(arguments.timeout, arguments.max_cost)
        self._questions = Questions() if sys.stdin is not None and sys.stdin.isatty() else None
        self._policy: Policy
        self._agent_label = ""
        self._connection: Connection | None = None
        self._session: Session | None = None

    async def run(self) -> int:
        """Prompt the agent and return the exit code."""
        with Interrupts(self._display.pause) as interrupts:
            self._bounds.start()
            try:
                async with keeping(is_wanted=not self._arguments.no_journal) as journal:
                    return await self._talk(interrupts, journal)
            except AcpError as error:
                if interrupts.has_ended:
                    return Exit.CANCELLED
                if self._bounds.reached is not None:
                    return self._given_up()
                self._display.fail(error)
                raise self._failure(error) from error
            except Failure as failure:
                self._display.fail(failure)
                raise
            except asyncio.CancelledError:
                if interrupts.has_ended or self._bounds.reached is None:
                    raise
                return self._given_up()
            finally:
                self._bounds.stop()
                self._display.wait("")

    def _given_up(self) -> int:
        """Stop at a bound though the turn has not ended."""
        self._display.fail(RequestCancelled(self._bounds.reached))
        return self._stopped()

    def _stopped(self) -> int:
        """Say which bound was reached."""
        self._display.pause()
        say(f"parley: stopped: {self._bounds.reached}{self._how_to_go_on()}")
        return self._bounds.code

    async def _talk(self, interrupts: Interrupts, journal: Journal | None) -> int:
        record = self._record(journal)
        cwd = self._arguments.cwd or (record.cwd if record is not None else ".")
        agent = self._agent(record)
        self._agent_label = agent.label
        self._policy = _policy(cwd, self._rules)
        self._display.wait(f"starting {agent.label}")
        asyncio.get_running_loop().call_later(HINT_AFTER, self._hint)
        options = self._options(agent, cwd, journal)
        async with connect(agent.target, cwd, **options) as connection:
            self._connection = connection
            interrupts.pid = connection.pid
            session = await self._open(connection, agent, record)
            interrupts.pid = connection.pid  # after a login in a terminal it is another one
            blocks = attachments(self._arguments.file, connection.features)
            turn = session.prompt(self._prompt, *blocks)
            interrupts.cancel_turn = self._bounds.cancel_turn = turn.cancel
            self._display.wait(f"waiting for {agent.label}")
            async for update in turn:
                if self._questions is not None:
                    await self._questions.answered()
                self._display.update(update, session.transcript)
                self._bounds.see(update)
            result = await turn
            interrupts.cancel_turn = None
            return self._end(result)

    def _record(self, journal: Journal | None) -> Record | None:
        """Return the session that is gone on with; None for a new one."""
        name, resume = self._arguments.session, self._arguments.resume
        if name is None and not resume:
            return None
        return find_session(journal, name, self._arguments.cwd or ".", must_exist=resume)

    def _end(self, result: TurnResult) -> int:
        assert self._session is not None
        self._bounds.stop()  # it has ended, however long it takes to leave the agent
        self._display.end(result, self._session.transcript, self._bounds.reached)
        if self._bounds.reached is not None:
            return self._stopped()
        return STOPS.get(result.stop_reason, Exit.DONE)

    def _agent(self, record: Record | None) -> Resolved:
        """Return the agent that is meant: of the command line, else of the session's."""
        word: str | None = self._arguments.agent
        if record is None:
            agent = resolve(word)
            if agent.is_demo and not self._arguments.quiet:
                say(
                    "parley: the demo agent answers; choose another one with -a, "
                    'as -a "opencode acp", or `parley agents add`'
                )
            return agent
        given = None if word is None else resolve(word)
        is_same = given is not None and given.label == record.agent  # with all that was masked
        agent = given if given is not None and is_same else agent_of(record)
        if given is not None and given.label != agent.label:
            raise Failure(
                f"the session {record.name or record.key} is one of {record.agent}; leave -a out, "
                "or begin another session",
                Exit.USAGE,
            )
        is_shared = isinstance(agent.target, str) and is_remote(agent.target)
        if record.state == "running" and not record.is_interrupted and not is_shared:
            raise Failure(
                f"the session {record.name or record.key} is at work in another process; "
                "wait for its end, or begin another session"
            )
        return agent

    async def _open(
        self, connection: Connection, agent: Resolved, record: Record | None
    ) -> Session:
        """Begin a session, or open again what was found."""
        options: SessionOptions = {"mcp_servers": self._servers(connection, agent)}
        if self._arguments.add_dir:
            options["additional_directories"] = self._further
        if record is None:
            session = await connection.new_session(**options)
            if self._arguments.session is not None and connection.recorder is not None:
                connection.recorder.rename(session.id, self._arguments.session)
        else:
            session = await _resumed(connection, record, options)
        self._session = session
        self._display.begin(session, self._key(), is_resumed=record is not None)
        for config_id, value in self._set:
            await session.set_option(config_id, value)
        return session

    def _servers(self, connection: Connection, agent: Resolved) -> list[v2.McpServer]:
        if self._arguments.no_mcp:
            return []
        features = connection.features
        kinds = {"stdio": features.mcp_stdio, "http": features.mcp_http, "sse": features.mcp_sse}
        reach = [kind for kind, is_offered in kinds.items() if is_offered]
        configured = config.load().mcp_servers.values()
        servers, left_out = mcp_servers(configured, agent.name, reach=reach)
        for each in left_out:
            say(f"parley: the MCP server {each.name} is left out: {each.reason}")
        return servers

    def _key(self) -> str | None:
        """Return the session's key in the journal."""
        if self._session is None or self._connection is None or self._connection.recorder is None:
            return None
        record = self._connection.recorder.record_of(self._session.id)
        return None if record is None else record.key

    def _how_to_go_on(self) -> str:
        key = self._key()
        if key is None:
            return ""
        words = ["--session", self._arguments.session or key, *remote_words(self._arguments)]
        return f"; go on with `parley run {shlex.join(words)} …`"

    def _see(self, name: str, state: str, reason: str) -> None:
        """Return whether a remote agent is there."""
        self._display.pause()
        say_state(name, state, reason)

    def _hint(self) -> None:
        """Say what may be wrong with an agent that keeps silent."""
        if self._connection is None:
            self._display.pause()
            say(f"{NO_ANSWER}; Ctrl-C ends it")

    def _process_of(self, agent: Resolved) -> Process:
        on_stderr = pass_on if self._arguments.verbose else None
        process = merged_process(agent.process, self._process)
        return replace(process, on_stderr=on_stderr, grace_after=GRACE)

    def _options(self, agent: Resolved, cwd: str, journal: Journal | None) -> ConnectOptions:
        options: ConnectOptions = {
            **agent.options,
            "process": self._process_of(agent),
            "remote": replace(
                agent.remote, **self._remote, on_state=partial(self._see, agent.label)
            ),
            "policy": self._policy,
            "on_decision": self._show_decision,
            "journal": journal,
        }
        if self._arguments.yes:
            self._policy.unasked = Verdict("allow", "--yes")
        if self._questions is not None:
            options["permission"] = self._ask
            options |= {"elicit": self._fill_in, "elicit_url": self._visit}
            options["terminal_login"] = self._log_in
        if not self._arguments.no_workspace:
            # Whatever runs is asked about, so a line for a shell may be run as one.
            options["workspace"] = Workspace(cwd, self._further, shell=True)
        if self._arguments.protocol is not None:
            options["versions"] = (self._arguments.protocol,)
        if self._arguments.login is not None:
            options["login"] = lambda _: self._arguments.login
        return options

    def _show_decision(self, decided: PermissionDecision, session: Session) -> None:
        with suppress(OSError):  # nobody reads any more: the next update ends the run
            self._display.decision(decided)

    async def _log_in(self, login: TerminalLogin) -> int:
        self._display.pause()
        say(f"parley: to log in, this runs: {login.line}")
        return await run_login(login)

    async def _ask(self, request: v2.RequestPermissionRequest, session: Session) -> str | None:
        """Put a question to the user, and remember the answer if they want that."""
        assert self._questions is not None
        self._display.pause()
        answer = await self._questions.permission(
            request,
            session.tool_call_of(request),
            agent=self._agent_label,
            cwd=session.cwd or str(session.connection.cwd),
        )
        if answer.scope is not None:
            subject = subject_in(session, request)
            try:
                is_kept = self._policy.remember(subject, answer.decision, answer.scope)
            except OSError as error:
                say(f"parley: the answer is not remembered: {error}")
            else:
                if not is_kept:
                    say("parley: the answer is not remembered: nothing tells this call from others")
        return answer.option_id

    async def _fill_in(
        self, form: v2.ElicitationFormMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        assert self._questions is not None
        self._display.pause()
        return await self._questions.form(form, self._agent_label)

    async def _visit(
        self, request: v2.ElicitationUrlMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        assert self._questions is not None
        self._display.pause()
        return await self._questions.address(request, self._agent_label)

    def _failure(self, error: AcpError) -> Failure:
        """Return what to tell the user about an error, and how to exit."""
        has_method = self._arguments.login is not None
        opens = self._connection is not None and self._session is None
        if opens and has_method and isinstance(error, LocalProtocolError | Unsupported):
            return Failure(str(error), Exit.AUTH)
        failure = failure_of(
            error,
            is_connected=self._connection is not None,
            login_hint="" if has_method else "; choose one with --login METHOD",
            log_hint="" if self._arguments.verbose else "; run with -v to see what it logged",
        )
        if failure.code is Exit.DIED and self._session is not None:
            return Failure(
                f"{failure}\nparley: nothing of it is lost{self._how_to_go_on()}", Exit.DIED
            )
        return failure


async def _resumed(connection: Connection, record: Record, options: SessionOptions) -> Session:
    features = connection.features
    shown = record.name or record.key
    if not (features.resume or features.load):
        raise Failure(
            f"{connection.name} cannot open sessions again; `parley sessions show {shown}` has "
            "what was said, and without --session and --resume a new one begins"
        )
    try:
        return await connection.resume_session(
            record.session_id, record.cwd, replay=False, **options
        )
    except RequestError as error:
        raise Failure(
            f"{connection.name} does not open the session {shown} again: {error}; "
            f"`parley sessions show {shown}` has what was said"
        ) from error


def _policy(cwd: str, rules: dict[str, list[Rule]]) -> Policy:
    try:
        return load_policy(cwd, **rules)
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error


def _read_prompt(words: str | None) -> str:
    """Return the prompt; what is no text in it is replaced."""
    data = os.fsencode(words or "")
    if words in (None, "-") and sys.stdin is not None:
        if words is None and sys.stdin.isatty():
            raise Failure("there is no prompt; say what the agent should do", Exit.USAGE)
        data = sys.stdin.buffer.read()
    text = data.decode(errors="replace").removesuffix("\n")
    if not text.strip():
        raise Failure("the prompt is empty; say what the agent should do", Exit.USAGE)
    return text
