"""`parley nes`: next edit suggestions. What each action does is in a module of its own."""

from __future__ import annotations

import argparse
from typing import Protocol, cast

from . import nes_demo, nes_eval, nes_lsp, nes_serve
from .actions import actions_of
from .reporting import Exit, Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Suggest what a developer changes next, from what was changed before: over the
Agent Client Protocol, to any editor that asks with `nes/suggest`, or over LSP.
It needs no model and no network, unless you name a model.
"""
EXAMPLES = """\
examples:
  parley nes serve                      # for an editor, on stdin and stdout
  parley nes lsp                        # the same over LSP
  parley nes demo                       # see what it is like
  parley nes eval .                     # how often is it right, in this repository?
"""


class _Action(Protocol):
    """The interface of a module of an action."""

    WHAT: str
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def main(self, arguments: argparse.Namespace) -> int: ...


_ACTIONS = {
    name: cast(_Action, module)
    for name, module in {
        "serve": nes_serve,
        "lsp": nes_lsp,
        "demo": nes_demo,
        "eval": nes_eval,
    }.items()
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = actions_of(parser)
    for name, module in _ACTIONS.items():
        module.add_arguments(add(name, module.WHAT, module.EXAMPLES))


def main(arguments: argparse.Namespace) -> int:
    """Do what is asked."""
    if arguments.action is None:
        told = f"say what to do: {', '.join(_ACTIONS)}; see `parley nes --help`"
        raise Failure(told, Exit.USAGE)
    return _ACTIONS[arguments.action].main(arguments)
