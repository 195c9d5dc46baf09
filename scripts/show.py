"""Show Parley at work: the chat, and without a terminal a few prompts to the demo agent."""

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
    """Open the chat, or run the commands and return 0 if all ended as they should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headless", action="store_true", help="do as without a terminal")
    if not parser.parse_args().headless and has_screen():
        os.execv(sys.executable, [*PARLEY, "chat"])
    for words, expected in COMMANDS:
        print(f"\n$ parley run {shlex.join(words)} -a 'parley demo'", flush=True)
        command = [*PARLEY, "run", *words, "-a", DEMO]
        code = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode
        if code:
            print(f"(exit code {code})", flush=True)
        if code != expected:
            return 1
    parley = os.path.relpath(Path(sys.executable).with_name("parley"))
    print(
        f'\nTry it yourself; `-a COMMAND` chooses another agent:\n{shlex.quote(parley)} run "help"'
    )
    return 0


def has_screen() -> bool:
    """Tell whether there is a terminal that can be painted on."""
    is_terminal = all(each.isatty() for each in (sys.stdin, sys.stdout))
    return is_terminal and os.environ.get("TERM") not in ("dumb", "unknown")


if __name__ == "__main__":
    sys.exit(main())
