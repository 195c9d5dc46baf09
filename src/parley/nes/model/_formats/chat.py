"""For any chat model: it gets the task, and answers with the region or NO_EDIT."""

from __future__ import annotations

import re

from msgspec import Struct

from parley.nes._documents.ends import same_ends
from parley.nes.model._api import Completion, Prompt
from parley.nes.model._situation import Situation

from .base import Rewrite, cleaned, fenced, fitted, room_for, until

_CURSOR, _REGION, _REGION_END = "<|cursor|>", "<|region|>", "<|end_region|>"
_NOTHING = "NO_EDIT"
_NO_EDIT = re.compile(rf"[\s`]*(?:\w*\n)?{_NOTHING}S?\b")
_THOUGHT = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.S)
_THINKING_TOKENS = 256

_SYSTEM = f"""\
You predict the next edit of a programmer. You are shown the latest edits, the oldest first, and \
an excerpt of the open file. Its region between {_REGION} and {_REGION_END} is what you may \
change; {_CURSOR} is where the cursor is.
Answer with the whole region as it will be after the programmer's next edit, in one fenced code \
block and with nothing else. Leave out the marks; you may keep {_CURSOR} where the cursor should \
be afterwards.
Carry on what the latest edits began: finish what is half written, and change in the same way what \
they make wrong or inconsistent. Copy every other line exactly. Never undo a latest edit, never \
reformat, never add comments that nobody asked for.
If no edit is likely, answer {_NOTHING}."""


class Chat(Struct, frozen=True):
    """A rewrite by conversation."""

    name: str = "chat"
    is_chat: bool = True
    reserved: tuple[str, ...] = (_CURSOR, _REGION, _REGION_END)

    def prompt(self, situation: Situation) -> Prompt:
        """Return a prompt with everything that is known, the excerpt last."""
        parts = [*_context(situation), _excerpt(situation)]
        return Prompt(
            text="\n\n".join(parts),
            system=_SYSTEM,
            max_tokens=room_for(situation.window.text) + _THINKING_TOKENS,
        )

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Take the code block, or everything if there is none."""
        thought = _THOUGHT.match(completion.text)
        text = completion.text[thought.end() if thought else 0 :]
        if completion.is_cut or _NO_EDIT.match(text):
            return None
        old = situation.window.text
        if _REGION in text:
            text = until(text.rpartition(_REGION)[2], _REGION_END)
        elif (found := fenced(text, is_nested="```" in old)) is not None:
            text = found
        elif not _is_like(old, text):
            return None  # it talks, about the code or about something else
        return fitted(cleaned(text, self.reserved, _CURSOR), old)


def _is_like(old: str, new: str) -> bool:
    """Return whether some of an old text is left: a whole line, or else half of all characters."""
    lines = {line for line in old.split("\n") if line.strip()}
    if not lines.isdisjoint(new.split("\n")):
        return True
    return bool(old.strip()) and sum(same_ends(old.strip(), new.strip())) * 2 >= len(old.strip())


def _context(situation: Situation) -> list[str]:
    parts = [
        f"Part of {each.path}:\n{_block(each.text, '')}" for each in situation.related if each.text
    ]
    if situation.open_paths:
        parts.append("Open files: " + ", ".join(situation.open_paths))
    for event in situation.events:
        who = "The programmer took a prediction in" if event.was_proposed else "Edited"
        parts.append(f"{who} {event.path}:\n{_block(event.diff, 'diff')}")
    if situation.remarks:
        said = (
            f"- line {each.line + 1}, {each.severity}: {each.message}" for each in situation.remarks
        )
        parts.append("\n".join(("Problems reported in the open file:", *said)))
    if situation.places:
        named = (f"- {each.path}:{each.line + 1}: {each.text}" for each in situation.places)
        parts.append("\n".join(("Perhaps to be changed next:", *named)))
    return parts


def _excerpt(situation: Situation) -> str:
    window = situation.window
    head, tail = window.marked
    below = f"\n{window.after}" if window.after else ""
    text = f"{window.before}{_REGION}\n{head}{_CURSOR}{tail}\n{_REGION_END}{below}"
    start = f"{situation.path}, from line {window.first + 1 - window.before.count(chr(10))}"
    return f"{start}:\n{_block(text, situation.language)}"


def _block(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
