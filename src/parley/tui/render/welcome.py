"""What somebody sees first who has no agent yet: what to try, and how to get a real one."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from .lines import Line, indent, strips, wrap
from .painting import Look

__all__ = ["TRY", "Welcome"]

_NONE = Style.null()

HELLO = "Welcome to Parley."
WHO = "No agent is configured, so the demo agent answers, without a model or a network. Try:"
TRY = {
    "help": "all that it knows",
    "plan": "a plan that is followed",
    "diff": "a change of a file",
    "perm": "a question that you answer",
    "elicit": "a form to fill in",
    "slow": "work that goes on until Esc",
}
"""Prompts for the demo agent, and what they show."""
HOW = "To add a real agent, or to try one at once, leave and say, for example:"
COMMANDS = ("parley agents add opencode --default -- opencode acp", 'parley chat "opencode acp"')
KEYS = "F1 lists every key and command, Ctrl-P finds them, Ctrl-C twice leaves."


class Welcome:
    """A block that greets."""

    def __init__(self) -> None:
        self.version = 0
        self.gap = 1

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Return the greeting."""
        rows: list[Line] = [*wrap([(HELLO, look.heading)], width), *wrap([(WHO, _NONE)], width)]
        cells = 2 + max(map(len, TRY))
        for word, what in TRY.items():
            told = wrap([(what, look.faint)], width - cells - 2)
            rows += indent(told, (f"  {word:<{cells}}", look.strong))
        rows += [[], *wrap([(HOW, _NONE)], width)]
        for command in COMMANDS:
            rows += indent(wrap([(command, look.strong)], width - 2), ("  ", _NONE))
        return strips([*rows, [], *wrap([(KEYS, look.faint)], width)])

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return len(self.plain().split("\n")) + len(WHO) // width

    def plain(self) -> str:
        """Return it as text."""
        tried = [f"  {word}: {what}" for word, what in TRY.items()]
        said = [f"  {command}" for command in COMMANDS]
        return "\n".join([HELLO, WHO, *tried, "", HOW, *said, "", KEYS])
