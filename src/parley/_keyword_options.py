"""Suggestions for misspelled keyword arguments of functions with many options."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def unknown_option(name: str, known: Iterable[str]) -> TypeError:
    """Return the error for an option that does not exist, with the one that is probably meant."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}=?" if near else f"there are {', '.join(names)}"
    return TypeError(f"there is no option {name}=; {hint}")


def suggests_options(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function raise `unknown_option` for a keyword argument that it does not have.

    Python's own error does not say which argument was meant. The signature stays the same, for
    `help` and for type checkers.
    """
    parameters = inspect.signature(function).parameters.values()
    known = frozenset(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)
    accepted = known | {each.name for each in parameters}

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in accepted:
                raise unknown_option(name, known)
        return function(*args, **options)

    return call
