"""`parley nes demo`: a small editor that shows suggestions."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
from pathlib import Path

from parley.errors import ConfigError, TransportError

from .nes_engine import add_engine_arguments, engine_of
from .reporting import Exit, Failure, is_terminal

__all__ = ["EXAMPLES", "WHAT", "add_arguments", "main"]

WHAT = "edit a file in a small editor that shows suggestions"
EXAMPLES = """\
Tab accepts a suggestion, Esc dismisses it. F2, or Tab after a word, requests
one. Ctrl-S saves, Ctrl-Q quits. Without a FILE, a sample is opened, with a
hint on what to type.

examples:
  parley nes demo
  parley nes demo shop.py
  parley nes demo shop.py --model-url http://localhost:8080 --model zeta-2.1
"""
_EXTRAS = (("tui", "textual"), ("nes", "tree_sitter"))
_LINES_ONLY = frozenset({"dumb", "unknown"})
_LIGHT = frozenset({"7", "15"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="the file to edit; a sample by default"
    )
    parser.add_argument(
        "--theme", choices=("dark", "light"), help="the colours; NO_COLOR=1 means none"
    )
    add_engine_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the editor until the user leaves."""
    if not is_terminal() or os.environ.get("TERM") in _LINES_ONLY:
        raise Failure("the editor needs a terminal that can show a full-screen program", Exit.USAGE)
    if importlib.util.find_spec("textual") is None:
        raise Failure(f"the editor needs {install_hint()}")
    from parley.tui.editor.app import EditorApp, edit
    from parley.tui.editor.file import open_file

    engine = engine_of(arguments)
    try:
        app = EditorApp(open_file(arguments.file), theme=arguments.theme or _usual_theme())
        return asyncio.run(edit(app, engine))
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    except TransportError as error:
        raise Failure(str(error), Exit.DIED) from error


def install_hint() -> str:
    """Return which extras are missing, and the command that installs them."""
    missing = [extra for extra, package in _EXTRAS if importlib.util.find_spec(package) is None]
    extras = "an extra" if len(missing) == 1 else "extras"
    return f"{extras}: pip install 'parley-acp[{','.join(missing)}]'"


def _usual_theme() -> str:
    """Return the theme that fits the background that the terminal reports; dark by default."""
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if ground in _LIGHT else "dark"
