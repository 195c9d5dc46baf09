"""Actions of a command, as the `list` of `parley agents list`."""

from __future__ import annotations

import argparse
from typing import Protocol

__all__ = ["AddAction", "actions_of"]


class AddAction(Protocol):
    """Adds an action to a command."""

    def __call__(self, name: str, what: str, examples: str = "") -> argparse.ArgumentParser:
        """Add one and return its parser.

        Args:
            name: The word on the command line.
            what: What it does, in a few words, for the help.
            examples: What stands at the end of its help.
        """
        ...


def actions_of(parser: argparse.ArgumentParser) -> AddAction:
    """Give a command actions; which was chosen is `arguments.action`, None for none."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog=parser.prog)

    def add(name: str, what: str, examples: str = "") -> argparse.ArgumentParser:
        return actions.add_parser(
            name,
            help=what,
            description=f"{what[:1].upper()}{what[1:]}.",
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    return add
