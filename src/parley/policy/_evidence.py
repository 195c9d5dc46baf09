"""The parts of a call that rules are compared with: words, and paths that it names or may mean.

It is gathered once for a decision and then compared with all rules. What is gathered is bounded:
`WordIndex` reads so much text, and `MAX_PATHS` paths are looked at. Where there was more, or where
a shell computes what is meant, rules that ask or deny may fit, which leads to a question.

A word of a command is taken for a path wherever the command may be at that moment: in its working
directory, and in each directory that another of its words names (`cd x && cat y`, `git -C x …`).
Symlinks, `..`, `~`, `{a,b}` and `/proc/self/root` are resolved.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from ._path import folded
from ._subject import Subject
from ._words import COMPUTED, WordIndex, is_wildcard

MAX_PATHS = 256
"""The maximum number of paths in a request."""
MAX_LOOKUPS = 4000
"""The maximum number of words of a request that are looked up as paths."""
MAX_COMMANDS = 100
"""The maximum number of commands of one request that are compared with allow rules."""
MAX_PATH_CHARS = 4096
"""No system has longer ones."""

_MAX_DIRECTORIES = 16
_MAX_BRACES = 64
_IN_WORD = re.compile(r"[=:@,]")
_ROOTED = re.compile(r"[/~]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_RANGE = re.compile(r"\{[^{}]*\.\.[^{}]*\}")
_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(root|cwd)(?=/|\Z)")
_DESCRIPTOR = re.compile(r"/proc/[^/]+(?:/task/\d+)?/(?:fd|map_files)/|/dev/fd/")
_SLASHES = re.compile(r"/(?:\.?/)+")
_LINKS = {"ln", "mount", "bindfs"}
"""Programs that make one path mean another."""


class Evidence:
    """The parts of a subject that are compared with rules."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.words = WordIndex(subject.commands, subject.texts)
        """The words of commands and other texts."""
        self._paths: dict[tuple[str, bool], PathIndex] = {}

    @property
    def unclear(self) -> str:
        """Return why it is not understood wholly, for people; empty if it is."""
        if self.subject.unclear:
            return self.subject.unclear
        if not self.words.is_complete:
            return "it is too long to be examined to its end"
        if len(self.subject.commands) > MAX_COMMANDS:
            return f"it has more than {MAX_COMMANDS} commands"
        return ""

    def paths(self, base: str, *, has_texts: bool = True) -> PathIndex:
        """Return the paths.

        Args:
            base: The directory where commands run that name none.
            has_texts: Whether the words of texts that are not commands count.
        """
        key = base, has_texts
        if key not in self._paths:
            words = self.words if has_texts else WordIndex(self.subject.commands)
            self._paths[key] = PathIndex(self.subject, words, base)
        return self._paths[key]


class PathIndex:
    """The paths that a call names, and those that it may mean."""

    def __init__(self, subject: Subject, words: WordIndex, base: str) -> None:
        self.lookups = 0
        """The number of words that were looked up as paths."""
        self.is_complete = words.is_complete and not subject.unclear
        """Whether all of them are known."""
        self.named: dict[str, None] = {}
        """Absolute paths."""
        self.wildcards: dict[str, None] = {}
        """Absolute paths with wildcards, in which `*` is also what a shell computes."""
        self._directories = dict.fromkeys([subject.cwd or os.path.realpath(base)])
        for path in (*subject.paths, *subject.possible, *subject.mentioned, subject.cwd):
            self._add(path)
        if words.words:
            self._add_words(words)
        self.folded = list(dict.fromkeys(map(folded, self.named)))
        """The same for comparing."""

    def _add_words(self, words: WordIndex) -> None:
        if _LINKS & words.words.keys():
            self.is_complete = False
        if "cd" in words.words:
            self._directories[os.path.expanduser("~")] = None  # noqa: PTH111 - may be no home
        wanted = list(dict.fromkeys(path_words([*words.words, *words.wholes])))
        done: set[str] = set()
        while todo := [each for each in self._directories if each not in done][:1]:
            done.update(todo)
            for word in wanted:
                if not self._add_word(word, todo[0]):
                    return

    def _add_word(self, word: str, directory: str) -> bool:
        """Look at a word in a directory; False: that was one too many."""
        for each in _expand_braces(word):
            self.lookups += 1
            if self.lookups > MAX_LOOKUPS:
                self.is_complete = False
                return False
            whole = _absolute(each, directory)
            path = os.path.normpath(whole)
            if is_wildcard(path):
                self.wildcards[folded(path)] = None
                if "[" not in path:
                    continue
            self._add(path)
            real = real_path(directory, whole)
            self._add(real)
            if real not in self._directories and os.path.isdir(real):  # noqa: PTH112
                self._enter(real)
        return True

    def _enter(self, directory: str) -> None:
        if len(self._directories) < _MAX_DIRECTORIES:
            self._directories[directory] = None
        elif directory != "/":
            self.is_complete = False

    def _add(self, path: str) -> None:
        if path:
            self.named[path] = None
            if _DESCRIPTOR.match(path):
                self.is_complete = False


def _absolute(word: str, directory: str) -> str:
    """Return what a word means in a directory; what begins with a computed part may be anywhere."""
    if word.startswith("~"):
        word = os.path.expanduser(word)  # noqa: PTH111
    top = "/" if word.startswith(COMPUTED) else directory
    return _SLASHES.sub("/", os.path.join(top, word))  # noqa: PTH118


def path_words(words: Iterable[str]) -> Iterator[str]:
    """Yield words, and what may be a path in a word: after a `=`, or glued to an option."""
    for word in words:
        if "\n" in word or "\0" in word or len(word) > MAX_PATH_CHARS:
            continue
        yield word
        if word.startswith("-") and len(word) > 2:
            yield word[2:]
            if (rooted := _ROOTED.search(word)) is not None:
                yield word[rooted.start() :]
        if _IN_WORD.search(word):
            yield from filter(None, _IN_WORD.split(word))


def _expand_braces(word: str) -> list[str]:
    """Return what `{a,b}` stands for; a `*` where that is too much."""
    found = [_RANGE.sub("*", word)]
    while any(_BRACES.search(each) for each in found):
        found = [expanded for each in found for expanded in _expand_one(each)]
        if len(found) > _MAX_BRACES:
            return [re.sub(r"\{.*\}", "*", word)]
    return found


def _expand_one(word: str) -> list[str]:
    group = _BRACES.search(word)
    if group is None:
        return [word]
    head, tail = word[: group.start()], word[group.end() :]
    return [f"{head}{each}{tail}" for each in group[1].split(",")]


def real_path(directory: str, path: str) -> str:
    """Resolve an absolute path; what cannot be one becomes the root, which is hardly ever allowed.

    Args:
        directory: What `/proc/self/cwd` stands for.
        path: The path.
    """
    if len(path) > MAX_PATH_CHARS:
        return os.sep
    path = _SLASHES.sub("/", path)
    while (through := _PROCESS.match(path)) is not None:
        top = "" if through[1] == "root" else directory.rstrip("/")
        path = f"{top}{path[through.end() :]}" or "/"
    try:
        return os.path.realpath(path)
    except ValueError:  # as with NUL in it
        return os.sep
