"""The fields of a form: text, numbers, choices.

Default values from an agent are made inert like all its text, and are sent as they are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import UNSET
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from parley.schema import v2
from parley.session._forms import problem_of
from parley.tui.render.blocks import one_line
from parley.tui.render.lines import Line, indent, wrap
from parley.tui.render.theme import Theme

from .entry import Entry
from .pane import Pane
from .rows import Row, Rows

__all__ = ["CheckList", "Field", "field_of"]

_NONE = Style.null()
_SECRET_FORMATS = ("password", "secret")
_EXAMPLES = {
    "email": "name@example.org",
    "uri": "https://example.org",
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
}
_MISSING = "it is required"


class CheckList(Rows[Any]):
    """Rows with boxes, of which one or several can be checked."""

    can_focus = True

    DEFAULT_CSS = """
    CheckList { max-height: 8; }
    """

    def __init__(
        self, choices: Sequence[Row[Any]], chosen: Sequence[Any], *, has_several: bool = False
    ) -> None:
        self.has_several = has_several
        self.chosen = [row.value for row in choices if row.value in chosen]
        """The values that are chosen, in the order of the rows."""
        self._choices = list(choices)
        super().__init__(self._boxed())
        if self.chosen:
            self.mark = next(n for n, row in enumerate(choices) if row.value == self.chosen[0])

    def _boxed(self) -> list[Row[Any]]:
        on, off = ("[x] ", "[ ] ") if self.has_several else ("(•) ", "( ) ")
        return [
            Row(row.value, row.label, row.detail, sign=on if row.value in self.chosen else off)
            for row in self._choices
        ]

    def toggle(self) -> None:
        """Check or uncheck the marked row."""
        if self.marked is None:
            return
        value = self.marked.value
        before = (
            self.chosen if self.has_several else [each for each in self.chosen if each == value]
        )
        chosen = [each for each in before if each != value] if value in before else [*before, value]
        self.chosen = [row.value for row in self._choices if row.value in chosen]
        self.all_rows = self._boxed()
        self.refresh()

    def _choose_marked(self) -> None:
        if self.marked is not None and self.marked.value not in self.chosen:
            self.toggle()

    def on_key(self, event: events.Key) -> None:
        """Move the mark, or choose."""
        steps = {"up": -1, "down": 1}
        if event.key in steps:
            self.move(steps[event.key])
        elif event.key in ("pageup", "pagedown"):
            self.page(-1 if event.key == "pageup" else 1)
        elif event.key == "space":
            self.toggle()
        else:
            if event.key == "enter" and not self.has_several:
                self._choose_marked()  # and the form continues
            return
        event.stop()
        event.prevent_default()

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """Choose what was clicked."""
        message.stop()
        self.toggle()


class Field(Vertical):
    """A field: its name, its input, and the problem with its value."""

    DEFAULT_CSS = """
    Field { height: auto; margin-bottom: 1; }
    Field Entry { margin-left: 2; background: $panel; }
    Field CheckList { margin-left: 2; }
    """

    def __init__(
        self,
        name: str,
        kind: v2.ElicitationPropertySchema,
        control: Widget | None,
        *,
        is_required: bool,
    ) -> None:
        """Make a field.

        Args:
            name: Its name in the form.
            kind: What it takes.
            control: Where it is filled in; None: it cannot be.
            is_required: Whether it must be.
        """
        super().__init__()
        self.field_name = name
        self.kind = kind
        self.control = control
        self.is_required = is_required
        self.problem = ""
        self.head = Pane(self._paint_head, classes="head")
        self.foot = Pane(self._paint_foot, classes="foot")

    def compose(self) -> ComposeResult:
        """Show them from top to bottom."""
        yield self.head
        if self.control is not None:
            yield self.control
        yield self.foot

    def check(self) -> Any:
        """Return the value, UNSET for none, and show what is wrong with it."""
        value = _value(self)
        problem = _MISSING if value is UNSET and self.is_required else None
        if self.control is None:
            problem = None
        elif value is not UNSET:
            problem = problem_of(self.kind, value)
        self.problem = "" if problem is None else one_line(problem)
        self.foot.repaint()
        return value

    def _paint_head(self, width: int, theme: Theme) -> list[Line]:
        is_here = self.control is not None and self.control.has_focus
        title = one_line(str(getattr(self.kind, "title", None) or self.field_name))
        runs = [("▸ " if is_here else "  ", theme.accent), (title, theme.strong)]
        hints = [*(["required"] if self.is_required else []), *_hints(self.kind)]
        if isinstance(self.control, CheckList):
            hints.append("Space chooses")
        elif self.control is None:
            hints.append("a kind of field that is not known here")
        if hints:
            runs.append((f"  ({', '.join(hints)})", theme.faint))
        lines = wrap(runs, width)
        description = getattr(self.kind, "description", None)
        if description:
            words = wrap([(one_line(str(description)), theme.faint)], max(width - 2, 1))
            lines += indent(words, ("  ", _NONE))
        return lines

    def _paint_foot(self, width: int, theme: Theme) -> list[Line]:
        if not self.problem:
            return []
        return indent(wrap([(self.problem, theme.bad)], max(width - 4, 1)), ("  ✗ ", theme.bad))

    def on_descendant_focus(self) -> None:
        """Mark it as the current field."""
        self.head.repaint()

    def on_descendant_blur(self) -> None:
        """Check the value, unless it is empty."""
        self.head.repaint()
        if self.problem or _value(self) is not UNSET:
            self.check()


def field_of(name: str, kind: v2.ElicitationPropertySchema, *, is_required: bool) -> Field:
    """Return the field for a property of a form."""
    return Field(name, kind, _control(kind), is_required=is_required)


def _control(kind: v2.ElicitationPropertySchema) -> Widget | None:
    match kind:
        case v2.StringPropertySchema(enum=None, one_of=None):
            example = _EXAMPLES.get(kind.format or "", "…")
            is_secret = (kind.format or "").lower() in _SECRET_FORMATS
            default = one_line(kind.default or "")
            return Entry(default, placeholder=example, is_secret=is_secret)
        case v2.StringPropertySchema():
            rows = [Row(each, each) for each in kind.enum or ()] + _labelled(kind.one_of or ())
            return CheckList(rows, [kind.default])
        case v2.IntegerPropertySchema() | v2.NumberPropertySchema():
            return Entry("" if kind.default is None else _digits(kind.default))
        case v2.BooleanPropertySchema():
            return CheckList([Row(True, "yes"), Row(False, "no")], [kind.default])
        case v2.MultiSelectPropertySchema(items=v2.StringMultiSelectItems(enum=enum)):
            return CheckList(
                [Row(each, each) for each in enum], kind.default or (), has_several=True
            )
        case v2.MultiSelectPropertySchema(items=v2.TitledMultiSelectItems(any_of=options)):
            return CheckList(_labelled(options), kind.default or (), has_several=True)
        case _:
            return None


def _labelled(options: Sequence[v2.EnumOption]) -> list[Row[Any]]:
    return [Row(each.const, each.title, each.description or "") for each in options]


def _hints(kind: v2.ElicitationPropertySchema) -> list[str]:
    """Return the constraints of a value, as far as they are short."""
    match kind:
        case v2.IntegerPropertySchema() | v2.NumberPropertySchema():
            word = "whole number" if isinstance(kind, v2.IntegerPropertySchema) else "number"
            return [word, *_range(kind.minimum, kind.maximum, "")]
        case v2.StringPropertySchema(enum=None, one_of=None):
            form = [one_line(kind.format)] if kind.format else []
            length = _range(kind.min_length, kind.max_length, " characters")
            pattern = [f"matches {one_line(kind.pattern)}"] if kind.pattern else []
            return [*form, *length, *pattern]
        case v2.MultiSelectPropertySchema():
            return _range(kind.min_items, kind.max_items, " choices")
        case _:
            return []


def _range(low: float | None, high: float | None, of: str) -> list[str]:
    if low is not None and high is not None:
        return [f"{_digits(low)} to {_digits(high)}{of}"]
    if low is not None:
        return [f"at least {_digits(low)}{of}"]
    return [] if high is None else [f"at most {_digits(high)}{of}"]


def _digits(number: float) -> str:
    return str(number).removesuffix(".0")


def _value(field: Field) -> Any:
    """Return the value of a text, UNSET for none; an unreadable number stays a text."""
    control, kind = field.control, field.kind
    if isinstance(control, Entry):
        if not control.value:
            return UNSET
        is_number = isinstance(kind, v2.IntegerPropertySchema | v2.NumberPropertySchema)
        return _number(control.value.strip()) if is_number else control.value
    if not isinstance(control, CheckList):
        return UNSET
    if not control.has_several:
        return control.chosen[0] if control.chosen else UNSET
    is_sent = control.chosen or field.is_required or getattr(kind, "default", None)
    return control.chosen if is_sent else UNSET


def _number(word: str) -> int | float | str:
    with suppress(ValueError):
        return int(word)
    with suppress(ValueError):
        number = float(word)
        return int(number) if number.is_integer() else number
    return word
