"""`parley run`: one prompt, shown as it is answered."""

from __future__ import annotations

import argparse
import asyncio
import os

from parley._argtypes import positive_float

from .flags import (
    SEVERAL,
    add_agent_arguments,
    add_open_argument,
    add_permission_arguments,
    add_place_arguments,
    add_session_arguments,
)
from .reporting import Exit, Failure
from .run_view import RunView

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Give an agent one prompt and show what it does: the answer on stdout; tool
calls, plans and everything else on stderr. When the agent asks for permission,
or wants to write a file or run a command, --allow, --deny and the policy file
decide. Otherwise you are asked on the terminal; without one, it is denied.
Ctrl-C cancels the turn, a second Ctrl-C stops the agent. Sessions are saved
and can be resumed.
"""
EXAMPLES = """\
rules:
  KIND or KIND:PATTERN, such as read, edit:src/**, "execute:git status" or "*".
  Agents give each tool call a kind: read, edit, delete, move, search, execute,
  think, fetch, switch_mode or other. A pattern is matched against the command,
  or against paths relative to --cwd. --deny wins over --allow.
  `parley policy test` shows what would be decided.

examples:
  parley run "What is in this repository?" -a "opencode acp"
  parley run "Fix the failing test" --session fix --allow edit:src/**
  parley run "And now the docs" --session fix
  git diff | parley run "Review this" -f -
  parley run "What is wrong here?" --file shot.png --timeout 120
  parley run help

exit codes:
  0  the turn has ended          5    the agent cannot be reached, or exited
  1  something failed            6    the agent requires a login or a token
  2  the command line is wrong   124  the time limit of --timeout was reached
  3  the agent refused           130  cancelled
  4  stopped at a limit
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "prompt",
        metavar="PROMPT",
        nargs="?",
        help="the prompt; if it is - or missing, it is read from stdin",
    )
    parser.add_argument(
        "-a",
        "--agent",
        metavar="TARGET",
        help="a configured agent, a command, or an address; else the default agent",
    )
    add_place_arguments(parser)
    parser.add_argument(
        "-f",
        "--file",
        metavar="PATH",
        help="attach a file, a picture, or stdin (-); may be given several times",
        **SEVERAL,
    )
    add_open_argument(parser)
    add_session_arguments(parser)
    group = parser.add_argument_group("limits")
    group.add_argument(
        "--timeout", metavar="SECONDS", type=positive_float, help="cancel the turn after this time"
    )
    group.add_argument(
        "--max-cost",
        metavar="AMOUNT",
        type=positive_float,
        help="cancel the turn when the session has cost this much, if the agent reports it",
    )
    add_permission_arguments(parser, has_yes=True)
    add_agent_arguments(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print one event per line, as JSON")
    shown.add_argument("-q", "--quiet", action="store_true", help="print only the final text")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agent writes to its stderr"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the prompt."""
    try:
        return asyncio.run(RunView(arguments).run())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):  # as of `parley run … | head`
            return Exit.FAILED
        raise Failure(f"cannot read or write here: {error.strerror}") from error
    except asyncio.CancelledError:
        return Exit.CANCELLED
