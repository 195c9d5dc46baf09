"""The owners of sessions, recorded when a session is first opened and kept across restarts.

Agents store their sessions themselves and know nothing of principals. So the gateway records the
agent, the session and the principal of each session that is opened through it. A session that was
never opened through it belongs to nobody, or to the principal if there is only one.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

from parley._bounded_dict import BoundedDict
from parley._user_dirs import private_dir, state_dir
from parley.errors import ConfigError

__all__ = ["MemoryOwners", "Owners", "SqliteOwners", "owners_path"]

logger = logging.getLogger(__name__)

_KNOWN = 100_000
"""The number of owners that are kept in memory."""
_TABLE = """
CREATE TABLE IF NOT EXISTS owners (
  agent TEXT NOT NULL, session TEXT NOT NULL, principal TEXT NOT NULL,
  PRIMARY KEY (agent, session)
) WITHOUT ROWID
"""


class Owners(Protocol):
    """A store of the owners of sessions."""

    def claim(self, agent: str, session_id: str, principal: str) -> None:
        """Record the principal that opened a session first."""

    def find(self, agent: str, session_id: str) -> str | None:
        """Return the owner of a session; None if it was never opened here."""
        ...

    def forget(self, agent: str, session_id: str) -> None:
        """Forget a deleted session."""


class MemoryOwners:
    """A store in memory, of the newest owners only."""

    def __init__(self, most: int = _KNOWN) -> None:
        self._owners: BoundedDict[tuple[str, str], str] = BoundedDict(most)

    def claim(self, agent: str, session_id: str, principal: str) -> None:
        """Record the principal that opened a session first."""
        self._owners.setdefault((agent, session_id), principal)

    def find(self, agent: str, session_id: str) -> str | None:
        """Return the owner of a session."""
        return self._owners.get((agent, session_id))

    def forget(self, agent: str, session_id: str) -> None:
        """Forget a session."""
        self._owners.pop((agent, session_id), None)


def owners_path() -> Path:
    """Return the default path of the store."""
    return state_dir() / "gateway.db"


class SqliteOwners:
    """A store in a file, which several gateways may share.

    What is written is safe from the end of this process, whatever ends it. A write that fails is
    logged; that session keeps its owner until the process ends, and has none afterwards.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open or create the file, accessible only to its owner.

        Raises:
            ConfigError: The file cannot be used.
        """
        self.path = owners_path() if path is None else path
        self._near = MemoryOwners()
        try:
            private_dir(self.path.parent)
            self.path.touch(mode=0o600)
            self._connection = _opened(self.path)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"{self.path} cannot be used: {error}; move it away, and a new file is created"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def claim(self, agent: str, session_id: str, principal: str) -> None:
        """Record the principal that opened a session first."""
        if self.find(agent, session_id) is not None:
            return
        self._near.claim(agent, session_id, principal)
        self._write("INSERT OR IGNORE INTO owners VALUES (?, ?, ?)", agent, session_id, principal)

    def find(self, agent: str, session_id: str) -> str | None:
        """Return the owner of a session."""
        found = self._near.find(agent, session_id)
        if found is not None:
            return found
        query = "SELECT principal FROM owners WHERE agent = ? AND session = ?"
        try:
            with closing(self._connection.execute(query, (agent, session_id))) as rows:
                row: tuple[str] | None = rows.fetchone()
        except (sqlite3.Error, UnicodeEncodeError):
            logger.exception("the owner of a session cannot be looked up")
            return _UNREADABLE
        if row is not None:
            self._near.claim(agent, session_id, row[0])
        return None if row is None else row[0]

    def forget(self, agent: str, session_id: str) -> None:
        """Forget a session."""
        self._near.forget(agent, session_id)
        self._write("DELETE FROM owners WHERE agent = ? AND session = ?", agent, session_id)

    def _write(self, statement: str, *values: str) -> None:
        try:
            self._connection.execute(statement, values)
        except (sqlite3.Error, UnicodeEncodeError):
            logger.exception("the owner of a session cannot be stored")


_UNREADABLE = ""
"""The owner of a session that cannot be looked up: no named principal."""


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=2.0, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_TABLE)
    except sqlite3.Error:
        connection.close()
        raise
    return connection
