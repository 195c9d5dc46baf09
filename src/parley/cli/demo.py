"""`parley demo`: the demo agent on stdin and stdout."""

from __future__ import annotations

import argparse
import sys

from parley.agent.journal_store import JournalStore
from parley.testing.demo import HELP, demo_agent
from parley.transport._stdio import HINT

from .reporting import Exit, Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

RUN = '`parley run "help"`'
DESCRIPTION = f"""\
Serve the demo agent on stdin and stdout, for an editor or `parley run`. It
needs no model and no network, responds to a few prompts, always in the same
way, and speaks version 1 and version 2 of the protocol. Its sessions are saved
in your journal and can be resumed.

prompts:
{HELP}
"""
EXAMPLES = """\
example:
  parley run "perm" -a "parley demo"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments; the command has none."""


def main(arguments: argparse.Namespace) -> int:
    """Serve until the other side closes."""
    if sys.stdin is not None and sys.stdin.isatty():
        raise Failure(f"{HINT}; try {RUN}, or `parley demo --help`", Exit.USAGE)
    demo_agent(store=JournalStore()).run()
    return Exit.DONE
