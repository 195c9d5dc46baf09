"""`parley run`: one prompt, shown as it is answered."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from pathlib import Path

import msgspec
from msgspec import UNSET

from parley.client import ConnectOptions, Session, TerminalLogin, connect, run_login
from parley.errors import (
    AcpError,
    AuthRequired,
    ConnectionClosed,
    InternalError,
    LocalProtocolError,
    ProcessExited,
    RequestError,
    TransportError,
    Unsupported,
)
from parley.inert import inert
from parley.schema import v2
from parley.schema.version import SUPPORTED
from parley.transport.target import Target

from .display import Decider, Display, JsonLines, Quiet, Readable
from .exits import Exit, Failure, say
from .interrupts import Interrupts
from .questions import Questions
from .rules import Rules, choose, read_rule, subject_of

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Give an agent one prompt and show what it does while it does it: its answer on
stdout, tool calls, plans and everything else on stderr. What it asks
permission for is decided by --allow and --deny, else asked on the terminal,
else refused. Ctrl-C cancels the turn, a second one ends the agent.
"""
EXAMPLES = """\
rules:
  KIND or KIND:PATTERN, as in read, edit:src/*, "execute:git *", "*".
  The kind is what the agent calls its tool call: read, edit, delete, move,
  search, execute, think, fetch, switch_mode, other. Patterns fit the command,
  or the paths from --cwd on. --deny counts before --allow.

examples:
  parley run "What is in this repository?" -a "opencode acp" --allow read
  git diff | parley run - -a "claude-code-acp" --env ANTHROPIC_API_KEY -q
  parley run help

exit codes:
  0  the turn has ended          4    the agent stopped at a limit
  1  something failed            5    the agent could not be started, or died
  2  the command line is wrong   6    the agent wants a login first
  3  the agent refused           130  cancelled
"""

NO_ANSWER = (
    "parley: it has not answered; is this the command that starts an agent? "
    'Many need an argument for it, as in -a "opencode acp"'
)
HINT_AFTER = 10.0
"""After so many seconds without an answer to initialize a hint is shown."""
STOPS = {
    "refusal": Exit.REFUSED,
    "cancelled": Exit.CANCELLED,
    "max_tokens": Exit.CUT,
    "max_turn_requests": Exit.CUT,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("prompt", metavar="PROMPT", help="what to ask; - reads it from stdin")
    parser.add_argument(
        "-a",
        "--agent",
        metavar="TARGET",
        help="the command that starts the agent; without it the demo agent answers",
    )
    parser.add_argument("--cwd", metavar="DIR", default=".", help="where the agent works")
    parser.add_argument(
        "--allow",
        metavar="RULE",
        action="append",
        default=[],
        help="permit this without asking; may be given several times",
    )
    parser.add_argument(
        "--deny", metavar="RULE", action="append", default=[], help="refuse this without asking"
    )
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a variable for the agent, which else gets only PATH, HOME and the like",
    )
    parser.add_argument("--login", metavar="METHOD", help="how to log in, if the agent wants it")
    parser.add_argument(
        "--protocol",
        metavar="VERSION",
        type=int,
        choices=SUPPORTED,
        help="speak only this version of the protocol, 1 or 2",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print one event a line, as JSON")
    shown.add_argument("-q", "--quiet", action="store_true", help="print only the final text")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agent writes to its stderr"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the turn."""
    try:
        return asyncio.run(_Run(arguments).run())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):  # as of `parley run … | head`
            return Exit.FAILED
        raise Failure(f"cannot read or write here: {error.strerror}") from error
    except asyncio.CancelledError:
        return Exit.CANCELLED


