"""`record`: what passes is written to a file, one line for each message, as the client sees it.

`replay` plays such a file, and so does `parley.testing.Replay`. It holds everything as it is,
secrets included, so only its owner can read it. For a history of sessions there is `log`.
"""

from __future__ import annotations

import logging
import os
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from parley.errors import ConfigError
from parley.journal import Entry, Kind
from parley.journal._jsonl import write_line
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._proxy import Proxy

logger = logging.getLogger(__name__)

_WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_MOST_FILES = 10_000


class _File:
    """The record of one connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def open(self) -> None:
        """Begin; a file that is there already is left alone, the next free number is taken."""
        for number in range(1, _MOST_FILES):
            name = self.path.name if number == 1 else f"{self.path.stem}-{number}{self.path.suffix}"
            try:
                self._handle = os.open(self.path.with_name(name), _WRITING, 0o600)
            except FileExistsError:
                continue
            return
        raise FileExistsError(f"{self.path} and the numbers after it are taken")

    def write(self, is_from_client: bool, frame: bytes) -> None:
        """Write a message down; when that fails, the record ends and the connection continues."""
        if self._handle is None:
            return
        kind: Kind = "to_agent" if is_from_client else "to_client"
        line = memoryview(write_line(Entry(0, time.time(), kind, frame)))
        try:
            while line:
                line = line[os.write(self._handle, line) :]
        except OSError as error:
            logger.error("%s: the record ends here: %s", self.path, error)
            self.close()

    def close(self) -> None:
        """End."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def record(path: str | Path) -> Proxy:
    """Return a proxy that writes down what passes.

    Args:
        path: The file. What is there is not overwritten: a further connection gets `name-2.jsonl`.

    Raises:
        ConfigError: The directory does not exist.
    """
    file = Path(path).expanduser().absolute()
    if not file.parent.is_dir():
        raise ConfigError(f"record: there is no directory {file.parent}")
    proxy = Proxy("record")

    @proxy.open_connection
    async def begin(connection: ProxyConnection) -> None:
        written = connection.state["file"] = _File(file)
        try:
            written.open()
        except OSError as error:
            logger.error("%s: nothing is recorded: %s", file, error)

    @proxy.watch
    def see(
        connection: ProxyConnection, is_from_client: bool, frame: bytes, session_id: str
    ) -> None:
        written: _File = connection.state["file"]
        written.write(is_from_client, frame)

    @proxy.close_connection
    async def end(connection: ProxyConnection) -> None:
        written: _File = connection.state["file"]
        written.close()

    return proxy


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("file", metavar="FILE", help="as session.jsonl")


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return record(options.file)
