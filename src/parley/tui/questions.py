"""Questions for permission and for opening a page, docked below the conversation.

What an option is called is the agent's word; what it does is told by its kind, in our words. The
mark never begins on an option that allows something.
"""

from __future__ import annotations

import asyncio
import webbrowser
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct
from rich.style import Style
from textual import events
from textual.app import ComposeResult

from parley.inert import inert
from parley.policy import Scope
from parley.schema import v2
from parley.session.entries import ToolCall

from .asked import Asked
from .details import call_of, permission_lines
from .lines import Line, chop, indent, wrap
from .painting import Look
from .pane import Pane
from .rows import Row, Rows

__all__ = ["Answer", "PermissionCard", "UrlCard", "open_page"]

_NONE = Style.null()
_KINDS = {
    "allow_once": "allows it once",
    "allow_always": "always allows it",
    "reject_once": "refuses it once",
    "reject_always": "always refuses it",
}
_SCOPES: dict[str, Scope] = {"s": "session", "p": "project"}
_LETTERS = {"y": "allow_once", "n": "reject_once"}


class Answer(Struct, frozen=True):
    """What the user said to a question for permission."""

    option_id: str | None = None
    """What was chosen; None: nothing."""
    decision: Literal["allow", "deny"] = "deny"
    scope: Scope | None = None
    """How far it is to be remembered; None: not at all."""


class PermissionCard(Asked[Answer]):
    """Asks whether something may be done."""

    DEFAULT_CSS = """
    PermissionCard > #options { margin-top: 1; max-height: 25vh; }
    """

    def __init__(
        self,
        request: v2.RequestPermissionRequest,
        call: ToolCall | None = None,
        *,
        cwd: str = ".",
        id: str | None = None,
    ) -> None:
        """Ask.

        Args:
            request: The question.
            call: The tool call it is about, as the transcript has it.
            cwd: The directory of the session.
            id: The name of the widget.
        """
        super().__init__(Answer(), id=id)
        self.request = request
        self.scope: Scope | None = None
        """How far the answer will be remembered."""
        self._about = (call_of(request, call), cwd)
        self._letters = _letters(request.options)
        self.details = Pane(self._paint_details, id="details")
        mark = _harmless(request.options)
        self.options = Rows(self._rows(), mark=mark, is_wrapped=True, id="options")
        self.keys = Pane(self._paint_keys, id="keys")

    def compose(self) -> ComposeResult:
        """Show what it is about, the options, and the keys."""
        yield self.details
        yield self.options
        yield self.keys

    def _paint_details(self, width: int, look: Look) -> list[Line]:
        return permission_lines(self.request, *self._about, width, look)

    def _rows(self) -> list[Row[v2.PermissionOption]]:
        options = self.request.options
        counts = Counter(each.option_id for each in options)
        letters = {number: letter for letter, number in self._letters.items()}
        rows: list[Row[v2.PermissionOption]] = []
        for number, option in enumerate(options):
            is_one = counts[option.option_id] == 1
            kind = _KINDS.get(option.kind, f"{option.kind}: not known here")
            detail = kind if is_one else "offered twice, cannot be chosen"
            key = str(number + 1) if number < 9 else " "
            sign = f"{key} {letters.get(number, ' ')}  "
            rows.append(Row(option, option.name, f"({detail})", sign=sign, can_choose=is_one))
        return rows

    def _paint_keys(self, width: int, look: Look) -> list[Line]:
        """Paint how far there is more to read, what is remembered, and the keys."""
        lines: list[Line] = []
        if place := self.details.place:
            lines += wrap([(f"{place}: PgUp, PgDn to read", look.warning)], width)
        if place := self.options.place:
            lines += wrap([(f"{place} of the options: ↑ ↓", look.warning)], width)
        if self.scope is not None:
            told = f"The answer will be remembered in this {self.scope}."
            lines += wrap([(told, look.warning)], width)
        count = min(len(self.request.options), 9)
        choosing = ", ".join([*self._letters, "1" if count == 1 else f"1-{count}"])
        remembering = "s, p remember it in this session, project"
        keys = [f"{choosing} or ↑ ↓ Enter choose", remembering, "Esc no answer"]
        return lines + wrap([(" · ".join(keys), look.faint)], width)

    def on_resize(self) -> None:
        """Make room for the options."""
        self.leave_rest_to(self.details, self.options, self.keys)

    def on_pane_moved(self) -> None:
        """Tell anew how much there is to read."""
        self.keys.repaint()
        self.leave_rest_to(self.details, self.options, self.keys)

    def on_key(self, event: events.Key) -> None:
        """Answer, or move."""
        if self.counts(event.time) and self._press(event.key, (event.character or "").lower()):
            event.stop()
            event.prevent_default()

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """Answer with the option that was clicked."""
        message.stop()
        if self.counts(message.at):
            self._choose(message.row.value)

    def _press(self, key: str, letter: str) -> bool:
        rows, details = self.options, self.details
        moves: dict[str, Callable[[], object]] = {
            "up": lambda: rows.move(-1),
            "down": lambda: rows.move(1),
            "pageup": lambda: details.page(-1),
            "pagedown": lambda: details.page(1),
            "home": lambda: details.scroll_home(animate=False, immediate=True),
            "end": lambda: details.scroll_end(animate=False, immediate=True),
            "escape": lambda: self.reply(Answer()),
            "enter": self._choose_marked,
        }
        if key in moves:
            moves[key]()
        elif letter in _SCOPES:
            self.scope = None if self.scope == _SCOPES[letter] else _SCOPES[letter]
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
        """Answer with an option; what it does not say plainly is not remembered."""
        decision: Literal["allow", "deny"] = "deny"
        if option.kind in ("allow_once", "allow_always"):
            decision = "allow"
        scope = self.scope if option.kind in _KINDS else None
        self.reply(Answer(option.option_id, decision, scope))


