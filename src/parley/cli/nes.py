"""`parley nes`: next edit suggestions. Each action is a module."""

from __future__ import annotations

import argparse
from typing import Protocol, cast

from . import nes_demo, nes_eval, nes_lsp, nes_serve
from .actions import actions_of
from .reporting import Exit, Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Suggest the next edit from the previous ones, to editors that use `nes/suggest`
of the Agent Client Protocol, or LSP. This needs no model and no network,
unless you name a model.
"""
EXAMPLES = """\
examples:
  parley nes serve                      # for an editor, on stdin and stdout
  parley nes lsp                        # the same over LSP
  parley nes demo                       # try it
  parley nes eval .                     # how often is it right here?
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
    """Run the action."""
    if arguments.action is None:
        actions = ", ".join(_ACTIONS)
        raise Failure(f"name an action: {actions}; see `parley nes --help`", Exit.USAGE)
    return _ACTIONS[arguments.action].main(arguments)
