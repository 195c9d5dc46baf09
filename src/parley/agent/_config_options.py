"""`ConfigOption`, which a program declares, and finding and setting the options of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from parley._suggestions import suggest
from parley.errors import InvalidParams, LocalProtocolError
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._validation import as_list, check_handler, check_text

if TYPE_CHECKING:
    from ._session import AgentSession


V = TypeVar("V", str, bool)
Values: TypeAlias = type[bool] | Sequence[str] | Mapping[str, str]
"""The values of an option: `bool`, the values, or the values with their labels."""


class DeclaredOption(Struct):
    """The declaration of an option; `ConfigOption` is the program's view of it."""

    initial: v2.SessionConfigSelect | v2.SessionConfigBoolean
    """The option in a new session."""
    hook: Callable[[AgentSession, Any], Awaitable[None]] | None = None
    """Called when the user changes the option."""


class ConfigOption(Generic[V]):
    """A config option that all sessions of an agent have; returned by `agent.option`.

    ```python
    model = agent.option("model", ["fast", "good"], category="model")

    @model.on_change
    async def load(session: AgentSession, value: str) -> None: ...

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"I use {turn.option(model)}.")
    ```
    """

    def __init__(self, declared: DeclaredOption) -> None:
        self._declared = declared

    @property
    def id(self) -> str:
        """The id of the option."""
        return self._declared.initial.config_id

    @property
    def default(self) -> V:
        """The value in a new session."""
        return cast("V", self._declared.initial.current_value)

    def on_change(
        self, hook: Callable[[AgentSession, V], Awaitable[None]]
    ) -> Callable[[AgentSession, V], Awaitable[None]]:
        """Register a hook that runs when the user changes the option.

        `async def change(session, value)`. The session already has the new value. An exception
        becomes the error response, and restores the old value.

        Raises:
            LocalProtocolError: There is already one.
            TypeError: It is not a coroutine function, or takes other arguments.
        """
        check_handler(hook, "@option.on_change", "session", "value", is_async=True)
        if self._declared.hook is not None:
            raise LocalProtocolError(f"the option {self.id!r} already has a hook for changes")
        self._declared.hook = hook
        return hook


def declare_option(
    config_id: str,
    values: Values,
    *,
    default: str | bool | None,
    title: str | None,
    description: str | None,
    category: str | None,
) -> DeclaredOption:
    """Return a new option; see `Agent.option`.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: There are no values, one comes twice, or the default is not one of them.
    """
    check_text(config_id, "the id of an option")
    texts = {"title=": title, "description=": description, "category=": category}
    for argument, text in texts.items():
        if text is not None:
            check_text(text, argument)
    common: dict[str, Any] = {
        "config_id": config_id,
        "name": config_id.replace("_", " ").capitalize() if title is None else title,
        "description": description,
        "category": category,
    }
    if values is bool:
        if not isinstance(default, bool | None):
            kind = type(default).__name__
            raise TypeError(f"the option {config_id!r}: default= must be True or False, not {kind}")
        return DeclaredOption(v2.SessionConfigBoolean(current_value=bool(default), **common))
    options = _choices(config_id, values)
    option = v2.SessionConfigSelect(
        current_value=options[0].value if default is None else cast("str", default),
        options=options,
        **common,
    )
    check_options([option], "default=")
    return DeclaredOption(option)


def _choices(
    config_id: str, values: Sequence[str] | Mapping[str, str]
) -> list[v2.SessionConfigSelectOption]:
    where = f"the option {config_id!r}"
    listed = as_list(values, where, "strings, or bool", str)
    labels = values if isinstance(values, Mapping) else dict(zip(listed, listed, strict=True))
    if not listed:
        raise ValueError(f"{where} needs at least one value")
    if len(labels) < len(listed):
        raise ValueError(f"{where} has a value twice: {', '.join(listed)}")
    for label in labels.values():
        check_text(label, f"{where}: a label")
    return [v2.SessionConfigSelectOption(value=value, name=labels[value]) for value in listed]


def with_stored_values(
    declared: Iterable[DeclaredOption], stored: Sequence[v2.SessionConfigOption]
) -> list[v2.SessionConfigOption]:
    """Return the declared options, then the other stored ones.

    A declared option has its stored value, if it still has that value.
    """
    found: dict[str, v2.SessionConfigOption] = {}
    for option in declared:
        initial = option.initial
        id = initial.config_id
        found[id] = initial
        if (before := find_option(stored, id)) is not None:
            with suppress(InvalidParams):
                [found[id]] = with_value([initial], id, before.current_value)
    others = (each for each in stored if isinstance(each, Unknown) or each.config_id not in found)
    return [*found.values(), *others]


def check_options(
    options: Sequence[v2.SessionConfigOption], argument: str = "current_value="
) -> None:
    """Check the current values of options, which the argument with this name has set.

    Raises:
        TypeError: A value has the wrong type.
        ValueError: A value is not one of the option's values, or two options have the same id.
    """
    known = [each for each in options if not isinstance(each, Unknown)]
    ids = [each.config_id for each in known]
    for option in known:
        where, value = f"the option {option.config_id!r}: {argument}", option.current_value
        if ids.count(option.config_id) > 1:
            raise ValueError(f"there are two options with the id {option.config_id!r}")
        if isinstance(option, v2.SessionConfigBoolean):
            if not isinstance(value, bool):
                raise TypeError(f"{where} must be True or False, not {type(value).__name__}")
        elif not isinstance(value, str):
            raise TypeError(f"{where} must be a string, not {type(value).__name__}")
        elif value not in (values := _values(option)):
            listed = ", ".join(sorted(map(str, values)))
            raise ValueError(f"{where} must be one of {listed}, not {value!r}")


def find_option(
    options: Sequence[v2.SessionConfigOption], config_id: str
) -> v2.SessionConfigSelect | v2.SessionConfigBoolean | None:
    """Return the option with this id, or None."""
    known = (option for option in options if not isinstance(option, Unknown))
    return next((option for option in known if option.config_id == config_id), None)


def suggest_option(config_id: str, options: Sequence[v2.SessionConfigOption]) -> str:
    """Return a hint for an option that does not exist, for an error message."""
    known = [each.config_id for each in options if not isinstance(each, Unknown)]
    return suggest(config_id, known, "{!r}") if known else "the session has no options"


def with_value(
    options: Sequence[v2.SessionConfigOption], config_id: str, value: str | bool
) -> list[v2.SessionConfigOption]:
    """Return the options with a new value for one of them.

    Raises:
        InvalidParams: The option does not exist, or the value is not valid for it.
    """
    found = find_option(options, config_id)
    if found is None:
        problem = f"There is no option {config_id!r}; {suggest_option(config_id, options)}"
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
