"""Forms that an agent asks the user to fill in, on the terminal.

The fields are asked for one by one, with their descriptions and choices. Then all answers are shown
once more: the user changes one, sends them, declines, or cancels. Nothing is sent before that, and
Ctrl-D leads there from any field.

Spec: https://agentclientprotocol.com/protocol/v1/elicitation
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import UNSET, UnsetType

from parley._display_text import sanitize_text
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._forms import problem_of

from .keyboard import discard_typed_input
from .paint import cut_row, terminal_size
from .reporting import say

__all__ = ["FormDialog", "ReadLine", "show_agent_text"]

ReadLine = Callable[[str], Awaitable[str | None]]
"""Shows a prompt and returns the line that the user enters; None at the end of the input."""

_YES, _NO = ("y", "yes"), ("n", "no")
_MAX_FIELDS = 100
_MAX_LINES = 20
"""The number of lines shown of a message or a description."""
_MARGIN = 6
"""The columns before text that the agent wrote."""
_MAX_CHOICES = 50
"""The number of choices shown for a field."""


class FormDialog:
    """Asks the user for the fields of one form, and for consent to send them."""

    def __init__(self, form: v2.ElicitationFormMode, agent: str, read_line: ReadLine) -> None:
        """Prepare the dialog.

        Args:
            form: The agent's request.
            agent: The name under which the user knows the agent.
            read_line: Reads a line from the terminal.
        """
        self._form = form
        self._agent = sanitize_text(agent, is_line=True)
        self._read_line = read_line
        self._required = set(form.requested_schema.required or ())
        self._fields = {
            name: field
            for name, field in form.requested_schema.properties.items()
            if not isinstance(field, Unknown)
        }
        self._answers: dict[str, Any] = {}

    async def run(self) -> v2.CreateElicitationResponse:
        """Ask, and return what the user decided."""
        say(f"? {self._agent} asks for information:")
        show_agent_text(self._form.message)
        if problem := self._refusal():
            say(f"  This form is declined: {problem}.")
            return v2.ElicitationDeclineAction()
        say("  Press Enter to keep a [default], Ctrl-D to review, decline or cancel.")
        for name in self._fields:
            if not await self._ask(name):
                break
        return await self._review()

    def _refusal(self) -> str | None:
        """Return why the form cannot be filled in here, or None if it can be."""
        if len(self._fields) > _MAX_FIELDS:
            return f"it has {len(self._fields):,} fields, and at most {_MAX_FIELDS} are supported"
        missing = sorted(self._required - self._fields.keys())
        if missing:
            return sanitize_text(
                f"the type of the required field {missing[0]} is unknown", is_line=True
            )
        return None

    async def _ask(self, name: str) -> bool:
        """Ask for one field until the answer fits; return False at the end of the input."""
        field = self._fields[name]
        label = self._label(name)
        say(f"  {label}{' (required)' if name in self._required else ''}")
        if field.description:
            show_agent_text(field.description)
        if isinstance(field, v2.StringPropertySchema) and field.pattern:
            show_agent_text(f"matches {field.pattern}")
        choices = _choices(field)
        for number, title in enumerate(list(choices.values())[:_MAX_CHOICES], 1):
            say(f"      {number}) {sanitize_text(title, is_line=True)}")
        if len(choices) > _MAX_CHOICES:
            say(f"      … and {len(choices) - _MAX_CHOICES:,} more")
        default = self._answers.get(name, getattr(field, "default", None))
        hint = "" if default is None else f" [{_shown(default)}]"
        while True:
            line = await self._read_line(f"  {label}{_expected(field, choices)}{hint}: ")
            if line is None:
                return False
            value = _read_value(field, line, choices) if line else default
            if value is None and name not in self._required:
                return True
            problem = "an answer is required" if value is None else problem_of(field, value)
            if problem is None:
                self._answers[name] = value
                return True
            say(f"    {sanitize_text(problem, is_line=True)}")

    async def _review(self) -> v2.CreateElicitationResponse:
        """Show all answers until the user sends them, declines, or cancels."""
        names = list(self._fields)
        numbers = "1" if len(names) == 1 else f"1-{len(names)}"
        change = f", {numbers} to change an answer" if names else ""
        while True:
            say("  Your answers:" if names else "  There is nothing to fill in.")
            for number, name in enumerate(names, 1):
                say(f"    {number}) {self._label(name)}: {_shown(self._answers.get(name))}")
            discard_typed_input()
            line = await self._read_line(
                f"  Send this to {self._agent}? y to send{change}, "
                "n to decline (Enter cancels the question): "
            )
            if not line:
                return v2.ElicitationCancelAction()
            if line in _NO:
                return v2.ElicitationDeclineAction()
            if line in _YES:
                if (missing := self._missing()) is None:
                    return v2.ElicitationAcceptAction(content=self._answers)
                say(f"    {self._label(missing)} is required")
                await self._ask(missing)
            elif line.isdecimal() and 1 <= int(line) <= len(names):
                await self._ask(names[int(line) - 1])

    def _missing(self) -> str | None:
        """Return a required field that has no answer, or None."""
        return next(
            (name for name in self._fields if name in self._required and name not in self._answers),
            None,
        )

    def _label(self, name: str) -> str:
        return sanitize_text(str(self._fields[name].title or name), is_line=True)


def show_agent_text(text: str) -> None:
    """Show text that the agent wrote, marked and bounded."""
    lines = sanitize_text(text).split("\n")
    cells = terminal_size().columns - _MARGIN
    for line in lines[:_MAX_LINES]:
        say(f"    │ {cut_row(line.expandtabs(4), cells)}")
    if len(lines) > _MAX_LINES:
        say(f"    │ … and {len(lines) - _MAX_LINES:,} more lines")


def _choices(field: v2.ElicitationPropertySchema) -> Mapping[str, str]:
    """Return the values that can be chosen, with their titles; empty if anything can be entered."""
    match field:
        case v2.StringPropertySchema(one_of=list() as options):
            return {each.const: f"{each.title} ({each.const})" for each in options}
        case v2.StringPropertySchema(enum=list() as values):
            return {value: value for value in values}
        case v2.BooleanPropertySchema():
            return {}
        case v2.MultiSelectPropertySchema(items=v2.TitledMultiSelectItems(any_of=options)):
            return {each.const: f"{each.title} ({each.const})" for each in options}
        case v2.MultiSelectPropertySchema(items=v2.StringMultiSelectItems(enum=values)):
            return {value: value for value in values}
        case _:
            return {}


def _expected(field: v2.ElicitationPropertySchema, choices: Mapping[str, str]) -> str:
    """Return a hint at what can be entered."""
    match field:
        case v2.BooleanPropertySchema():
            return " (y or n)"
        case v2.MultiSelectPropertySchema():
            return " (one or more, separated by commas)"
        case _ if choices:
            return f" (1-{len(choices)} or a value)"
        case _:
            return ""


def _shown(value: Any) -> str:
    """Return an answer as the user reads it."""
    if value is None:
        return "(no answer)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return sanitize_text(", ".join(map(str, value)), is_line=True)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return sanitize_text(str(value), is_line=True)


def _read_value(field: v2.ElicitationPropertySchema, line: str, choices: Mapping[str, str]) -> Any:
    """Convert a line to the field's type; a line that cannot be converted stays a string."""
    match field:
        case v2.BooleanPropertySchema() if line in (*_YES, *_NO):
            return line in _YES
        case v2.IntegerPropertySchema() | v2.NumberPropertySchema():
            converted: int | float | UnsetType = UNSET
            for convert in (int, float):
                if converted is UNSET:
                    with suppress(ValueError):
                        converted = convert(line)
            return line if converted is UNSET else converted
        case v2.MultiSelectPropertySchema():
            return [_choice(each.strip(), choices) for each in line.split(",")]
        case _:
            return _choice(line, choices)


def _choice(line: str, choices: Mapping[str, str]) -> str:
    """Return the choice with this number; a value that can be chosen counts as itself."""
    if line not in choices and line.isdecimal() and 1 <= int(line) <= len(choices):
        return list(choices)[int(line) - 1]
    return line
