"""An editor's end of next edit suggestions: what it tells, what it shows, what it takes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from parley.nes import NesClient, Span, Spot, TextEdit
from parley.nes.client import EditSuggestion, Suggestion

AGENT = [sys.executable, str(Path(__file__).with_name("nes_agent.py"))]
URI = Path("notes.py").absolute().as_uri()
TEXT = "#one\nprint(1)\n#two\n"


async def main() -> None:
    shows: asyncio.Queue[Suggestion | None] = asyncio.Queue()
    async with NesClient.connect(AGENT, on_show=shows.put_nowait) as nes:
        document = await nes.open(URI, "python", TEXT)
        typed = TextEdit(Span(Spot(1, 8), Spot(1, 8)), "#why")
        await nes.change(URI, typed)  # asks by itself when the user pauses
        while True:
            shown = await shows.get()
            if isinstance(shown, EditSuggestion):
                (edit,) = shown.edits
                print(f"line {edit.span.start.line}: insert {edit.text!r}; Tab takes it")
                await nes.accept()  # the next one is asked for at once
            if "#t" not in document.text:
                break
    print(document.text, end="")


if __name__ == "__main__":
    asyncio.run(main())
