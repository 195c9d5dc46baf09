"""The context that rules read, and the candidates that they make."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import log1p
from typing import Any, TypeVar

from msgspec import Struct

from parley.nes._syntax import BEFORE
from parley.nes.embedded._names.table import Limit, Names, names
from parley.nes.embedded._python.style import project_style
from parley.nes.engine import Diagnostic, Spot

from ._edits import Hunk
from ._project import Project
from ._source import SourceFile
from ._substitutions import LineEdit, Substitution, line_edits, substitutions

T = TypeVar("T")
_MOST_HUNKS = 8


class EditContext(Struct, kw_only=True, dict=True):
    """One moment of a session."""

    file: SourceFile
    spot: Spot
    hunks: list[Hunk]
    """The newest first."""
    files: Mapping[str, SourceFile]
    """Every file that is open, the one in question included, by URI."""
    project: Project
    hints: Sequence[SourceFile] = ()
    """Parts of other files: good to learn from, but their places are not known."""
    diagnostics: Sequence[Diagnostic] = ()
    limit: Limit | None = None
    """Until when the rules may think; None for as long as they like."""
    bases: dict[str, SourceFile] = {}
    """Pages as they were; kept as long as they do not change, for what is known of them."""

    def __post_init__(self) -> None:
        """Keep the newest hunks to learn from."""
        self._every = sorted(self.hunks, key=lambda hunk: -hunk.turn)
        self.hunks = self._every[:_MOST_HUNKS]
        self._fresh: set[str] = set()
        self._noted: dict[Hashable, Any] = {}
        self.general: dict[str, bool] = {}
        """Whether names were changed in several statements, if somebody has looked."""

    def is_late(self) -> bool:
        """Return whether there is no time left."""
        return self.limit is not None and self.limit.is_over()

    def names(self, file: SourceFile | None) -> Names | None:
        """Return the names of a file; None if they are not known, or cannot be read in time."""
        return names(file, self.limit)

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what is the same for many candidates; it is found once."""
        if key not in self._noted:
            self._noted[key] = find()
        found: T = self._noted[key]
        return found

    @cached_property
    def edits(self) -> list[LineEdit]:
        """Every edited line, the newest first."""
        return [edit for hunk in self.hunks for edit in line_edits(hunk, self.is_late)]

    @cached_property
    def substitutions(self) -> list[Substitution]:
        """Every substitution that was made."""
        return substitutions(self.edits, self.is_late)

    @cached_property
    def touched(self) -> dict[str, list[Hunk]]:
        """The hunks of each file, the newest first."""
        out: dict[str, list[Hunk]] = {}
        for hunk in self._every:
            if hunk.start >= 0:
                out.setdefault(hunk.uri, []).append(hunk)
        return out

    @cached_property
    def lately(self) -> list[str]:
        """The files of the newest hunks, each once."""
        return list(dict.fromkeys(hunk.uri for hunk in self.hunks if hunk.start >= 0))

    @cached_property
    def _edited(self) -> dict[str, tuple[list[int], list[int]]]:
        """Where the hunks of each file begin, and where the last of those up to each one ends."""
        out: dict[str, tuple[list[int], list[int]]] = {}
        for uri, hunks in self.touched.items():
            spans = sorted((hunk.start, hunk.end) for hunk in hunks)
            out[uri] = [x[0] for x in spans], [*accumulate((x[1] for x in spans), max)]
        return out

    def is_edited(self, uri: str, start: int, end: int) -> bool:
        """Return whether lines, or the gap between two, were edited lately."""
        starts, ends = self._edited.get(uri, ([], []))
        if start == end:
            at = bisect_right(starts, start)
            return at > 0 and ends[at - 1] >= start
        at = bisect_left(starts, end)
        return at > 0 and ends[at - 1] > start

    def before(self, uri: str) -> SourceFile | None:
        """Return a file as it was before these edits."""
        file = self.files.get(uri)
        if file is None:
            return None
        if uri not in self._fresh:
            self._fresh.add(uri)
            lines = list(file.lines)
            for hunk in sorted(self.touched.get(uri, ()), key=lambda hunk: -hunk.start):
                lines[hunk.start : hunk.end] = hunk.old
            if uri not in self.bases or self.bases[uri].lines != lines:
                self.bases[uri] = SourceFile(f"{uri}{BEFORE}", lines, language=file.language)
        return self.bases[uri]

    @cached_property
    def style(self) -> dict[str, float]:
        """The style of the files near this one; computed once, before it is edited."""
        kept = (self.before(self.file.uri) or self.file).notes
        if "style" not in kept:
            kept["style"] = project_style(self.file, self.files, self.project)
        found: dict[str, float] = kept["style"]
        return found

    def file_of(self, uri: str) -> SourceFile | None:
        """Return a file by its URI, open or not."""
        return self.files.get(uri) or self.project.file(uri)

    def elsewhere(self, word: str, most: int = 12) -> Iterator[SourceFile]:
        """Yield other files that have a word, while there is time: open ones first, then near."""
        for file in self.files.values():
            if self.is_late():
                return
            if file is not self.file and file.has(word):
                yield file
        seen = set(self.files)
        for file in self.project.files_with(word, near=self.file, but=seen, most=most):
            if self.is_late():
                return
            yield file


