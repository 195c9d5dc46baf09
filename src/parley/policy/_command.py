"""Commands that rules allow, and commands that are the same.

What allows is read strictly: the words of the rule are the first words of the command, and the
command is one that no shell takes apart. A shell that is only there to run a line (`bash -lc '…'`)
counts as that line, and is never allowed by its own name. How rules that ask or deny are compared
is in `_words.py`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from posixpath import basename, dirname

from ._words import MAX_CHARS, literal, split_words

_TAKEN_APART = re.compile(r"[;&|`$()<>\\]|[^\S \t]|[\x00-\x08\x0e-\x1f\x7f]")
_PLAIN = re.compile(r"[\w@%+=:,./ \t\"'-]*", re.ASCII)
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"}
_SHELL_PLACES = {"", "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}
_RUNS_LINE = re.compile(r"-\w*c")
_FLAG = re.compile(r"-[ceilux]+|--(login|norc|noprofile)")


def allows(command: str, pattern: str) -> bool:
    """Return whether a pattern allows a command: by its first words, or letter for letter."""
    inner = unwrapped(command)
    if pattern in (command, inner):
        return True
    if inner is None or len(command) > MAX_CHARS or _TAKEN_APART.search(inner):
        return False
    words, wanted = split_words(inner), split_words(pattern) or pattern.split()
    if words is None or len(words) < len(wanted):
        return False
    return all(fnmatchcase(*pair) for pair in zip(words, map(literal, wanted), strict=False))


def same(one: str, other: str) -> bool:
    """Return whether two lines run the same, as far as that is certain."""
    first, second = (unwrapped(each) or each for each in (one, other))
    if first == second:
        return True
    if not all(_PLAIN.fullmatch(each) and len(each) <= MAX_CHARS for each in (first, second)):
        return False
    words = split_words(first)
    return words is not None and "=" not in "".join(words[:1]) and words == split_words(second)


def unwrapped(command: str) -> str | None:
    """Return the line that a shell is started for, or the command; None: that cannot be told."""
    words = split_words(command) if len(command) <= MAX_CHARS else None
    if not words or basename(words[0]) not in _SHELLS:
        return command
    if not any(_RUNS_LINE.match(each) for each in words[1:]):
        return command  # a shell by itself, or a file of commands
    shell, *flags, line = words
    is_known = dirname(shell) in _SHELL_PLACES
    is_plain = all(map(_FLAG.fullmatch, flags)) and any(map(_RUNS_LINE.match, flags[-1:]))
    return unwrapped(line) if is_known and is_plain else None
