"""Write the pictures in the documents, of the chat and the small editor, as tests paint them."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from examples.tutorial import agent_5_options as tutorial
from tests.unit.tui.editor import editor_pictures as editor
from tests.unit.tui.editor.editor_session import editing
from tests.unit.tui.sample_chat import NARROW, README, ask, fill_in, scene, svg

IMAGES = Path(__file__).parents[1] / "docs" / "images"


async def pictures(home: Path) -> dict[str, str]:
    """Return the pictures by their names."""
    async with scene(home, README) as talk:
        await ask(talk)
        chat = await svg(talk)
    async with scene(home, NARROW, tutorial.agent) as talk:
        await fill_in(talk)
        form = await svg(talk)
    async with editing(editor.ENGINE, size=editor.SIZE) as desk:
        await editor.change_one(desk)
        nes = await editor.svg(desk)
    return {"chat.svg": chat, "tutorial-form.svg": form, "nes.svg": nes}


def main() -> int:
    """Write them; what belongs to the user is neither read nor changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        places = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home}
        os.environ.update(places)
        Path(home, "shop").mkdir()
        os.environ.pop("NO_COLOR", None)
        painted = asyncio.run(asyncio.wait_for(pictures(Path(home)), 30))
    for name, picture in painted.items():
        (IMAGES / name).write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
