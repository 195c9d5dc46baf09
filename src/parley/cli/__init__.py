"""The command `parley`: one file per command, each loaded when it is asked for.

A command is a module of this folder and a line in `COMMANDS`. The module has `DESCRIPTION` and
`EXAMPLES` for its help, `add_arguments(parser)`, and `main(arguments)`, which returns the exit code
or raises `Failure`. Only the module that runs is imported, so that `parley demo` starts as fast as
an agent should. What follows `--` is `arguments.after_dashes`, untouched, for a command that calls
`parser.set_defaults(after_dashes=[])`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol, cast

import parley
from parley._suggestions import suggest

from .reporting import Exit, Failure, is_terminal, prepare_streams, say

__all__ = ["COMMANDS", "main", "parser_of"]

COMMANDS = {
    "agents": "name agents, list them and try them",
    "chat": "chat with an agent, full screen; `parley` alone does this too",
    "completion": "print a completion script for your shell",
    "conduct": "serve a chain of proxies and an agent on stdin and stdout",
    "connect": "serve a remote agent on stdin and stdout, for an editor",
    "demo": "serve the demo agent on stdin and stdout",
    "doctor": "check the installation and agents, and suggest fixes",
    "inspect": "show what a client and an agent say, in a browser or as text",
    "login": "log in to an agent, or log out",
    "nes": "suggest the next edit, and measure how often that is right",
    "policy": "show what is allowed, asked or denied, and why",
    "replay": "replay a recording as an agent, or as a client that compares",
    "run": "give an agent one prompt and show what it does",
    "serve": "serve agents on the network, protected by a token",
    "sessions": "list, search, show, export and resume saved sessions",
    "tap": "run an agent for an editor, and record what both say",
}
"""The commands and a short description of each."""


class Command(Protocol):
    """The module of a command."""

    DESCRIPTION: str
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""
        ...

    def main(self, arguments: argparse.Namespace) -> int:
        """Run the command and return the exit code."""
        ...


_QUOTES = "put quotes around text that contains spaces"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence that says what to do next."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        if message.startswith("unrecognized arguments"):
            word = message.split()[2]
            blanks = "" if word.startswith("-") else _QUOTES
            if hint := self._suggest(word) or self.get_default("quotes") or blanks:
                message = f"{message}; {hint}"
        if "invalid choice" in message and (hint := self.get_default("choice_hint")):
            message = f"{message}; {hint}"
        raise Failure(f"{message}; see `{self.prog} --help`", Exit.USAGE)

    def _suggest(self, word: str) -> str:
        """Return a hint for a misspelled option; empty for other words."""
        options = [name for each in self._actions for name in each.option_strings]
        names = [name[2:] for name in options if name.startswith("--")]
        typed = word.partition("=")[0].removeprefix("--")
        return suggest(typed, names, "--{}", " ").strip() if word.startswith("--") else ""

    def chosen(self, found: argparse.Namespace) -> argparse.ArgumentParser:
        """Return the parser of the action that a command line has chosen, or this one."""
        for each in self._actions:
            if each.nargs == argparse.PARSER:
                parsers = cast(dict[str, argparse.ArgumentParser], each.choices)
                return parsers.get(getattr(found, each.dest, None) or "", self)
        return self


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    try:
        if not words and is_terminal():
            words = ["chat"]
        is_front = not words or words[0].startswith("-")
        code = _front(words) if is_front else _run(words[0], words[1:])
        sys.stdout.flush()
        return code
    except Failure as failure:
        say(f"parley: {failure}")
        return failure.code
    except BrokenPipeError:  # as of `parley agents list | head -n 1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return Exit.FAILED
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
        epilog=f"commands:\n{listed}\n\n`parley COMMAND --help` shows more, with examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"parley {parley.__version__}")
    parser.parse_args(words)
    parser.print_help()
    return Exit.DONE


def _run(name: str, words: list[str]) -> int:
    if name not in COMMANDS:
        hint = suggest(name, COMMANDS, "`parley {}`", "see `parley --help`")
        raise Failure(f"there is no command {name!r}; {hint}", Exit.USAGE)
    command, parser = parser_of(name)
    if "--" in words and parser.get_default("after_dashes") is not None:
        at = words.index("--")
        given = argparse.Namespace(after_dashes=words[at + 1 :])
        return command.main(_parsed(parser, words[:at], given))
    return command.main(_parsed(parser, words))


def _parsed(
    parser: _Parser, words: list[str], given: argparse.Namespace | None = None
) -> argparse.Namespace:
    """Parse a command line; the chosen action reports unrecognized arguments."""
    found, left = parser.parse_known_args(words, given or argparse.Namespace())
    if left:
        parser.chosen(found).error(f"unrecognized arguments: {' '.join(left)}")
    return found


def parser_of(name: str) -> tuple[Command, _Parser]:
    """Load a command; returns its module and the parser of its command line."""
    command = cast(Command, importlib.import_module(f"{__name__}.{name}"))
    parser = _Parser(
        prog=f"parley {name}",
        description=command.DESCRIPTION,
        epilog=command.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return command, parser
