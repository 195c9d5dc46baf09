"""A form from an agent, docked below the conversation.

The focus begins on the form and not in a field, so text that is typed while it appears is ignored.
Later, text goes into the first field. No letter is an answer: declining is the last item.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget

from parley.errors import MalformedValue
from parley.schema import v2
from parley.session._forms import check_content
from parley.tui.render.blocks import one_line
from parley.tui.render.content import text_lines
from parley.tui.render.lines import Line, wrap
from parley.tui.render.theme import Theme

from .dialog import Dialog
from .entry import Entry
from .form_fields import Field, field_of
from .pane import Pane
from .rows import Row, Rows

__all__ = ["MAX_FIELDS", "FormCard"]

MAX_FIELDS = 100
"""A form with more fields is not shown, and cannot be submitted."""
_NONE = Style.null()


class _Actions(Rows[str]):
    """The actions of the form."""

    can_focus = True


class _Fields(VerticalScroll, can_focus=False):
    """The question and the fields."""


class FormCard(Dialog[v2.CreateElicitationResponse]):
    """Asks the user to fill in a form."""

    DEFAULT_CSS = """
    FormCard > #fields {
        height: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-color: $primary 40%;
    }
    FormCard > #fields > #message { margin-bottom: 1; }
    """

    def __init__(self, form: v2.ElicitationFormMode, *, agent: str) -> None:
        """Make the card.

        Args:
            form: The agent's request.
            agent: The name under which the user knows the agent.
        """
        super().__init__(v2.ElicitationCancelAction())
        self.form = form
        self._agent = one_line(agent)
        schema = form.requested_schema
        required = schema.required or []
        self.fields: list[Field] = []
        if len(schema.properties) <= MAX_FIELDS:
            self.fields = [
                field_of(name, kind, is_required=name in required)
                for name, kind in schema.properties.items()
            ]
        able = {each.field_name for each in self.fields if each.control is not None}
        self._lacking = [name for name in required if name not in able]
        self._problem = ""
        self.body = _Fields(id="fields")
        self.keys = Pane(self._paint_keys, id="keys")
        submit = [Row("submit", f"Submit to {self._agent}")] if self.can_submit else []
        others = [Row("decline", "Decline", "d"), Row("cancel", "No answer", "Esc")]
        self.actions: Rows[str] = _Actions([*submit, *others], id="actions")

    @property
    def can_submit(self) -> bool:
        """Return whether all required fields can be filled in here."""
        return not self._lacking and len(self.form.requested_schema.properties) <= MAX_FIELDS

    def compose(self) -> ComposeResult:
        """Show the message, the fields and the actions."""
        with self.body:
            yield Pane(self._paint_message, id="message")
            yield from self.fields
        yield self.actions
        yield self.keys

    def _paint_message(self, width: int, theme: Theme) -> list[Line]:
        schema = self.form.requested_schema
        lines = wrap(
            [("? ", theme.warning), (f"{self._agent} asks for information", theme.strong)], width
        )
        lines += text_lines(self.form.message, width, _NONE)
        if schema.title:
            lines += wrap([(one_line(schema.title), theme.strong)], width)
        if schema.description:
            lines += text_lines(schema.description, width, theme.faint)
        return lines

    def _paint_keys(self, width: int, theme: Theme) -> list[Line]:
        lines: list[Line] = []
        if not self.can_submit:
            lines += wrap(
                [(f"✗ It cannot be filled in here: {self._problem_text()}.", theme.bad)], width
            )
        if self._problem:
            lines += wrap([(f"✗ {self._problem}", theme.bad)], width)
        keys = ["Tab, Enter next field", "Ctrl-S submit", "Shift-Tab to decline"]
        keys = [*(keys if self.can_submit else ["Tab to decline"]), "Esc no answer"]
        return lines + wrap([(" · ".join(keys), theme.faint)], width)

    def _problem_text(self) -> str:
        count = len(self.form.requested_schema.properties)
        if count > MAX_FIELDS:
            return f"it has {count:,} fields"
        names = ", ".join(self._lacking[:3])
        return one_line(f"there is no known field for {names}, which is required")

    @property
    def _stops(self) -> list[Widget]:
        return [*(each.control for each in self.fields if each.control is not None), self.actions]

    def on_resize(self) -> None:
        """Keep the actions visible."""
        self.leave_rest_to(self.body, self.actions, self.keys)

    def on_pane_moved(self) -> None:
        """Keep the messages and the current field visible."""
        self.leave_rest_to(self.body, self.actions, self.keys)
        here = next((each for each in self._stops if each.has_focus), None)
        if here is not None:
            self._bring_into_view(here)

    def on_descendant_focus(self) -> None:
        """Mark the action of Enter if the focus is on the actions."""
        if self.actions.has_focus and self.actions.mark is None:
            self.actions.put_mark(0)

    def on_key(self, event: events.Key) -> None:
        """Write text that is typed on the form into the first field."""
        letter = event.character if event.is_printable else None
        if letter and self._write(letter, event.time):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Write text that is pasted on the form into the first field."""
        lines = event.text.splitlines()
        if lines and self._write(lines[0], event.time):
            event.stop()

    def _write(self, text: str, at: float) -> bool:
        first = self._stops[0]
        if not self.has_focus or not isinstance(first, Entry) or not self.counts(at):
            return False
        self.screen.set_focus(first, scroll_visible=False)  # at once: more is typed
        self._bring_into_view(first)
        first.insert_text_at_cursor(text)
        return True

    def press(self, key: str, letter: str) -> bool:
        """Move between fields, submit, decline, or leave; fields handle their own keys first."""
        is_in_actions = self.actions.has_focus
        if key == "escape":
            self.reply(v2.ElicitationCancelAction())
        elif key in ("ctrl+s", "ctrl+enter"):
            self.submit()
        elif key in ("tab", "shift+tab"):
            self._step(1 if key == "tab" else -1)
        elif key == "enter" and is_in_actions:
            self._act()
        elif key == "enter":
            self._next_field()
        elif key in ("up", "down") and is_in_actions:
            self.actions.move(-1 if key == "up" else 1)
        elif key == "down" and self.has_focus:
            self._step(1)
        elif letter == "d" and is_in_actions:
            self.reply(v2.ElicitationDeclineAction())
        else:
            return False
        return True

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """Perform the action that was clicked."""
        message.stop()
        if self.counts(message.at):
            self._act()

    def _step(self, step: int) -> None:
        """Go to the next stop, and from the last one to the first."""
        stops = self._stops
        at = next((number for number, each in enumerate(stops) if each.has_focus), None)
        first = 0 if step > 0 else -1
        self._go_to(stops[first if at is None else (at + step) % len(stops)])

    def _go_to(self, stop: Widget) -> None:
        """Give a field the focus, and bring all of it into view."""
        stop.focus(scroll_visible=False)
        self._bring_into_view(stop)

    def _bring_into_view(self, stop: Widget) -> None:
        if isinstance(stop.parent, Field):
            self.call_after_refresh(stop.parent.scroll_visible, animate=False, immediate=True)

    def _next_field(self) -> None:
        """Go to the next field; from the last one, submit."""
        fields = self._stops[:-1]
        if fields and fields[-1].has_focus and self.can_submit:
            self.submit()
        else:
            self._step(1)

    def _act(self) -> None:
        row = self.actions.marked
        match row and row.value:
            case "submit":
                self.submit()
            case "decline":
                self.reply(v2.ElicitationDeclineAction())
            case "cancel":
                self.reply(v2.ElicitationCancelAction())
            case _:
                pass

    def submit(self) -> None:
        """Answer with the values if all are valid; else go to the first that is not."""
        if not self.can_submit:
            return
        values = {each.field_name: each.check() for each in self.fields}
        wrong = next((each for each in self.fields if each.problem), None)
        if wrong is not None and wrong.control is not None:
            self._go_to(wrong.control)
            return
        content: dict[str, Any] = {
            name: value for name, value in values.items() if value is not UNSET
        }
        try:
            check_content(self.form.requested_schema, content)
        except MalformedValue as error:
            self._problem = one_line(str(error))
            self.keys.repaint()
            return
        self.reply(v2.ElicitationAcceptAction(content=content))
