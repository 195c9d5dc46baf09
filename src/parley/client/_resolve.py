"""Resolution of the names that users give for agents and sessions.

The name of a configured agent means that agent; anything else is a URL or a command line. A URL is
used with the token from the environment, if it is set. Without a name, the default agent of the
configuration is used, and without a default the demo agent. A session is found by its name or by
its key in the journal.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from parley import config
from parley._interpreter import parley_command, replace_parley
from parley._redaction import MASK, hide_in_command
from parley.config._check import NAME
from parley.errors import ConnectFailed
from parley.journal import Journal, Record
from parley.transport._target import (
    Target,
    TargetOptions,
    command_of,
    is_remote,
    target_identity,
)

from ._connect_options import ConnectOptions
from ._entry_options import options_of
from ._target_settings import Process, Remote, merged_process, target_options

DEMO = parley_command("demo")
"""The command of the demo agent."""
TOKEN = "PARLEY_TOKEN"
"""The environment variable with the token for an agent that is given by its URL."""
_DEMO_NAME = "demo"
_SHORTEST = 4
"""Minimum number of characters of an abbreviated key."""


class Resolved(Struct, frozen=True, kw_only=True):
    """An agent that the user named: its target, and the options to connect with."""

    target: Target
    """The command line or URL of the agent, or an agent object of this program."""
    options: ConnectOptions = {}
    """The options for `connect`: `name`, `process`, `remote`, `versions` and `config`."""
    name: str = ""
    """The name of the agent in the configuration; empty if it has none."""
    is_demo: bool = False
    """Whether this is the demo agent, used because no agent was named or configured."""

    @property
    def process(self) -> Process:
        """The settings for starting it, if it is a command."""
        return self.options.get("process") or Process()

    @property
    def remote(self) -> Remote:
        """The settings for connecting to it, if it is a URL."""
        return self.options.get("remote") or Remote()

    def merged(
        self,
        *,
        env: Mapping[str, str] | None = None,
        inherit: Sequence[str] = (),
        remote: Mapping[str, Any] | None = None,
        protocol: int | None = None,
    ) -> Resolved:
        """Return the agent with settings that take precedence over those of its configuration.

        Args:
            env: Environment variables to add.
            inherit: Names of further variables to inherit.
            remote: Fields of `Remote` to replace.
            protocol: The only protocol version to speak.
        """
        options: ConnectOptions = {
            **self.options,
            "process": merged_process(self.process, Process(env=env or {}, inherit=inherit)),
            "remote": dataclasses.replace(self.remote, **(remote or {})),
        }
        if protocol is not None:
            options["versions"] = (protocol,)
        return structs.replace(self, options=options)

    @property
    def target_options(self) -> TargetOptions:
        """The options to open the target with, for a program that does not use `connect`."""
        return target_options(self.process, self.remote)

    @property
    def command(self) -> str:
        """The command line or URL with its secrets masked."""
        if isinstance(self.target, str) and is_remote(self.target):
            return hide_in_command([self.target.partition("?")[0]])[0][0]
        words = command_of(self.target)
        if words is None:
            return type(self.target).__name__
        shown, secrets = hide_in_command(words)
        if isinstance(self.target, str) and not secrets:
            return self.target
        return shlex.join(shown)

    @property
    def identity(self) -> str:
        """The identity of the agent across connections; empty for an agent object."""
        return target_identity(self.target, self.options.get("name", ""))

    @property
    def label(self) -> str:
        """The name of the agent for display."""
        return self.name or ("the demo agent" if self.is_demo else self.command)


def resolve(word: str | None, environ: Mapping[str, str] | None = None) -> Resolved:
    """Return the agent that the user means.

    Args:
        word: A configured name, a URL or a command line; None for the default agent.
        environ: The variables that the configuration refers to; by default our environment.

    Raises:
        ConfigError: The configuration is not valid, or a variable is not set.
        ConnectFailed: A single word is neither a configured agent nor a program.
    """
    configured = config.load()
    if word is None:
        if configured.default_agent is None:
            return _demo()
        return resolve_entry(configured.agent(configured.default_agent), environ)
    if entry := configured.find(word):
        return resolve_entry(entry, environ)
    is_program = shutil.which(replace_parley([word])[0]) is not None
    if configured.agents and NAME.fullmatch(word) and not is_program:
        hint = configured.hint(word)
        raise ConnectFailed(f"{word!r} is neither a configured agent nor a program; {hint}")
    if is_remote(word) and (token := (os.environ if environ is None else environ).get(TOKEN)):
        return Resolved(target=word, options={"remote": Remote(token=token)})
    # With `config`, the error for a command that does not exist does not suggest to pass it.
    return Resolved(target=word, options={"config": True} if NAME.fullmatch(word) else {})


def agent_of(record: Record, environ: Mapping[str, str] | None = None) -> Resolved:
    """Return the agent of a session in the journal.

    Raises:
        ConfigError: See `resolve`.
        ConnectFailed: See `resolve`; also if a secret was masked in the agent's command line.
    """
    if MASK in record.agent:
        raise ConnectFailed(
            f"the agent of this session was started with a secret on its command line, which is "
            f"not stored: {record.agent}. Give the whole command line again with -a, or keep the "
            f"secret in a variable, with `parley agents add NAME --env …`"
        )
    if record.agent == _DEMO_NAME and config.load().find(_DEMO_NAME) is None:
        return _demo()
    return resolve(record.agent, environ)


def _demo() -> Resolved:
    return Resolved(target=DEMO, options={"name": _DEMO_NAME}, is_demo=True)


def resolve_entry(entry: config.AgentEntry, environ: Mapping[str, str] | None = None) -> Resolved:
    """Return the target and options of a configured agent.

    Raises:
        ConfigError: A variable that its configuration refers to is not set.
    """
    options = options_of(entry, environ)
    return Resolved(target=entry.target, options=options, name=entry.name)


def find_session(
    journal: Journal, word: str | None, cwd: str | Path, *, anywhere: bool = False
) -> Record | None:
    """Return the session that the user means; None if there is none.

    Args:
        journal: The journal to search.
        word: The name, the key or the start of the key; None for the directory's latest session.
        cwd: The directory.
        anywhere: Whether to find names in other directories too; keys are always found there.

    Raises:
        LookupError: Several sessions match.
    """
    directory = str(Path(cwd).absolute())
    if word is None:
        return next(iter(journal.list(role="client", cwd=directory, limit=1)), None)
    found = find_sessions(journal, word, directory, anywhere=anywhere)
    if len(found) > 1:
        keys = ", ".join(each.key for each in found)
        raise LookupError(f"{word!r} matches several sessions: {keys}; give more of the key")
    return found[0] if found else None


def find_sessions(journal: Journal, word: str, cwd: str, *, anywhere: bool = True) -> list[Record]:
    """Return the sessions that match a word: by name here, then by key, then by name elsewhere."""
    if found := journal.list(role="client", name=word, cwd=cwd, limit=1):
        return found
    if (exact := journal.get(word)) is not None:
        return [exact]
    known = journal.list(role="client")
    by_prefix = [each for each in known if len(word) >= _SHORTEST and each.key.startswith(word)]
    return by_prefix or [each for each in known if anywhere and each.name == word]
