"""The files of a commit while its changes are made one by one, and the changes that are left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from parley.nes.engine import Span, Spot

from .corpus import Commit, Hunk


class Made:
    """A change that was made, as it is reported."""

    def __init__(self, path: str, start: int, count: int, lines: Sequence[str]) -> None:
        self.path = path
        self.span = Span(Spot(start, 0), Spot(start + count, 0))
        self.text = "".join(lines)
        last = lines[-1].rstrip("\r\n") if lines else ""
        self.cursor = Spot(start + max(len(lines) - 1, 0), len(last))
        """Where the change ends."""


class EditorSession:
    """Texts of files, and changes that are made to them or are left, where they are now."""

    def __init__(self, commit: Commit, view: Iterable[str] | None = None) -> None:
        """Begin with the files as they were before a commit.

        Args:
            commit: Whose files.
            view: The paths that are looked at; None for all.
        """
        self._files = {path: list(lines) for path, lines in commit.files.items()}
        paths = sorted(commit.files if view is None else view)
        self._hunks = {path: [h for h in commit.hunks if h.path == path] for path in paths}
        self._starts = {_key(each): each.start for each in commit.hunks}
        self.made: list[Hunk] = []

    def lines(self, path: str) -> list[str] | None:
        """Return the lines of a file as they are; None for one that the commit does not touch."""
        return self._files.get(path)

    def left(self, path: str | None = None) -> list[Hunk]:
        """Return the changes that are left, in a file or in all of them."""
        made = set(map(_key, self.made))
        paths = self._hunks if path is None else [path]
        return [h for each in paths for h in self._hunks.get(each, ()) if _key(h) not in made]

    def start(self, hunk: Hunk) -> int:
        """Return the line at which a change is, made or not, in the file as it is."""
        return self._starts[_key(hunk)]

    def with_made(self, path: str, hunks: Iterable[Hunk]) -> list[str]:
        """Return the lines that a file has once more changes are made in it."""
        lines = list(self._files[path])
        for each in sorted(hunks, key=self.start, reverse=True):
            start = self.start(each)
            lines[start : start + len(each.old)] = each.new
        return lines

    def without(self, hunk: Hunk) -> list[str]:
        """Return the lines that a file has once a change is taken back."""
        lines, start = list(self._files[hunk.path]), self.start(hunk)
        lines[start : start + len(hunk.new)] = hunk.old
        return lines

    def make(self, hunk: Hunk) -> Made:
        """Make a change that is left."""
        start = self.start(hunk)
        self._files[hunk.path][start : start + len(hunk.old)] = hunk.new
        self.made.append(hunk)
        self._move(hunk, len(hunk.new) - len(hunk.old))
        return Made(hunk.path, start, len(hunk.old), hunk.new)

    def make_part(self, hunk: Hunk, lines: Sequence[str]) -> Hunk:
        """Make a part of a change, so that these lines stand there; return the rest of it."""
        start = self.start(hunk)
        self._files[hunk.path][start : start + len(hunk.old)] = lines
        rest = Hunk(hunk.path, hunk.start, tuple(lines), hunk.new, hunk.is_import)
        self._move(hunk, len(lines) - len(hunk.old))
        hunks = self._hunks[hunk.path]
        hunks[list(map(_key, hunks)).index(_key(hunk))] = rest
        return rest

    def _move(self, hunk: Hunk, lines: int) -> None:
        """Move the changes below a change."""
        for each in self._hunks[hunk.path]:
            if each.start > hunk.start:
                self._starts[_key(each)] += lines

    @property
    def files(self) -> Mapping[str, Sequence[str]]:
        """The files that the commit touches, as they are."""
        return self._files


def _key(hunk: Hunk) -> tuple[str, int]:
    """Return the identity of a change, which does not change when a part of it is made."""
    return hunk.path, hunk.start
