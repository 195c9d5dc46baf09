"""Write docs/chat.svg, the picture of `parley chat` in the documents, from a scene of the tests."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tests.unit.tui.story import README, ask, scene, svg

PICTURE = Path(__file__).parents[1] / "docs" / "chat.svg"


async def picture(home: Path) -> str:
    """Return the picture."""
    async with scene(home, README) as talk:
        await ask(talk)
        return await svg(talk)


def main() -> int:
    """Write it; what belongs to the user is neither read nor changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        places = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home}
        os.environ.update(places)
        Path(home, "shop").mkdir()
        os.environ.pop("NO_COLOR", None)
        painted = asyncio.run(asyncio.wait_for(picture(Path(home)), 30))
    PICTURE.write_text(painted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
