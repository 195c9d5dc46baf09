"""Everything that can be done, once: for keys, the palette, `/name` in the input, and the help."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from parley.inert import inert
from parley.schema import v2

if TYPE_CHECKING:
    from .app import ChatApp

__all__ = ["COMMANDS", "KEYS", "Command", "Palette", "bindings", "ours", "shown_key"]


class Command(NamedTuple):
    """Something that the user can have done."""

    name: str
    """Behind the slash; the app has an action `command('name')`."""
    title: str
    what: str
    key: str = ""
    argument: str = ""
    """What may stand behind its name."""


COMMANDS = (
    Command("help", "Help", "every command and every key", "f1"),
    Command("new", "New session", "begin anew with this agent in this tab", "ctrl+n"),
    Command("tab", "New tab", "another session beside this one", "ctrl+t", "AGENT"),
    Command("next", "Next tab", "go to the tab at the right", "f8"),
    Command("previous", "Previous tab", "go to the tab at the left", "f7"),
    Command("close", "Close tab", "end this session; the journal keeps it", "alt+w"),
    Command("resume", "Resume…", "go on with an earlier session", "f3", "NAME"),
    Command("options", "Options and modes…", "what the agent lets you choose", "f2"),
    Command("agents", "Agents…", "talk to another agent", "f4"),
    Command("find", "Find in history", "search this conversation", "ctrl+f", "WORDS"),
    Command("fold", "Fold or unfold all", "thoughts and tool calls, short or whole", "ctrl+o"),
    Command("copy", "Copy last answer", "to the clipboard of the terminal", "alt+c"),
    Command("links", "Open a link…", "a page that the conversation names", "alt+o"),
    Command("export", "Export session", "as Markdown, .html or .jsonl", "", "FILE"),
    Command("name", "Name session", "to find it again", "", "NAME"),
    Command("theme", "Toggle theme", "dark or light", "f6"),
    Command("cancel", "Cancel", "stop what the agent does", "escape"),
    Command("restart", "Restart agent", "and go on with the session", "f5"),
    Command("quit", "Quit", "end all agents and leave", "ctrl+q"),
)
"""The commands in the order of the help."""

KEYS = (
    ("Enter", "send; while the agent works the prompt is queued"),
    ("Ctrl-J, Shift-Enter", "new line; Alt-Enter does it, too, and \\ Enter"),
    ("Up, Down", "earlier prompts; Up takes back a queued one"),
    ("Ctrl-R", "search earlier prompts"),
    ("/  @", "commands; files to attach, as @src/app.py:10-20"),
    ("Tab", "accept what is offered; else go on to the history"),
    ("PageUp, PageDown", "turn pages of the history"),
    ("Esc", "close a list, else stop the agent"),
    ("Ctrl-C", "copy a selection, or empty the input; twice: leave"),
    ("Ctrl-D", "leave, if the input is empty"),
    ("Ctrl-P", "find a command"),
    ("in the history:", ""),
    ("Up, Down, Home, End", "scroll"),
    ("Shift-Up, Shift-Down", "go to a card"),
    ("Enter", "fold or unfold it"),
    ("in a replay:", ""),
    ("Space", "pause, or go on"),
    ("Right", "play one update"),
    ("+, -", "faster, slower"),
    ("s, e", "play the turn, or everything, at once"),
)
"""What else keys do."""

_BY_WIDGETS = frozenset({"escape"})


def bindings() -> list[Binding]:
    """Return the keys of the commands."""
    return [
        Binding(each.key, f"command('{each.name}')", each.title, show=False, priority=True)
        for each in COMMANDS
        if each.key and each.key not in _BY_WIDGETS
    ]


def ours() -> list[v2.AvailableCommand]:
    """Return the commands as an agent would offer them."""
    return [
        v2.Command(
            name=each.name,
            description=f"{each.what} (Parley)",
            input=v2.TextCommandInput(hint=each.argument) if each.argument else None,
        )
        for each in COMMANDS
    ]


def shown_key(key: str) -> str:
    """Return how a key is called on a keyboard."""
    return "-".join(part.capitalize() for part in key.replace("escape", "esc").split("+"))


class Palette(Provider):
    """Finds commands by what they are called and by what they do."""

    async def discover(self) -> Hits:
        """Go through all commands."""
        for each in COMMANDS:
            yield DiscoveryHit(_shown(each), self._does(each), text=each.title, help=each.what)
        for text, goes in self._tabs():
            yield DiscoveryHit(Content(text), goes, text=text)

    async def search(self, query: str) -> Hits:
        """Go through the commands that fit."""
        matcher = self.matcher(query)
        for each in COMMANDS:
            by_title, by_what = matcher.match(each.title), matcher.match(each.what) / 2
            if score := max(by_title, by_what, matcher.match(f"/{each.name}")):
                display = matcher.highlight(_shown(each))
                yield Hit(score, display, self._does(each), text=each.title, help=each.what)
        for text, goes in self._tabs():
            if score := matcher.match(text):
                yield Hit(score, Content(text), goes, text=text)

    def _does(self, command: Command) -> Callable[[], None]:
        app = cast("ChatApp", self.app)
        return partial(app.run_command, command.name)

    def _tabs(self) -> list[tuple[str, Callable[[], None]]]:
        """Return how to go to each tab; an agent may have named it."""
        app = cast("ChatApp", self.app)
        named = (f"Tab {number}: {each.label}" for number, each in enumerate(app.tabs, 1))
        return [
            (inert(text, is_line=True), partial(app.go_to_tab, index))
            for index, text in enumerate(named)
        ]


def _shown(command: Command) -> str:
    return f"{command.title}  {shown_key(command.key)}" if command.key else command.title
