"""A scripted peer as a process: `python -m parley.testing.scripted SCRIPT.json`.

The exit code is 0 if the other side closes after the last step, 70 if the other side deviates from
the script, 64 if the script cannot be read, and otherwise as the script says.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import NoReturn

from ._peer import ScriptFailed, play
from ._steps import Die, Exit, read_script

__all__: list[str] = []

USAGE, FAILED = 64, 70


class _StdioScriptTransport:
    """A `ScriptTransport` on stdin and stdout, which are used only when the script says so."""

    async def read(self) -> bytes | None:
        line = await asyncio.to_thread(sys.stdin.buffer.readline)
        return line.rstrip(b"\n") if line else None

    async def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    async def hang_up(self) -> None:
        os.close(1)

    async def end(self, step: Exit | Die) -> None:
        if isinstance(step, Die):
            os.kill(os.getpid(), step.signal)
        else:
            exit_now(step.code)


def exit_now(code: int) -> NoReturn:
    """Exit immediately, even if a thread is still blocked in a read."""
    sys.stderr.flush()
    os._exit(code)


def main() -> NoReturn:
    """Play the script named on the command line."""
    try:
        steps = read_script(Path(sys.argv[1]).read_bytes())
    except (IndexError, OSError, ValueError) as error:
        sys.stderr.write(f"usage: python -m parley.testing.scripted SCRIPT.json ({error})\n")
        exit_now(USAGE)
    try:
        asyncio.run(play(steps, _StdioScriptTransport(), []))
    except (ScriptFailed, OSError) as failure:
        sys.stderr.write(f"the script failed: {failure}\n")
        exit_now(FAILED)
    exit_now(0)


if __name__ == "__main__":
    main()
