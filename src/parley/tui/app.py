"""The app: tabs, keys, themes, and the way out."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from time import monotonic
from typing import ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.containers import Vertical
from textual.driver import Driver
from textual.filter import LineFilter, NoColor

from parley.conversation.images import ImageCopies
from parley.errors import AcpError

from . import actions
from .chat import Chat
from .commands import Palette, bindings
from .composer import Composer
from .dialogs.url_card import Opener, open_page
from .log_forwarder import LogForwarder
from .render.blocks import Kind
from .render.theme import ANSI_DARK, ANSI_LIGHT, THEMES, ControlFilter
from .signals import ExitSignals
from .tab import Tab
from .tab_bar import TabBar
from .terminal_handover import TerminalHandover

__all__ = ["ChatApp"]

MESSAGE_SECONDS = 3.0
"""How long a message stays in the status line, and how long a second Ctrl-C counts as one."""


class ChatApp(App[int]):
    """`parley chat`."""

    TITLE = "Parley"
    CSS = """
    Screen:nocolor > .screen--selection,
    TextArea:nocolor .text-area--selection, TextArea:nocolor .text-area--cursor,
    Input:nocolor .input--selection, Input:nocolor .input--cursor {
        text-style: reverse;
    }
    OptionList:nocolor > .option-list--option-highlighted {
        text-style: bold underline;
    }
    """
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Palette}
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(),
        Binding("ctrl+c", "interrupt", "Copy, close, empty, leave", show=False, priority=True),
    ]

    def __init__(
        self,
        tab: Tab,
        *,
        theme: str = "dark",
        opener: Opener = open_page,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Prepare the app with one tab.

        Args:
            tab: What is shown first.
            theme: `dark` or `light`.
            opener: Opens a page where the user wants that.
            clock: Returns the time, for the interval between two Ctrl-C.
        """
        super().__init__()
        self.opener = opener
        self.terminal_handover = TerminalHandover(self)
        """Hands the terminal over to another program for a while."""
        self.image_copies = ImageCopies()
        """Copies of pictures that were opened."""
        for each in THEMES:
            self.register_theme(each)
        self.theme = f"parley-{theme}"
        self.ansi_theme_dark, self.ansi_theme_light = ANSI_DARK, ANSI_LIGHT
        self.tabs: list[Tab] = [tab]
        """The tabs in order."""
        self._bar = TabBar()
        self._stack = Vertical()
        self._shutting: set[Tab] = set()
        self._guard = ControlFilter()
        self._waiting: set[Tab] = set()
        self._clock = clock
        self._interrupted_at = float("-inf")
        self._leaving: asyncio.Task[None] | None = None

    @property
    def tab(self) -> Tab:
        """The tab that is seen."""
        return next((each for each in self.tabs if each.display), self.tabs[0])

    @property
    def chat(self) -> Chat | None:
        """The conversation that is seen; None if it is something else."""
        return self.tab if isinstance(self.tab, Chat) else None

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Check everything once more before it is painted; without colours there is no grey."""
        colourless = [NoColor()] if self.no_color else []
        return [*super().get_line_filters(), *colourless, self._guard]

    def compose(self) -> ComposeResult:
        """Lay out the tabs."""
        yield self._bar
        with self._stack:
            yield from self.tabs

    def on_mount(self) -> None:
        """Show the tabs and the welcome."""
        self._show_tabs()
        if self.chat is not None:
            self.chat.welcome()

    @on(Driver.SignalResume)
    def _come_back(self) -> None:
        """Paint everything: a shell has had the terminal."""
        self.refresh(repaint=True, layout=True)

    async def converse(self) -> int:
        """Run until the user leaves; returns the exit code, and no agent is left."""
        gc.freeze()  # what is loaded now stays, and is not gone through again while keys wait
        try:
            with ExitSignals(self.leave), LogForwarder(self._note):
                await self.run_async()
        finally:
            await self.end()
        return self.return_code or 0

    # Tabs

    async def open_tab(self, tab: Tab) -> None:
        """Show a new tab."""
        self.tabs.append(tab)
        self._see(len(self.tabs) - 1)
        await self._stack.mount(tab)

    def go_to_tab(self, index: int) -> None:
        """Go to a tab."""
        if 0 <= index < len(self.tabs):
            self._see(index)
            self.tabs[index].take_focus()

    def _see(self, index: int) -> None:
        for number, each in enumerate(self.tabs):
            each.display = number == index
        self._show_tabs()

    def step_tab(self, step: int) -> None:
        """Go to the next tab, or the one before."""
        self.go_to_tab((self.tabs.index(self.tab) + step) % len(self.tabs))

    async def close_tab(self, tab: Tab) -> None:
        """Close a tab; with the last one we leave."""
        if len(self.tabs) == 1:
            self.leave()
            return
        index = self.tabs.index(tab)
        self.tabs.remove(tab)
        self._shutting.add(tab)
        tab.display = False
        self.go_to_tab(min(index, len(self.tabs) - 1))
        await tab.shut()
        self._shutting.discard(tab)
        await tab.remove()

    @on(Tab.Changed)
    def _tab_changed(self) -> None:
        self._show_tabs()
        waiting = {each for each in self.tabs if each.is_waiting}
        seen = {self.tab} if self.app_focus else set[Tab]()
        if waiting - self._waiting - seen:
            self.bell()
        self._waiting = waiting

    @on(TabBar.Picked)
    def _tab_picked(self, event: TabBar.Picked) -> None:
        self.go_to_tab(event.index)

    def _show_tabs(self) -> None:
        shown = self.tabs.index(self.tab)
        self._bar.show([(each.mark, each.label) for each in self.tabs], shown)

    # Commands

    def run_command(self, name: str, argument: str = "") -> None:
        """Run a command in a worker."""
        self.run_worker(self._run_command(name, argument), group="commands")

    async def _run_command(self, name: str, argument: str) -> None:
        try:
            await actions.ACTIONS[name](self, argument)
        except OSError as error:
            self.tab.note(f"{error.filename or name}: {error.strerror or error}", "error")
        except (AcpError, LookupError) as error:
            self.tab.note(str(error), "error")

    def action_command(self, name: str) -> None:
        """Run the command of a key."""
        if name == "find":
            self.tab.find()  # now, before the next key
        else:
            self.run_command(name)

    @on(Chat.Commanded)
    def _commanded(self, event: Chat.Commanded) -> None:
        self.run_command(event.command, event.argument)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys of the app, except leaving, while a screen is over it."""
        is_over = action == "command" and len(self.screen_stack) > 1
        return not is_over or parameters == ("quit",)

    # The way out

    def action_interrupt(self) -> None:
        """Handle Ctrl-C: copy, close a screen, clear the input, and the second time leave."""
        now = self._clock()
        has_typed = self.chat is not None and bool(self.chat.composer.text)
        is_second = now - self._interrupted_at < MESSAGE_SECONDS and not has_typed
        self._interrupted_at = now
        if is_second or self._leaving is not None:
            self.leave()
        elif len(self.screen_stack) > 1:
            self.screen.dismiss(None)
        elif selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            self.say("copied")
        elif self.chat is not None and has_typed:
            self.chat.composer.text = ""
        else:
            self.say("Ctrl-C again to leave")

    @on(Composer.Left)
    def _left(self) -> None:
        self.leave()

    def leave(self) -> None:
        """End all agents and leave; the second time, kill them."""
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave())
            return
        for each in [*self.tabs, *self._shutting]:
            each.kill()

    async def _leave(self) -> None:
        self.say("ending the agent; Ctrl-C again kills it")
        await self.end()
        self.exit(0)

    async def end(self) -> None:
        """End everything that runs for the tabs."""
        await asyncio.gather(*(each.shut() for each in [*self.tabs, *self._shutting]))
        await asyncio.to_thread(self.image_copies.forget)

    async def action_quit(self) -> None:
        """Leave."""
        self.leave()

    def bell(self) -> None:
        """Ring, unless another program has the terminal."""
        if not self.terminal_handover.is_handed_over:
            super().bell()

    def _note(self, text: str, kind: Kind) -> None:
        self.tab.note(text, kind)

    def say(self, text: str) -> None:
        """Show a message for a moment."""
        self.tab.status.say(text, MESSAGE_SECONDS)
