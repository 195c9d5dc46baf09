"""The format of Sweep's next-edit models: files one after the other, each before and after.

Diagnostics are one of the files. The last three edits are shown as old and new lines, then the
window as it was before the last of them, then as it is now; what comes next is the window as it
will be.
"""

from __future__ import annotations

from msgspec import Struct

from parley.nes.model._api import Completion, Prompt
from parley.nes.model._situation import Event, Situation
from parley.nes.model._window import Window

from .base import Rewrite, fitted, room_for, until

_FILE, _END = "<|file_sep|>", "</s>"
_MAX_EDITS = 3
_MAX_LINES = 40


class Sweep(Struct, frozen=True):
    """Asks for the third state of a window."""

    name: str = "sweep"
    is_chat: bool = False
    reserved: tuple[str, ...] = (_FILE, _END)

    def prompt(self, situation: Situation) -> Prompt:
        """Give other files, the last edits, and the window in two states."""
        path, window = situation.path, situation.window
        files = [(each.path, each.text) for each in situation.related]
        if situation.remarks:
            said = (f"{x.severity} at line {x.line + 1}: {x.message}" for x in situation.remarks)
            files.append((f"Diagnostics for {path}", "\n".join(said)))
        files += [
            (
                f"{event.path}.diff",
                f"original:\n{_few(event.before)}\nupdated:\n{_few(event.after)}",
            )
            for event in situation.events[-_MAX_EDITS:]
        ]
        files += [(f"original/{path}", _original(situation)), (f"current/{path}", window.text)]
        blocks = "".join(f"{_FILE}{name}\n{text.rstrip()}\n" for name, text in files)
        return Prompt(
            text=f"{blocks}{_FILE}updated/{path}\n",
            stop=(_FILE, _END),
            max_tokens=room_for(window.text),
        )

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Take everything up to the next file."""
        if completion.is_cut:
            return None
        return fitted(Rewrite(until(completion.text, _FILE, _END)), situation.window.text)


def _few(lines: tuple[str, ...]) -> str:
    if len(lines) > _MAX_LINES:
        half = _MAX_LINES // 2
        lines = (*lines[:half], "...", *lines[-half + 1 :])
    return "\n".join(lines)


def _original(situation: Situation) -> str:
    """Return the window as it was before the last edit of this file."""
    window = situation.window
    mine = (event for event in reversed(situation.events) if event.path == situation.path)
    last = next(mine, None)
    return window.text if last is None else _undone(window, last)


def _undone(window: Window, event: Event) -> str:
    if event.line is None:
        return window.text
    lines = window.text.split("\n")
    start = event.line - window.first
    end = start + len(event.after)
    if start < 0 or tuple(lines[start:end]) != event.after:
        return window.text
    return "\n".join((*lines[:start], *event.before, *lines[end:]))
