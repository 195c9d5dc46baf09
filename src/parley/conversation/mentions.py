"""Files that a prompt names: `@path`, and what an agent gets of them.

A mention is `@src/app.py`, with lines `@src/app.py:10-20`, with blanks in quotes `@"my notes.md"`.
It stays in the text, and what it names follows as a block of its own: the content where the agent
takes that, else a link. Anything that is not a file in the workspace is only text, such as
the `@` of an address. What cannot be attached is reported and is never an error; so is an image
that is sent as a link, because this agent does not accept images.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from parley.client._attachments import (
    MAX_ATTACHED_BYTES,
    is_picture,
    link_block,
    picture_block,
    text_block,
)
from parley.client.workspace._roots import Roots, SafePath
from parley.errors import AcpError
from parley.schema import v2
from parley.session._capabilities import AgentFeatures

__all__ = [
    "MAX_BLOB_BYTES",
    "MAX_MENTIONS",
    "MAX_TEXT_BYTES",
    "MAX_TOTAL_BYTES",
    "attach_mentions",
    "mention",
]

MAX_TEXT_BYTES = 1024 * 1024
"""The largest text that is attached whole; a longer one is attached as a link."""
MAX_BLOB_BYTES = MAX_ATTACHED_BYTES
"""The largest image, and the largest text of which some lines are attached."""
MAX_TOTAL_BYTES = 32 * 1024 * 1024
"""The maximum size of everything that is attached to a prompt."""
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


def attach_mentions(
    text: str,
    places: Sequence[Path],
    features: AgentFeatures,
    given: Collection[str] = (),
) -> tuple[list[v2.ContentBlock], list[str]]:
    """Return blocks for the files that a text mentions, and what could not be attached, and why.

    It waits for the disk and belongs into a thread.

    Args:
        text: What the user has written.
        places: The directories of the workspace; relative paths begin at the first.
        features: What the agent takes.
        given: Paths of pictures outside of them that the user has dropped here.
    """
    roots = Roots([os.path.normpath(each) for each in places])
    blocks: dict[_Wanted, v2.ContentBlock] = {}
    room = MAX_TOTAL_BYTES
    problems: dict[str, None] = {}
    for found in _MENTION.finditer(text):
        if len(blocks) >= MAX_MENTIONS:
            problems[f"only the first {MAX_MENTIONS} files are attached"] = None
            break
        wanted = _wanted(found, places[0])
        if wanted is None or wanted in blocks:
            continue
        try:
            is_dropped = wanted.path in given and wanted.first is None
            near = Roots([str(Path(wanted.path).parent)]) if is_dropped else roots
            attachment = _Attachment(near.confine(wanted.path), wanted, features, room)
            blocks[wanted] = attachment.block()
            room -= attachment.taken
            if attachment.remark:
                problems[f"{found[0]} {attachment.remark}"] = None
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
    """A file, as a block."""

    def __init__(
        self, place: SafePath, wanted: _Wanted, features: AgentFeatures, room: int
    ) -> None:
        self.taken = 0
        """How many bytes of it go along."""
        self.remark = ""
        """What the user should know."""
        self._room = room
        self._place = place
        self._wanted = wanted
        self._features = features
        self._path = Path(place.path)

    def block(self) -> v2.ContentBlock:
        if self._path.is_dir():
            return self._link(None)
        fd = self._open()
        with os.fdopen(fd, "rb") as file:
            size = os.fstat(fd).st_size
            if is_picture(self._path):
                if self._features.image:
                    return picture_block(self._path, file.read(self._check(size)))
                self.remark = "goes along as a link only: this agent takes no pictures"
                return self._link(size)
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
                raise _Refused("it is not a file")
            return os.open(name, flags, dir_fd=directory)

    def _check(self, size: int) -> int:
        if size > MAX_BLOB_BYTES:
            raise _Refused(f"it is longer than {MAX_BLOB_BYTES // 1024**2} MiB")
        if size > self._room:
            raise _Refused(f"with the others it is more than {MAX_TOTAL_BYTES // 1024**2} MiB")
        self.taken = size
        return min(MAX_BLOB_BYTES, self._room)

    def _link(self, size: int | None) -> v2.ContentBlock:
        first, last = self._wanted.first, self._wanted.last
        lines = None if first is None else f"lines {first} to {last}"
        return link_block(self._path, size, lines)

    def _text(self, text: str) -> v2.ContentBlock:
        first, last = self._wanted.first, self._wanted.last
        if first is None:
            return text_block(self._path, text)
        some = "".join(text.splitlines(keepends=True)[first - 1 : last])
        return text_block(self._path, some, f"#L{first}-L{last}")
