"""The user's choices, and what a connection and a session get by them.

`Choices` is what was said on the command line or in a picker. A `Setup` is what that means here and
now: the agent it names, the policy of the directory, the journal. Every tab has one; another agent,
or a session of the journal, is the same choices with a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from parley import config
from parley.client import ConnectOptions, Process, Remote, SessionOptions, Workspace
from parley.client._resolve import Resolved, agent_of, resolve
from parley.client._target_settings import merged_process
from parley.client.workspace._terminals import OnOutput
from parley.config.servers import mcp_servers
from parley.errors import ConfigError
from parley.journal import Journal, Record
from parley.policy import Policy, Rule, load_policy
from parley.session._capabilities import AgentFeatures
from parley.transport._target import Servable, Target, is_remote

__all__ = ["Choices", "Setup"]


class Choices(Struct, frozen=True, kw_only=True):
    """What the user has chosen."""

    target: Target | Resolved | None = None
    """A configured agent, a command line, an agent of this program; None: the default agent, and
    where there is none the demo agent."""
    cwd: str | Path = "."
    """Where the agent works."""
    additional_directories: Sequence[str | Path] = ()
    """Further directories that it may work in."""
    allow: Sequence[Rule] = ()
    """What is permitted without asking, besides what the policy files say."""
    deny: Sequence[Rule] = ()
    """What is refused without asking."""
    env: Mapping[str, str] = {}
    """Variables for the agent, over those of its configuration."""
    inherit: Sequence[str] = ()
    """Names of further variables of ours that it gets."""
    remote: Mapping[str, Any] = {}
    """Fields of `Remote`: how to reach a remote agent, over what its configuration says."""
    protocol: int | None = None
    """The only version of the protocol to speak."""
    has_workspace: bool = True
    """Whether the agent reaches files and terminals through us."""
    has_mcp: bool = True
    """Whether it is told of the configured MCP servers."""
    login: str | None = None
    """How to log in if it wants that; None: the user is asked."""
    options: Sequence[tuple[str, str | bool]] = ()
    """Options that each session begins with, as `("mode", "plan")`."""
    give_up_after: float | None = 120.0
    """How many seconds the agent has to answer initialize; None: for ever."""
    grace_after: float = 2.0
    """How many seconds each step of ending it may take."""


class Setup:
    """What a conversation needs to know before it begins."""

    def __init__(self, choices: Choices | None = None, *, journal: Journal | None = None) -> None:
        """Find out what the choices mean.

        Args:
            choices: None for none.
            journal: Keeps the sessions; None: nothing is kept.

        Raises:
            ConfigError: A file of the user's cannot be used, or a directory is not there.
            ConnectFailed: The agent is neither configured nor a program.
        """
        self.choices = choices or Choices()
        self.journal = journal
        self.cwd = _directory(self.choices.cwd)
        """Where the agent works, absolute."""
        self.additional_directories = [
            _directory(self.cwd / each) for each in self.choices.additional_directories
        ]
        self.agent = _agent(self.choices.target)
        """The agent that is meant."""
        self.policy: Policy = load_policy(
            self.cwd, allow=self.choices.allow, deny=self.choices.deny
        )
        """Decides about permissions before the user is asked."""

    @property
    def is_demo(self) -> bool:
        """Whether nobody chose an agent, so that the demo agent answers: a hint is in order."""
        return self.agent.is_demo

    @property
    def is_remote(self) -> bool:
        """Whether the agent is elsewhere, so that it is connected to and not started."""
        return isinstance(self.agent.target, str) and is_remote(self.agent.target)

    @property
    def process(self) -> Process:
        """How the agent is started, if it is a command."""
        choices = self.choices
        process = Process(env=choices.env, inherit=choices.inherit, grace_after=choices.grace_after)
        return merged_process(self.agent.process, process)

    @property
    def remote(self) -> Remote:
        """How the agent is reached, if it is a URL."""
        return replace(self.agent.remote, **self.choices.remote)

    @property
    def label(self) -> str:
        """What to call the agent before it has said its name."""
        return self.agent.label

    def changed(self, **changes: Any) -> Setup:
        """Return the same with other choices, for another tab.

        Raises:
            ConfigError: As when it was made.
            ConnectFailed: As when it was made.
        """
        return Setup(structs.replace(self.choices, **changes), journal=self.journal)

    def for_record(self, record: Record) -> Setup:
        """Return the same for a session of the journal: its agent and its directories.

        Raises:
            ConfigError: As when it was made; a directory may be gone.
            ConnectFailed: As when it was made.
        """
        chosen = self.choices.target
        is_same = isinstance(chosen, Servable) or self.agent.label == record.agent
        return self.changed(
            target=chosen if is_same else agent_of(record),
            cwd=record.cwd or self.cwd,
            additional_directories=tuple(record.additional_directories),
        )

    def connect_options(self, on_output: OnOutput | None = None) -> ConnectOptions:
        """Return what `connect` gets, but for what the user is asked and shown.

        Args:
            on_output: Sees what commands of the workspace write.
        """
        choices = self.choices
        options: ConnectOptions = {
            **self.agent.options,
            "process": self.process,
            "remote": self.remote,
            "policy": self.policy,
            "journal": self.journal,
            "give_up_after": choices.give_up_after,
        }
        if choices.protocol is not None:
            options["versions"] = (choices.protocol,)
        if choices.has_workspace:
            # Whatever runs is asked about, so a line for a shell may be run as one.
            options["workspace"] = Workspace(
                self.cwd, self.additional_directories, shell=True, on_output=on_output
            )
        return options

    def session_options(self, features: AgentFeatures) -> tuple[SessionOptions, list[str]]:
        """Return how a session is opened, and what is left out of it, a sentence each.

        Args:
            features: What the agent offers.
        """
        options: SessionOptions = {}
        left_out: list[str] = []
        if self.additional_directories and features.additional_directories:
            options["additional_directories"] = self.additional_directories
        elif self.additional_directories:
            left_out.append("this agent takes no additional directories: it is told of none")
        if self.choices.has_mcp:
            kinds = {
                "stdio": features.mcp_stdio,
                "http": features.mcp_http,
                "sse": features.mcp_sse,
            }
            reach = [kind for kind, is_offered in kinds.items() if is_offered]
            try:
                configured = config.load().mcp_servers.values()
            except ConfigError as error:  # changed since we began
                return options, [*left_out, f"no MCP server is passed on: {error}"]
            servers, missing = mcp_servers(configured, self.agent.name, reach=reach)
            options["mcp_servers"] = servers
            left_out += (f"the MCP server {it.name} is left out: {it.reason}" for it in missing)
        return options, left_out


def _agent(target: Target | Resolved | None) -> Resolved:
    if isinstance(target, Resolved):
        return target
    if target is None or isinstance(target, str):
        return resolve(target)
    return Resolved(target=target)


def _directory(given: str | Path) -> Path:
    path = Path(given).absolute()
    if not path.is_dir():
        raise ConfigError(f"there is no directory {given}")
    return path
