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
from difflib import SequenceMatcher
from typing import TypeAlias

from msgspec import Struct

from parley.schema import v2
from parley.schema.base import Unknown

WHOLE_CHARS = 32 * 1024
"""The maximum length of both texts together for the patch to contain the whole file."""

_CONTEXT_LINES = 3
_MAX_COMPARED_LINES = 4000
_NO_NEWLINE = "\\ No newline at end of file\n"

# A range of lines in the old text (start, stop), and the range in the new text that replaces it.
_Edit: TypeAlias = tuple[int, int, int, int]

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
    before, after = _lines(old or ""), _lines(new or "")
    is_short = len(old or "") + len(new or "") <= WHOLE_CHARS
    context = max(len(before), 1) if is_short else _CONTEXT_LINES
    hunks = "".join(
        _hunk(before, after, group, context) for group in _groups(_edits(before, after), context)
    )
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


def _edits(before: list[str], after: list[str]) -> list[_Edit]:
    # Skip the common head and tail, so that the matcher sees only the lines between them.
    least = min(len(before), len(after))
    head = 0
    while head < least and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < least - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = before[head : len(before) - tail], after[head : len(after) - tail]
    if not any(middle):
        return []
    if len(middle[0]) + len(middle[1]) > _MAX_COMPARED_LINES:
        return [(head, len(before) - tail, head, len(after) - tail)]
    return [
        (i1 + head, i2 + head, j1 + head, j2 + head)
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, *middle).get_opcodes()
        if tag != "equal"
    ]


def _groups(edits: list[_Edit], context: int) -> list[list[_Edit]]:
    """Group edits whose context lines would overlap or touch; each group becomes a hunk."""
    groups: list[list[_Edit]] = []
    for edit in edits:
        if groups and edit[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def _hunk(before: list[str], after: list[str], edits: list[_Edit], context: int) -> str:
    first, last = edits[0], edits[-1]
    lead = min(context, first[0])
    tail = min(context, len(before) - last[1])
    old_range = _range(first[0] - lead, last[1] + tail)
    new_range = _range(first[2] - lead, last[3] + tail)
    written = [f"@@ -{old_range} +{new_range} @@\n"]
    position = first[0] - lead
    for i1, i2, j1, j2 in edits:
        written += [_write(" ", line) for line in before[position:i1]]
        written += [_write("-", line) for line in before[i1:i2]]
        written += [_write("+", line) for line in after[j1:j2]]
        position = i2
    written += [_write(" ", line) for line in before[position : position + tail]]
    return "".join(written)


def _range(start: int, stop: int) -> str:
    """Write a range of lines for a hunk header, where an empty one names the line before it."""
    count = stop - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _write(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NAME = re.compile(r"(?:---|\+\+\+|rename from|rename to|copy from|copy to) (.+?)(?:\t.*)?$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BINARY = ("Binary files ", "GIT binary patch")


class _Section:
    """The part of a patch that concerns one file."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.hunks: list[tuple[str, str]] = []
        self.is_binary = False

    def excerpts(self, change: _Change) -> Iterator[Excerpt]:
        """Yield the texts of each hunk; an added or deleted file without hunks is empty."""
        is_new, is_gone = isinstance(change, v2.DiffAdd), isinstance(change, v2.DiffDelete)
        nothing = [("", "")] if (is_new or is_gone) and not self.is_binary else []
        for old, new in self.hunks or nothing:
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
    lines = _lines(patch if patch.endswith("\n") else patch + "\n")
    position = 0
    while position < len(lines):
        line = lines[position][:-1]
        position += 1
        if line.startswith("diff --git "):
            sections.append(_Section(_header_names(line[len("diff --git ") :])))
        elif not sections:
            continue
        elif hunk := _HUNK.match(line):
            old_count, new_count = (int(count or 1) for count in hunk.groups())
            texts, position = _read_hunk(lines, position, old_count, new_count)
            sections[-1].hunks.append(texts)
        elif name := _NAME.match(line):
            sections[-1].names.add(_unquote(name[1]))
        elif line.startswith(_BINARY):
            sections[-1].is_binary = True
    return sections


def _read_hunk(
    lines: list[str], position: int, old_count: int, new_count: int
) -> tuple[tuple[str, str], int]:
    """Return the two texts of a hunk and the position after it; its line counts mark its end."""
    old: list[str] = []
    new: list[str] = []
    last: tuple[list[str], ...] = ()
    while position < len(lines):
        line = lines[position]
        sign = line[:1]
        if sign == "\\":  # the previous line has no newline
            for text in last:
                text[-1] = text[-1][:-1]
            last = ()
        elif len(old) >= old_count and len(new) >= new_count:
            break
        else:
            last = (old,) if sign == "-" else (new,) if sign == "+" else (old, new)
            for text in last:
                # Some editors strip the leading space of an empty context line.
                text.append(line if sign == "\n" else line[1:])
        position += 1
    return ("".join(old), "".join(new)), position


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
