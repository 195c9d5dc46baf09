"""The options of a client: how it behaves, and how to reach the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, TypedDict

from parley.client import ConnectOptions
from parley.client._check_options import check_options

from ._context import Related
from ._display import Show
from ._scheduler import Clock, Timing


class NesOptions(TypedDict, total=False):
    """The options for how a client behaves."""

    kinds: Iterable[str]
    """The kinds that the editor shows besides edits: `jump`, `rename`, `searchAndReplace`. None by
    default; on an existing connection, those that it offers."""
    actions: Iterable[str] | Mapping[str, dict[str, Any]]
    """The ids of further IDE actions that the editor runs, or a mapping from the ids to the JSON
    Schemas of their arguments; on a connection that is there, those that it offers."""
    folders: Iterable[str | Path]
    """The folders of the workspace, the main one first; by default the connection's."""
    on_show: Show | None
    """Called with what is to be shown, each time that this changes; None: nothing any more."""
    timing: Timing
    """The delays and timeouts."""
    clock: Clock
    """The clock; by default the event loop."""
    related: Related | None
    """Finds code that has to do with a place, for agents that want it."""


class NesConnectOptions(ConnectOptions, NesOptions, total=False):
    """The options for how a client behaves, and how to reach the agent."""


def check_nes_options(options: Mapping[str, Any], known: type = NesOptions) -> None:
    """Refuse options that are not known, and those that are something else.

    Args:
        options: What was given.
        known: The `TypedDict` that lists the options.

    Raises:
        TypeError: An option does not exist, or is something else than it should be.
    """
    check_options(options, known)
    for name, (wanted, fits) in _WANTED.items():
        if name in options and not fits(options[name]):
            raise TypeError(f"{name}= takes {wanted}")


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_function(value: Any) -> bool:
    return value is None or (callable(value) and not iscoroutinefunction(value))


_WANTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "kinds": ('several kinds, such as ["jump"]', _is_several),
    "actions": ('several actions, such as ["organizeImports"]', _is_several),
    "folders": ('several folders, such as ["src"]', _is_several),
    "on_show": ("a plain function of a suggestion or None", _is_function),
    "timing": ("a Timing", lambda value: isinstance(value, Timing)),
    "related": ("a plain function of a URI and a Spot", _is_function),
}
