"""The editor as pictures: any change of what it looks like is seen here.

After a wanted change run this file with `--snapshot-update`, and look at the pictures.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from .editor_pictures import ENGINE, SIZE, change_one, svg
from .editor_session import Stub, editing, jumping

PICTURE = Path(__file__).parents[4] / "docs" / "images" / "nes.svg"


@pytest.fixture(autouse=True)
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_an_edit(kept: SnapshotAssertion, theme: str) -> None:
    async with editing(ENGINE, size=SIZE, theme=theme) as desk:
        await change_one(desk)
        assert await svg(desk) == kept


async def test_an_edit_without_colours(
    kept: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with editing(ENGINE, size=SIZE) as desk:
        await change_one(desk)
        assert await svg(desk) == kept


async def test_a_jump(kept: SnapshotAssertion) -> None:
    async with editing(Stub(jumping(21)), size=SIZE) as desk:
        await desk.press("f2")
        await desk.until_painted("Go there")
        assert await svg(desk) == kept


async def test_the_picture_in_the_documents_is_what_the_editor_paints() -> None:
    async with editing(ENGINE, size=SIZE) as desk:
        await change_one(desk)
        painted = await svg(desk)
    is_same = painted == PICTURE.read_text(encoding="utf-8")
    assert is_same, "docs/images/nes.svg shows something else; run `python -m scripts.screenshot`"


def test_no_picture_fetches_anything() -> None:
    pictures = [PICTURE, *Path(__file__).parent.joinpath("__snapshots__").rglob("*.svg")]
    assert len(pictures) == 5
    for each in pictures:
        assert not re.search("@font-face|@import|href|(url|src)[(=]['\"]?http", each.read_text())