class Candidate(Struct, kw_only=True):
    """Lines `start:end` of a file might become other lines."""

    uri: str
    start: int
    end: int
    lines: list[str]
    rule: str
    """The rule that made it."""
    cause: str
    """The reason for it; a rejection counts against the same cause elsewhere too."""
    features: dict[str, float] = {}
    score: float = 0.0
    """The probability that it is kept."""
    worth: float = 0.0
    """The value that candidates are ranked by."""
    remaining: int = 0
    """The number of other places that are as likely to be changed."""
    is_sure: bool = True
    """Whether the text is known; if not, only the place counts and the lines stay as they are."""
    goes_on: bool = False
    """Whether it belongs right after the edit."""
    column: int | None = None
    """Where it begins in the first line, if that is known."""
    names: tuple[str, str] | None = None
    """The old name and the new one, if it is a part of a rename."""
    places: Sequence[tuple[int, int]] = ()
    """All places of that name in the file that are not renamed yet; columns are bytes."""

    @property
    def key(self) -> tuple[str, int, int, str]:
        """The effect, whichever rule made it."""
        return self.uri, self.start, self.end, "\n".join(self.lines)


def location_features(
    context: EditContext, file: SourceFile, start: int, end: int
) -> dict[str, float]:
    """Describe where a candidate is."""
    out: dict[str, float] = {}
    own = context.touched.get(file.uri, [])
    if file is context.file:
        last = own[0].start if own else context.spot.line
        gap = start - last
        out["near"] = float(abs(gap) <= 12)
        out["far"] = log1p(abs(gap)) / 5
        out["above"] = float(gap < 0)
    else:
        out["other_file"] = 1.0
        out["other_touched"] = float(bool(own))
        out["other_folder"] = float(file.folders != context.file.folders)
        out["other_sort"] = float(file.is_test != context.file.is_test)
    out["hunks"] = log1p(len(context.hunks)) / 2
    return out


def coverage_features(context: EditContext, hunks: Iterable[Hunk]) -> dict[str, float]:
    """Describe how much of what was done lately is of one kind, given the hunks of that kind."""
    own = {id(hunk) for hunk in hunks}
    flags = [id(hunk) in own for hunk in context.hunks]
    streak = flags.index(False) if False in flags else len(flags)
    return {
        "cover": sum(flags) / len(flags) if flags else 0.0,
        "streak": log1p(streak),
        "streak2": float(streak > 1),
        "all": float(streak == len(flags) > 1),
    }


def count_rivals(found: Sequence[Candidate]) -> None:
    """Note with each candidate how many others would change its first line otherwise."""
    at: dict[tuple[str, int], set[tuple[int, str]]] = {}
    for x in found:
        if x.is_sure:
            at.setdefault((x.uri, x.start), set()).add((x.end, "\n".join(x.lines)))
    causes = {(x.uri, x.cause) for x in found if x.is_sure}
    for x in found:
        x.features["rivals"] = log1p(max(0, len(at.get((x.uri, x.start), ())) - 1))
        x.features["ideas"] = log1p(len(causes))
