"""The config options of a session: their order, the names of their values, and changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from parley.schema import v2
from parley.schema.base import Unknown

__all__ = ["Values", "changed_options", "group_model_options", "value_name"]

Values: TypeAlias = dict[str, tuple[str, str]]
"""By the id of an option: its name and the name of its value."""


def changed_options(
    before: Values | None, options: Sequence[v2.SessionConfigOption]
) -> tuple[Values, list[str]]:
    """Return the options as they are now, and a line for each that has another value.

    Args:
        before: What this returned the last time; None: nothing is known, so nothing has changed.
        options: All options of the session.
    """
    now: Values = {
        option.config_id: (option.name, value_name(option))
        for option in options
        if not isinstance(option, Unknown)
    }
    if before is None:
        return now, []
    changes = [
        f"{name}: {value}"
        for id, (name, value) in now.items()
        if id in before and before[id][1] != value
    ]
    return now, changes


def group_model_options(
    options: Sequence[v2.SessionConfigOption],
) -> list[v2.SessionConfigOption]:
    """Return the options in the agent's order, with those that configure the model next to it."""
    models = [each for each in options if _category(each) == "model"]
    settings = [each for each in options if _category(each) == "model_config"]
    if not models:
        return list(options)
    last = models[-1]
    ordered: list[v2.SessionConfigOption] = []
    for option in options:
        if option in settings:
            continue
        ordered.append(option)
        if option is last:
            ordered += settings
    return ordered


def _category(option: v2.SessionConfigOption) -> str | None:
    return None if isinstance(option, Unknown) else option.category


def value_name(option: v2.SessionConfigSelect | v2.SessionConfigBoolean) -> str:
    """Return what the value of an option is called."""
    if isinstance(option, v2.SessionConfigBoolean):
        return "on" if option.current_value else "off"
    choices: list[v2.SessionConfigSelectOption] = []
    for each in option.options:
        choices += each.options if isinstance(each, v2.SessionConfigSelectGroup) else [each]
    names = {choice.value: choice.name for choice in choices}
    return names.get(option.current_value, option.current_value)
