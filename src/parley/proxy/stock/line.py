"""Stock proxies as a command line names them: `budget --cost 1`."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from inspect import getdoc
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from parley.errors import AcpError, ConfigError

if TYPE_CHECKING:
    from .joint import Stock

__all__ = ["NAMES", "help_of", "hint_at", "is_stock", "parse"]

_SHELF = {
    "budget": "budget",
    "context": "context",
    "limits": "limits",
    "log": "log",
    "policy": "policy",
    "record": "record",
    "redact": "redact",
    "rename-paths": "rename_paths",
    "replay": "replay",
    "v1-v2": "versions",
}
"""The files of the stock proxies in `shelf/`."""
UNNAMED = "agent"
"""What an agent is called where nobody has named it."""
NAMES = tuple(_SHELF)
"""What the stock proxies are called."""


class _Parser(ArgumentParser):
    """Says in an exception what is wrong."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{self.prog}: {message}")


def is_stock(line: str | Sequence[str]) -> bool:
    """Return whether a component is named so, and is no command."""
    words = _words(line)
    return bool(words) and words[0] in _SHELF


def parse(line: str | Sequence[str], *, agent: str = "") -> Stock:
    """Make the proxy that a line names: `budget --cost 1`, or the same as a list of words.

    `--help` prints the options and raises `SystemExit`, as it does for any command.

    Args:
        line: What is named, with its options.
        agent: What the agent is called, for those that want to know and are not told in the line.

    Raises:
        ConfigError: There is no such proxy or option, or it cannot be used so; the text says why.
    """
    name, *rest = _words(line) or [""]
    if name not in _SHELF:
        raise ConfigError(f"there is no proxy {name!r}; {hint_at(name)}")
    parser = _parser(name)
    if agent and parser.get_default("agent") == UNNAMED:
        parser.set_defaults(agent=agent)
    given = parser.parse_args(rest)
    try:
        component: Stock = _module(name).from_line(given)
        return component
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error
    except ConfigError:
        raise
    except AcpError as error:
        raise ConfigError(f"{name}: {error}") from error


def hint_at(name: str) -> str:
    """Return what somebody may have meant by a name that no stock proxy has."""
    near = get_close_matches(name, NAMES, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"


def help_of(name: str) -> str:
    """Return what `--help` prints for one of `NAMES`."""
    return _parser(name).format_help()


def _words(line: str | Sequence[str]) -> list[str]:
    if not isinstance(line, str):
        return list(line)
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ConfigError(f"{line}: {error}") from error


def _parser(name: str) -> ArgumentParser:
    module = _module(name)
    told = (getdoc(module) or "").partition(": ")[2]
    parser = _Parser(
        prog=name,
        description=told[:1].upper() + told[1:],
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    return parser


def _module(name: str) -> ModuleType:
    return import_module(f"{__package__}.shelf.{_SHELF[name]}")
