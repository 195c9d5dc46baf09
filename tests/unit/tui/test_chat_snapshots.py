"""The whole app as pictures: any change of what it looks like is seen here.

After a wanted change run this file with `--snapshot-update`, and look at the pictures.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from examples.tutorial import agent_5_options as tutorial
from syrupy.assertion import SnapshotAssertion
from tests.unit.conversation.recording_view import DEMO
from tests.unit.tui.sample_chat import NARROW, README, WIDE, ask, fill_in, say, scene, svg, tell

from parley.config import config_path
from parley.tui.dialogs.pickers import OptionPicker

IMAGES = Path(__file__).parents[3] / "docs" / "images"


async def test_the_first_start(home: Path, kept: SnapshotAssertion) -> None:
    async with scene(home, target=None) as talk:
        assert await svg(talk) == kept


@pytest.mark.parametrize(("size", "theme"), [(WIDE, "dark"), (NARROW, "light")])
async def test_a_turn(
    home: Path, kept: SnapshotAssertion, size: tuple[int, int], theme: str
) -> None:
    async with scene(home, size, theme=theme) as talk:
        await tell(talk)
        assert await svg(talk) == kept


async def test_a_turn_without_colours(
    home: Path, kept: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with scene(home, WIDE) as talk:
        await ask(talk)
        assert await svg(talk) == kept


async def test_a_question(home: Path, kept: SnapshotAssertion) -> None:
    async with scene(home, theme="light") as talk:
        await ask(talk)
        await talk.answer("p")
        assert await svg(talk) == kept


async def test_a_form(home: Path, kept: SnapshotAssertion) -> None:
    async with scene(home) as talk:
        await say(talk, "form")
        await talk.until(lambda: talk.chat.dock.card is not None)
        await talk.pilot.pause()
        await talk.answer("tab", *"out", "tab", "0", "tab")
        assert await svg(talk) == kept


async def test_a_picker(home: Path, kept: SnapshotAssertion) -> None:
    async with scene(home) as talk:
        await tell(talk)
        await talk.press("f2")
        await talk.until(lambda: isinstance(talk.app.screen, OptionPicker))
        assert await svg(talk) == kept


async def test_finding(home: Path, kept: SnapshotAssertion) -> None:
    async with scene(home) as talk:
        await tell(talk)
        await talk.press("ctrl+f", *"year")
        await talk.until(lambda: "6 of 6" in talk.painted)
        assert await svg(talk) == kept


async def test_tabs_of_which_one_waits(home: Path, kept: SnapshotAssertion) -> None:
    async with scene(home, theme="light") as talk:
        await ask(talk)
        await talk.press("ctrl+t")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        await talk.until_state("idle")
        await talk.write("/re")
        await talk.until(lambda: "look at the changes" in talk.painted)
        await talk.until(lambda: "? The report" in talk.painted)
        assert await svg(talk) == kept


async def test_a_dead_agent(home: Path, kept: SnapshotAssertion) -> None:
    script = f"{shlex.join(DEMO)}\necho 'mender: out of memory' >&2\nexit 3\n"
    (home / "shop" / "mender.sh").write_text(script)
    config_path().parent.mkdir(parents=True)
    config_path().write_text('[agents.mender]\ncommand = ["sh", "mender.sh"]\n')
    async with scene(home, target="mender") as talk:
        await say(talk, "crash")
        await talk.until_state("dead")
        await talk.until_shown("out of memory")
        await talk.until(lambda: "Press F5 to restart" in talk.status)
        assert await svg(talk) == kept


async def test_the_picture_in_the_documents_is_what_the_app_paints(home: Path) -> None:
    async with scene(home, README) as talk:
        await ask(talk)
        painted = await svg(talk)
    assert_is_picture(painted, "chat.svg")


async def test_the_picture_in_the_tutorial_is_what_the_app_paints(home: Path) -> None:
    async with scene(home, NARROW, tutorial.agent) as talk:
        await fill_in(talk)
        painted = await svg(talk)
    assert_is_picture(painted, "tutorial-form.svg")


def assert_is_picture(painted: str, name: str) -> None:
    is_same = painted == (IMAGES / name).read_text(encoding="utf-8")
    assert is_same, f"docs/images/{name} shows something else; run `python -m scripts.screenshot`"


def test_no_picture_fetches_anything() -> None:
    folders = [IMAGES, Path(__file__).parent / "__snapshots__"]
    pictures = [path for folder in folders for path in folder.rglob("*.svg")]
    assert len(pictures) > 10
    for each in pictures:
        assert not re.search("@font-face|@import|href|(url|src)[(=]['\"]?http", each.read_text())
