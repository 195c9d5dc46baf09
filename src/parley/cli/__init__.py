"""The command `parley`: one file per command, each loaded when it is asked for.

A command is a module of this folder and a line in `COMMANDS`. The module has `DESCRIPTION` and
`EXAMPLES` for its help, `add_arguments(parser)`, and `main(arguments)`, which returns the exit code
or raises `Failure`. Only the module that runs is imported, so that `parley demo` starts as fast as
an agent should.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol, cast

import parley

from .exits import Exit, Failure, prepare_streams, say

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "demo": "be the demo agent on stdin and stdout",
    "run": "give an agent one prompt and show what it does",
}
"""The commands and what each does, in a few words."""


class Command(Protocol):
    """What the module of a command has."""

    DESCRIPTION: str
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say what the command takes."""
        ...

    def main(self, arguments: argparse.Namespace) -> int:
        """Do it and return the exit code."""
        ...


class _Parser(argparse.ArgumentParser):
    """Errors in one sentence, with what to do next."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise Failure(f"{message}; see `{self.prog} --help`", Exit.USAGE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    try:
        if not words or words[0].startswith("-"):
            return _front(words)
        return _run(words[0], words[1:])
    except Failure as failure:
        say(f"parley: {failure}")
        return failure.code
    except KeyboardInterrupt:
        return Exit.CANCELLED


def _front(words: list[str]) -> int:
    """Answer a command line without a command: help or the version."""
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())
    parser = _Parser(
        prog="parley",
        usage="parley COMMAND …",
        description="Talk to coding agents over the Agent Client Protocol.",
        epilog=f"commands:\n{listed}\n\n`parley COMMAND --help` tells more, with examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"parley {parley.__version__}")
    parser.parse_args(words)
    parser.print_help()
    return Exit.DONE


def _run(name: str, words: list[str]) -> int:
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean `parley {close[0]}`?" if close else "see `parley --help`"
        raise Failure(f"there is no command {name!r}; {hint}", Exit.USAGE)
    command = cast(Command, importlib.import_module(f"{__name__}.{name}"))
    parser = _Parser(
        prog=f"parley {name}",
        description=command.DESCRIPTION,
        epilog=command.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return command.main(parser.parse_args(words))
