"""A shell in the checkout, with `python` and `parley` on PATH as in an active environment."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

from .command import PARLEY

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


class Shell:
    """Runs commands and waits for them."""

    def __init__(self, folder: Path) -> None:
        for name, words in (("python", [sys.executable]), ("parley", PARLEY)):
            script = folder / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
        self.variables = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        """What it changes in the environment, for programs that a test starts by other means."""

    def __call__(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **self.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
