"""The format of Inception's Mercury models that edit, whose tags Copilot's own models share.

What was looked at, the file with the region to edit in tags, and the edits as diffs come one after
the other, the newest last; diagnostics have a part of their own if there are any. The answer is the
region in a fence, or `None`.
"""

from __future__ import annotations

from msgspec import Struct

from parley.nes.model._api import EDIT_PATH, Completion, Prompt
from parley.nes.model._situation import Situation

from .base import Rewrite, cleaned, fenced, fitted, room_for, until

_CURSOR, _REGION, _REGION_END = "<|cursor|>", "<|code_to_edit|>", "<|/code_to_edit|>"
_NOTHING = ("", "None")
_PARTS = (
    "recently_viewed_code_snippets",
    "recently_viewed_code_snippet",
    "current_file_content",
    "code_to_edit",
    "edit_diff_history",
    "diagnostics",
)
_TAGS = tuple(f"<|{slash}{part}|>" for part in _PARTS for slash in ("", "/"))


class Mercury(Struct, frozen=True):
    """Asks for the region as it will be."""

    name: str = "mercury"
    is_chat: bool = True
    path: str = EDIT_PATH
    reserved: tuple[str, ...] = (_CURSOR, *_TAGS)

    def prompt(self, situation: Situation) -> Prompt:
        """Give all parts; those of which nothing is known are empty."""
        parts = [
            _part("recently_viewed_code_snippets", _viewed(situation)),
            _part("current_file_content", _file(situation)),
            _part("edit_diff_history", _edits(situation)),
        ]
        if situation.remarks:
            said = (f"{x.line + 1} - {x.severity}: {x.message}" for x in situation.remarks)
            parts.append(_part("diagnostics", "\n".join(said)))
        return Prompt(text="\n\n".join(parts), max_tokens=room_for(situation.window.text))

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Take what is in the fence, or everything if there is none; other parts make no sense."""
        old = situation.window.text
        found = fenced(completion.text, is_nested="```" in old)
        text = completion.text if found is None else found
        if _REGION in text:
            text = until(text.rpartition(_REGION)[2], _REGION_END)
        if completion.is_cut or text.strip() in _NOTHING or any(tag in text for tag in _TAGS):
            return None
        return fitted(cleaned(text, self.reserved, _CURSOR), old)


def _part(name: str, text: str) -> str:
    return f"<|{name}|>\n{text}\n<|/{name}|>"


def _viewed(situation: Situation) -> str:
    """Return parts of other files; the first is the most interesting, and comes last."""
    return "\n\n".join(
        _part(
            "recently_viewed_code_snippet",
            f"code_snippet_file_path: {each.path}\n{each.text.rstrip()}",
        )
        for each in reversed(situation.related)
    )


def _file(situation: Situation) -> str:
    window = situation.window
    head, tail = window.marked
    region = _part("code_to_edit", f"{head}{_CURSOR}{tail}")
    below = f"\n{window.after}" if window.after else ""
    return f"current_file_path: {situation.path}\n{window.before}{region}{below}"


def _edits(situation: Situation) -> str:
    return "\n".join(
        f"--- {event.path}\n+++ {event.path}\n{event.diff.rstrip()}\n" for event in situation.events
    )
