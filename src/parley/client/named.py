"""What a user calls an agent, or a session, and what is meant by it.

A word that is the name of a configured agent means that agent; anything else is an address or a
command line. To an address goes the token of the environment, if there is one.
Without a word it is the default agent of the configuration, and without that the demo agent. A
session is called by its name or by its key in the journal.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from parley import config
from parley.config.file import NAME
from parley.errors import ConnectFailed
from parley.journal import Journal, Record
from parley.transport.target import Target, command_of, is_remote

from .connecting import ConnectOptions, remote_options

__all__ = [
    "DEMO",
    "TOKEN",
    "Resolved",
    "agent_of",
    "find_session",
    "of_entry",
    "resolve",
    "sessions_called",
]

DEMO = [sys.executable, "-m", "parley", "demo"]
"""The command of the demo agent."""
TOKEN = "PARLEY_TOKEN"
"""The variable with the token for an agent that is given by its address."""
_DEMO_NAME = "demo"
_SHORTEST = 4
"""How much of a key has to be given."""


class Resolved(Struct, frozen=True, kw_only=True):
    """An agent as it can be reached."""

    target: Target
    """The command that starts it, or an agent of this program."""
    options: ConnectOptions = {}
    """What to call it, its variables, the versions of the protocol to speak."""
    name: str = ""
    """Its name in the configuration; empty where it has none."""
    is_demo: bool = False
    """Whether nobody said which agent, so that the demo agent answers."""

    @property
    def command(self) -> str:
        """The command as a line."""
        if isinstance(self.target, str):
            return self.target.partition("?")[0] if is_remote(self.target) else self.target
        words = command_of(self.target)
        return type(self.target).__name__ if words is None else shlex.join(words)

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
        ConfigError: The configuration cannot be used, or a variable is not set.
        ConnectFailed: It is a single word that is neither a configured agent nor a program.
    """
    configured = config.load()
    if word is None:
        if configured.default_agent is None:
            return _demo()
        return of_entry(configured.agent(configured.default_agent), environ)
    if entry := configured.find(word):
        return of_entry(entry, environ)
    if configured.agents and NAME.fullmatch(word) and shutil.which(word) is None:
        hint = configured.hint(word)
        raise ConnectFailed(f"{word!r} is neither a configured agent nor a program; {hint}")
    if is_remote(word) and (token := (os.environ if environ is None else environ).get(TOKEN)):
        return Resolved(target=word, options={"token": token})
    return Resolved(target=word)


def agent_of(record: Record, environ: Mapping[str, str] | None = None) -> Resolved:
    """Return the agent that a session of the journal is one of.

    Raises:
        ConfigError: As `resolve`.
        ConnectFailed: As `resolve`.
    """
    if record.agent == _DEMO_NAME and config.load().find(_DEMO_NAME) is None:
        return _demo()
    return resolve(record.agent, environ)


def _demo() -> Resolved:
    return Resolved(target=DEMO, options={"name": _DEMO_NAME}, is_demo=True)


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
    if entry.url:
        options |= remote_options(entry, environ)
    if entry.protocol is not None:
        options["versions"] = (entry.protocol,)
    return Resolved(target=entry.target, options=options, name=entry.name)


def find_session(
    journal: Journal, word: str | None, cwd: str | Path, *, anywhere: bool = False
) -> Record | None:
    """Return the session that the user means; None if there is none.

    Args:
        journal: Where to look.
        word: Its name, its key, or how its key begins; None: the last one of the directory.
        cwd: The directory.
        anywhere: Whether a name may be one of another directory; a key always may.

    Raises:
        LookupError: Several could be meant.
    """
    where = str(Path(cwd).absolute())
    if word is None:
        return next(iter(journal.list(role="client", cwd=where, limit=1)), None)
    found = sessions_called(journal, word, where, anywhere=anywhere)
    if len(found) > 1:
        keys = ", ".join(each.key for each in found)
        raise LookupError(f"{word!r} may be any of {keys}; give more of the key")
    return found[0] if found else None


def sessions_called(
    journal: Journal, word: str, cwd: str, *, anywhere: bool = True
) -> list[Record]:
    """Return the sessions that a word may mean: by name here, by key, by name elsewhere."""
    if found := journal.list(role="client", name=word, cwd=cwd, limit=1):
        return found
    if (exact := journal.get(word)) is not None:
        return [exact]
    known = journal.list(role="client")
    begun = [each for each in known if len(word) >= _SHORTEST and each.key.startswith(word)]
    return begun or [each for each in known if anywhere and each.name == word]
