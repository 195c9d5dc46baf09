"""Write the picture of the inspector in the documents: a recorded turn of the demo agent."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.e2e.browser import browser, close_chromium

from parley.inspector._library import Library
from parley.inspector._serving import serve
from parley.recording import RecordingStore

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "inspector.png"
SIZE = (1280, 640, False)
PARLEY = [sys.executable, "-P", "-m", "parley"]
RUN = ["run", "tool", "--no-journal", "-a", "parley tap --name demo -- parley demo"]
SELECTED = ".viewport .row:nth-child(5)"


def record(state: Path) -> RecordingStore:
    """Record a turn, below a directory for the state of a user."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    subprocess.run([*PARLEY, *RUN], cwd=state, env=environment, check=True, capture_output=True)
    return RecordingStore(state / "parley" / "recordings")


async def take_picture(store: RecordingStore) -> bytes:
    """Open the page on the recording, select a message, and return the picture."""
    async with serve(Library(store)) as url, browser() as opened:
        page = await opened.open(url, SIZE)
        await page.sees("exit code 0", "body")
        await page.click(SELECTED)
        await page.sees("jsonrpc", "body")
        return await page.picture()


def main() -> None:
    """Write the picture."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as state:
        PICTURE.write_bytes(asyncio.run(take_picture(record(Path(state)))))
    close_chromium()
    print(PICTURE)


if __name__ == "__main__":
    main()
