"""Suggestions for misspelled names: of options, agents, commands, keys of a file."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def suggest(word: str, known: Iterable[str], form: str = "{}", otherwise: str = "") -> str:
    """Return a hint for a name that does not exist: the one that is probably meant, or all.

    Args:
        word: The name.
        known: The names that exist.
        form: The form of a name in the hint, such as `"{}="`.
        otherwise: The hint if no name is similar; by default, the names that exist.
    """
    names = list(known)
    if similar := difflib.get_close_matches(word, names, 1):
        return f"did you mean {form.format(similar[0])}?"
    return otherwise or f"choose from {', '.join(names)}"


def unknown_option(name: str, known: Iterable[str]) -> TypeError:
    """Return the error for an option that does not exist, with the one that is probably meant."""
    return TypeError(f"there is no option {name}=; {suggest(name, sorted(known), '{}=')}")


def suggests_options(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function raise `unknown_option` for a keyword argument that it does not have.

    Python's own error does not say which argument was meant. The signature stays the same, for
    `help` and for type checkers.
    """
    import inspect  # takes a tenth of the time in which a command starts that does not need it

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
