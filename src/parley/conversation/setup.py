"""The user's options, and the connection and session options that follow from them.

`ConversationOptions` come from the command line or a picker. A `ConversationSetup` is their meaning
here and now: the agent, the policy of the directory, the journal. Each tab has one; another agent,
or a session of the journal, is the same options with a change.
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
from parley.client.workspace._terminals import OnOutput
from parley.client.workspace._workspace import OnWriteRefused
from parley.config._servers import mcp_servers
from parley.errors import ConfigError, LocalProtocolError
from parley.journal import Journal, Record
from parley.policy import Policy, Rule, Verdict, load_policy
from parley.session._capabilities import AgentFeatures
from parley.transport._target import Servable, Target, is_remote

from .open_files import OpenFiles

__all__ = ["ConversationOptions", "ConversationSetup", "check_agent"]


class ConversationOptions(Struct, frozen=True, kw_only=True):
    """The options of the user."""

    target: Target | Resolved | None = None
    """A configured agent, a command line, or an agent of this program. None is the default agent,
    or the demo agent if there is none."""
    cwd: str | Path = "."
    """Where the agent works."""
    additional_directories: Sequence[str | Path] = ()
    """Further directories that it may work in."""
    allow: Sequence[Rule] = ()
    """What is permitted without asking, in addition to the policy files."""
    deny: Sequence[Rule] = ()
    """What is refused without asking."""
    allows_unasked: bool = False
    """Whether to permit everything that would need a question to the user."""
    env: Mapping[str, str] = {}
    """Environment variables for the agent; they take precedence over its configuration."""
    inherit: Sequence[str] = ()
    """Names of further environment variables that it inherits."""
    remote: Mapping[str, Any] = {}
    """Fields of `Remote` that take precedence over the agent's configuration."""
    protocol: int | None = None
    """The only version of the protocol to speak."""
    has_workspace: bool = True
    """Whether the agent reaches files and terminals through us."""
    has_mcp: bool = True
    """Whether the agent gets the configured MCP servers."""
    login: str | None = None
    """The login method, if the agent requires a login; None to ask the user."""
    config_options: Sequence[tuple[str, str | bool]] = ()
    """Config options to set in each session, such as `("mode", "plan")`."""
    open_files: Sequence[str | Path] = ()
    """Files to report as open in the user's editor, the active one first. If there are none, no
    editor state is offered."""
    is_strict: bool = False
    """Whether the conversation fails if something cannot be as chosen: resuming the session, its
    options, directories and MCP servers. Otherwise the view is notified, and it goes without."""
    give_up_after: float | None = 120.0
    """Timeout of `initialize` in seconds; None waits without a limit."""
    grace_after: float = 2.0
    """Timeout of each step of ending the agent, in seconds."""


