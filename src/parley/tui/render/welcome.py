"""The first screen without a configured agent: prompts to try, and how to add an agent."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from .lines import Line, indent, strips, wrap
from .theme import Theme

__all__ = ["TRY", "Welcome"]

_NONE = Style.null()

HELLO = "Welcome to Parley."
WHO = "No agent is configured, so the demo agent answers, without a model or a network. Try:"
TRY = {
    "help": "everything it can do",
    "plan": "a plan with steps",
    "diff": "a change to a file",
    "perm": "a question that you answer",
    "elicit": "a form to fill in",
    "slow": "work that continues until Esc",
}
"""Prompts for the demo agent, and what they show."""
HOW = "To add a real agent, or to try one at once, leave and run, for example:"
COMMANDS = ("parley agents add opencode --default -- opencode acp", 'parley chat "opencode acp"')
KEYS = "F1 lists every key and command, Ctrl-P finds them, Ctrl-C twice leaves."


class Welcome:
    """The greeting as a block."""

    def __init__(self) -> None:
        self.version = 0
        self.gap = 1

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        """Return the greeting."""
        rows: list[Line] = [*wrap([(HELLO, theme.heading)], width), *wrap([(WHO, _NONE)], width)]
        cells = 2 + max(map(len, TRY))
        for word, description in TRY.items():
            text = wrap([(description, theme.faint)], width - cells - 2)
            rows += indent(text, (f"  {word:<{cells}}", theme.strong))
        rows += [[], *wrap([(HOW, _NONE)], width)]
        for command in COMMANDS:
            rows += indent(wrap([(command, theme.strong)], width - 2), ("  ", _NONE))
        return strips([*rows, [], *wrap([(KEYS, theme.faint)], width)])

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return len(self.plain().split("\n")) + len(WHO) // width

    def plain(self) -> str:
        """Return it as text."""
        tried = [f"  {word}: {description}" for word, description in TRY.items()]
        commands = [f"  {command}" for command in COMMANDS]
        return "\n".join([HELLO, WHO, *tried, "", HOW, *commands, "", KEYS])
