"""The history of a repository, by git: commits, their changes, and the texts of their files.

Git runs as a process, once for each kind of question; nothing is written to the repository, which
may be a bare one.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from parley._unified_diff import read_header

_SETTINGS = (
    *("core.quotepath=off", "log.showSignature=false", "core.attributesFile=/dev/null"),
    *("log.follow=false", "diff.interHunkContext=0", "diff.indentHeuristic=true"),
)
"""Options that make the output independent of the user's configuration."""
_SHOW = (
    *("log", "--no-walk=unsorted", "--stdin", "--raw", "-p", "-U0", "--diff-filter=M"),
    *("--diff-algorithm=histogram", "--no-renames", "--no-abbrev", "--no-color"),
    *("--no-relative", "--no-ext-diff", "--no-textconv"),
    "--format=%x00%H%x00%P%x00%an%x00%B%x00",
)


_NOW = 5
"""The seconds for which output of git is current."""


class HistoryError(Exception):
    """Git failed: there is no such repository, or no such commit."""


class GitMissing(HistoryError):
    """Git cannot be started."""


class Range(NamedTuple):
    """Lines that one text has instead of lines of another, both counted from 0."""

    old: int
    old_count: int
    new: int
    new_count: int


class Blob(NamedTuple):
    """A file of a tree."""

    path: str
    id: str
    bytes: int


class FileDiff(NamedTuple):
    """The changes of a commit in a file that existed before it."""

    path: str
    old_id: str
    new_id: str
    ranges: tuple[Range, ...]


class Diff(Struct, frozen=True):
    """A commit and what it changed."""

    id: str
    parents: tuple[str, ...]
    author: str
    message: str
    files: tuple[FileDiff, ...]


class History:
    """The commits of a repository; only those that touch a folder in it, if one is named."""

    def __init__(self, folder: str | Path, name: str = "") -> None:
        """Take a repository, bare or not, or a folder in one.

        Args:
            folder: Where it is.
            name: The name; by default that of its folder, or of the folder around that.

        Raises:
            HistoryError: It is not a repository.
            GitMissing: Git is not there.
        """
        self.folder = Path(folder)
        self.name = name or _name(self.folder.resolve())
        if not self.folder.exists():
            raise HistoryError(f"there is no folder {folder}")
        if not self.folder.is_dir():
            raise HistoryError(f"{folder} is a file; name the folder of a git repository")
        self._git("rev-parse", "--git-dir")

    @property
    def is_shallow(self) -> bool:
        """Whether only the last commits are here."""
        return self._git("rev-parse", "--is-shallow-repository").strip() == b"true"

    def resolve(self, name: str) -> str:
        """Return the id of a commit that has a name, such as `HEAD`.

        Raises:
            HistoryError: There is none.
        """
        words = ("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
        try:
            return self._git(*words).decode().strip()
        except HistoryError as error:
            what = f"there is no commit {name!r}"
            if not self._git("rev-list", "--all", "--max-count=1"):
                what = "there is no commit in this repository yet"
            raise HistoryError(f"{self.folder}: {what}") from error

    def commits(self, tip: str, since: str | None, patterns: Sequence[str]) -> list[str]:
        """Return the ids of the commits up to one that touch some files; merges are left out.

        Raises:
            HistoryError: There is no such date.
        """
        words = ["rev-list", "--no-merges", *([] if since is None else [self._since(since)]), tip]
        return self._git(*words, "--", *patterns).decode().split()

    def _since(self, date: str) -> str:
        """Return arguments for rev-list; git takes every word for a date, mostly for now."""
        word = self._git("rev-parse", f"--since={date}").decode().strip()
        if int(word.partition("=")[2]) > time.time() - _NOW:
            example = "write it as 2025-01-31, or as '3 months ago'"
            raise HistoryError(f"since {date!r}: not a date in the past; {example}")
        return word

    def diffs(self, ids: Sequence[str], patterns: Sequence[str]) -> Iterator[Diff]:
        """Return what commits changed in files that were there before, in the order given."""
        given = "".join(f"{each}\n" for each in ids).encode()
        parts = self._git(*_SHOW, "--", *patterns, given=given).split(b"\0")[1:]
        for at in range(0, len(parts) - 4, 5):
            id, parents, author, message, body = parts[at : at + 5]
            yield Diff(
                id=id.decode(),
                parents=tuple(parents.decode().split()),
                author=author.decode(errors="replace"),
                message=message.decode(errors="replace"),
                files=tuple(_files(body)),
            )

    def files(self, commit: str, endings: Iterable[str]) -> list[Blob]:
        """Return the files of a commit's tree that end so."""
        wanted, found = tuple(endings), list[Blob]()
        for entry in self._git("ls-tree", "-r", "-z", "-l", "--full-tree", commit).split(b"\0"):
            head, _, path = entry.partition(b"\t")
            words, name = head.split(), path.decode(errors="replace")
            if len(words) == 4 and words[0].startswith(b"100") and name.endswith(wanted):
                found.append(Blob(name, words[2].decode(), int(words[3])))
        return found

    def texts(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of blobs; one that is not there is left out."""
        given = "".join(f"{each}\n" for each in ids).encode()
        data, found, at = self._git("cat-file", "--batch", given=given), dict[str, bytes](), 0
        while at < len(data):
            end = data.index(b"\n", at)
            words = data[at:end].split()
            at = end + 1
            if len(words) == 3:
                size = int(words[2])
                found[words[0].decode()] = data[at : at + size]
                at += size + 1
        return found

    def _git(self, *words: str, given: bytes = b"") -> bytes:
        settings = [word for each in _SETTINGS for word in ("-c", each)]
        environ = {name: each for name, each in os.environ.items() if name[:4] != "GIT_"}
        try:
            done = subprocess.run(
                ["git", *settings, "-C", str(self.folder), *words],
                input=given,
                capture_output=True,
                check=False,
                env={**environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"},
            )
        except FileNotFoundError as error:
            problem = "git is not installed, or not in PATH; it is what reads the commits"
            raise GitMissing(problem) from error
        except OSError as error:
            raise GitMissing(f"git cannot be started: {error}") from error
        if done.returncode:
            problem = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
            raise HistoryError(f"{self.folder}: {problem or 'git failed'}")
        return done.stdout


def _name(folder: Path) -> str:
    plain = folder.name in ("repo", "repo.git", ".git")
    return folder.parent.name if plain else folder.name.removesuffix(".git")


def _files(body: bytes) -> Iterator[FileDiff]:
    """Read raw lines, and the patches that follow them in the same order."""
    raw, *patches = re.split(rb"^diff --git .*$", body, flags=re.MULTILINE)
    entries = [line for line in raw.split(b"\n") if line.startswith(b":")]
    for entry, patch in zip(entries, patches, strict=False):
        head, _, path = entry.partition(b"\t")
        words = head.split()
        if words[0] in (b":100644", b":100755") and not path.startswith(b'"'):
            ranges = tuple(_ranges(patch))
            name = path.decode(errors="replace")
            yield FileDiff(name, words[2].decode(), words[3].decode(), ranges)


def _ranges(patch: bytes) -> Iterator[Range]:
    for line in patch.split(b"\n"):
        header = read_header(line.decode(errors="replace")) if line.startswith(b"@@ ") else None
        if header is not None:
            yield Range(header.old_index, header.old_count, header.new_index, header.new_count)
