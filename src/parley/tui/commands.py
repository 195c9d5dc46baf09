"""All commands, defined once for keys, the palette, `/name` in the input, and the help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from parley.schema import v2

from .keys import key_label, widget_keys
from .render.blocks import one_line

if TYPE_CHECKING:
    from .app import ChatApp
    from .chat import Chat

__all__ = ["COMMANDS", "Command", "Palette", "bindings", "command_list"]


class Command(NamedTuple):
    """A command of the user."""

    name: str
    """The name after the slash; the app has an action `command('name')`."""
    title: str
    what: str
    key: str = ""
    argument: str = ""
    """A placeholder for the argument; empty if there is none."""


COMMANDS = (
    Command("help", "Help", "list all commands and keys", "f1"),
    Command("new", "New session", "start a session with this agent in this tab", "ctrl+n"),
    Command("tab", "New tab", "start a session in another tab", "ctrl+t", "AGENT"),
    Command("next", "Next tab", "go to the next tab", "f8"),
    Command("previous", "Previous tab", "go to the previous tab", "f7"),
    Command("close", "Close tab", "end this session; it stays in the journal", "alt+w"),
    Command("resume", "Resume…", "resume an earlier session", "f3", "NAME"),
    Command("fork", "Fork session", "continue in a new tab, and keep this session as it is"),
    Command("options", "Options and modes…", "change the options of the agent", "f2"),
    Command("agents", "Agents…", "switch to another agent", "f4"),
    Command("providers", "Providers…", "choose where the agent sends its model calls"),
    Command("earlier", "Earlier prompts…", "search your earlier prompts", "ctrl+r"),
    Command("find", "Find in history", "search this conversation", "ctrl+f", "WORDS"),
    Command("fold", "Fold or unfold all", "fold or unfold thoughts and tool calls", "ctrl+o"),
    Command("copy", "Copy last answer", "copy it to the clipboard of the terminal", "alt+c"),
    Command("links", "Open a link…", "open a web page that the conversation mentions", "alt+o"),
    Command("pictures", "Open a picture…", "open a copy of an image in its viewer"),
    Command("export", "Export session", "save it as Markdown, .html or .jsonl", "", "FILE"),
    Command("name", "Name session", "give the session a name", "", "NAME"),
    Command("theme", "Toggle theme", "switch between dark and light", "f6"),
    Command("redraw", "Redraw", "repaint a damaged screen", "ctrl+l"),
    Command("cancel", "Cancel", "stop the turn", "escape"),
    Command("stop", "Cancel one…", "stop a single tool call or command of the agent"),
    Command("restart", "Restart agent", "restart the agent and resume the session", "f5"),
    Command("suspend", "Suspend", "return to the shell; fg resumes", "alt+z"),
    Command("quit", "Quit", "end all agents and quit", "ctrl+q"),
)
"""The commands in the order of the help."""

_BY_WIDGETS = frozenset({"escape", "ctrl+r"})
"""Keys with another meaning in some widgets."""


def bindings() -> list[Binding]:
    """Return the keys of the commands."""
    return [
        Binding(each.key, f"command('{each.name}')", each.title, show=False, priority=True)
        for each in COMMANDS
        if each.key and each.key not in _BY_WIDGETS
    ]


def command_list() -> list[v2.AvailableCommand]:
    """Return the commands in the form of an agent's commands."""
    return [
        v2.Command(
            name=each.name,
            description=f"{each.what} (Parley)",
            input=v2.TextCommandInput(hint=each.argument) if each.argument else None,
        )
        for each in COMMANDS
    ]


class Palette(Provider):
    """Finds commands, keys and tabs by name and description."""

    async def discover(self) -> Hits:
        """Yield all entries."""
        for each in self._entries():
            yield DiscoveryHit(each.shown, each.run, text=each.text, help=each.what or None)

    async def search(self, query: str) -> Hits:
        """Yield the entries that match."""
        matcher = self.matcher(query)
        for each in self._entries():
            by_description = matcher.match(each.what) / 2 if each.what else 0
            by_name = matcher.match(f"/{each.name}") if each.name else 0
            if score := max(matcher.match(each.text), by_description, by_name):
                shown = matcher.highlight(str(each.shown)) if each.name else each.shown
                yield Hit(score, shown, each.run, text=each.text, help=each.what or None)

    def _entries(self) -> Iterator[_PaletteEntry]:
        app = cast("ChatApp", self.app)
        for each in COMMANDS:
            run = partial(app.run_command, each.name)
            yield _PaletteEntry(
                _title_with_key(each.title, each.key), run, each.title, each.what, each.name
            )
        if app.chat is not None:
            yield from _agent_entries(app.chat)
        for index, tab in enumerate(app.tabs):
            text = one_line(f"Tab {index + 1}: {tab.label}")  # an agent may name it
            yield _PaletteEntry(Content(text), partial(app.go_to_tab, index), text)
        places = {app.tab.history: "in the history", app.tab: "in this tab", app: "everywhere"}
        for owner, place in places.items():
            for keys, action, what in widget_keys(owner):
                if what and not _is_command(keys, action):
                    acts = partial(app.run_action, action, owner)
                    yield _PaletteEntry(Content(f"{what}  {keys}"), acts, what, place)


class _PaletteEntry(NamedTuple):
    """An entry of the palette."""

    shown: Content
    run: Callable[[], object]
    text: str
    what: str = ""
    name: str = ""
    """The name after the slash; empty if it is not a command."""


def _agent_entries(chat: Chat) -> Iterator[_PaletteEntry]:
    """Yield the commands of the agent; choosing one begins a prompt.

    The description is in the same line, because the palette interprets markup in the help line.
    """
    for each in chat.conversation.transcript.commands:
        if isinstance(each, v2.Command):
            text = one_line(f"/{each.name}  {each.description}")
            yield _PaletteEntry(Content(text), partial(_start_prompt, chat, f"/{each.name} "), text)


def _start_prompt(chat: Chat, text: str) -> None:
    chat.composer.text = text
    chat.composer.focus_input()


def _title_with_key(title: str, key: str) -> Content:
    return Content(f"{title}  {key_label(key)}" if key else title)


def _is_command(keys: str, action: str) -> bool:
    return action.startswith("command(") or keys in {key_label(each.key) for each in COMMANDS}
