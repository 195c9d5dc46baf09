"""What keys do, and how they are called: for the help, the palette and the documents.

Keys that mean a command are in `commands.py`; these are all others, by the place where they work.
"""

from __future__ import annotations

from collections.abc import Iterator

from textual.binding import Binding
from textual.dom import DOMNode

__all__ = ["KEYS", "keys_of", "shown_key"]

KEYS: dict[str, tuple[tuple[str, str], ...]] = {
    "In the input": (
        ("Enter", "send; while the agent works the prompt is queued"),
        ("Ctrl-J, Shift-Enter", "new line; so do Alt-Enter, and Enter behind a \\"),
        ("Up, Down", "earlier prompts; Up takes back a queued one first"),
        ("/", "commands, Parley's and the agent's"),
        ("@", "files to send along: @src/app.py, @src/app.py:10-20"),
        ("Tab", "take what is offered; else go to a question or up"),
        ("PageUp, PageDown", "turn the pages of the history"),
        ("Esc", "close a list, else stop the agent"),
        ("Ctrl-D", "leave, if the input is empty"),
    ),
    "Everywhere": (
        ("Ctrl-P", "find a command, a key or a tab by its name"),
        ("Ctrl-C", "close a list, copy a selection, empty the input; twice: leave"),
    ),
    "In the history": (
        ("Up, Down, k, j", "scroll"),
        ("PageUp, PageDown, b, f", "turn pages"),
        ("Home, End, g, G", "go to the beginning, or to the end"),
        ("Shift-Up, Shift-Down, K, J", "go to a thought, a tool call, a card"),
        ("Enter, Space", "fold or unfold it"),
        ("Tab, Esc", "go to the input; Esc also stops the agent"),
        ("Other letters", "are written into the input"),
    ),
    "When the agent asks": (
        ("y, n, 1-9", "answer with an option"),
        ("Up, Down, Enter", "go to an option, and answer with it"),
        ("s, p", "remember the answer in this session, or in this project"),
        ("PageUp, PageDown", "read the rest of what it is about"),
        ("o, c, a, d", "a page: open it, copy it, open it yourself, decline"),
        ("Tab, Enter", "a form: next field; Enter in the last one submits"),
        ("Ctrl-S", "a form: submit it"),
        ("Shift-Tab", "a form: go to what else can be done, as to decline"),
        ("Esc", "give no answer"),
    ),
    "In a list": (
        ("Letters", "show only what fits"),
        ("Up, Down, PageUp, PageDown", "move"),
        ("Enter", "choose"),
        ("Esc", "leave"),
    ),
    "While finding": (
        ("Up, Enter", "go to the place before"),
        ("Down", "go to the next place"),
        ("Esc", "close"),
    ),
    "In a replay": (
        ("Space, p", "pause, or go on"),
        ("Right, n", "play one update"),
        ("+, =, -", "faster, slower"),
        ("s", "play the rest of the turn at once"),
        ("e", "play everything at once"),
    ),
}
"""By place, each key and what it does there."""

_NAMES = {
    "escape": "Esc",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
}


def shown_key(key: str) -> str:
    """Return how a key is called on a keyboard; a letter alone stays as it is typed."""
    if len(key) == 1:
        return key
    return "-".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def keys_of(owner: DOMNode) -> Iterator[tuple[str, str, str]]:
    """Go through the keys that one of our widgets obeys: their names, the action, what it does."""
    for kind in type(owner).__mro__:
        if not kind.__module__.startswith("parley."):
            continue
        for each in vars(kind).get("BINDINGS", ()):
            if isinstance(each, Binding):
                names = ", ".join(shown_key(key) for key in each.key.split(","))
                yield names, each.action, each.description
