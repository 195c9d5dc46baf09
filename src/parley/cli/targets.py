"""From what the user calls an agent to what `connect` takes.

A word that is the name of a configured agent means that agent; anything else is a command line.
Without a word it is the default agent of the configuration, and without that the demo agent.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping

from msgspec import Struct

from parley import config
from parley.client import ConnectOptions
from parley.config.file import NAME
from parley.errors import ConfigError

from .exits import Exit, Failure

__all__ = ["DEMO", "Resolved", "of_entry", "resolve"]

DEMO = [sys.executable, "-m", "parley", "demo"]
"""The command of the demo agent."""


class Resolved(Struct, frozen=True, kw_only=True):
    """An agent as it can be reached."""

    target: str | list[str]
    """The command that starts it."""
    options: ConnectOptions = {}
    """What to call it, its variables, the versions of the protocol to speak."""
    name: str = ""
    """Its name in the configuration; empty where it has none."""
    is_demo: bool = False
    """Whether nobody said which agent, so that the demo agent answers."""

    @property
    def command(self) -> str:
        """The command as a line."""
        return self.target if isinstance(self.target, str) else shlex.join(self.target)

    @property
    def label(self) -> str:
        """What to call it."""
        return self.name or ("the demo agent" if self.is_demo else self.command)


def resolve(word: str | None, environ: Mapping[str, str] | None = None) -> Resolved:
    """Return the agent that the user means.

    Args:
        word: A configured name or a command line; None for the default agent.
        environ: Where references of the configuration lead; our environment unless told otherwise.

    Raises:
        Failure: There is none, the configuration cannot be used, or a variable is not set.
    """
    try:
        configured = config.load()
        if word is None and configured.default_agent is None:
            return Resolved(target=DEMO, is_demo=True)
        if word is None:
            assert configured.default_agent is not None
            return of_entry(configured.agent(configured.default_agent), environ)
        if entry := configured.find(word):
            return of_entry(entry, environ)
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    if configured.agents and NAME.fullmatch(word) and shutil.which(word) is None:
        hint = configured.hint(word)
        raise Failure(f"{word!r} is neither a configured agent nor a program; {hint}", Exit.DIED)
    return Resolved(target=word)


def of_entry(entry: config.AgentEntry, environ: Mapping[str, str] | None = None) -> Resolved:
    """Return a configured agent as it can be reached.

    Raises:
        ConfigError: A variable that its configuration refers to is not set.
    """
    options: ConnectOptions = {
        "name": entry.name,
        "env": entry.resolve_env(environ),
        "inherit": entry.inherit,
    }
    if entry.protocol is not None:
        options["versions"] = (entry.protocol,)
    return Resolved(target=entry.command, options=options, name=entry.name)