def _letters(options: list[v2.PermissionOption]) -> dict[str, int]:
    """Return the letters that mean one option and no other, and the numbers of these."""
    found: dict[str, int] = {}
    ids = Counter(each.option_id for each in options)
    for letter, kind in _LETTERS.items():
        meant = [number for number, each in enumerate(options) if each.kind == kind]
        if len(meant) == 1 and ids[options[meant[0]].option_id] == 1:
            found[letter] = meant[0]
    return found


def _harmless(options: list[v2.PermissionOption]) -> int | None:
    """Return the number of an option that only refuses, once; None: there is none."""
    ids = Counter(each.option_id for each in options)
    refusing = (
        number
        for number, each in enumerate(options)
        if each.kind == "reject_once" and ids[each.option_id] == 1
    )
    return next(refusing, None)


Opener: TypeAlias = Callable[[str], bool]
"""Opens a page; returns whether that worked. It is called in a thread."""


def open_page(url: str) -> bool:
    """Open a page in the user's browser, unless that would run in this terminal."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # Of this class are those that draw on the terminal, until they are left.
    return type(browser) is not webbrowser.GenericBrowser and browser.open(url)


class UrlCard(Asked[v2.CreateElicitationResponse]):
    """Asks whether to open a page."""

    def __init__(
        self,
        request: v2.ElicitationUrlMode,
        *,
        opener: Opener = open_page,
        id: str | None = None,
    ) -> None:
        super().__init__(v2.ElicitationCancelAction(), id=id)
        self.request = request
        self._opener = opener
        self._problem = _problem_of(request.url)
        self._told = ""
        self.page = Pane(self._paint_page, id="page")
        self.keys = Pane(self._paint_keys, id="keys")

    @property
    def can_open(self) -> bool:
        """Whether it is a page at all."""
        return not self._problem

    def compose(self) -> ComposeResult:
        """Show the question, the whole address, and the keys."""
        yield self.page
        yield self.keys

    def _paint_page(self, width: int, look: Look) -> list[Line]:
        url = self.request.url
        inner = max(width - 2, 1)
        address = [(inert(url).replace("\n", "␊"), look.link if self.can_open else _NONE)]
        lines = wrap([("? Open a page?", look.strong)], width)
        lines += indent(chop(address, inner), ("  ", _NONE))
        if self.can_open:
            lines += wrap([("  on ", look.faint), (_host(url), look.strong)], width)
        words = inert(self.request.message).expandtabs(4).split("\n")
        return lines + [line for each in words for line in wrap([(each, _NONE)], width)]

    def _paint_keys(self, width: int, look: Look) -> list[Line]:
        lines: list[Line] = []
        if self._problem:
            lines += wrap([(f"✗ Refused: {self._problem}.", look.bad)], width)
        if place := self.page.place:
            lines += wrap([(f"{place}: PgUp, PgDn to read", look.warning)], width)
        if self._told:
            lines += wrap([(self._told, look.warning)], width)
        keys = ["d decline", "Esc no answer"]
        if self.can_open:
            keys = ["o open it in the browser", "c copy it", "a I open it myself", *keys]
        return lines + wrap([(" · ".join(keys), look.faint)], width)

    def on_resize(self) -> None:
        """Make room for the keys."""
        self.leave_rest_to(self.page, self.keys)

    def on_pane_moved(self) -> None:
        """Tell anew how much there is to read."""
        self.keys.repaint()
        self.leave_rest_to(self.page, self.keys)

    def on_key(self, event: events.Key) -> None:
        """Answer, or move."""
        if self.counts(event.time) and self._press(event.key, (event.character or "").lower()):
            event.stop()
            event.prevent_default()

    def _press(self, key: str, letter: str) -> bool:
        keys: dict[str, Callable[[], object]] = {
            "pageup": lambda: self.page.page(-1),
            "pagedown": lambda: self.page.page(1),
            "escape": lambda: self.reply(v2.ElicitationCancelAction()),
            "d": lambda: self.reply(v2.ElicitationDeclineAction()),
        }
        if self.can_open:
            keys |= {
                "o": self._open,
                "c": self._copy,
                "a": lambda: self.reply(v2.ElicitationAcceptAction()),
            }
        action = keys.get(key) or keys.get(letter)
        if action is not None:
            action()
        return action is not None

    def _copy(self) -> None:
        # Textual does not say what an app returns.
        self.app.copy_to_clipboard(self.request.url)  # pyright: ignore[reportUnknownMemberType]
        self._tell("Copied, as far as this terminal allows it.")

    def _open(self) -> None:
        self.run_worker(self._open_and_accept(), exclusive=True)

    async def _open_and_accept(self) -> None:
        has_opened = False
        with suppress(OSError, webbrowser.Error):
            has_opened = await asyncio.to_thread(self._opener, self.request.url)
        if has_opened:
            self.reply(v2.ElicitationAcceptAction())
        else:
            self._tell("There is no browser to open here: copy it, open it yourself, then press a.")

    def _tell(self, text: str) -> None:
        self._told = text
        self.keys.repaint()


def _problem_of(url: str) -> str:
    """Return why an address is not opened; empty: it is that of a page."""
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname)
    except ValueError:
        return "it is no address"
    if parts.scheme not in ("http", "https"):
        return "only http and https are opened"
    if inert(url, is_line=True) != url or " " in url or "\\" in url:
        return "there are characters in it that no address has"
    return "" if has_host else "it names no host"


def _host(url: str) -> str:
    """Return where an address leads; letters that only look like others are written out."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not host.isascii():
        try:
            host = f"{host} ({host.encode('idna').decode()})"
        except UnicodeError:
            host = f"{host} ({host.encode('unicode_escape').decode()})"
    note = ", plain http: others can read and change it" if parts.scheme == "http" else ""
    return inert(f"{host}{note}", is_line=True)
