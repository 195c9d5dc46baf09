"""The user's configuration: named agents, MCP servers, how long sessions are kept.

Only the user's own file is read, `config_dir()/config.toml`. Nothing inside a project is: the
author of a repository must not choose what is started on the machines of its users. Importing and
listing start nothing and reach no network. `_servers.py` selects the MCP servers of a session,
`_registry.py` reads the public registry's format, `_edit.py` changes the file.
"""

from __future__ import annotations

from ._entries import AgentEntry, ChainEntry, ServerEntry
from ._file import Config, JournalSettings, RecordingSettings, config_path, is_agent_name, load

__all__ = [
    "AgentEntry",
    "ChainEntry",
    "Config",
    "JournalSettings",
    "RecordingSettings",
    "ServerEntry",
    "config_path",
    "is_agent_name",
    "load",
]
