"""The names and descriptions of keys, for the help, the palette and the documents.

The keys of commands are in `commands.py`; these are all others, by the place where they work.
"""

from __future__ import annotations

from collections.abc import Iterator

from textual.binding import Binding
from textual.dom import DOMNode

__all__ = ["KEYS", "key_label", "widget_keys"]

KEYS: dict[str, tuple[tuple[str, str], ...]] = {
    "In the input": (
        ("Enter", "send; while the agent works, the prompt is queued"),
        ("Ctrl-J, Shift-Enter", "new line; also Alt-Enter, and Enter after a \\"),
        ("Up, Down", "earlier prompts; Up first returns a queued one to the input"),
        ("/", "commands of Parley and the agent"),
        ("@", "files to send along: @src/app.py, @src/app.py:10-20"),
        ("Tab", "accept a completion; else go to a question or the history"),
        ("PageUp, PageDown", "scroll the history by pages"),
        ("Esc", "close a list, or else stop the agent"),
        ("Ctrl-D", "quit, if the input is empty"),
    ),
    "Everywhere": (
        ("Ctrl-P", "search commands, keys and tabs"),
        ("Ctrl-C", "close a list, copy a selection, clear the input; twice: quit"),
    ),
    "In the history": (
        ("Up, Down, k, j", "scroll"),
        ("PageUp, PageDown, b, f", "scroll by pages"),
        ("Home, End, g, G", "go to the beginning, or to the end"),
        ("Shift-Up, Shift-Down, K, J", "go to the previous or next card, such as a tool call"),
        ("Enter, Space", "fold or unfold it"),
        ("Tab, Esc", "go to the input; Esc also stops the agent"),
        ("Other letters", "are typed into the input"),
    ),
    "When the agent asks": (
        ("y, n, 1-9", "choose an option"),
        ("Up, Down, Enter", "go to an option, and choose it"),
        ("s, p", "remember the answer in this session, or in this project"),
        ("PageUp, PageDown", "read the rest of the details"),
        ("o, c, a, d", "a page: open it, copy it, open it yourself, decline"),
        ("Tab, Enter", "a form: next field; Enter in the last one submits"),
        ("Ctrl-S", "a form: submit it"),
        ("Shift-Tab", "a form: go to the other actions, such as decline"),
        ("Esc", "give no answer"),
    ),
    "In a list": (
        ("Letters", "filter the list"),
        ("Up, Down, PageUp, PageDown", "move"),
        ("Enter", "choose"),
        ("Esc", "leave"),
    ),
    "While finding": (
        ("Up, Enter", "go to the previous match"),
        ("Down", "go to the next match"),
        ("Esc", "close"),
    ),
    "In a replay": (
        ("Space, p", "pause or resume"),
        ("Right, n", "play one update"),
        ("+, =, -", "faster, slower"),
        ("s", "play the rest of the turn at once"),
        ("e", "play everything at once"),
    ),
}
"""For each place, the keys and their descriptions."""

_NAMES = {
    "escape": "Esc",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
}


def key_label(key: str) -> str:
    """Return the name of a key on a keyboard; a single letter stays as it is typed."""
    if len(key) == 1:
        return key
    return "-".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def widget_keys(owner: DOMNode) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of one of our widgets: their names, the action, the description."""
    for kind in type(owner).__mro__:
        if not kind.__module__.startswith("parley."):
            continue
        for each in vars(kind).get("BINDINGS", ()):
            if isinstance(each, Binding):
                names = ", ".join(key_label(key) for key in each.key.split(","))
                yield names, each.action, each.description
