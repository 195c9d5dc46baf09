"""Checks of the keyword arguments of `connect` and of the methods that open a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from parley._suggestions import unknown_option
from parley.config import Config
from parley.peer import Limits, TypedHandler
from parley.schema import v2
from parley.session._validation import check_handler

from ._editor import EDITOR_METHODS
from ._target_settings import Process, Remote, is_names, is_seconds


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Raise for unknown options, and for wrong values that would otherwise go unnoticed.

    Args:
        options: The options to check.
        known: The `TypedDict` that lists the options.

    Raises:
        TypeError: An option does not exist, or its value has the wrong type.
    """
    for name in options:
        if name not in known.__annotations__:
            raise unknown_option(name, known.__annotations__)
    for name in options.keys() & _EXPECTED.keys():
        expected, fits = _EXPECTED[name]
        value = options[name]
        if not fits(value) and (value is not None or name in _NEVER_NONE):
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


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_versions(value: Any) -> bool:
    return _is_sequence(value) and all(type(each) is int for each in value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_instance(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _has_attributes(*names: str) -> Callable[[Any], bool]:
    return lambda value: not isinstance(value, type) and all(hasattr(value, each) for each in names)


_EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "additional_directories": ('directories, such as ["lib"]', _is_sequence),
    "capabilities_meta": ("a dict", _is_instance(dict)),
    "config": ("True, False or a Config", _is_instance(bool, Config)),
    "extensions": ('a dict of functions, such as {"_example.com/add": add}', _is_instance(Mapping)),
    "give_up_after": ("a positive number of seconds, or None", is_seconds),
    "inherit": ('names of variables, such as ["PATH"]', is_names),
    "info": ("an Implementation of parley.schema.v2", _is_instance(v2.Implementation)),
    "journal": ("a journal, such as SqliteJournal()", _has_attributes("append", "commit", "put")),
    "limits": ("a Limits of parley.peer", _is_instance(Limits)),
    "max_message_bytes": ("a positive number of bytes", _is_count),
    "mcp_servers": ("a list of servers", _is_sequence),
    "meta": ("a dict", _is_instance(dict)),
    "name": ("a string", _is_instance(str)),
    "policy": ("a Policy", _has_attributes("decide", "remember")),
    "position_encodings": ('a list of encodings, such as ["utf-8"]', _is_sequence),
    "process": ("a Process", _is_instance(Process)),
    "remote": ("a Remote", _is_instance(Remote)),
    "tools": ("a list of functions", _is_sequence),
    "tracer": ("a tracer, such as OpenTelemetryTracer()", _has_attributes("inbound", "outbound")),
    "versions": ("a tuple of numbers, such as (2,)", _is_versions),
    "workspace": ("a Workspace", _has_attributes("files", "terminals")),
}
"""The options that are easily mistaken: a description of the value, and a check."""

_NEVER_NONE = frozenset(
    {
        "additional_directories",
        "config",
        "max_message_bytes",
        "mcp_servers",
        "name",
        "position_encodings",
        "tools",
        "versions",
    }
)
"""The options that have a value in any case."""

_CALLED_WITH: dict[str, tuple[str, ...]] = {
    "elicit": ("request", "session"),
    "elicit_url": ("request", "session"),
    "login": ("methods",),
    "observer": ("direction", "frame"),
    "on_auth_status": ("status",),
    "on_decision": ("decided", "session"),
    "on_elicitation_complete": ("elicitation_id",),
    "on_update": ("session", "update"),
    "permission": ("request", "session"),
    "response_meta": ("method", "params", "result"),
    "terminal_login": ("login",),
}
"""The options that are functions, with the parameters of each."""
