"""Unified diffs of next edit suggestions: how they are written, and how `editHistory` is read.

The diffs in a history are often cut short or without headers. They are read leniently: the counts
in headers do not matter, and the position of a hunk without a header is not known. Text that is
not a diff yields no hunks.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from parley._unified_diff import DiffWriter, HunkLine, read_leniently, write_range

MAX_CHARACTERS = 1_000_000
"""The characters of a diff that are read."""
MAX_MATCHED_LINES = 400
"""Of longer texts, everything between the first and the last difference counts as changed."""

_WRITER = DiffWriter(
    max_compared_lines=MAX_MATCHED_LINES,
    autojunk=False,
    line_ends=("\n", "\r"),
    omits_one=False,
)


class Hunk(Struct, frozen=True):
    """One piece of a diff."""

    line: int | None
    """The first line in the text before, counted from 0; None if the diff does not say."""
    new_line: int | None
    """The first line in the text after."""
    lines: tuple[HunkLine, ...]
    """Each line without its end: kept, taken away or added."""

    @property
    def old(self) -> tuple[str, ...]:
        """The lines before, with those around the change."""
        return tuple(text for mark, text in self.lines if mark != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The lines after, with those around the change."""
        return tuple(text for mark, text in self.lines if mark != "-")

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines that were taken away."""
        return tuple(text for mark, text in self.lines if mark == "-")

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that were added."""
        return tuple(text for mark, text in self.lines if mark == "+")

    @property
    def text(self) -> str:
        """The piece as it stands in a diff, with a head if its place is known."""
        head = ""
        if self.line is not None and self.new_line is not None:
            old = write_range(self.line, len(self.old), _WRITER.omits_one)
            new = write_range(self.new_line, len(self.new), _WRITER.omits_one)
            head = f"@@ -{old} +{new} @@\n"
        return head + "".join(f"{mark}{line}\n" for mark, line in self.lines)


def read_patch(diff: str) -> list[Hunk]:
    """Read what can be read of a unified diff; pieces that change nothing are left out."""
    hunks = [
        Hunk(None, None, lines)
        if header is None
        else Hunk(header.old_index, header.new_index, lines)
        for header, lines in read_leniently(diff[:MAX_CHARACTERS])
    ]
    return [hunk for hunk in hunks if hunk.removed or hunk.added]


def write_patch(
    old: Sequence[str], new: Sequence[str], *, line: int = 0, context: int | None = None
) -> str:
    """Write as a unified diff, without the names of files, how some lines become others.

    Args:
        old: The lines before, with their ends.
        new: The lines after.
        line: Where they begin in the file, counted from 0.
        context: How many lines are shown around a change; None for all of them, in one piece.
    """
    return _WRITER.write(old, new, context=context, first_line=line)
