"""`log`: every session that passes is kept in a journal.

It is the journal that `parley run` and `parley chat` write, so `parley sessions` shows what an
editor has talked about with its agent. It holds the frames as the client sees them, without the
values of environments and headers, and without the secrets of this process's environment.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from parley._redaction import is_secret
from parley.errors import JournalError
from parley.journal import Journal, Recorder, SqliteJournal
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._proxy import Proxy


def log(journal: Journal | str | Path | None = None, *, agent: str = "agent") -> Proxy:
    """Return a proxy that writes down what passes.

    Args:
        journal: Where to; a path is a file of its own, None the user's journal.
        agent: What the agent is called in it. A session continues in the record that it has under
            this name.
    """
    proxy = Proxy("log")

    @proxy.open_connection
    async def begin(connection: ProxyConnection) -> None:
        kept: Journal
        if journal is None or isinstance(journal, str | Path):
            kept = SqliteJournal(journal)
        else:
            kept = journal
        secrets = [value for name, value in os.environ.items() if is_secret(name, value)]
        connection.state["recorder"] = Recorder(kept, agent=agent, secrets=secrets)
        connection.state["is_ours"] = kept is not journal

    @proxy.watch
    def see(
        connection: ProxyConnection, is_from_client: bool, frame: bytes, session_id: str
    ) -> None:
        recorder: Recorder = connection.state["recorder"]
        recorder.observe("outbound" if is_from_client else "inbound", frame)

    @proxy.close_connection
    async def end(connection: ProxyConnection) -> None:
        recorder: Recorder = connection.state["recorder"]
        recorder.close()
        if connection.state["is_ours"]:
            await recorder.journal.aclose()
        else:
            await recorder.commit()

    return proxy


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--journal", metavar="FILE", help="another file than the user's journal")
    parser.add_argument("--agent", metavar="NAME", default="agent", help="what the agent is called")


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return log(_usable(options.journal), agent=options.agent)


def _usable(path: str | None) -> str | None:
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise JournalError(f"{path}: there is no such directory")
    return path
