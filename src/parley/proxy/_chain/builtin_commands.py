"""Built-in proxies in command-line notation, such as `budget --cost 1`."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from inspect import getdoc
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from parley._suggestions import suggest
from parley.errors import AcpError, ConfigError

if TYPE_CHECKING:
    from .component import Component

_MODULES = {
    "budget": "_budget",
    "context": "_context",
    "limits": "_limits",
    "log": "_log",
    "policy": "_policy",
    "record": "_record",
    "redact": "_redact",
    "rename-paths": "_rename_paths",
    "replay": "_replay",
    "v1-v2": "_versions",
}
"""The module of each built-in proxy in `parley.proxy.builtin`."""
UNNAMED = "agent"
"""The name of an agent without a configured name."""
NAMES = tuple(_MODULES)
"""The names of the built-in proxies."""


class _Parser(ArgumentParser):
    """A parser that reports errors as exceptions."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{self.prog}: {message}")


def is_builtin(line: str | Sequence[str]) -> bool:
    """Return whether a component is a built-in proxy and not a command."""
    words = _split(line)
    return bool(words) and words[0] in _MODULES


def parse(line: str | Sequence[str], *, agent: str = "") -> Component:
    """Return the proxy that a line such as `budget --cost 1` describes.

    `--help` prints the options and raises `SystemExit`, as it does for any command.

    Args:
        line: The name of the proxy and its options, as one string or as a list of words.
        agent: The name of the agent, for proxies that use it; an option in the line wins.

    Raises:
        ConfigError: The proxy or an option is unknown, or an option has a wrong value.
    """
    name, *rest = _split(line) or [""]
    if name not in _MODULES:
        raise ConfigError(f"unknown proxy {name!r}; {suggest_builtin(name)}")
    parser = _parser(name)
    if agent and parser.get_default("agent") == UNNAMED:
        parser.set_defaults(agent=agent)
    options = parser.parse_args(rest)
    try:
        component: Component = _module(name).from_options(options)
        return component
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error
    except ConfigError:
        raise
    except AcpError as error:
        raise ConfigError(f"{name}: {error}") from error


def suggest_builtin(name: str) -> str:
    """Return a hint for a name that no built-in proxy has."""
    return suggest(name, NAMES)


def help_of(name: str) -> str:
    """Return what `--help` prints for one of `NAMES`."""
    return _parser(name).format_help()


def _split(line: str | Sequence[str]) -> list[str]:
    if not isinstance(line, str):
        return list(line)
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ConfigError(f"{line}: {error}") from error


def _parser(name: str) -> ArgumentParser:
    module = _module(name)
    description = (getdoc(module) or "").partition(": ")[2]
    parser = _Parser(
        prog=name,
        description=description[:1].upper() + description[1:],
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    return parser


def _module(name: str) -> ModuleType:
    return import_module(f"parley.proxy.builtin.{_MODULES[name]}")
