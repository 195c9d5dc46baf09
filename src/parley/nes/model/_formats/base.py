"""The base of prompt formats: a situation in, a prompt out; an answer in, new lines out.

A format is a plug-in: whatever has these three attributes and two methods can be given to
`ModelEngine`. Each model was trained on one way to be asked, and is good at that one only. A format
may also have a `path`, such as `/edit/completions`: the part after the `/v1` of its server.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from parley.nes.model._api import Completion, Prompt
from parley.nes.model._situation import Situation
from parley.nes.model._window import CHARACTERS_PER_TOKEN

_FENCE = re.compile(r"(`{3,})[^`]*")


class Rewrite(NamedTuple):
    """The window as the model would have it."""

    text: str
    cursor: int | None = None
    """Where it would put the cursor, as an offset in the text."""


class PromptFormat(Protocol):
    """The prompt format of a family of models."""

    @property
    def name(self) -> str:
        """Its name, as the ecosystem says it."""
        ...

    @property
    def is_chat(self) -> bool:
        """Whether it is a conversation."""
        ...

    @property
    def reserved(self) -> tuple[str, ...]:
        """The tokens with a meaning for the model, which no text may contain."""
        ...

    def prompt(self, situation: Situation) -> Prompt:
        """Return the prompt."""
        ...

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Read the answer; None if there is nothing to change, or nothing to understand."""
        ...


def room_for(text: str) -> int:
    """Return how many tokens a model may use to write a text again, and somewhat more."""
    return len(text) // (CHARACTERS_PER_TOKEN - 1) + 128


def until(text: str, *tokens: str) -> str:
    """Return what stands before the first of some tokens."""
    return text[: min((text.find(token) for token in tokens if token in text), default=None)]


def _without(text: str, tokens: tuple[str, ...]) -> str:
    """Remove tokens that the model let slip, and the line if there is nothing else on it."""
    found = "|".join(re.escape(token) for token in tokens)
    text = re.sub(rf"^(?:{found})\n", "", text, flags=re.M)
    return re.sub(found, "", text)


def cleaned(text: str, tokens: tuple[str, ...], cursor: str) -> Rewrite:
    """Remove the tokens, and remember where the one for the cursor was."""
    text = _without(text, tuple(token for token in tokens if token != cursor))
    head, found, tail = text.partition(cursor)
    return Rewrite(head + tail.replace(cursor, ""), len(head) if found else None)


def fitted(rewrite: Rewrite, old: str) -> Rewrite | None:
    """Return a text with as many empty lines at its end as the old one; None if nothing is left."""
    text = rewrite.text
    if text.startswith("\n") and not old.startswith("\n"):
        moved = None if rewrite.cursor is None else max(0, rewrite.cursor - 1)
        rewrite, text = Rewrite(text[1:], moved), text[1:]
    body = text.rstrip("\n")
    if not body.strip():
        return None
    text = body + "\n" * (len(old) - len(old.rstrip("\n")))
    cursor = rewrite.cursor
    return Rewrite(text, None if cursor is None else min(cursor, len(text)))


def fenced(text: str, *, is_nested: bool) -> str | None:
    """Return what is in the first fence; None if there is none.

    Args:
        text: What a model says.
        is_nested: Whether there may be fences in what is fenced, so that the last one closes it.
    """
    lines = text.split("\n")
    opened = ((at, found) for at, line in enumerate(lines) if (found := _FENCE.fullmatch(line)))
    top, fence = next(opened, (0, None))
    if fence is None:
        return None
    ends = [
        at
        for at, line in enumerate(lines[top + 1 :], top + 1)
        if line.startswith(fence[1]) and not line.rstrip().strip("`")
    ]
    bottom = len(lines) if not ends else ends[-1] if is_nested else ends[0]
    return "\n".join(lines[top + 1 : bottom])
