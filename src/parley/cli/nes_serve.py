"""`parley nes serve`: the agent that suggests edits, on stdin and stdout."""

from __future__ import annotations

import argparse
import gc
import sys

from parley import Agent
from parley.nes import Suggestions
from parley.transport._stdio import HINT

from .nes_engine import add_engine_arguments, engine_of
from .reporting import Exit, Failure

__all__ = ["EXAMPLES", "WHAT", "add_arguments", "main"]

WHAT = "serve suggestions to an editor, as an agent on stdin and stdout"
EXAMPLES = """\
examples:
  parley nes serve
  parley nes serve --model-url http://localhost:8080 --model zeta-2.1
  parley nes eval . -a "parley nes serve"
"""

RARELY = 100
"""After how many smaller collections of garbage everything is looked at; 10 is Python's own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action; an editor sets the rest in its session."""
    add_engine_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Serve until the other side closes."""
    if sys.stdin is not None and sys.stdin.isatty():
        raise Failure(f"{HINT}; see `parley nes serve --help`", Exit.USAGE)
    agent = Agent("parley-nes")
    Suggestions(agent, engine_of(arguments))
    # Loaded modules stay, and collecting garbage among them would delay responses.
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], RARELY)
    agent.run()
    return Exit.DONE
