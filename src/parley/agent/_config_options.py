"""Finding and setting the config options of a session."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from parley.errors import InvalidParams
from parley.schema import v2
from parley.schema.base import Unknown


def find_option(
    options: Sequence[v2.SessionConfigOption], config_id: str
) -> v2.SessionConfigSelect | v2.SessionConfigBoolean | None:
    """Return the option with this id, or None."""
    known = (option for option in options if not isinstance(option, Unknown))
    return next((option for option in known if option.config_id == config_id), None)


def known_options(options: Sequence[v2.SessionConfigOption]) -> str:
    """Return a phrase that lists the available options, for an error message."""
    known = [each.config_id for each in options if not isinstance(each, Unknown)]
    return f"there are {', '.join(known)}" if known else "there are none"


def with_value(
    options: Sequence[v2.SessionConfigOption], config_id: str, value: str | bool
) -> list[v2.SessionConfigOption]:
    """Return the options with a new value for one of them.

    Raises:
        InvalidParams: The option does not exist, or the value is not valid for it.
    """
    found = find_option(options, config_id)
    if found is None:
        problem = f"There is no option {config_id!r}; {known_options(options)}"
        raise InvalidParams(problem, {"configId": config_id})
    if isinstance(found, v2.SessionConfigBoolean):
        if not isinstance(value, bool):
            raise InvalidParams("The value must be true or false", {"configId": config_id})
        changed: v2.SessionConfigOption = replace(found, current_value=value)
    else:
        if value not in (known := _values(found)):
            listed = ", ".join(sorted(map(str, known)))
            problem = f"The option has no such value; use one of {listed}"
            raise InvalidParams(problem, {"configId": config_id})
        changed = replace(found, current_value=value)
    return [changed if option is found else option for option in options]


def _values(option: v2.SessionConfigSelect) -> set[str | bool]:
    return {
        each.value
        for entry in option.options
        for each in (entry.options if isinstance(entry, v2.SessionConfigSelectGroup) else [entry])
    }
