"""`parley completion`: a script that completes commands, options and agents in a shell.

It is made from the parsers of the commands, so it knows what they know. What the user has
configured is looked up when it is needed, by this command with `--words`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, cast

from parley.config import load
from parley.errors import ConfigError
from parley.proxy._chain.builtin_commands import NAMES

from . import COMMANDS, parser_of
from .reporting import Exit, Failure
from .shells import SHELLS, Option, Place, Value

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Print a script that lets your shell complete the commands, options, file names
and agent names of `parley`.
"""
EXAMPLES = """\
examples:
  parley completion bash > ~/.local/share/bash-completion/completions/parley
  parley completion zsh > ~/.zfunc/_parley      # a directory in your $fpath
  parley completion fish > ~/.config/fish/completions/parley.fish
  eval "$(parley completion bash)"              # only in this shell
"""
_KINDS = {"AGENT": "agents", "TARGET": "agents", "DIR": "dirs", "FILE": "files", "PATH": "files"}
"""The kind of value for each metavar of a parser."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    shells = list(SHELLS)
    parser.add_argument(
        "shell", metavar="SHELL", nargs="?", choices=shells, help="bash, zsh or fish"
    )
    parser.add_argument("--words", choices=["agents", "chains"], help=argparse.SUPPRESS)


def main(arguments: argparse.Namespace) -> int:
    """Print the script, or the words that it asks for."""
    if arguments.words is not None:
        try:
            found = load()
            names = found.agents if arguments.words == "agents" else found.chains
            print("\n".join(names))
        except ConfigError:  # an error message would garble the line being completed
            return Exit.FAILED
        return Exit.DONE
    if arguments.shell is None:
        raise Failure(f"name a shell: {', '.join(SHELLS)}", Exit.USAGE)
    print(SHELLS[arguments.shell](list(places())), end="")
    return Exit.DONE


def places() -> Iterator[Place]:
    """Yield what is possible where: at the front, after each command, after each action of one."""
    options = [Option(["-h", "--help"], "show help"), Option(["--version"], "show the version")]
    yield Place(path="", options=options, actions=COMMANDS)
    for name in COMMANDS:
        yield from _places(name, parser_of(name)[1])


def _places(path: str, parser: argparse.ArgumentParser) -> Iterator[Place]:
    found = cast(Sequence[argparse.Action], vars(parser)["_actions"])
    shown = [each for each in found if each.help != argparse.SUPPRESS]
    actions: dict[str, str] = {}
    parsers: dict[str, argparse.ArgumentParser] = {}
    for each in shown:
        choices: Any = each.choices
        if hasattr(choices, "values"):
            parsers = choices
            helps = cast(Sequence[argparse.Action], vars(each)["_choices_actions"])
            actions = {str(one.dest): one.help or "" for one in helps}
    yield Place(
        path=path,
        options=[_option(path, each) for each in shown if each.option_strings],
        actions=actions,
        values=[_value(path, each) for each in shown if not each.option_strings and not actions],
    )
    for name, below in parsers.items():
        yield from _places(f"{path} {name}", below)


def _option(path: str, action: argparse.Action) -> Option:
    value = None if action.nargs == 0 else _value(path, action)
    return Option(list(action.option_strings), action.help or "", value)


def _value(path: str, action: argparse.Action) -> Value:
    choices: Any = action.choices
    if choices is not None:
        return Value(words=[str(each) for each in choices])
    name = action.metavar if isinstance(action.metavar, str) else action.dest
    if name == "NAME" and path.startswith("agents ") and path != "agents add":
        return Value(kind="agents")
    if "--chain" in action.option_strings:
        return Value(kind="chains")
    if name == "PROXY":
        return Value(words=[*NAMES])
    return Value(kind=_KINDS.get(name, ""))
