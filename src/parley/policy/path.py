"""Paths and the patterns of rules.

`*` and `?` stand for anything within one name, `**` for any number of directories, `dir/` for a
directory and all below. A pattern begins at the project unless it begins with `/` or `~`. So it is
read where it allows. Where it does not, it is read generously: `*` crosses directories, a pattern
without a slash is looked for at any depth and anywhere, what is below counts too, and so do upper
and lower case and other spellings.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

__all__ = ["allows", "denies", "holds", "joined", "literal"]


def literal(pattern: str) -> str:
    """Return a pattern in which only `*` and `?` mean something."""
    return pattern.replace("[", "[[]")


def allows(path: str, pattern: str, base: str) -> bool:
    """Tell whether a pattern of what is allowed fits a path.

    Args:
        path: Absolute and without symlinks.
        pattern: The rule's.
        base: Where it begins if it is not absolute; without symlinks.
    """
    return _fits(path, _absolute(pattern, base))


def denies(paths: Iterable[str], pattern: str, base: str) -> bool:
    """Tell whether a pattern of what is not allowed may mean one of some paths."""
    wholes = [_folded(each).rstrip("/") or "/" for each in _spellings(pattern, base)]
    tops = [f"{_folded(each).rstrip('/')}/" for each in (base, os.path.realpath(base))]
    name = _folded(pattern.rstrip("/"))
    for path in map(_folded, paths):
        if any(_may_be(path, whole) for whole in wholes):
            return True
        inside = next((path.removeprefix(top) for top in tops if path.startswith(top)), path)
        if "/" not in name and any(fnmatchcase(n, literal(name)) for n in inside.split("/")):
            return True
    return False


def _may_be(path: str, whole: str) -> bool:
    top = whole.removesuffix("/**").rstrip("/")  # who reaches the directory reaches what is in it
    wholes = (whole, top or "/", f"{top}/**")
    return any(_fits(path, each) for each in wholes) or fnmatchcase(path, literal(whole))


def holds(paths: Iterable[str], pattern: str, base: str) -> bool:
    """Tell whether what a pattern means may be below one of some paths."""
    fixed = [_folded(_fixed(whole)) for whole in _spellings(pattern, base)]
    tops = [_folded(path).rstrip("/") for path in paths]
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


def _folded(path: str) -> str:
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


def joined(cwd: str, names: Iterable[str]) -> Iterator[str]:
    """Yield what names mean in a directory, if they are paths."""
    for name in names:
        local = os.path.expanduser(name) if name.startswith("~") else name  # noqa: PTH111
        path = os.path.normpath(os.path.join(cwd, local))  # noqa: PTH118
        yield path[1:] if path.startswith("//") else path
