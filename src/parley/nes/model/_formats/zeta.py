"""The formats of the Zeta models, which were trained to predict the next edit.

`zeta` is an instruction with the excerpt in marks; `zeta2` puts the code below the window first,
then other files and the history of edits, then the window between marks as of a merge conflict;
`zeta2_1` has numbered marks in the window instead, so that only some blocks are written again.
"""

from __future__ import annotations

from msgspec import Struct

from parley.nes.model._api import Completion, Prompt
from parley.nes.model._situation import Event, Situation

from .base import Rewrite, cleaned, fitted, room_for, until
from .markers import marked, rewritten

_CURSOR = "<|user_cursor|>"
_END = "<[end▁of▁sentence]>"
_PARTS = ("<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>", "<filename>")
_SEED = (*_PARTS, _CURSOR, _END)
_MARK = "<|marker_"
_CURRENT, _DIVIDER, _UPDATED = "<<<<<<< CURRENT\n", "=======\n", ">>>>>>> UPDATED"

_FIRST_CURSOR = "<|user_cursor_is_here|>"
_REGION, _REGION_END = "<|editable_region_start|>", "<|editable_region_end|>"
_TASK = (
    "Look at the edits that the user has made, and at the excerpt with the user's cursor. Write "
    "the editable region of the excerpt as it will be after the user's next edit."
)


class Zeta(Struct, frozen=True):
    """The first one."""

    name: str = "zeta"
    is_chat: bool = False
    reserved: tuple[str, ...] = (_FIRST_CURSOR, _REGION, _REGION_END, "<|start_of_file|>")

    def prompt(self, situation: Situation) -> Prompt:
        """Give the instruction, the edits and the excerpt."""
        window = situation.window
        edits = "\n\n".join(
            f"User edited {event.path}:\n```diff\n{event.diff.rstrip()}\n```"
            for event in situation.events
        )
        start = "<|start_of_file|>\n" if window.starts_file else ""
        head, tail = window.marked
        excerpt = (
            f"```{situation.path}\n{start}{window.before}{_REGION}\n{head}{_FIRST_CURSOR}{tail}\n"
            f"{_REGION_END}\n{window.after}\n```"
        )
        text = (
            f"### Instruction:\n{_TASK}\n\n### User Edits:\n\n{edits}\n\n"
            f"### User Excerpt:\n\n{excerpt}\n\n### Response:\n"
        )
        return Prompt(text=text, stop=(_REGION_END,), max_tokens=room_for(window.text))

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Take what stands between the marks."""
        if completion.is_cut:
            return None
        answer = completion.text.partition(_REGION)[2] or completion.text
        answer = until(answer, _REGION_END).removeprefix("\n")
        return fitted(cleaned(answer, self.reserved, _FIRST_CURSOR), situation.window.text)


class Zeta2(Struct, frozen=True):
    """The second one."""

    name: str = "zeta2"
    is_chat: bool = False
    reserved: tuple[str, ...] = (*_SEED, _CURRENT, _UPDATED)

    def prompt(self, situation: Situation) -> Prompt:
        """Give the suffix, the context, and the window as one side of a conflict."""
        head, tail = situation.window.marked
        region = f"{_CURRENT}{head}{_CURSOR}{tail}\n{_DIVIDER}"
        return Prompt(
            text=_around(situation, region),
            stop=(_UPDATED, _END),
            max_tokens=room_for(situation.window.text),
        )

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Take the other side of the conflict."""
        if completion.is_cut or completion.text.startswith("NO_EDITS"):
            return None
        answer = until(completion.text, _UPDATED, _END)
        if any(token in answer for token in _PARTS):
            return None  # it repeats the prompt
        if _CURRENT in answer:
            answer = answer.partition(f"\n{_DIVIDER}")[2]
        return fitted(cleaned(answer, self.reserved, _CURSOR), situation.window.text)


class Zeta21(Struct, frozen=True):
    """The one after that."""

    name: str = "zeta2_1"
    is_chat: bool = False
    reserved: tuple[str, ...] = (*_SEED, _MARK)

    def prompt(self, situation: Situation) -> Prompt:
        """Give the suffix, the context, and the window with its blocks numbered."""
        window = situation.window
        region = marked(_whole(situation), window.cursor, _CURSOR) + "\n"
        return Prompt(
            text=_around(situation, region), stop=(_END,), max_tokens=room_for(window.text)
        )

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Put the blocks that it names into the window."""
        if completion.is_cut:
            return None
        text = rewritten(_whole(situation), until(completion.text, _END))
        if text is None or _MARK in text:
            return None
        return fitted(cleaned(text, _SEED, _CURSOR), situation.window.text)


def _whole(situation: Situation) -> str:
    """Return the window with the end of its last line, if it has one."""
    return situation.window.text + ("\n" if situation.window.after else "")


def _around(situation: Situation, region: str) -> str:
    """Return the whole prompt around a region."""
    window = situation.window
    parts = [f"<[fim-suffix]>{window.after}\n<[fim-prefix]>"]
    if situation.remarks:
        said = "".join(f"{each.line + 1}: {each.message}\n" for each in situation.remarks)
        parts.append(f"<filename>diagnostics\n{said}\n")
    if situation.related:
        parts += [f"<filename>{each.path}\n{_closed(each.text)}" for each in situation.related]
        parts.append("\n")
    if situation.events:
        parts.append("<filename>edit_history\n")
        parts += [_written(event) for event in situation.events]
        parts.append("\n")
    parts.append(f"<filename>{situation.path}\n{window.before}{region}<[fim-middle]>")
    return "".join(parts)


def _written(event: Event) -> str:
    said = "// User accepted prediction:\n" if event.was_proposed else ""
    return f"{said}--- a/{event.path}\n+++ b/{event.path}\n{_closed(event.diff)}"


def _closed(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
