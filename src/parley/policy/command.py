"""Commands and what rules say of them.

What allows is read strictly: the words of the rule are the first words of the command, and the
command is one that no shell takes apart. What denies is read generously: it is looked for in every
part of the command, quoted or not. A shell that is only there to run a line (`bash -lc '…'`) counts
as that line, and is never allowed by its own name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, dirname

from .path import literal

__all__ = ["MAX_CHARS", "allows", "denies", "same", "words_of"]

MAX_CHARS = 64 * 1024
"""A longer command is not looked through: it may be what is denied, and is not what is allowed."""

_TAKEN_APART = re.compile(r"[;&|`$()<>\\]|[^\S \t]|[\x00-\x08\x0e-\x1f\x7f]")
_BORDERS = re.compile(r"[;&|`$(){}<>\n\\!]+")
_QUOTES = re.compile(r"[\"'\\]")
_PLAIN = re.compile(r"[\w@%+=:,./ \t\"'-]*", re.ASCII)
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"}
_SHELL_PLACES = {"", "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}
_RUNS_LINE = re.compile(r"-\w*c")
_FLAG = re.compile(r"-[ceilux]+|--(login|norc|noprofile)")
_RUNNERS = {
    *_SHELLS,
    *("sudo", "doas", "env", "nice", "ionice", "nohup", "time", "timeout", "xargs", "exec"),
    *("command", "builtin", "eval", "setsid", "stdbuf", "then", "do", "else", "if", "while"),
    *("until", "busybox", "chroot", "unshare", "watch", "strace", "elif", "coproc", "find", "fd"),
    *("parallel", "ssh", "su", "runuser", "flock", "script", "taskset", "systemd-run", "entr"),
}
_ASSIGNS = re.compile(r"\w+=")
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")
_IN_WORD = re.compile(r"[=:@,]")
_GLUED = re.compile(r"-[^/~]+(?=[/~])")
_MAX_TAIL_CHARS = 4 * 1024 * 1024
"""What a command like `sudo` may run is not looked through where that is more than this."""


def allows(command: str, pattern: str) -> bool:
    """Tell whether a pattern of what is allowed fits: letter for letter, or by its first words."""
    inner = _unwrapped(command)
    if pattern in (command, inner):
        return True
    if inner is None or len(command) > MAX_CHARS or _TAKEN_APART.search(inner):
        return False
    words, wanted = _split(inner), _split(pattern) or pattern.split()
    if words is None or len(words) < len(wanted):
        return False
    return all(fnmatchcase(*pair) for pair in zip(words, map(literal, wanted), strict=False))


def denies(command: str, pattern: str) -> bool:
    """Tell whether a pattern of what is denied fits any part."""
    if len(command) > MAX_CHARS:
        return True
    wanted = literal(" ".join(pattern.split())).casefold()
    for words in _pieces(command.casefold()):
        if words is None:  # too much to look through
            return True
        text = " ".join(words)
        if fnmatchcase(text, wanted) or fnmatchcase(text, f"{wanted} *"):
            return True
        if _fits_between_options(words, wanted.split()):
            return True
    return False


def _fits_between_options(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether a command begins with these words, if options between them do not count.

    An option may be followed by its value, as in `git -C x push`.
    """
    places = {0}
    for number, each in enumerate(wanted):
        waiting = list(places) if number else []
        while waiting:
            place = waiting.pop()
            if place < len(words) and words[place].startswith("-"):
                behind = {place + 1, place + 2} - places
                places |= behind
                waiting += behind
        places = {
            place + 1 for place in places if place < len(words) and fnmatchcase(words[place], each)
        }
    return bool(places)


def same(one: str, other: str) -> bool:
    """Tell whether two lines run the same, as far as that is certain."""
    first, second = (_unwrapped(each) or each for each in (one, other))
    if first == second:
        return True
    if not all(_PLAIN.fullmatch(each) and len(each) <= MAX_CHARS for each in (first, second)):
        return False
    words = _split(first)
    return words is not None and "=" not in "".join(words[:1]) and words == _split(second)


def words_of(command: str) -> Iterator[str]:
    """Yield the words of all parts, and what may be a path in a word, as behind a `=`."""
    parts = _parts(_HOME.sub("~", command))
    for word in dict.fromkeys(word for words, _ in parts for word in words):
        yield word
        glued = _GLUED.match(word)
        if glued is not None:
            yield word[glued.end() :]
        if _IN_WORD.search(word):
            yield from _IN_WORD.split(word)


def _split(line: str) -> list[str] | None:
    try:
        return shlex.split(line)
    except ValueError:  # a quote that is not closed
        return None


def _unwrapped(command: str) -> str | None:
    """Return the line that a shell is started for, or the command; None: that cannot be told."""
    words = _split(command) if len(command) <= MAX_CHARS else None
    if not words or basename(words[0]) not in _SHELLS:
        return command
    if not any(_RUNS_LINE.match(each) for each in words[1:]):
        return command  # a shell by itself, or a file of commands
    shell, *flags, line = words
    is_known = dirname(shell) in _SHELL_PLACES
    is_plain = all(map(_FLAG.fullmatch, flags)) and any(map(_RUNS_LINE.match, flags[-1:]))
    return _unwrapped(line) if is_known and is_plain else None


def _parts(command: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the words of a command and of all its parts, and whether it can be taken apart."""
    whole = _split(command)
    if whole:
        yield whole, True
    quoted, bare = _QUOTES.sub(";", command), _QUOTES.sub("", command)
    for text in (command, quoted, bare):
        parts = _BORDERS.split(text)
        for words in map(str.split, parts):
            if words:
                yield words, False
        if len(parts) > 1:
            yield text.split(), True


def _pieces(command: str) -> Iterator[list[str] | None]:
    """Yield the words of all that may be a command in a command; None: that is too much."""
    for words, has_parts in _parts(command):
        yield words
        first = basename(words[0])
        if first != words[0]:
            yield [first, *words[1:]]
        if first not in _RUNNERS and not _ASSIGNS.match(words[0]):
            continue
        if len(words) * sum(map(len, words)) <= _MAX_TAIL_CHARS:
            for place in range(1, len(words)):
                yield [basename(words[place]), *words[place + 1 :]]
        elif not has_parts:
            yield None
