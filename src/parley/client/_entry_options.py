"""The options of `connect` for an agent of the user's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from parley.config import AgentEntry

from ._connect_options import ConnectOptions
from ._target_settings import Process, Remote


def options_of(entry: AgentEntry, environ: Mapping[str, str] | None = None) -> ConnectOptions:
    """Return the options to connect to a configured agent with.

    Args:
        entry: The agent.
        environ: The variables that the configuration refers to; by default our environment.

    Raises:
        ConfigError: A variable that its configuration refers to is not set, or the file of its
            token cannot be used.
    """
    options: ConnectOptions = {
        "name": entry.name,
        "process": Process(env=entry.resolve_env(environ), inherit=entry.inherit),
    }
    if entry.url:
        ca_file = Path(entry.ca_file).expanduser() if entry.ca_file else None
        options["remote"] = Remote(token=entry.resolve_token(environ), ca_file=ca_file)
    if entry.protocol is not None:
        options["versions"] = (entry.protocol,)
    return options
