"""Files that a prompt names: `@path`, and what an agent gets of them.

A mention is `@src/app.py`, with lines `@src/app.py:10-20`, with blanks in quotes `@"my notes.md"`.
It stays in the text, and what it names follows as a block of its own: the content where the agent
takes that, else a link. What is no file in the workspace is only text, as the `@` of an address is.
What cannot be attached is said, never an error.
"""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parley.client.roots import Place, Roots
from parley.errors import AcpError
from parley.schema import v2
from parley.session.features import AgentFeatures

__all__ = ["MAX_BLOB_BYTES", "MAX_MENTIONS", "MAX_TEXT_BYTES", "attached", "mention"]

MAX_TEXT_BYTES = 1024 * 1024
"""How long a text may be that goes along whole; of a longer one there is a link."""
MAX_BLOB_BYTES = 16 * 1024 * 1024
"""How long a picture, or a text of which some lines are wanted, may be."""
MAX_MENTIONS = 50
_MENTION = re.compile(r'(?<![\w@/.])@(?:"((?:[^"\\\n]|\\.)+)"(:\d+(?:-\d+)?)?|([^\s"]+))')
_LINES = re.compile(r"(.+?):(\d+)(?:-(\d+))?")
_PUNCTUATION = ".,;:!?)]}>'"
_PLAIN = re.compile(r"[^\s\"'\\]+")


def mention(path: str) -> str:
    """Return how a path is mentioned in a prompt."""
    if _PLAIN.fullmatch(path) and path[-1] not in _PUNCTUATION:
        return f"@{path}"
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'@"{escaped}"'


def attached(
    text: str, places: Sequence[Path], features: AgentFeatures
) -> tuple[list[v2.ContentBlock], list[str]]:
    """Return blocks for the files that a text mentions, and what could not be attached, and why.

    It waits for the disk and belongs into a thread.

    Args:
        text: What the user has written.
        places: The directories of the workspace; relative paths begin at the first.
        features: What the agent takes.
    """
    roots = Roots([os.path.normpath(each) for each in places])
    blocks: dict[_Wanted, v2.ContentBlock] = {}
    problems: dict[str, None] = {}
    for found in _MENTION.finditer(text):
        if len(blocks) >= MAX_MENTIONS:
            problems[f"only the first {MAX_MENTIONS} files are attached"] = None
            break
        wanted = _wanted(found, places[0])
        if wanted is None or wanted in blocks:
            continue
        try:
            blocks[wanted] = _Attachment(roots.place(wanted.path), wanted, features).block()
        except (AcpError, OSError, _Refused) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            problems[f"{found[0]} is not attached: {reason}"] = None
    return list(blocks.values()), list(problems)


class _Wanted(NamedTuple):
    """A file, or some lines of it; they are counted from 1."""

    path: str
    first: int | None = None
    last: int | None = None


class _Refused(Exception):
    """A file is not attached."""


def _wanted(found: re.Match[str], base: Path) -> _Wanted | None:
    """Return what a mention names, if that exists."""
    quoted, lines, plain = found.groups()
    if quoted is not None:
        path = re.sub(r"\\(.)", r"\1", quoted)
        return _existing(path + (lines or ""), base) or _existing(path, base)
    while plain:
        if (wanted := _existing(plain, base)) is not None:
            return wanted
        if plain[-1] not in _PUNCTUATION:
            return None
        plain = plain[:-1]
    return None


def _existing(text: str, base: Path) -> _Wanted | None:
    if _exists(text, base):
        return _Wanted(str(base / text))
    if (cut := _LINES.fullmatch(text)) and _exists(cut[1], base):
        first = int(cut[2][:9])
        return _Wanted(str(base / cut[1]), max(first, 1), int((cut[3] or cut[2])[:9]))
    return None


def _exists(text: str, base: Path) -> bool:
    try:
        return (base / text).exists()
    except (OSError, ValueError):  # no path at all, or one that may not be looked at
        return False


class _Attachment:
    """One file, as a block."""

    def __init__(self, place: Place, wanted: _Wanted, features: AgentFeatures) -> None:
        self._place = place
        self._wanted = wanted
        self._features = features
        self._path = Path(place.path)
        self._kind = mimetypes.guess_type(self._path.name)[0] or ""

    def block(self) -> v2.ContentBlock:
        if self._path.is_dir():
            return self._link(None)
        fd = self._open()
        with os.fdopen(fd, "rb") as file:
            size = os.fstat(fd).st_size
            if self._kind.startswith("image/") and not self._kind.endswith("svg+xml"):
                return self._picture(file.read(self._check(size)))
            is_whole = self._wanted.first is None
            if not self._features.embedded_context or (is_whole and size > MAX_TEXT_BYTES):
                return self._link(size)
            try:
                text = file.read(self._check(size)).decode()
            except UnicodeDecodeError:
                return self._link(size)
        return self._text(text)

    def _open(self) -> int:
        """Open the file through no link that was not there before."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with self._place.parent() as (directory, name):
            seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISREG(seen.st_mode):  # some devices do something when they are opened
                raise _Refused("it is no file")
            return os.open(name, flags, dir_fd=directory)

    def _check(self, size: int) -> int:
        if size > MAX_BLOB_BYTES:
            raise _Refused(f"it is longer than {MAX_BLOB_BYTES // 1024**2} MiB")
        return MAX_BLOB_BYTES

    def _picture(self, data: bytes) -> v2.ContentBlock:
        if not self._features.image:
            raise _Refused("this agent takes no pictures")
        return v2.ImageContent(
            data=base64.b64encode(data).decode(), mime_type=self._kind, uri=self._path.as_uri()
        )

    def _link(self, size: int | None) -> v2.ContentBlock:
        first, last = self._wanted.first, self._wanted.last
        return v2.ResourceLink(
            uri=self._path.as_uri(),
            name=self._path.name,
            mime_type=self._kind or None,
            size=size,
            description=None if first is None else f"lines {first} to {last}",
        )

    def _text(self, text: str) -> v2.ContentBlock:
        uri, first, last = self._path.as_uri(), self._wanted.first, self._wanted.last
        if first is not None:
            text = "".join(text.splitlines(keepends=True)[first - 1 : last])
            uri = f"{uri}#L{first}-L{last}"
        kind = self._kind or "text/plain"
        return v2.EmbeddedResource(
            resource=v2.TextResourceContents(uri=uri, text=text, mime_type=kind)
        )
