"""Patches for people: the files, lines and remarks of a patch, and what a view of it leaves out.

`parley.session._diffs` makes patches and reads texts back from them; this module keeps the lines,
their numbers and the remarks between them, as a view shows them. A patch that contains anything
that is not understood here is not read at all, so that a view can show it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from parley._display_text import sanitize_text
from parley._unified_diff import NO_NEWLINE, Hunk, Sign
from parley._unified_diff import read_patch as read_parts
from parley.schema import v2
from parley.schema.base import Unknown

MAX_CHARS = 100_000
"""The maximum length of a text that is compared with patches."""
_CONTEXT_LINES = 3
_MAX_COMPARED_LINES = 200
_NAME = re.compile(r"(?:\+\+\+|---|rename to|copy to) (?:[ab]/)?(.*)")
_REMARKS = ("Binary", "GIT binary", "old mode", "new mode")
_NOISE = (
    *("diff --git ", "index ", "new file mode ", "deleted file mode ", "similarity index "),
    *("dissimilarity index ", "rename from ", "copy from ", "+++ /dev/null", "--- /dev/null"),
    *("Index: ", "====="),
)
"""The prefixes of lines that precede the hunks of a file and contain nothing else to show."""


class PatchLine(Struct, eq=False):
    """A line of a hunk."""

    sign: Sign
    old: int | None
    """The line number in the old text."""
    new: int | None
    """The line number in the new text."""
    text: str


class PatchHunk:
    """A part of a file."""

    def __init__(self, hunk: Hunk) -> None:
        self.header = hunk.header.text
        self.title = hunk.header.title
        """The text after the line numbers, such as the name of a function."""
        self.lines = list(_numbered(hunk))
        self.is_addition = hunk.header.old_start == hunk.header.old_count == 0
        """Whether there was no text before."""

    def truncate(self, count: int) -> int:
        """Keep the first lines; return how many are gone."""
        gone = self.lines[max(count, 0) :]
        del self.lines[max(count, 0) :]
        return len(gone)

    def drop_newline_remarks(self) -> None:
        """Remove "No newline at end of file", except where that is all that changes in a line."""
        removed = {line.text for line in self.lines if line.sign == "-"}
        added = {line.text for line in self.lines if line.sign == "+"}
        remarks = [
            number
            for number, line in enumerate(self.lines)
            if line.sign == "\\" and line.text == NO_NEWLINE
        ]
        kept = [each for each in remarks if self.lines[each - 1].text in removed & added]
        if len(kept) != 1:  # both texts end without a newline
            kept = []
        dropped = set(remarks) - set(kept)
        self.lines = [line for number, line in enumerate(self.lines) if number not in dropped]


class PatchFile:
    """The part of a patch that concerns one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hunks: list[PatchHunk] = []
        self.remarks: list[str] = []


def _numbered(hunk: Hunk) -> Iterator[PatchLine]:
    old, new = hunk.header.old_start, hunk.header.new_start
    for sign, text in hunk.lines:
        is_old, is_new = sign in " -", sign in " +"
        yield PatchLine(sign, old if is_old else None, new if is_new else None, text)
        old, new = old + is_old, new + is_new


def read_patch(patch: str) -> list[PatchFile]:
    """Return the files of a patch; none if it contains anything that is not understood."""
    files: list[PatchFile] = []
    for part in read_parts(patch):
        file = files[-1] if files else None
        if isinstance(part, Hunk):
            if file is None:
                file = PatchFile("")
                files.append(file)
            file.hunks.append(PatchHunk(part))
            continue
        if part.startswith("diff --git ") or (
            part.startswith("--- ") and (file is None or file.hunks)
        ):
            file = PatchFile(part.rpartition(" ")[2].removeprefix("b/"))
            files.append(file)
        if not _read_header(part, file):
            return []
    return files


def _read_header(line: str, file: PatchFile | None) -> bool:
    """Read a line that precedes the hunks of a file; return whether it is one."""
    name = _NAME.match(line)
    if file is not None and name is not None and name[1] != "/dev/null":
        file.name = name[1].split("\t")[0]
    elif file is not None and line.startswith(_REMARKS):
        file.remarks.append(line)
    else:
        return not line.strip() or line.startswith(_NOISE)
    return True


