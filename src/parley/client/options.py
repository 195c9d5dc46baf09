"""What is given by name to `connect` and to the verbs that open a session, checked before use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["check_options"]


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Refuse options that are not known, and the mistakes that would go unnoticed.

    Args:
        options: What was given.
        known: The `TypedDict` that lists the options.

    Raises:
        TypeError: An option does not exist, or is something else than it should be.
    """
    names = sorted(known.__annotations__)
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}=?" if near else f"there are {', '.join(names)}"
            raise TypeError(f"there is no option {name}=; {hint}")
    for name, (wanted, fits) in _WANTED.items():
        value = options.get(name)
        if value is not None and not fits(value):
            raise TypeError(f"{name}= takes {wanted}")


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_environment(value: Any) -> bool:
    return hasattr(value, "items") and all(
        isinstance(each, str) for pair in value.items() for each in pair
    )


def _is_versions(value: Any) -> bool:
    return _is_several(value) and all(type(each) is int for each in value)


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda value: not isinstance(value, type) and all(hasattr(value, each) for each in names)


_WANTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "additional_directories": ('directories, as ["lib"]', _is_several),
    "env": ("a dict of strings, as {'A': '1'}", _is_environment),
    "inherit": ('names of variables, as ["PATH"]', _is_several),
    "journal": ("a journal, as SqliteJournal()", _has("append", "commit", "put")),
    "mcp_servers": ("a list of servers", _is_several),
    "on_decision": ("a function", callable),
    "permission": ("a function", callable),
    "tools": ("a list of functions", _is_several),
    "policy": ("a Policy", _has("decide", "remember")),
    "workspace": ("a Workspace", _has("files", "terminals")),
    "versions": ("a tuple of numbers, as (2,)", _is_versions),
}
"""What is easily mistaken: what the option takes, in words and as a check."""
