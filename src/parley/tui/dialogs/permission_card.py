"""Questions for permission, docked below the conversation.

The agent chooses the name of an option; the words for its kind, which say what it does, are ours.
The mark never begins on an option that allows something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

from textual.app import ComposeResult

from parley.client._own_permission_request import effect_of
from parley.conversation.permission_answer import SCOPE_KEYS, PermissionAnswer
from parley.policy import Scope
from parley.schema import v2
from parley.session._transcript_entries import ToolCallEntry
from parley.tui.render.lines import Line, wrap
from parley.tui.render.theme import Theme

from .dialog import Dialog
from .pane import Pane
from .permission_details import known_tool_call, permission_lines
from .rows import Row, Rows

__all__ = ["PermissionCard"]

_LETTERS = {"y": "allow_once", "n": "reject_once"}


class PermissionCard(Dialog[PermissionAnswer]):
    """Asks whether something may be done."""

    DEFAULT_CSS = """
    PermissionCard > #options { margin-top: 1; max-height: 25vh; }
    """

    def __init__(
        self,
        request: v2.RequestPermissionRequest,
        call: ToolCallEntry | None = None,
        *,
        cwd: str = ".",
    ) -> None:
        """Ask.

        Args:
            request: The question.
            call: The tool call it is about, as the transcript has it.
            cwd: The directory of the session.
        """
        super().__init__(PermissionAnswer())
        self.request = request
        self.scope: Scope | None = None
        """How long the answer will be remembered."""
        self._about = (known_tool_call(request, call), cwd)
        self._letters = _letters(request.options)
        self.details = Pane(self._paint_details, id="details")
        mark = _harmless(request.options)
        self.options = Rows(self._rows(), mark=mark, is_wrapped=True, id="options")
        self.keys = Pane(self._paint_keys, id="keys")

    def compose(self) -> ComposeResult:
        """Show the details, the options and the keys."""
        yield self.details
        yield self.options
        yield self.keys

    def _paint_details(self, width: int, theme: Theme) -> list[Line]:
        return permission_lines(self.request, *self._about, width, theme)

    def _rows(self) -> list[Row[v2.PermissionOption]]:
        options = self.request.options
        counts = Counter(each.option_id for each in options)
        letters = {number: letter for letter, number in self._letters.items()}
        rows: list[Row[v2.PermissionOption]] = []
        for number, option in enumerate(options):
            is_one = counts[option.option_id] == 1
            kind = effect_of(option) or f"{option.kind}: not known here"
            detail = kind if is_one else "offered twice, cannot be chosen"
            key = str(number + 1) if number < 9 else " "
            sign = f"{key} {letters.get(number, ' ')}  "
            rows.append(Row(option, option.name, f"({detail})", sign=sign, can_choose=is_one))
        return rows

    def _paint_keys(self, width: int, theme: Theme) -> list[Line]:
        """Return lines about the rest of the text, the scope, and the keys."""
        lines: list[Line] = []
        if place := self.details.place:
            lines += wrap([(f"{place}: PgUp, PgDn to read", theme.warning)], width)
        if place := self.options.place:
            lines += wrap([(f"{place} of the options: ↑ ↓", theme.warning)], width)
        if self.scope is not None:
            hint = f"The answer will be remembered in this {self.scope}."
            lines += wrap([(hint, theme.warning)], width)
        count = min(len(self.request.options), 9)
        choosing = ", ".join([*self._letters, "1" if count == 1 else f"1-{count}"])
        remembering = "s, p remember in session, project"
        keys = [f"{choosing} or ↑ ↓ Enter", remembering, "Esc no answer"]
        return lines + wrap([(" · ".join(keys), theme.faint)], width)

    def on_resize(self) -> None:
        """Make room for the options."""
        self.leave_rest_to(self.details, self.options, self.keys)

    def on_pane_moved(self) -> None:
        """Update the lines about the rest of the text."""
        self.keys.repaint()
        self.leave_rest_to(self.details, self.options, self.keys)

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """PermissionAnswer with the option that was clicked."""
        message.stop()
        if self.counts(message.at):
            self._choose(message.row.value)

    def press(self, key: str, letter: str) -> bool:
        """PermissionAnswer, or move."""
        rows, details = self.options, self.details
        moves: dict[str, Callable[[], object]] = {
            "up": lambda: rows.move(-1),
            "down": lambda: rows.move(1),
            "pageup": lambda: details.page(-1),
            "pagedown": lambda: details.page(1),
            "home": lambda: details.scroll_home(animate=False, immediate=True),
            "end": lambda: details.scroll_end(animate=False, immediate=True),
            "escape": lambda: self.reply(PermissionAnswer()),
            "enter": self._choose_marked,
        }
        if key in moves:
            moves[key]()
        elif letter in SCOPE_KEYS:
            self.scope = None if self.scope == SCOPE_KEYS[letter] else SCOPE_KEYS[letter]
            self.keys.repaint()
        elif letter in self._letters or (len(letter) == 1 and letter in "123456789"):
            number = self._letters[letter] if letter in self._letters else int(letter) - 1
            if number < len(rows.all_rows) and rows.all_rows[number].can_choose:
                self._choose(self.request.options[number])
        else:
            return False
        return True

    def _choose_marked(self) -> None:
        row = self.options.marked
        if row is not None:
            self._choose(row.value)

    def _choose(self, option: v2.PermissionOption) -> None:
        """PermissionAnswer with an option; what it does not say plainly is not remembered."""
        decision: Literal["allow", "deny"] = "deny"
        if option.kind in ("allow_once", "allow_always"):
            decision = "allow"
        scope = self.scope if effect_of(option) else None
        self.reply(PermissionAnswer(option.option_id, decision, scope))


def _letters(options: list[v2.PermissionOption]) -> dict[str, int]:
    """Return the letters that mean exactly one option, and the indexes of these."""
    found: dict[str, int] = {}
    ids = Counter(each.option_id for each in options)
    for letter, kind in _LETTERS.items():
        meant = [number for number, each in enumerate(options) if each.kind == kind]
        if len(meant) == 1 and ids[options[meant[0]].option_id] == 1:
            found[letter] = meant[0]
    return found


def _harmless(options: list[v2.PermissionOption]) -> int | None:
    """Return the index of an option that refuses once; None if there is none."""
    ids = Counter(each.option_id for each in options)
    refusing = (
        number
        for number, each in enumerate(options)
        if each.kind == "reject_once" and ids[each.option_id] == 1
    )
    return next(refusing, None)
