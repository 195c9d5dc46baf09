"""`parley login`: log in to an agent, log out, or see whether one is logged in."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from dataclasses import replace

from parley._display_text import sanitize_text
from parley.client import Connection, ConnectOptions, Session, TerminalLogin, connect, run_login
from parley.errors import AcpError, LocalProtocolError, Unsupported
from parley.schema import v2
from parley.schema.base import Unknown

from .failures import failure_of
from .handshake import method_line, working_dir
from .json_output import print_json
from .paint import painted
from .questions import Questions
from .reporting import Exit, Failure, say, write_agent_stderr
from .targets import Resolved, resolve

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Log in to an agent with one of the methods that it offers. Some agents open a
page in the browser; others run their own program in this terminal. Without
METHOD, the only method is used, or you choose one.
"""
EXAMPLES = """\
examples:
  parley login opencode
  parley login codex chatgpt
  parley login codex --status
  parley login "claude-code-acp" --logout
"""
STATES = {
    "authenticated": "is logged in",
    "unauthenticated": "is not logged in",
    "not_required": "needs no login",
    "unknown": "does not know whether it is logged in",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        help="a name, or a command line; else the default agent",
    )
    parser.add_argument("method", metavar="METHOD", nargs="?", help="the id of the login method")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the login methods")
    what.add_argument("--status", action="store_true", help="show whether you are logged in")
    what.add_argument("--logout", action="store_true", help="log out")
    parser.add_argument(
        "--json", action="store_true", help="with --status: print the status as JSON"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agent writes to its stderr"
    )


def main(arguments: argparse.Namespace) -> int:
    """Log in, or out."""
    agent = resolve(arguments.agent)
    if agent.is_demo:
        raise Failure("name an agent, for example `parley login opencode`", Exit.USAGE)
    return asyncio.run(_Login(agent, arguments).run())


class _Login:
    """One run of the command."""

    def __init__(self, agent: Resolved, arguments: argparse.Namespace) -> None:
        self._agent = agent
        self._arguments = arguments
        self._who = agent.label
        self._again = f"parley login {shlex.quote(arguments.agent or agent.name)}"
        self._is_connected = False
        self._is_heard = bool(arguments.verbose)
        """Whether what the agent writes to stderr is shown."""
        is_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._questions = Questions() if is_terminal else None

    async def run(self) -> int:
        """Run the action and return the exit code."""
        options = self._options()
        try:
            async with connect(
                self._agent.target, working_dir(self._agent), **options
            ) as connection:
                self._is_connected = True
                info = connection.info
                self._who = sanitize_text(self._agent.name or info.title or info.name, is_line=True)
                return await self._act(connection)
        except (LocalProtocolError, Unsupported) as error:
            raise Failure(str(error), Exit.AUTH) from error
        except AcpError as error:
            hint = "; run with -v to see what it logged"
            is_connected = self._is_connected
            raise failure_of(error, is_connected=is_connected, log_hint=hint) from error

    def _options(self) -> ConnectOptions:
        options: ConnectOptions = {
            **self._agent.options,
            "process": replace(self._agent.process, on_stderr=self._hear),
        }
        options["terminal_login"] = self._in_terminal
        if self._questions is not None:
            options |= {"elicit": self._fill_in, "elicit_url": self._open}
        return options

    async def _act(self, connection: Connection) -> int:
        if self._arguments.status:
            return await self._status(connection)
        if self._arguments.logout:
            await connection.logout()
            print(f"{painted('✓', 'green')} logged out of {self._who}")
            return Exit.DONE
        offered = [each for each in connection.auth_methods if not isinstance(each, Unknown)]
        if self._arguments.list:
            for each in offered:
                print(sanitize_text(method_line(each), is_line=True))
            return Exit.DONE
        if not offered:
            raise Failure(
                f"{self._who} offers no login; it needs none, or it is set up by its own "
                "program, or by variables such as an API key (`parley agents add --env`)",
                Exit.AUTH,
            )
        method = await self._chosen(offered)
        self._is_heard = True  # some say there which page to open
        await connection.login(method)
        self._is_heard = bool(self._arguments.verbose)
        print(f"{painted('✓', 'green')} {sanitize_text(f'logged in to {self._who}: {method}')}")
        return Exit.DONE

    async def _chosen(self, offered: list[v2.AuthMethodAgent | v2.AuthMethodTerminal]) -> str:
        """Return the way to log in: the one that was named, the only one, or the user's choice."""
        if self._arguments.method is not None:
            named: str = self._arguments.method
            return named
        if len(offered) == 1:
            return offered[0].method_id
        if self._questions is None:
            for each in offered:
                say(f"  {sanitize_text(method_line(each), is_line=True)}")
            raise Failure(f"choose one of these methods: `{self._again} METHOD`", Exit.USAGE)
        title = f"How do you want to log in to {self._who}?"
        place = await self._questions.choice(title, [method_line(each) for each in offered])
        if place is None:
            raise Failure("no method was chosen; nothing has changed", Exit.CANCELLED)
        return offered[place].method_id

    async def _status(self, connection: Connection) -> int:
        if not connection.features.auth_status:
            raise Failure(f"{self._who} does not report whether it is logged in", Exit.FAILED)
        status = await connection.auth_status()
        is_out = status.state == "unauthenticated"
        if self._arguments.json:
            accounts = [each.label for each in status.accounts]
            print_json({"state": status.state, "accounts": accounts})
            return Exit.AUTH if is_out else Exit.DONE
        state = STATES.get(status.state, f"says: {status.state}")
        print(sanitize_text(f"{self._who} {state}", is_line=True))
        for account in status.accounts:
            more = [each for each in (account.name, account.email, account.organization) if each]
            mark = " (in use)" if account.active and len(status.accounts) > 1 else ""
            details = f" ({', '.join(more)})" if more else ""
            print(f"  {sanitize_text(f'{account.label}{details}{mark}', is_line=True)}")
        return Exit.AUTH if is_out else Exit.DONE

    async def _in_terminal(self, login: TerminalLogin) -> int:
        if self._questions is None:
            raise Failure(
                f"{login.method.method_id!r} is a login in a terminal, and there is none here; run "
                f"`{self._again} {shlex.quote(login.method.method_id)}` in one",
                Exit.AUTH,
            )
        say(f"parley: running {login.line}")
        return await run_login(login)

    async def _fill_in(
        self, form: v2.ElicitationFormMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        assert self._questions is not None
        return await self._questions.form(form, self._who)

    async def _open(
        self, request: v2.ElicitationUrlMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        assert self._questions is not None
        return await self._questions.address(request, self._who)

    def _hear(self, data: bytes) -> None:
        if self._is_heard:
            write_agent_stderr(data)
