"""Command lines for child processes that run in this Python interpreter.

Python puts the current directory first on its module path when it is started with `-m`, so a
`json.py` in a project would run in every child that Parley starts there. All command lines that
start this interpreter are therefore built here, and all of them disable that. A test rejects
`sys.executable` anywhere else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_PARLEY = "parley"


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module without looking for code in the current directory.

    `-P` keeps the current directory out of the module path. `-I` would also disable the user's own
    site-packages, where Parley may be installed.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def parley_command(*arguments: str) -> list[str]:
    """Return the command that starts this Parley, whether or not `parley` is on PATH."""
    return module_command(_PARLEY, *arguments)


def script_command(script: str | Path, *arguments: str) -> list[str]:
    """Return the command that runs a file that needs only the standard library.

    `-I` ignores the environment, the current directory, and the user's site-packages.
    """
    return [sys.executable, "-I", os.fspath(script), *arguments]


def replace_parley(command: Sequence[str]) -> Sequence[str]:
    """Return a command with `parley` replaced by this installation; others are unchanged.

    To start another installation of Parley, use its path.
    """
    if command and command[0] == _PARLEY:
        return parley_command(*command[1:])
    return command
