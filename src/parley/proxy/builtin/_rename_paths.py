"""`rename-paths`: an agent in a container, and a client outside that has other names for the files.

A path that begins with the client's name of a directory begins with the agent's name of it on the
other side, and the other way round. That is done to what the protocol knows as a path or as a
`file://` URI: directories, locations, diffs, files, terminals, MCP servers, resources, documents.
Text, the input and output of tools, command lines and extensions are left alone, unless `text` is
set: then both names are replaced wherever they stand.
"""

from __future__ import annotations

import json
import ntpath
import posixpath
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import quote, unquote

from parley.errors import ConfigError
from parley.proxy._handling.message import Message, Request, Response
from parley.proxy._proxy import Proxy
from parley.proxy.builtin._json_strings import rewrite_strings

_PATHS = frozenset({"path", "oldPath", "cwd", "additionalDirectories"})
_PROGRAMS = frozenset({("mcpServers", "command"), ("mcpServers", "args"), ("command",), ("args",)})
"""What starts a program: of a session's MCP servers, of version 1's terminals."""
_OPAQUE = frozenset({"_meta", "rawInput", "rawOutput"})
_DOTS = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


class _Renaming:
    """The renaming in one direction."""

    def __init__(self, pairs: Iterable[tuple[str, str]], is_text: bool) -> None:
        self._names = dict(pairs)
        longest = sorted(self._names, key=len, reverse=True)
        any_of = "|".join(map(re.escape, longest))
        self._begin = re.compile(rf"(?:{any_of})(?=[/\\]|\Z)")
        self._somewhere = re.compile(rf"(?<![\w./\\-])(?:{any_of})(?![\w-])")
        self._is_text = is_text
        self._signs = (b"%", b"\\/", b"\\u", *(json.dumps(each)[1:-1].encode() for each in longest))
        """What is in all that has one of the names; much has none of it, and is not read."""

    def apply(self, method: str, body: bytes) -> bytes:
        """Return the params or the result of a method with other paths."""
        if not any(sign in body for sign in self._signs):
            return body
        if self._is_text:
            return rewrite_strings(body, self._anywhere)
        if method.startswith(("_", "mcp/")):
            return body
        return rewrite_strings(body, self._in_place, _OPAQUE)

    def _in_place(self, names: tuple[str, ...], text: str) -> str:
        if not names:
            return text
        if names[-1] in _PATHS or names[-2:] in _PROGRAMS:
            return self.path(text)
        return self.uri(text) if text[:7].lower() == "file://" and _is_uri(names[-1]) else text

    def path(self, text: str) -> str:
        """Rename a path; one that leaves a directory by `..` is not in it."""
        plain = _without_dots(text) if ".." in text else text
        return self._begin.sub(self._new, plain, count=1) if self._begin.match(plain) else text

    def uri(self, text: str) -> str:
        """Rename the path of a `file://` URI; what follows it stays."""
        place = re.match(r"(?i)file://([^/?#]*)([^?#]*)(.*)", text, re.DOTALL)
        if place is None:
            return text
        old = unquote(place[2], errors="surrogateescape")
        new = self.path(old)
        if new == old:
            return text
        return f"file://{place[1]}{quote(new, errors='surrogateescape')}{place[3]}"

    def _anywhere(self, names: tuple[str, ...], text: str) -> str:
        if names and text[:7].lower() == "file://":
            return self.uri(text)
        return self._somewhere.sub(self._new, text)

    def _new(self, found: re.Match[str]) -> str:
        return self._names[found[0]]


def _without_dots(path: str) -> str:
    """Return a path without `..`, by its names alone: where links lead is not known here."""
    if not _DOTS.search(path):
        return path
    return posixpath.normpath(path) if path.startswith("/") else ntpath.normpath(path)


def _is_uri(name: str) -> bool:
    return name in ("uri", "src") or name.endswith("Uri")


def rename_paths(*pairs: tuple[str, str], text: bool = False) -> Proxy:
    """Return a proxy between a client and an agent that see the same files in different places.

    Args:
        pairs: The name of a directory at the client, and at the agent: `("/home/me/x", "/work")`.
        text: Whether names are replaced in texts, too.

    Raises:
        ConfigError: A name is not absolute, or is there twice.
    """
    cleaned = [(_clean(client), _clean(agent)) for client, agent in pairs]
    if not cleaned:
        raise ConfigError("rename-paths: name the directories, for example /home/me/project=/work")
    for side in zip(*cleaned, strict=True):
        if len(set(side)) != len(side):
            raise ConfigError("rename-paths: a directory is there twice; one has one name")
    proxy = Proxy("rename-paths")
    to_agent = _Renaming(cleaned, text)
    to_client = _Renaming([(agent, client) for client, agent in cleaned], text)
    proxy.from_client("*")(_renamer(to_agent, to_client))
    proxy.from_agent("*")(_renamer(to_client, to_agent))
    return proxy


def _clean(name: str) -> str:
    if not _ABSOLUTE.match(name):
        raise ConfigError(f"rename-paths: {name!r} is not an absolute path")
    shorter = name.rstrip("/\\")
    if not shorter:
        raise ConfigError("rename-paths: the root of all files cannot be renamed")
    return shorter


def _renamer(there: _Renaming, back: _Renaming) -> Callable[[Message], Awaitable[Response] | None]:
    """Return what renames in a message, and in the answer to it."""

    def rename(message: Message) -> Awaitable[Response] | None:
        body = there.apply(message.method, message.raw)
        if body is not message.raw:
            message.replace(body)
        return _rename_in_response(message) if isinstance(message, Request) else None

    async def _rename_in_response(request: Request) -> Response:
        reply = await request.forward()
        body = back.apply(request.method, reply.raw)
        if body is not reply.raw:
            reply.replace(body)
        return reply

    return rename


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument(
        "pairs", nargs="+", metavar="CLIENT=AGENT", help="the names of a directory on both sides"
    )
    parser.add_argument("--text", action="store_true", help="replace them in texts, too")


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return rename_paths(*map(_pair, options.pairs), text=options.text)


def _pair(text: str) -> tuple[str, str]:
    client, equals, agent = text.partition("=")
    if not equals:
        raise ConfigError(f"rename-paths: {text!r} has no =; write CLIENT=AGENT")
    return client, agent
