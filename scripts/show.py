"""Show `parley run` at work: a few prompts to the demo agent, as a person would type them."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

PARLEY = [sys.executable, "-m", "parley"]
DEMO = shlex.join([*PARLEY, "demo"])

COMMANDS: list[tuple[list[str], int]] = [
    (["Hello, who is there?"], 0),
    (["plan"], 0),
    (["diff"], 0),
    (["perm", "--allow", "other"], 0),
    (["perm"], 0),
    (["tool", "--json"], 0),
    (["boom"], 1),
]
"""What to run, and the exit code that belongs to it."""


def main() -> int:
    """Run the commands and return 0 if all ended as they should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    for words, expected in COMMANDS:
        print(f"\n$ parley run {shlex.join(words)} -a 'parley demo'", flush=True)
        command = [*PARLEY, "run", *words, "-a", DEMO]
        code = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode
        if code:
            print(f"(exit code {code})", flush=True)
        if code != expected:
            return 1
    parley = os.path.relpath(Path(sys.executable).with_name("parley"))
    print(f'\nNow you, later with your own agent behind -a:\n{shlex.quote(parley)} run "help"')
    return 0


if __name__ == "__main__":
    sys.exit(main())
