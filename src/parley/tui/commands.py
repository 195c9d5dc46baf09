"""Everything that can be done, once: for keys, the palette, `/name` in the input, and the help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from parley.schema import v2

from .keys import keys_of, shown_key
from .render.blocks import one_line

if TYPE_CHECKING:
    from .app import ChatApp
    from .chat import Chat

__all__ = ["COMMANDS", "Command", "Palette", "bindings", "ours"]


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
    Command("earlier", "Earlier prompts…", "search what you have asked before", "ctrl+r"),
    Command("find", "Find in history", "search this conversation", "ctrl+f", "WORDS"),
    Command("fold", "Fold or unfold all", "thoughts and tool calls, short or whole", "ctrl+o"),
    Command("copy", "Copy last answer", "to the clipboard of the terminal", "alt+c"),
    Command("links", "Open a link…", "a page that the conversation names", "alt+o"),
    Command("pictures", "Open a picture…", "a copy of it, in the program for pictures"),
    Command("export", "Export session", "as Markdown, .html or .jsonl", "", "FILE"),
    Command("name", "Name session", "to find it again", "", "NAME"),
    Command("theme", "Toggle theme", "dark or light", "f6"),
    Command("redraw", "Paint anew", "if the screen is damaged", "ctrl+l"),
    Command("cancel", "Cancel", "stop what the agent does", "escape"),
    Command("restart", "Restart agent", "and go on with the session", "f5"),
    Command("suspend", "Suspend", "back to the shell for a while; fg returns", "alt+z"),
    Command("quit", "Quit", "end all agents and leave", "ctrl+q"),
)
"""The commands in the order of the help."""

_BY_WIDGETS = frozenset({"escape", "ctrl+r"})
"""Keys that mean something else in another place."""


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


class Palette(Provider):
    """Finds commands, keys and tabs by what they are called and by what they do."""

    async def discover(self) -> Hits:
        """Go through everything."""
        for each in self._offers():
            yield DiscoveryHit(each.shown, each.does, text=each.text, help=each.what or None)

    async def search(self, query: str) -> Hits:
        """Go through what fits."""
        matcher = self.matcher(query)
        for each in self._offers():
            by_what = matcher.match(each.what) / 2 if each.what else 0
            by_name = matcher.match(f"/{each.name}") if each.name else 0
            if score := max(matcher.match(each.text), by_what, by_name):
                shown = matcher.highlight(str(each.shown)) if each.name else each.shown
                yield Hit(score, shown, each.does, text=each.text, help=each.what or None)

    def _offers(self) -> Iterator[_Offer]:
        app = cast("ChatApp", self.app)
        for each in COMMANDS:
            does = partial(app.run_command, each.name)
            yield _Offer(_shown(each.title, each.key), does, each.title, each.what, each.name)
        if app.chat is not None:
            yield from _of_agent(app.chat)
        for index, tab in enumerate(app.tabs):
            text = one_line(f"Tab {index + 1}: {tab.label}")  # an agent may name it
            yield _Offer(Content(text), partial(app.go_to_tab, index), text)
        places = {app.tab.history: "in the history", app.tab: "in this tab", app: "everywhere"}
        for owner, place in places.items():
            for keys, action, what in keys_of(owner):
                if what and not _is_command(keys, action):
                    acts = partial(app.run_action, action, owner)
                    yield _Offer(Content(f"{what}  {keys}"), acts, what, place)


class _Offer(NamedTuple):
    """Something that the palette finds."""

    shown: Content
    does: Callable[[], object]
    text: str
    what: str = ""
    name: str = ""
    """What it is called behind a slash."""


def _of_agent(chat: Chat) -> Iterator[_Offer]:
    """Go through the commands of the agent; choosing one begins a prompt.

    What they do stands beside them, because the palette reads markup in the line below.
    """
    for each in chat.conversation.transcript.commands:
        if isinstance(each, v2.Command):
            text = one_line(f"/{each.name}  {each.description}")
            yield _Offer(Content(text), partial(_begin, chat, f"/{each.name} "), text)


def _begin(chat: Chat, text: str) -> None:
    chat.composer.text = text
    chat.composer.focus_input()


def _shown(title: str, key: str) -> Content:
    return Content(f"{title}  {shown_key(key)}" if key else title)


def _is_command(keys: str, action: str) -> bool:
    return action.startswith("command(") or keys in {shown_key(each.key) for each in COMMANDS}
