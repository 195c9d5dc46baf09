"""Which commits are replayed: those that a person made in several places of a few files.

A commit is taken if it is no merge, changes from 2 to 20 places in files that were there before it,
none of them longer than 36 lines, and is more than a change of form: no robot's, none that says
that it formats, none whose changes are nearly all of blanks, quotes and commas. From those, as many
as are wanted are drawn by a seed: the same seed draws the same commits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from .history import Diff, FileDiff, History
from .languages import LANGUAGES, import_lines, language_of, patterns

MAX_HUNKS = 20
MAX_HUNK_LINES = 36
MAX_FILE_BYTES = 1 << 20
_AT_ONCE = 50
_BOT = re.compile(r"\[bot\]|\bbot\b|dependabot|renovate|pre-commit-ci|pyup", re.IGNORECASE)
_FORMATS = re.compile(
    r"\b(black|ruff|isort|pyupgrade|autopep8|yapf|prettier|eslint|gofmt|goimports|rustfmt"
    r"|clang-format|spotless|(re-?)?format(s|ted|ting|ter)?)\b",
    re.IGNORECASE,
)
_FORM = re.compile(r"[\s,;()'\"`\\]+")


class Hunk(Struct, frozen=True):
    """One place that a commit changed."""

    path: str
    start: int
    """The number of the first line that goes, or before which lines come, in the old file."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    is_import: bool = False
    """Whether all that it changes are lines that import."""


class Commit(Struct, frozen=True):
    """A commit that is replayed."""

    repository: str
    id: str
    parent: str
    files: dict[str, tuple[str, ...]]
    """The files that it changes, by path, as lines with their ends, before it."""
    hunks: tuple[Hunk, ...]
    """Its changes, by path and from top to bottom."""


class Selection(Struct, frozen=True, kw_only=True):
    """Which commits of a repository are taken."""

    languages: tuple[str, ...] = ("python",)
    most: int = 200
    seed: int = 0
    tip: str = "HEAD"
    """The last commit that counts."""
    since: str | None = None
    """The earliest date that counts, as git reads dates."""


def read_commits(history: History, selection: Selection) -> Iterator[Commit]:
    """Return the commits that are drawn, in the order in which they are drawn."""
    chosen = patterns(selection.languages)
    ids = sorted(history.commits(history.resolve(selection.tip), selection.since, chosen))
    random.Random(f"{selection.seed}").shuffle(ids)
    left = selection.most
    for at in range(0, len(ids), _AT_ONCE):
        if left <= 0:
            return
        batch = ids[at : at + _AT_ONCE]
        for commit in _read(history, history.diffs(batch, chosen)):
            yield commit
            left -= 1
            if left <= 0:
                return


def _read(history: History, diffs: Iterable[Diff]) -> Iterator[Commit]:
    fitting = [each for each in diffs if _fits(each)]
    wanted = [id for diff in fitting for each in diff.files for id in (each.old_id, each.new_id)]
    texts = history.texts(wanted) if wanted else {}
    for diff in fitting:
        commit = _commit(history.name, diff, texts)
        if commit is not None and not _is_form(commit.hunks):
            yield commit


def _fits(diff: Diff) -> bool:
    ranges = [each for file in diff.files for each in file.ranges]
    return (
        len(diff.parents) == 1
        and 2 <= len(ranges) <= MAX_HUNKS
        and max(max(each.old_count, each.new_count) for each in ranges) <= MAX_HUNK_LINES
        and not _BOT.search(diff.author)
        and not _FORMATS.search(diff.message)
    )


def _commit(repository: str, diff: Diff, texts: dict[str, bytes]) -> Commit | None:
    """Return a commit with its texts; None if one of them cannot be read."""
    files, hunks = dict[str, tuple[str, ...]](), list[Hunk]()
    for file in sorted(diff.files):
        old, new = _lines(texts.get(file.old_id)), _lines(texts.get(file.new_id))
        if old is None or new is None:
            return None
        if file.ranges:
            files[file.path] = tuple(old)
            hunks.extend(_hunks(file, old, new))
    return Commit(repository, diff.id, diff.parents[0], files, tuple(hunks))


def _lines(data: bytes | None) -> list[str] | None:
    """Return the lines of a text, as git counts them; None if an editor counts others."""
    if data is None or len(data) > MAX_FILE_BYTES:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if "\r" in text.replace("\r\n", "") or "\0" in text:
        return None
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunks(file: FileDiff, old: Sequence[str], new: Sequence[str]) -> Iterator[Hunk]:
    language = language_of(file.path) or next(iter(LANGUAGES))
    old_imports, new_imports = import_lines(old, language), import_lines(new, language)
    for each in file.ranges:
        gone = range(each.old, each.old + each.old_count)
        come = range(each.new, each.new + each.new_count)
        numbers = [
            *((at, old_imports) for at in gone if old[at].strip()),
            *((at, new_imports) for at in come if new[at].strip()),
        ]
        yield Hunk(
            file.path,
            each.old,
            tuple(old[at] for at in gone),
            tuple(new[at] for at in come),
            bool(numbers) and all(at in imports for at, imports in numbers),
        )


def _is_form(hunks: Sequence[Hunk]) -> bool:
    """Return whether more than four fifths of the hunks change nothing but form."""
    same = sum(_essence(each.old) == _essence(each.new) for each in hunks)
    return same > 0.8 * len(hunks)


def _essence(lines: Iterable[str]) -> str:
    return _FORM.sub("", "".join(lines))
