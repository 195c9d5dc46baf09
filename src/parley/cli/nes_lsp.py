"""`parley nes lsp`: the same engine as a language server, on stdin and stdout."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys

from .nes_engine import add_engine_arguments, engine_of
from .reporting import Exit, Failure

__all__ = ["EXAMPLES", "WHAT", "add_arguments", "main"]

WHAT = "serve suggestions to an editor, as a language server on stdin and stdout"
EXAMPLES = """\
How to set up Neovim and VS Code: docs/how-to/editors.md.

examples:
  parley nes lsp
  parley nes lsp --model-url http://localhost:8080 --model zeta-2.1
"""
INSTALL = "the server needs more than the rest of Parley: pip install 'parley-acp[lsp,nes]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument(
        "--stdio", action="store_true", help="does nothing: some editors pass it to every server"
    )
    add_engine_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Serve until the editor leaves."""
    if importlib.util.find_spec("pygls") is None:
        raise Failure(INSTALL)
    if sys.stdin is None or sys.stdin.isatty():
        raise Failure("an editor starts this; see `parley nes lsp --help`", Exit.USAGE)
    engine = engine_of(arguments)
    from parley.nes._lsp.server import run

    # At `exit` it closes its output, and the command flushes its stdout after that.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as to_editor:
        return run(engine, sys.stdin.buffer, to_editor)
