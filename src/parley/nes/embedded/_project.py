"""The files of the workspace: which words stand in them. Read a little at a time, within bounds.

`Library` keeps what was read, by path and modification time, for all sessions of an engine. Folders
that are hidden, installed or built are passed over, links are not followed, and a folder that is a
repository of its own, such as a submodule, comes after everything else.
"""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Iterator, Set
from heapq import nsmallest
from itertools import islice, takewhile
from pathlib import Path
from stat import S_ISREG
from sys import intern

from parley.nes._documents.paths import path_of
from parley.nes._syntax import language_of

from ._source import SourceFile
from ._tokens import words

MAX_FILES = 2_000
"""The files of a workspace that are read, those in the upper folders first."""
MAX_FILE_BYTES = 400_000
"""A longer file is passed over."""
MAX_TOTAL_BYTES = 48_000_000
"""The bytes that the files of a workspace may have together; later files are passed over."""
MAX_ENTRIES = 100_000
"""The files and folders that are looked at, whatever they are."""
_MOST_IN_FOLDER = 5_000
_MOST_KEPT = 4_000
_BLOCK = 32_000
"""The characters that are searched for words in one step."""
_SKIPPED = {
    "node_modules", "bower_components", "vendor", "site-packages", "__pycache__", "venv",
    "target", "dist", "build",
}  # fmt: skip


class Library:
    """Pages of files on disk, by path, as long as they do not change."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, int], SourceFile | None]] = OrderedDict()
        self._bytes = 0

    def file(self, path: str) -> SourceFile | None:
        """Return a file; None if it is not text, too long, unreadable or gone."""
        try:
            stat = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a third of Path's time.
        except OSError:
            return None
        stamp = (stat.st_mtime_ns, stat.st_size)
        kept = self._kept.pop(path, None)
        if kept is None or kept[0] != stamp:
            self._bytes -= _size(kept)
            is_fit = S_ISREG(stat.st_mode) and stat.st_size <= MAX_FILE_BYTES
            kept = (stamp, _read(path) if is_fit else None)
            self._bytes += _size(kept)
        self._kept[path] = kept
        while len(self._kept) > _MOST_KEPT or self._bytes > 2 * MAX_TOTAL_BYTES:
            _, old = self._kept.popitem(last=False)
            self._bytes -= _size(old)
        return kept[1]


def _size(kept: tuple[tuple[int, int], SourceFile | None] | None) -> int:
    return 0 if kept is None or kept[1] is None else kept[0][1]


def _read(path: str) -> SourceFile | None:
    """Read a file, which may just be changing: no more than is allowed, and never waiting."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(path, flags), "rb") as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError):
        return None
    if len(data) > MAX_FILE_BYTES or "\0" in text:
        return None
    file = SourceFile(
        Path(path).as_uri(), text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )
    file.eol = "\r\n" if "\r\n" in text else "\n"
    file.is_open = False
    return file


