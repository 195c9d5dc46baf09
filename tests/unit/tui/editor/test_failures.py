"""The editor of the demo when something goes wrong: keys in between, a lost agent, a full disk."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.nes.client.editor import Stalled

from parley.nes.engine import Spot
from parley.transport._base import HIGH_WATER_BYTES
from parley.transport._memory import MemoryTransport
from parley.tui.editor.app import EditorApp, connect_engine
from parley.tui.editor.file import OpenFile, open_file

from .editor_session import AT_ONCE, EditorSession, Stub, editing, jumping, replacing


def agent_end(desk: EditorSession) -> MemoryTransport:
    """Return the agent's end of the connection."""
    assert desk.app.client is not None
    command_list = desk.app.client.connection.peer._outbound._transport
    assert isinstance(command_list, MemoryTransport)
    assert command_list._other is not None
    return command_list._other


async def test_a_key_that_is_pressed_while_something_is_taken_finds_the_new_text(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.py"
    file.write_text("old = 1\nold = 2\n")
    engine = Stub(replacing("old", "longer", first=1))
    async with editing(engine, file) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        agent, page = agent_end(desk), desk.app.page
        stalled = Stalled(agent)
        agent._inbox_bytes += HIGH_WATER_BYTES  # it takes no more for now
        deciding = asyncio.create_task(desk.app._decided(page.Decided(True)))
        await stalled.another()
        assert not deciding.done()
        assert page.cursor_position == Spot(1, 6)
        page.insert("x")
        page.insert("y\n", (0, 0))
        agent._inbox_bytes -= HIGH_WATER_BYTES
        stalled.end()
        await deciding
        expected = "y\nold = 1\nlongerx = 2\n"
        await desk.until(lambda: _known(desk) == expected)
        assert desk.text == expected
        assert ("repeat", "accepted") in engine.heard


def _known(desk: EditorSession) -> str:
    assert desk.app._document is not None
    return desk.app._document.text


async def test_a_key_behind_the_decision_moves_what_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("old = 1\nold = 2\n")
    async with editing(Stub(replacing("old", "new", first=1)), file) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        desk.app.page.post_message(desk.app.page.Decided(True))
        desk.app.page.insert("# first\n", (0, 0))
        await desk.until(lambda: "new = 2" in desk.text)
        assert desk.text == _known(desk) == "# first\nold = 1\nnew = 2\n"


async def test_an_agent_that_has_gone_does_not_end_the_editor(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("old = 1\n")
    async with editing(Stub(replacing("old", "new")), file) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        await agent_end(desk).aclose()
        assert desk.app.client is not None
        await desk.app.client.connection.peer.wait_closed()
        await desk.press("ctrl+s")
        await desk.until_painted("No more suggestions")
        assert "Next edit" not in desk.painted
        await desk.press("x", "ctrl+s")
        await desk.until_painted("a.py is saved.")
        assert file.read_text() == "xold = 1\n"
        await desk.press("f2")
        await desk.until_painted("No more suggestions")
        await desk.press("ctrl+q")
        await desk.until(lambda: desk.app.return_code == 0)


@pytest.mark.parametrize("keys", [["x"], ["tab"], ["escape"], ["f2"]])
async def test_whatever_is_pressed_first_says_that_the_agent_has_gone(keys: list[str]) -> None:
    async with editing(Stub(jumping(21))) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        await agent_end(desk).aclose()
        assert desk.app.client is not None
        await desk.app.client.connection.peer.wait_closed()
        await desk.press(*keys)
        await desk.until_painted("No more suggestions")
        assert not desk.app.page.is_asking


async def test_an_agent_that_has_gone_before_the_editor_is_there_does_not_end_it() -> None:
    app = EditorApp(open_file(None))
    async with connect_engine(app, Stub(lambda question: []), timing=AT_ONCE):
        assert app.client is not None
        await app.client.connection.peer.aclose()
        async with app.run_test() as pilot:
            await EditorSession(app, pilot).until_painted("No more suggestions")


async def test_one_may_type_on_while_an_answer_is_awaited() -> None:
    engine = Stub(lambda question: [])
    async with editing(engine) as desk:
        agent = agent_end(desk)
        agent.pause_reading()
        await desk.press("f2", "z")
        await desk.until(lambda: "zdebug" in _known(desk))
        agent.resume_reading()
        await desk.until_painted("No suggestion here.")


# Saving


async def test_a_file_that_is_read_only_is_not_saved_and_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("a\n")
    file.chmod(0o444)
    async with editing(Stub(lambda question: []), file) as desk:
        await desk.press("x", "ctrl+s")
        await desk.until_painted("The file was not saved: the file is read-only")
        assert "\u25cf" in desk.painted
    assert file.read_text() == "a\n"


def test_a_disk_that_is_full_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "a.py"
    file.write_text("old\n")
    monkeypatch.setattr(os, "fsync", full)
    opened = open_file(file)
    with pytest.raises(OSError, match="No space"):
        opened.save("new\n")
    assert file.read_text() == opened.saved == "old\n"
    assert list(tmp_path.iterdir()) == [file]


def test_links_and_modes_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "a.sh", tmp_path / "link"
    file.write_text("old\n")
    file.chmod(0o750)
    link.symlink_to(file)
    open_file(link).save("new\n")
    assert link.is_symlink()
    assert file.read_text() == "new\n"
    assert file.stat().st_mode & 0o777 == 0o750


def test_a_new_file_is_made_as_others_are(tmp_path: Path) -> None:
    OpenFile(tmp_path / "new.py", "").save("a\n")
    (tmp_path / "other").write_text("a\n")
    modes = {each.stat().st_mode for each in tmp_path.iterdir()}
    assert len(modes) == 1


def test_the_editor_loads_no_engine() -> None:
    program = "import parley.tui.editor.app, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    ).stdout.split()
    engines = ("parley.nes.model", "parley.nes.embedded")
    assert not [name for name in loaded if name.startswith(engines)]
