"""Requests of an agent to open a web page.

Nothing is opened before the user agrees. The whole address is shown with its host highlighted, and
with warnings about anything that makes it look like another one.
"""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import urlsplit

from rich.style import Style
from textual.app import ComposeResult

from parley._display_text import sanitize_text
from parley.client._web_address import host_of, refusal_of, warnings_about
from parley.schema import v2
from parley.tui.render.lines import Line, Run, chop, indent, wrap
from parley.tui.render.theme import Theme

from .dialog import Dialog
from .pane import Pane

__all__ = ["Opener", "UrlCard", "open_page"]

Opener: TypeAlias = Callable[[str], bool]
"""Opens a page; returns whether that worked. It is called in a thread."""

_NONE = Style.null()


def open_page(url: str) -> bool:
    """Open a page in the user's browser, unless that would run in this terminal."""
    try:
        browser = webbrowser.get()
        # Of this class are those that draw on the terminal, until they are left.
        return type(browser) is not webbrowser.GenericBrowser and browser.open(url)
    except (OSError, webbrowser.Error):
        return False


class UrlCard(Dialog[v2.CreateElicitationResponse]):
    """Asks the user to open a web page."""

    def __init__(
        self, request: v2.ElicitationUrlMode, *, agent: str, opener: Opener = open_page
    ) -> None:
        """Make the card.

        Args:
            request: The agent's request.
            agent: The name under which the user knows the agent.
            opener: Opens the page.
        """
        super().__init__(v2.ElicitationCancelAction())
        self.request = request
        self._agent = sanitize_text(agent, is_line=True)
        self._opener = opener
        self._problem = refusal_of(request.url)
        self._warnings = [] if self._problem else warnings_about(request.url, request.message)
        self._message = ""
        self._is_copied = False
        self.page = Pane(self._paint_page, id="page")
        self.keys = Pane(self._paint_keys, id="keys")

    @property
    def can_open(self) -> bool:
        """Return whether the address is one of a web page."""
        return not self._problem

    def complete(self) -> None:
        """Close, since the agent is done; only a user who copied the address has accepted."""
        done = v2.ElicitationAcceptAction() if self._is_copied else v2.ElicitationCancelAction()
        self.reply(done)

    def compose(self) -> ComposeResult:
        """Show the question, the whole address, and the keys."""
        yield self.page
        yield self.keys

    def _paint_page(self, width: int, theme: Theme) -> list[Line]:
        url = self.request.url
        lines = wrap(
            [("? ", theme.warning), (f"{self._agent} asks you to open a web page", theme.strong)],
            width,
        )
        lines += indent(chop(self._address(theme), max(width - 2, 1)), ("  ", _NONE))
        if self.can_open:
            lines += wrap([("  on ", theme.faint), (host_of(url), theme.strong)], width)
        for warning in self._warnings:
            lines += indent(wrap([(warning, theme.bad)], max(width - 4, 1)), ("  ! ", theme.bad))
        words = sanitize_text(self.request.message).expandtabs(4).split("\n")
        return lines + [line for each in words for line in wrap([(each, _NONE)], width)]

    def _address(self, theme: Theme) -> list[Run]:
        """Return the whole address with the host highlighted."""
        url = self.request.url
        if not self.can_open:
            return [(sanitize_text(url).replace("\n", "␊"), _NONE)]
        start = url.index("//") + 2
        place = urlsplit(url).netloc
        named = place.rpartition("@")[2]
        start += len(place) - len(named)
        end = start + len(named)
        return [
            (url[:start], theme.link),
            (url[start:end], theme.link + theme.strong),
            (url[end:], theme.link),
        ]

    def _paint_keys(self, width: int, theme: Theme) -> list[Line]:
        lines: list[Line] = []
        if self._problem:
            lines += wrap([(f"✗ Refused: {self._problem}.", theme.bad)], width)
        if place := self.page.place:
            lines += wrap([(f"{place}: PgUp, PgDn to read", theme.warning)], width)
        if self._message:
            lines += wrap([(self._message, theme.warning)], width)
        keys = ["d decline", "Esc no answer"]
        if self.can_open:
            keys = ["o open in browser", "c copy", "a I open it myself", *keys]
        return lines + wrap([(" · ".join(keys), theme.faint)], width)

    def on_resize(self) -> None:
        """Make room for the keys."""
        self.leave_rest_to(self.page, self.keys)

    def on_pane_moved(self) -> None:
        """Update the line about the rest of the text."""
        self.keys.repaint()
        self.leave_rest_to(self.page, self.keys)

    def press(self, key: str, letter: str) -> bool:
        """Answer, or move."""
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
        # Textual leaves the return type of an app open.
        self.app.copy_to_clipboard(self.request.url)  # pyright: ignore[reportUnknownMemberType]
        self._is_copied = True
        self._show_message("Copied, if this terminal allows it.")

    def _open(self) -> None:
        self.run_worker(self._open_and_accept(), exclusive=True)

    async def _open_and_accept(self) -> None:
        if await asyncio.to_thread(self._opener, self.request.url):
            self.reply(v2.ElicitationAcceptAction())
        else:
            self._show_message(
                "No browser can be opened here. Copy the address, open it yourself, then press a."
            )

    def _show_message(self, text: str) -> None:
        self._message = text
        self.keys.repaint()