class Project:
    """The files under the folders of a session."""

    def __init__(self, folders: tuple[str, ...] = (), library: Library | None = None) -> None:
        self.folders = folders
        self._library = library or Library()
        self._files: dict[str, SourceFile] = {}
        self._numbers: dict[str, int] = {}
        self._paths: list[str] = []
        self._words: dict[str, int] = {}
        """For each word the files that have it, as the bits of a number."""
        self._ranked: dict[tuple[str, tuple[str, ...]], list[SourceFile]] = {}

    def reading(self) -> Iterator[None]:
        """Read what is on disk and was not read, or has changed since; forget what is gone."""
        seen: set[str] = set()
        total = 0
        for path in _walk(self.folders):
            if path:
                yield from self._take(path)
                file = self._files.get(path)
                total += len(file.text) if file else 0
                seen.add(path)
            if total > MAX_TOTAL_BYTES:
                break
            yield
        for path in [path for path in self._files if path not in seen]:
            self._drop(path)
            yield

    def _take(self, path: str) -> Iterator[None]:
        file = self._library.file(path)
        if file is not None and self._files.get(path) is file:
            return
        self._drop(path)
        if file is None:
            return
        yield
        if "words" not in file.notes:
            yield from _find_words(file)
        bit = 1 << self._number(path)
        known = self._words
        for word in file.notes["words"]:
            known[word] = known.get(word, 0) | bit
        self._files[path] = file
        self._ranked.clear()

    def _drop(self, path: str) -> None:
        old = self._files.pop(path, None)
        self._ranked.clear()
        bit = 1 << self._numbers[path] if old else 0
        for word in old.notes["words"] if old else ():
            left = self._words[word] & ~bit
            if left:
                self._words[word] = left
            else:
                del self._words[word]

    def _number(self, path: str) -> int:
        if path not in self._numbers:
            self._numbers[path] = len(self._paths)
            self._paths.append(path)
        return self._numbers[path]

    def file(self, uri: str) -> SourceFile | None:
        """Return a file that was read."""
        return self._files.get(path_of(uri) or uri)

    def is_as_read(self, uri: str) -> bool:
        """Return whether a file has not changed since it was read, or was never read."""
        path = path_of(uri) or uri
        return path not in self._files or self._files[path] is self._library.file(path)

    def files(self) -> list[SourceFile]:
        """Return every file that was read."""
        return list(self._files.values())

    def has(self, path: str) -> bool:
        """Return whether a file was read."""
        return path in self._files

    def count(self, word: str) -> int:
        """Return in how many files a word stands."""
        return self._words.get(word, 0).bit_count()

    def files_with(
        self, word: str, *, near: SourceFile, but: Set[str] = frozenset(), most: int = 12
    ) -> list[SourceFile]:
        """Return files with a word, those in the nearest folders first."""
        ranked = self._ranked.get((word, near.folders))
        if ranked is None or len(ranked) < min(most, self.count(word)):
            found = ((path, self._files[path]) for path in self._paths_with(word))
            order = nsmallest(2 * most, ((-_together(file, near), path) for path, file in found))
            ranked = self._ranked[word, near.folders] = [self._files[path] for _, path in order]
        return [file for file in ranked if file.uri not in but][:most]

    def _paths_with(self, word: str) -> Iterator[str]:
        bits = self._words.get(word, 0)
        while bits:
            lowest = bits & -bits
            yield self._paths[lowest.bit_length() - 1]
            bits ^= lowest


def _find_words(file: SourceFile) -> Iterator[None]:
    """Find the words of a file, some lines at a time."""
    found: set[str] = set()
    text, start = file.text, 0
    while (end := text.find("\n", start + _BLOCK)) >= 0:
        found.update(words(text[start:end]))
        start = end
        yield
    found.update(words(text[start:]))
    # A tuple, because the garbage collector does not look at it again and again.
    file.notes["words"] = tuple(map(intern, found))


def _together(one: SourceFile, other: SourceFile) -> int:
    """Return how many folders two files have in common."""
    pairs = zip(one.folders, other.folders, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _walk(folders: tuple[str, ...]) -> Iterator[str]:
    """Yield the source files under some folders, the upper ones first; an empty text is a step."""
    files = entries = 0
    todo, later = deque(folders), deque[str]()
    while (todo or later) and files < MAX_FILES and entries < MAX_ENTRIES:
        folder = todo.popleft() if todo else later.popleft()
        inside, found = _listed(folder)
        entries += len(inside) + len(found) + 1
        yield ""
        for path in found[: MAX_FILES - files]:
            files += 1
            yield path
        for path in inside:
            is_own = (Path(path) / ".git").exists()
            (later if is_own else todo).append(path)


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """Return the folders and the source files in a folder; nothing if it cannot be read."""
    inside: list[str] = []
    found: list[str] = []
    try:
        with os.scandir(folder) as scanned:
            for entry in islice(scanned, _MOST_IN_FOLDER):
                if entry.name == "pyvenv.cfg":
                    return [], []
                if entry.name.startswith(".") or entry.is_symlink():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED:
                        inside.append(entry.path)
                elif language_of("", Path(entry.name).suffix):
                    found.append(entry.path)
    except OSError:
        pass
    return sorted(inside), sorted(found)
