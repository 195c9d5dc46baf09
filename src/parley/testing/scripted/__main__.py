"""A scripted peer as a process: `python -m parley.testing.scripted SCRIPT.json`.

It exits with 0 when the other side closes after the last step, with 70 when that side did something
else than expected, with 64 when there is no script that can be read, and else as the script says.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import NoReturn

from .peer import ScriptFailed, play
from .steps import Die, Exit, read_script

__all__: list[str] = []

USAGE, FAILED = 64, 70


class _Pipes:
    """Stdin and stdout, read and written only when the script says so."""

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
            leave(step.code)


def leave(code: int) -> NoReturn:
    """Exit now, whatever a thread still reads."""
    sys.stderr.flush()
    os._exit(code)


def main() -> NoReturn:
    """Play the script that the command line names."""
    try:
        steps = read_script(Path(sys.argv[1]).read_bytes())
    except (IndexError, OSError, ValueError) as error:
        sys.stderr.write(f"usage: python -m parley.testing.scripted SCRIPT.json ({error})\n")
        leave(USAGE)
    try:
        asyncio.run(play(steps, _Pipes(), []))
    except (ScriptFailed, OSError) as failure:
        sys.stderr.write(f"the script failed: {failure}\n")
        leave(FAILED)
    leave(0)


if __name__ == "__main__":
    main()
