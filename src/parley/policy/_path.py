"""Paths and the patterns of rules.

`*` and `?` stand for anything within one name, `**` for any number of directories, `dir/` for a
directory and all below. A pattern begins at the project unless it begins with `/` or `~`. So it is
read where it allows. Where it does not, it is read generously: `*` crosses directories, a pattern
without a slash is looked for at any depth and anywhere, what is below counts too, and so do upper
and lower case and other spellings.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase, translate

from ._words import ends_agree, glob_may_mean, is_wildcard, literal


def allows(path: str, pattern: str, base: str) -> bool:
    """Return whether a pattern of what is allowed fits a path.

    Args:
        path: Absolute and without symlinks.
        pattern: The rule's.
        base: Where it begins if it is not absolute; without symlinks.
    """
    return _fits(path, _absolute(pattern, base))


class DenyingPattern:
    """A pattern of what is not allowed, prepared for many paths."""

    def __init__(self, pattern: str, base: str) -> None:
        """Prepare a pattern.

        Args:
            pattern: The rule's.
            base: The directory where it begins if it is not absolute.
        """
        wholes = [folded(each).rstrip("/") or "/" for each in _spellings(pattern, base)]
        wholes += [each.replace("/**/", "/") for each in wholes]
        # Who reaches a directory reaches what is in it.
        tops = [each.removesuffix("/**").rstrip("/") for each in wholes]
        globs = [*wholes, *(each or "/" for each in tops), *(f"{each}/*" for each in tops)]
        name = folded(pattern.rstrip("/"))
        is_name = "/" not in name
        self._bases = [f"{folded(each).rstrip('/')}/" for each in (base, os.path.realpath(base))]
        self._whole = _regex(globs)
        self._name = _regex([f"*/{name}/*"]) if is_name else None
        self._globs = [*globs, *([f"*/{name}", f"*/{name}/*"] if is_name else [])]

    def means(self, path: str) -> bool:
        """Return whether it may mean a path, given as `folded` returns it."""
        if self._whole.match(path):
            return True
        if self._name is None:
            return False
        # The directories that the project itself is in do not count.
        inside = next(
            (path.removeprefix(each) for each in self._bases if path.startswith(each)), path
        )
        return self._name.match(f"/{inside.lstrip('/')}/") is not None

    def may_mean(self, word: str) -> bool:
        """Return whether it may mean a path that an absolute word with wildcards stands for."""
        return any(
            ends_agree(word, each) if is_wildcard(each) else glob_may_mean(word, each)
            for each in self._globs
        )


def _regex(globs: Iterable[str]) -> re.Pattern[str]:
    """Return what matches any of some patterns, whose `*` cross directories."""
    return re.compile("|".join(translate(literal(each)) for each in dict.fromkeys(globs)))


def denies(paths: Iterable[str], pattern: str, base: str) -> bool:
    """Return whether a pattern of what is not allowed may mean one of some paths."""
    denying = DenyingPattern(pattern, base)
    return any(denying.means(folded(each)) for each in paths)


def holds(paths: Iterable[str], pattern: str, base: str) -> bool:
    """Return whether what a pattern means may be below one of some paths."""
    fixed = [folded(_fixed(whole)) for whole in _spellings(pattern, base)]
    tops = [folded(path).rstrip("/") for path in paths]
    return any(each == top or each.startswith(f"{top}/") for each in fixed for top in tops)


def _absolute(pattern: str, base: str) -> str:
    if pattern == "~" or pattern.startswith("~/"):
        return f"{os.path.realpath(_home())}{pattern[1:]}"
    inside = "" if pattern == "." else pattern.removeprefix("./")
    return pattern if pattern.startswith("/") else f"{base.rstrip('/')}/{inside}"


def _home() -> str:
    return os.path.expanduser("~")  # noqa: PTH111


def _spellings(pattern: str, base: str) -> list[str]:
    """Return a pattern as it is written, and with the symlinks resolved before its first `*`."""
    wholes = [_absolute(pattern, each) for each in (os.path.realpath(base), base)]
    if pattern.startswith("~/"):
        wholes.append(f"{_home()}{pattern[1:]}")
    resolved = [
        os.path.realpath(fixed).rstrip("/") + each[len(fixed.rstrip("/")) :]
        for each, fixed in ((each, _fixed(each)) for each in wholes)
    ]
    return list(dict.fromkeys([*wholes, *resolved]))


def _fixed(whole: str) -> str:
    """Return the directories before the first name with a `*` or `?`."""
    names = whole.split("/")
    fixed = next((n for n, name in enumerate(names) if "*" in name or "?" in name), len(names))
    return "/".join(names[:fixed]) or "/"


def folded(path: str) -> str:
    """Return a path in a spelling that does not depend on case and composition."""
    return unicodedata.normalize("NFC", path).casefold()


def _fits(path: str, pattern: str) -> bool:
    names, wanted = path.split("/"), pattern.split("/")
    if pattern.endswith("/"):
        return _fits_names(names, wanted[:-1]) or _fits_names(names, [*wanted[:-1], "**"])
    return _fits_names(names, wanted)


def _fits_names(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Match name by name; at a `**`, take as few names as do, and come back for more."""
    at, want = 0, 0
    again: tuple[int, int] | None = None
    while at < len(names):
        if want < len(wanted) and wanted[want] == "**":
            if want == len(wanted) - 1:
                return True  # at least one name is left for it
            again = (at, want)
            want += 1
        elif want < len(wanted) and fnmatchcase(names[at], literal(wanted[want])):
            at, want = at + 1, want + 1
        elif again is not None:
            again = (again[0] + 1, again[1])
            at, want = again[0], again[1] + 1
        else:
            return False
    return want == len(wanted)
