"""File changes as text: Git patches made from two texts, and texts read back from a patch.

A patch made here has absolute paths and, up to `WHOLE_CHARS`, the whole file as context, so that
both texts can be read back from it. A longer one has the usual three lines around each change, and
only excerpts can be read back. Making a patch takes bounded time: a long range of changed lines is
not compared line by line but written as one change.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#content and
https://git-scm.com/docs/diff-generate-patch
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from parley._unified_diff import DiffWriter, Hunk, read_patch
from parley.schema import v2
from parley.schema.base import Unknown

WHOLE_CHARS = 32 * 1024
"""The maximum length of both texts together for the patch to contain the whole file."""

_CONTEXT_LINES = 3
_WRITER = DiffWriter(max_compared_lines=4000)

_Change: TypeAlias = v2.DiffAdd | v2.DiffDelete | v2.DiffModify | v2.DiffMove | v2.DiffCopy


class Excerpt(Struct, frozen=True):
    """The text of a file before and after a change, or the part of it that the patch shows."""

    change: v2.DiffChange
    """The kind of change and its file."""
    old: str | None
    """The text before; None if the file did not exist or the patch does not show its text."""
    new: str | None
    """The text after; None if the file was deleted or the patch does not show its text."""


def make_diff(path: str, old: str | None, new: str | None) -> v2.Diff:
    """Return the diff of a text file.

    Args:
        path: The absolute path of the file.
        old: The text before; None if the file is new.
        new: The text after; None if the file is deleted.
    """
    change = v2.DiffAdd if old is None else v2.DiffDelete if new is None else v2.DiffModify
    patch = None if old == new else make_patch(path, old, new)
    return v2.Diff(
        changes=[change(path=path, file_type="text")],
        patch=None if patch is None else v2.DiffPatch(format="git_patch", text=patch),
    )


def make_patch(path: str, old: str | None, new: str | None) -> str:
    """Return the change of a text file as a Git patch with an absolute path."""
    name = _quote(path)
    header = f"diff --git {name} {name}\n"
    if old is None:
        header += "new file mode 100644\n"
    if new is None:
        header += "deleted file mode 100644\n"
    is_short = len(old or "") + len(new or "") <= WHOLE_CHARS
    context = None if is_short else _CONTEXT_LINES
    hunks = _WRITER.write(_lines(old or ""), _lines(new or ""), context=context)
    if not hunks:
        return header
    end = "\t" if " " in path else ""
    header += f"--- {'/dev/null' if old is None else name + end}\n"
    header += f"+++ {'/dev/null' if new is None else name + end}\n"
    return header + hunks


_SPECIAL = re.compile(r'["\\\x00-\x1f\x7f]')
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _quote(path: str) -> str:
    """Write a path as Git does: quoted if it contains special characters."""
    if not _SPECIAL.search(path):
        return path
    letters = {meant: letter for letter, meant in _ESCAPES.items()} | {'"': '"', "\\": "\\"}
    escaped = _SPECIAL.sub(lambda it: "\\" + letters.get(it[0], f"{ord(it[0]):03o}"), path)
    return f'"{escaped}"'


def _lines(text: str) -> list[str]:
    """Split at line feeds only, and keep them; only the last line may lack one."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


_SECTION = re.compile(r"^diff --git ", re.MULTILINE)
_NAME = re.compile(r"(?:---|\+\+\+|rename from|rename to|copy from|copy to) (.+?)(?:\t.*)?$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BINARY = ("Binary files ", "GIT binary patch")


class _Section:
    """The part of a patch that concerns one file."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.hunks: list[Hunk] = []
        self.is_binary = False

    def excerpts(self, change: _Change) -> Iterator[Excerpt]:
        """Yield the texts of each hunk; an added or deleted file without hunks is empty."""
        is_new, is_gone = isinstance(change, v2.DiffAdd), isinstance(change, v2.DiffDelete)
        texts = [(hunk.old_text, hunk.new_text) for hunk in self.hunks]
        if (is_new or is_gone) and not texts and not self.is_binary:
            texts = [("", "")]
        for old, new in texts:
            yield Excerpt(change, None if is_new else old, None if is_gone else new)


def read_diff(diff: v2.Diff) -> Iterator[Excerpt]:
    """Yield the texts of each change, as far as the patch shows them.

    A change yields several excerpts if the patch shows several parts of the file, and one without
    texts if it shows none. The list of changes is authoritative: parts of the patch that concern
    other files are ignored.
    """
    patch = diff.patch
    sections = _read(patch.text) if patch is not None and patch.format == "git_patch" else []
    for change in diff.changes:
        found: Sequence[Excerpt] = ()
        if not isinstance(change, Unknown):
            is_only = len(sections) == len(diff.changes) == 1
            matching = (each for each in sections if is_only or change.path in each.names)
            section = next(matching, None)
            found = [] if section is None else list(section.excerpts(change))
        yield from found or (Excerpt(change, None, None),)


def _read(patch: str) -> list[_Section]:
    sections: list[_Section] = []
    first = _SECTION.search(patch)
    for part in read_patch(patch[first.start() :]) if first else ():
        if isinstance(part, str) and part.startswith("diff --git "):
            sections.append(_Section(_header_names(part.removeprefix("diff --git "))))
        elif isinstance(part, Hunk):
            sections[-1].hunks.append(part)
        elif name := _NAME.match(part):
            sections[-1].names.add(_unquote(name[1]))
        elif part.startswith(_BINARY):
            sections[-1].is_binary = True
    return sections


def _header_names(names: str) -> set[str]:
    """Return the file name in the first line of a section, or nothing if it is ambiguous.

    Unquoted names may contain spaces, so the line can only be split reliably if both are the same.
    """
    if quoted := _QUOTED.match(names):
        return {_unquote(quoted[0])}
    middle = len(names) // 2
    old, new = _absolute(names[:middle]), _absolute(names[middle + 1 :])
    return {old} if old == new else set()


def _unquote(name: str) -> str:
    """Return the path that Git wrote, without quotes and escapes."""
    if not _QUOTED.fullmatch(name):
        return _absolute(name)
    raw = re.sub(rb"\\([0-7]{3}|.)", _unescape, name[1:-1].encode())
    return _absolute(raw.decode("utf-8", "replace"))


def _unescape(escape: re.Match[bytes]) -> bytes:
    meant = escape[1].decode("latin-1")
    return bytes([int(meant, 8) % 256]) if len(meant) == 3 else _ESCAPES.get(meant, meant).encode()


def _absolute(name: str) -> str:
    """Replace the `a/` or `b/` that Git, and some agents, put in front of a path with `/`."""
    return "/" + name[2:].lstrip("/") if name.startswith(("a/", "b/")) else name
