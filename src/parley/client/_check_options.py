"""Checks of the keyword arguments of `connect` and of the methods that open a session."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from parley.peer import TypedHandler
from parley.session._validation import check_handler

from ._editor import EDITOR_METHODS


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Raise for unknown options, and for wrong values that would otherwise go unnoticed.

    Args:
        options: The options to check.
        known: The `TypedDict` that lists the options.

    Raises:
        TypeError: An option does not exist, or its value has the wrong type.
    """
    names = sorted(known.__annotations__)
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}=?" if near else f"there are {', '.join(names)}"
            raise TypeError(f"there is no option {name}=; {hint}")
    for name, (expected, fits) in _EXPECTED.items():
        value = options.get(name)
        if value is not None and not fits(value):
            raise TypeError(f"{name}= takes {expected}")
    for name, parameters in _CALLED_WITH.items():
        if options.get(name) is not None:
            check_handler(options[name], f"{name}=", *parameters)
    for name, parameters in EDITOR_METHODS.items():
        if (function := getattr(options.get("editor"), name, None)) is not None:
            check_handler(function, f"editor.{name}", *parameters)
    extensions: Mapping[str, Any] = options.get("extensions") or {}
    for method, extension in extensions.items():
        function = extension.handler if isinstance(extension, TypedHandler) else extension
        check_handler(function, f"extensions[{method!r}]", "params")


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


_EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "additional_directories": ('directories, as ["lib"]', _is_several),
    "env": ("a dict of strings, as {'A': '1'}", _is_environment),
    "inherit": ('names of variables, as ["PATH"]', _is_several),
    "journal": ("a journal, as SqliteJournal()", _has("append", "commit", "put")),
    "mcp_servers": ("a list of servers", _is_several),
    "tools": ("a list of functions", _is_several),
    "policy": ("a Policy", _has("decide", "remember")),
    "workspace": ("a Workspace", _has("files", "terminals")),
    "versions": ("a tuple of numbers, as (2,)", _is_versions),
}
"""The options that are easily mistaken: a description of the value, and a check."""

_CALLED_WITH: dict[str, tuple[str, ...]] = {
    "elicit": ("request", "session"),
    "elicit_url": ("request", "session"),
    "login": ("methods",),
    "observer": ("direction", "frame"),
    "on_auth_status": ("status",),
    "on_decision": ("decided", "session"),
    "on_elicitation_complete": ("elicitation_id",),
    "on_start": ("pid",),
    "on_state": ("state", "reason"),
    "on_stderr": ("data",),
    "on_update": ("session", "update"),
    "permission": ("request", "session"),
    "response_meta": ("method", "params", "result"),
    "terminal_login": ("login",),
}
"""The options that are functions, with the parameters of each."""
