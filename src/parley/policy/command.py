"""Commands and what rules say of them.

What allows is read strictly: the words of the rule are the first words of the command, and the
command is one that no shell takes apart. What denies is read generously: it is looked for in every
part of the command, quoted or not. A shell that is only there to run a line (`bash -lc '…'`) counts
as that line, and is never allowed by its own name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
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
    *("sudo", "doas", "env", "nice", "ionice", "nohup", "time", "timeout", "xargs", "exec"),
    *("command", "builtin", "eval", "setsid", "stdbuf", "then", "do", "else", "if", "while"),
    *("until", "busybox", "chroot", "unshare", "watch", "strace"),
}
_ASSIGNS = re.compile(r"\w+=")
_MAX_TAILS = 64


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
    pieces = map(str.casefold, _pieces(command))
    return any(fnmatchcase(each, wanted) or fnmatchcase(each, f"{wanted} *") for each in pieces)


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
    """Yield the words of all parts, and what follows a `=`."""
    for piece in dict.fromkeys(_pieces(command)):
        for word in piece.split():
            yield word
            _, equals, value = word.partition("=")
            if equals:
                yield value


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


def _pieces(command: str) -> Iterator[str]:
    """Yield all that may be a command in a command."""
    quoted, bare = _QUOTES.sub(";", command), _QUOTES.sub("", command)
    for text in (command, quoted, bare):
        for piece in (text, *_BORDERS.split(text)):
            words = piece.split()
            if words:
                yield " ".join(words)
                yield from _run_by(words)


def _run_by(words: list[str]) -> Iterator[str]:
    """Yield the command under its bare name, and what a command like `sudo` may run."""
    first = basename(words[0])
    if first != words[0]:
        yield " ".join([first, *words[1:]])
    if first in _RUNNERS or _ASSIGNS.match(first):
        for place in range(1, min(len(words), _MAX_TAILS)):
            yield " ".join([basename(words[place]), *words[place + 1 :]])
