"""The three ways in which an agent may learn the text: each with a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from parley.nes import NesClient, Span, Spot, TextEdit
from parley.nes.client import Timing

AGENT = Path(__file__).with_name("nes_replacing_agent.py")
MANUAL = Timing(debounce_after=1000, response_timeout=120)


@pytest.mark.requirement("V1-NES-37")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("model", ["events", "context", "both"])
async def test_an_accepted_edit_is_made_in_the_buffer_and_not_in_the_text_on_the_disk(
    model: str, version: int, tmp_path: Path
) -> None:
    file = tmp_path / "a.py"
    file.write_text("aaa bbb\n")
    uri = file.as_uri()
    command = [sys.executable, str(AGENT), model]
    options: Any = {"timing": MANUAL, "versions": (version,), "position_encodings": ("utf-16",)}
    async with NesClient.connect(command, tmp_path, **options) as nes:
        document = await nes.open(uri, "python", "aaa bbb\n")
        await nes.change(uri, TextEdit(Span(Spot(0, 0), Spot(0, 0)), "😀XX "))
        assert await nes.ask() is not None
        assert await nes.accept() is not None
        assert document.text == "😀XX aaa ccc\n"
    assert file.read_text() == "aaa bbb\n"