class ConversationSetup:
    """The agent, the policy, the directories and the journal of a conversation."""

    def __init__(
        self,
        options: ConversationOptions | None = None,
        *,
        journal: Journal | None = None,
        record: Record | None = None,
    ) -> None:
        """Find out what the options mean.

        Args:
            options: None for the defaults.
            journal: Stores the sessions; None stores nothing.
            record: The session of the journal to resume. It decides about the agent, the directory
                and, unless others are chosen, the further directories.

        Raises:
            ConfigError: A file of the user is not valid, or a directory does not exist.
            ConnectFailed: The agent is neither configured nor a program.
            LocalProtocolError: The session is in use elsewhere.
        """
        options = options or ConversationOptions()
        if record is not None:
            options = _for_record(options, record)
        self.options = options
        self.journal = journal
        self.cwd = _directory(options.cwd)
        """Where the agent works, absolute."""
        self.additional_directories = [
            _directory(self.cwd / each) for each in options.additional_directories
        ]
        self.agent = _agent(options.target).merged(
            env=options.env,
            inherit=options.inherit,
            remote=options.remote,
            protocol=options.protocol,
        )
        """The agent, with the options that the user has chosen for it."""
        if record is not None:
            _check_unused(record, self.is_remote)
        self.policy: Policy = load_policy(self.cwd, allow=options.allow, deny=options.deny)
        """Decides about permissions before the user is asked."""
        self.open_files = OpenFiles(options.open_files)
        """The editor state; it is offered to the agent if the user has listed open files."""
        if options.allows_unasked:
            self.policy.unasked = Verdict("allow", "--yes")

    @property
    def is_demo(self) -> bool:
        """Return whether no agent was chosen, so that the demo agent responds with a hint."""
        return self.agent.is_demo

    @property
    def is_remote(self) -> bool:
        """Return whether the agent is elsewhere, so that it is connected to and not started."""
        return isinstance(self.agent.target, str) and is_remote(self.agent.target)

    @property
    def process(self) -> Process:
        """Return how to start the agent, if it is a command."""
        return replace(self.agent.process, grace_after=self.options.grace_after)

    @property
    def remote(self) -> Remote:
        """Return how to reach the agent, if it is a URL."""
        return self.agent.remote

    @property
    def label(self) -> str:
        """The name of the agent for display, before it has sent its own."""
        return self.agent.label

    def changed(self, **changes: Any) -> ConversationSetup:
        """Return the same with other options, for another tab.

        Raises:
            ConfigError: See `ConversationSetup`.
            ConnectFailed: See `ConversationSetup`.
        """
        return ConversationSetup(structs.replace(self.options, **changes), journal=self.journal)

    def for_record(self, record: Record) -> ConversationSetup:
        """Return the same for a session of the journal.

        Raises:
            ConfigError: See `ConversationSetup`; a directory may be gone.
            ConnectFailed: See `ConversationSetup`.
            LocalProtocolError: See `ConversationSetup`.
        """
        options = structs.replace(self.options, additional_directories=())
        return ConversationSetup(options, journal=self.journal, record=record)

    def connect_options(
        self, on_output: OnOutput | None = None, on_write_refused: OnWriteRefused | None = None
    ) -> ConnectOptions:
        """Return the options for `connect`, without those for what the user is asked and shown.

        Args:
            on_output: Called with what commands of the workspace write.
            on_write_refused: Called when the workspace does not write a file for the agent.
        """
        options: ConnectOptions = {
            **self.agent.options,
            "process": self.process,
            "policy": self.policy,
            "journal": self.journal,
            "give_up_after": self.options.give_up_after,
        }
        if self.options.open_files:
            options["editor"] = self.open_files
        if self.options.has_workspace:
            # Permission is asked for every command, so a line for a shell may be run as one.
            options["workspace"] = Workspace(
                self.cwd,
                self.additional_directories,
                shell=True,
                on_output=on_output,
                on_write_refused=on_write_refused,
            )
        return options

    def session_options(self, features: AgentFeatures) -> tuple[SessionOptions, list[str]]:
        """Return the options of a session, and a sentence for each thing that is left out.

        Args:
            features: What the agent offers.

        Raises:
            ConfigError: The configuration is not valid any more, and the options are strict.
        """
        options: SessionOptions = {}
        left_out: list[str] = []
        if self.additional_directories:
            if features.additional_directories or self.options.is_strict:
                options["additional_directories"] = self.additional_directories
            else:
                left_out.append("this agent takes no additional directories: it gets none")
        if self.options.has_mcp:
            try:
                options["mcp_servers"], missing = self._mcp_servers(features)
            except ConfigError as error:  # changed since we began
                if self.options.is_strict:
                    raise
                return options, [*left_out, f"no MCP server is passed on: {error}"]
            left_out += missing
        return options, left_out

    def _mcp_servers(self, features: AgentFeatures) -> tuple[Sequence[object], list[str]]:
        """Return the configured MCP servers that the agent can reach, and why others are left out.

        Raises:
            ConfigError: The configuration is not valid.
        """
        kinds = {"stdio": features.mcp_stdio, "http": features.mcp_http, "sse": features.mcp_sse}
        reach = [kind for kind, is_offered in kinds.items() if is_offered]
        configured = config.load().mcp_servers.values()
        servers, missing = mcp_servers(configured, self.agent.name, reach=reach)
        return servers, [f"the MCP server {it.name} is left out: {it.reason}" for it in missing]


def check_agent(record: Record, options: ConversationOptions) -> None:
    """Check that a session belongs to the agent that the user named, if one is named.

    Raises:
        ConfigError: It belongs to another agent.
        ConnectFailed: The agent is neither configured nor a program.
    """
    if options.target is None:
        return
    named = _agent(options.target)
    if named.label not in (record.agent, _agent(_for_record(options, record).target).label):
        raise ConfigError(
            f"the session {record.name or record.key} belongs to another agent, {record.agent}. "
            "To resume it, do not name an agent"
        )


def _for_record(options: ConversationOptions, record: Record) -> ConversationOptions:
    """Return the options for a session of the journal: its agent and its directories.

    The chosen agent is kept if it is that of the session: its command line may have a secret in it
    that the journal does not have.
    """
    target = options.target
    is_same = isinstance(target, Servable) or (
        target is not None and _agent(target).label == record.agent
    )
    return structs.replace(
        options,
        target=target if is_same else agent_of(record),
        cwd=record.cwd or options.cwd,
        additional_directories=options.additional_directories
        or tuple(record.additional_directories),
    )


def _check_unused(record: Record, is_shared: bool) -> None:
    """Check that a session is not in use in another process; a remote agent serves several.

    Raises:
        LocalProtocolError: It is in use.
    """
    if record.state == "running" and not record.is_interrupted and not is_shared:
        raise LocalProtocolError(
            f"the session {record.name or record.key} is in use by another process; "
            "wait until it has ended, or begin another session"
        )


def _agent(target: Target | Resolved | None) -> Resolved:
    if isinstance(target, Resolved):
        return target
    if target is None or isinstance(target, str):
        return resolve(target)
    return Resolved(target=target)


def _directory(path: str | Path) -> Path:
    directory = Path(path).absolute()
    if not directory.is_dir():
        raise ConfigError(f"there is no directory {path}")
    return directory