class _Run:
    """One run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        if not Path(arguments.cwd).is_dir():
            raise Failure(f"--cwd: there is no directory {arguments.cwd}", Exit.USAGE)
        allow = [read_rule(each) for each in arguments.allow]
        deny = [read_rule(each) for each in arguments.deny]
        self._arguments = arguments
        self._rules = Rules(allow, deny, arguments.cwd)
        self._display: Display = (
            JsonLines() if arguments.json else Quiet() if arguments.quiet else Readable()
        )
        self._process = _process_options(arguments)
        self._is_connected = False
        self._has_session = False
        self._prompt = _read_prompt(arguments.prompt)
        self._questions = Questions() if sys.stdin is not None and sys.stdin.isatty() else None

    async def run(self) -> int:
        """Prompt the agent and return the exit code."""
        with Interrupts(self._display.pause) as interrupts:
            try:
                return await self._turn(interrupts)
            except AcpError as error:
                if interrupts.has_ended:
                    return Exit.CANCELLED
                self._display.fail(error)
                raise self._failure(error) from error

    async def _turn(self, interrupts: Interrupts) -> int:
        asyncio.get_running_loop().call_later(HINT_AFTER, self._hint)
        async with connect(self._target(), self._arguments.cwd, **self._options()) as connection:
            self._is_connected = True
            interrupts.pid = connection.pid
            session = await connection.new_session()
            self._has_session = True
            interrupts.pid = connection.pid  # after a login in a terminal it is another one
            turn = session.prompt(self._prompt)
            interrupts.cancel_turn = turn.cancel
            async for update in turn:
                self._display.update(update, session.transcript)
            result = await turn
            interrupts.cancel_turn = None
            self._display.end(result)
        return STOPS.get(result.stop_reason, Exit.DONE)

    def _target(self) -> Target:
        if self._arguments.agent is not None:
            target: str = self._arguments.agent
            return target
        if not self._arguments.quiet:
            say('parley: the demo agent answers; choose another one with -a, as -a "opencode acp"')
        return [sys.executable, "-m", "parley", "demo"]

    def _hint(self) -> None:
        """Say what may be wrong with an agent that keeps silent."""
        if not self._is_connected:
            say(f"{NO_ANSWER}; Ctrl-C ends it")

    def _options(self) -> ConnectOptions:
        options: ConnectOptions = {**self._process, "permission": self._decide}
        if self._questions is not None:
            options |= {"elicit": self._fill_in, "elicit_url": self._open}
            options["terminal_login"] = self._log_in
        if self._arguments.protocol is not None:
            options["versions"] = (self._arguments.protocol,)
        if self._arguments.login is not None:
            options["login"] = lambda _: self._arguments.login
        return options

    async def _log_in(self, login: TerminalLogin) -> int:
        say(f"parley: to log in, this runs: {shlex.join(login.command)}")
        return await run_login(login)

    async def _decide(self, request: v2.RequestPermissionRequest, session: Session) -> str | None:
        call = session.tool_call_of(request)
        decision = self._rules.decide(subject_of(request, call, self._arguments.cwd))
        chosen = None if decision is None else choose(request.options, decision)
        by: Decider = "rule"
        if chosen is None and decision != "deny":
            by = "nobody" if self._questions is None else "user"
            if self._questions is not None:
                self._display.pause()
                chosen = await self._questions.permission(request, call)
            else:
                chosen = choose(request.options, "deny")
        self._display.decision(request, chosen, by)
        return chosen

    async def _fill_in(
        self, form: v2.ElicitationFormMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        assert self._questions is not None
        self._display.pause()
        return await self._questions.form(form)

    async def _open(
        self, request: v2.ElicitationUrlMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        assert self._questions is not None
        self._display.pause()
        return await self._questions.address(request)

    @property
    def _is_no_login(self) -> bool:
        """Whether it must be the login of the command line that could not be done."""
        opens = self._is_connected and not self._has_session
        return opens and self._arguments.login is not None

    def _failure(self, error: AcpError) -> Failure:
        """Return what to tell the user about an error, and how to exit."""
        match error:
            case AuthRequired():
                offers_none = self._arguments.login or "offers no login" in error.message
                hint = "" if offers_none else "; choose one with --login METHOD"
                return Failure(f"{error.message}{hint}", Exit.AUTH)
            case RequestError():
                data = "" if error.data is UNSET else msgspec.json.encode(error.data).decode()
                told = f"the agent answered with an error: {error}"
                is_vague = isinstance(error, InternalError) and not self._arguments.verbose
                hint = "; run with -v to see what it logged" if is_vague else ""
                return Failure(f"{told}: {data}{hint}" if data else f"{told}{hint}")
            case ProcessExited() if error.code and error.stderr.strip():
                return Failure(str(error), Exit.DIED)
            case ConnectionClosed() if not self._is_connected:
                return Failure(f"{error}\n{NO_ANSWER}", Exit.DIED)
            case LocalProtocolError() | Unsupported() if self._is_no_login:
                return Failure(str(error), Exit.AUTH)
            case TransportError():
                return Failure(str(error), Exit.DIED)
            case _:
                return Failure(str(error))


def _read_prompt(words: str) -> str:
    """Return the prompt; what is no text in it is replaced."""
    data = os.fsencode(words)
    if words == "-" and sys.stdin is not None:
        data = sys.stdin.buffer.read()
    text = data.decode(errors="replace")
    if not text.strip():
        raise Failure("the prompt is empty; say what the agent should do", Exit.USAGE)
    return text


def _process_options(arguments: argparse.Namespace) -> ConnectOptions:
    """Return how the agent is started."""
    names: list[str] = arguments.env
    given = [each.partition("=") for each in names]
    inherited = [name for name, equals, _ in given if not equals]
    for each, (name, _, _) in zip(names, given, strict=True):
        if not name:
            raise Failure(f"--env: there is no name in {each!r}; give NAME=VALUE", Exit.USAGE)
    for name in inherited:
        if name not in os.environ:
            raise Failure(f"--env: {name} is not set here; give it as {name}=VALUE", Exit.USAGE)
    return {
        "env": {name: value for name, equals, value in given if equals},
        "inherit": inherited,
        "on_stderr": _show_stderr if arguments.verbose else None,
    }


def _show_stderr(data: bytes) -> None:
    sys.stderr.write(inert(data.decode(errors="replace")))
    sys.stderr.flush()