def lines_near_changes(lines: Sequence[PatchLine]) -> Iterator[PatchLine | int]:
    """Yield the lines near a change, and the number of lines that are left out in between."""
    changes = [number for number, line in enumerate(lines) if line.sign != " "]
    near = {
        number + step for number in changes for step in range(-_CONTEXT_LINES, _CONTEXT_LINES + 1)
    }
    hidden: list[PatchLine] = []
    for number, line in enumerate(lines):
        if number in near or not changes:
            yield from hidden if len(hidden) < 2 else [len(hidden)]
            hidden = []
            yield line
        else:
            hidden.append(line)


def change_label(diff: v2.Diff, change: v2.DiffChange) -> str:
    """Return a verb for a change: `create`, `modify`, `delete`, `move` or `copy`.

    Agents of version 1 report many new files as a change of an empty text.
    """
    if isinstance(change, Unknown):
        return change.tag
    is_new = isinstance(change, v2.DiffAdd)
    if isinstance(change, v2.DiffModify) and len(diff.changes) == 1:
        hunks = [hunk for file in _files(diff) for hunk in file.hunks]
        is_new = len(hunks) == 1 and hunks[0].is_addition
    return "create" if is_new else type(change).__name__.removeprefix("Diff").lower()


def is_named_above(file: PatchFile, changes: Sequence[v2.DiffChange]) -> bool:
    """Return whether a file is the only one in the list of changes, which precedes the patch."""
    paths = [getattr(each, "path", "") for each in changes]
    return len(paths) == 1 and (not file.name or f"/{paths[0]}".endswith(f"/{file.name}"))


def changed_paths(diffs: Sequence[v2.Diff]) -> set[str]:
    """Return the paths of all changes of diffs."""
    changes = [each for diff in diffs for each in diff.changes]
    return {each.path for each in changes if not isinstance(each, Unknown)}


def has_every_change(diff: v2.Diff, other: v2.Diff) -> bool:
    """Return whether a diff has every change of another one, which may name parts of lines."""
    if diff.changes != other.changes:
        return False
    ours, theirs = _changed_lines(diff), _changed_lines(other)
    if not any(theirs) or len(theirs[0]) + len(theirs[1]) > _MAX_COMPARED_LINES:
        return False
    return all(
        any(text in line for line in lines)
        for lines, texts in zip(ours, theirs, strict=True)
        for text in texts
    )


def repeats_patch(text: str, diffs: Sequence[v2.Diff]) -> bool:
    """Return whether a text is a patch with the changes of diffs: the same lines of these files."""
    if len(text) > MAX_CHARS or "@@" not in text:
        return False
    paths = changed_paths(diffs)
    files = read_patch(sanitize_text(text))
    changes = [change for diff in diffs for change in _changes(_files(diff))]
    return {file.name for file in files} <= paths and _changes(files) == changes != []


def repeats_text(text: str, diffs: Sequence[v2.Diff]) -> bool:
    """Return whether diffs have all of a text in one place, before or after the change.

    Tools that edit files get the old and the new text as input.
    """
    if not text.strip() or len(text) > MAX_CHARS:
        return False
    text = sanitize_text(text).strip("\n")
    hunks = [hunk for diff in diffs for file in _files(diff) for hunk in file.hunks]
    sides = (
        "\n".join(line.text for line in hunk.lines if line.sign in signs)
        for hunk in hunks
        for signs in (" -", " +")
    )
    return any(text in side for side in sides)


def _files(diff: v2.Diff) -> list[PatchFile]:
    if diff.patch is None:
        return []
    return read_patch(sanitize_text(diff.patch.text[:MAX_CHARS]))


def _changed_lines(diff: v2.Diff) -> tuple[list[str], list[str]]:
    changes = _changes(_files(diff))
    removed, added = ([text for sign, _, text in changes if sign == each] for each in "-+")
    return removed, added


def _changes(files: list[PatchFile]) -> list[tuple[str, int | None, str]]:
    """Return the sign, the number and the text of each changed line."""
    lines = [line for file in files for hunk in file.hunks for line in hunk.lines]
    return [(line.sign, line.old or line.new, line.text) for line in lines if line.sign in "-+"]
