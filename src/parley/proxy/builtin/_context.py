"""`context`: files such as AGENTS.md go to the agent with the first prompt of each session.

A session that is resumed has them already, so only new ones get them. Each file is a text block
before the user's own, marked as meant for the agent alone; every agent takes text. A file that a
session's directory does not have is left out, one that is too long is cut.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from parley._argtypes import byte_size
from parley._bounded_dict import BoundedDict
from parley.errors import ConfigError, RequestError
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Request, Response
from parley.proxy._proxy import Proxy
from parley.schema import v2

logger = logging.getLogger(__name__)

MAX_BYTES = 64 * 1024
"""The default for the maximum size of all files together."""
MAX_WAITING = 1000
"""How many sessions of a connection may be without a first prompt."""
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Does not wait for the writer of a pipe."""
_FOR_AGENT = v2.Annotations(audience=["assistant"])


def context(*files: str | Path, max_bytes: int = MAX_BYTES) -> Proxy:
    """Return a proxy that adds files to the first prompt of each session.

    Args:
        files: Absolute, or in the session's directory; by default AGENTS.md.
        max_bytes: How much of them together is added.

    Raises:
        ConfigError: A file that is named absolutely cannot be read.
        ValueError: Nothing may be added.
    """
    if max_bytes <= 0:
        raise ValueError("max_bytes is above zero")
    wanted = [_checked(Path(each).expanduser()) for each in files or ("AGENTS.md",)]
    proxy = Proxy("context")

    @proxy.from_client("session/new")
    async def begin(request: Request) -> Response:
        reply = await request.forward()
        _waiting(request.connection)[reply.result.session_id] = request.params.cwd
        return reply

    @proxy.from_client("session/fork")
    async def fork(request: Request) -> Response:
        reply = await request.forward()
        if request.session_id in _waiting(request.connection):
            _waiting(request.connection)[reply.result.session_id] = request.params.cwd
        return reply

    @proxy.from_client("session/prompt")
    async def prompt(request: Request) -> Response | None:
        cwd = _waiting(request.connection).pop(request.session_id, None)
        if cwd is None:
            return None
        blocks = await asyncio.to_thread(_read, wanted, Path(cwd), max_bytes)
        if not blocks:
            return None
        request.change(prompt=[*blocks, *request.params.prompt])
        try:
            return await request.forward()
        except RequestError:  # it was not taken, so the next one is the first
            _waiting(request.connection)[request.session_id] = cwd
            raise

    return proxy


def _waiting(connection: ProxyConnection) -> BoundedDict[str, str]:
    """Return the directories of the sessions that have had no prompt."""
    waiting: BoundedDict[str, str] = connection.state.setdefault(
        "waiting", BoundedDict(MAX_WAITING)
    )
    return waiting


def _checked(path: Path) -> Path:
    try:
        if path.is_absolute():
            _content(path, 1)
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror or error}") from error
    return path


def _read(files: Sequence[Path], cwd: Path, room: int) -> list[v2.ContentBlock]:
    """Return the text of the files, as far as there is room."""
    blocks: list[v2.ContentBlock] = []
    for file in files:
        try:
            path = _unwrap_inner(cwd, file)
            content = _content(path, room + 1)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:  # of a name with a NUL
            logger.warning("%s is left out: %s", file, error)
            continue
        text = content[:room].decode(errors="replace")
        if len(content) > room:
            text += f"\n[The rest of {path} is left out.]"
        room -= len(content[:room])
        note = f"This is {path}:\n\n{text}"
        blocks.append(v2.TextContent(text=note, annotations=_FOR_AGENT))
        if room <= 0:
            break
    return blocks


def _unwrap_inner(cwd: Path, file: Path) -> Path:
    """Return the file that is meant; a link in a session's directory does not lead out of it."""
    if file.is_absolute():
        return file
    path = (cwd / file).resolve()
    if not path.is_relative_to(cwd.resolve()):
        raise PermissionError("it is not in the directory of the session")
    return path


def _content(path: Path, limit: int) -> bytes:
    handle = os.open(path, _READING)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path} is not a file")
        return file.read(limit)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="default: AGENTS.md")
    parser.add_argument(
        "--max-bytes",
        type=byte_size,
        default=MAX_BYTES,
        metavar="SIZE",
        help="how much is added, 64k",
    )


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return context(*options.files, max_bytes=options.max_bytes)
