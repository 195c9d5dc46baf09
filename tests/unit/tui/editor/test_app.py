"""The editor of the demo: what is typed, shown, taken, refused and saved."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.nes.engine import EditProposal, Proposal, Question, Span, Spot, TextEdit
from parley.tui.editor.file import open_file
from parley.tui.editor.sample import SAMPLE

from .editor_session import EditorSession, Stub, editing, jumping, replacing


async def test_the_sample_says_what_to_try() -> None:
    async with editing(Stub(lambda question: [])) as desk:
        assert "Change debug to info" in desk.painted
        assert "a sample, not saved anywhere" in desk.painted
        assert desk.text == SAMPLE
        assert desk.app.page.cursor_position == Spot(8, 8)


async def test_the_agent_hears_what_is_typed_over_the_protocol() -> None:
    engine = Stub(lambda question: [])
    async with editing(engine) as desk:
        await desk.press("x", "backspace")
        await desk.until(lambda: len(engine.heard) == 3)
        assert engine.heard == [
            ("opened", "untitled:shop.py", "python"),
            ("changed", [("", "x")]),
            ("changed", [("x", "")]),
        ]


async def test_a_change_within_a_line_is_shown_there_and_as_a_diff() -> None:
    async with editing(Stub(replacing("debug", "info", after="log.x"))) as desk:
        await desk.press("x")
        await desk.until_painted("Next edit")
        assert "Next edit \u00b7 repeat \u00b7 85% \u00b7 4 more" in desk.painted
        assert '9 -     log.xdebug("selling' in desk.painted
        assert '9 +     log.xinfo("selling' in desk.painted
        assert 'log.xdebugxinfo("selling' in desk.painted


async def test_tab_takes_it_and_the_next_one_comes() -> None:
    engine = Stub(replacing("debug", "info"))
    async with editing(engine) as desk:
        await desk.press("f2")
        for left in (4, 3, 2, 1, 0):
            await desk.until(lambda: desk.app.page.is_asking)
            assert desk.text.count("debug") == left + 1
            await desk.press("tab")
            await desk.until(partial(_has, desk, left))
        await desk.until_painted("No suggestion at the moment.")
        assert "Change debug" not in desk.painted
        assert desk.text == SAMPLE.replace("debug", "info")
        assert engine.heard.count(("repeat", "accepted")) == 5


def _has(desk: EditorSession, left: int) -> bool:
    return desk.text.count("debug") == left


async def test_escape_refuses_it_and_it_does_not_come_again() -> None:
    engine = Stub(replacing("debug", "info"))
    async with editing(engine) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        await desk.press("escape")
        await desk.until(lambda: ("repeat", "rejected") in engine.heard)
        await desk.until(lambda: not desk.app.page.is_asking)
        await desk.until_painted("It is not suggested again.")
        assert desk.text == SAMPLE
        assert "Next edit" not in desk.painted


async def test_without_a_suggestion_tab_indents_and_escape_does_nothing() -> None:
    async with editing(Stub(lambda question: [])) as desk:
        await desk.press("home", "escape", "tab")
        assert desk.text.splitlines()[8].startswith("        log.debug")
        assert desk.app.focused is desk.app.page


async def test_tab_behind_a_word_asks_and_adds_no_blanks() -> None:
    def propose(question: Question) -> list[Proposal]:
        found = replacing("debug", "info", after="log.info")(question)
        return list(found) if question.trigger == "manual" else []

    async with editing(Stub(propose), size=(80, 40)) as desk:
        await desk.press(*["delete"] * 5, *"info", "tab")
        await desk.until_painted("Next edit")
        assert desk.text == SAMPLE.replace("debug", "info", 1)
        await desk.press("tab")
        await desk.until(lambda: desk.text == SAMPLE.replace("debug", "info", 2))


async def test_what_is_suggested_stays_while_it_is_typed() -> None:
    def propose(question: Question) -> list[EditProposal]:
        line = question.document.lines[question.spot.line]
        if not line.startswith("total = su"):
            return []
        end = Spot(question.spot.line, len("total = su"))
        edit = TextEdit(Span(end, end), "m(items)")
        return [EditProposal(uri=question.document.uri, edits=(edit,), score=0.9, rule="model")]

    async with editing(Stub(propose)) as desk:
        desk.app.page.move_cursor(desk.app.page.document.end)
        await desk.press(*"total", "space", "=", "space", *"su")
        await desk.until_painted("total = sum(items)")
        await desk.press("m")
        await desk.until(lambda: desk.text.endswith("total = sum"))
        await desk.until(lambda: desk.app.page.is_asking)
        await desk.press("tab")
        await desk.until(lambda: desk.text.endswith("total = sum(items)"))
        assert desk.app.page.cursor_location[1] == len("total = sum(items)")


async def test_new_lines_are_shown_where_they_come_and_in_the_diff() -> None:
    def propose(question: Question) -> list[EditProposal]:
        at = Spot(4, 33)
        edit = TextEdit(Span(at, at), "\nlog.setLevel(1)\nlog.warning('x')")
        return [EditProposal(uri=question.document.uri, edits=(edit,), score=0.9, rule="block")]

    async with editing(Stub(propose)) as desk:
        await desk.press("f2")
        await desk.until_painted("\u21b5 log.setLevel(1)")
        assert "6 + log.setLevel(1)" in desk.painted
        assert "7 + log.warning('x')" in desk.painted
        await desk.press("tab")
        await desk.until(lambda: "__name__)\nlog.setLevel(1)\nlog.warning('x')\n" in desk.text)


async def test_a_jump_is_a_marker_and_tab_goes_there() -> None:
    engine = Stub(jumping(21))
    async with editing(engine, size=(80, 40)) as desk:
        await desk.press("f2")
        await desk.until_painted("Go there \u00b7 pair \u00b7 60%")
        assert "22 \u2192 def refund" in desk.painted
        assert "def refund(basket, customer): \u2190" in desk.painted
        await desk.press("tab")
        await desk.until(lambda: desk.app.page.cursor_position == Spot(21, 0))
        assert ("pair", "accepted") in engine.heard


async def test_asking_where_there_is_nothing_says_so() -> None:
    async with editing(Stub(lambda question: [])) as desk:
        await desk.press("f2")
        await desk.until_painted("No suggestion here.")


async def test_what_keeps_the_engine_from_suggesting_is_said() -> None:
    def propose(question: Question) -> list[EditProposal]:
        logging.getLogger("parley.nes.model").warning("nobody \x1b[2Jlistens there")
        return []

    async with editing(Stub(propose)) as desk:
        await desk.press("x")
        await desk.until_painted("listens there")
        await desk.press("escape", "f2")
        await desk.until_painted("listens there")
        assert "No suggestion here." not in desk.painted


async def test_what_is_said_does_not_hide_what_tab_takes(tmp_path: Path) -> None:
    file = tmp_path / "[a].py"
    file.write_text("old = 1\n")
    async with editing(Stub(replacing("old", "new")), file) as desk:
        await desk.press("f2")
        await desk.until_painted("1 + new = 1")
        await desk.press("ctrl+s")
        await desk.until_painted("[a].py is saved.")
        assert "1 + new = 1" in desk.painted
        await desk.press("tab")
        await desk.until(lambda: desk.text == "new = 1\n")
        await desk.until_painted("Ctrl-S save")


async def test_ctrl_c_copies_and_says_how_to_leave() -> None:
    async with editing(Stub(lambda question: [])) as desk:
        await desk.press("ctrl+c")
        await desk.until_painted("Press Ctrl-Q to quit.")
        await desk.press(*["shift+right"] * 5, "ctrl+c")
        await desk.until(lambda: desk.app.clipboard == "debug")
        assert desk.app.return_code is None


async def test_a_file_is_saved_as_it_was_but_for_the_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes("x = 'é'\r\ny = 1\r\n".encode())
    engine = Stub(replacing("y", "z"))
    async with editing(engine, file) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        await desk.press("tab")
        await desk.until(lambda: "z = 1" in desk.text)
        await desk.until_painted("a.py \u25cf")
        await desk.press("ctrl+s")
        await desk.until_painted("a.py is saved.")
        assert file.read_bytes() == "x = 'é'\r\nz = 1\r\n".encode()
        await desk.until(lambda: "saved" in engine.heard)
        assert "\u25cf" not in desk.painted


async def test_leaving_with_changes_is_asked_once(tmp_path: Path) -> None:
    file = tmp_path / "new.py"
    async with editing(Stub(lambda question: []), file) as desk:
        await desk.press("x", "ctrl+q")
        await desk.until_painted("Unsaved changes")
        assert desk.app.return_code is None
        await desk.press("y", "ctrl+q")
        await desk.until_painted("Unsaved changes")
        await desk.press("ctrl+q")
        await desk.until(lambda: desk.app.return_code == 0)
        assert not file.exists()


async def test_the_sample_is_left_at_once_and_not_saved() -> None:
    async with editing(Stub(lambda question: [])) as desk:
        await desk.press("x", "ctrl+s")
        await desk.until_painted("this is only a sample")
        await desk.press("ctrl+q")
        await desk.until(lambda: desk.app.return_code == 0)


async def test_control_characters_of_a_file_reach_no_terminal(tmp_path: Path) -> None:
    file = tmp_path / "evil.txt"
    file.write_text("a \x1b]52;c;QQ==\x07 b\n")
    async with editing(Stub(replacing("b", "\x1b[2J")), file) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        await desk.pilot.pause()
        assert "\x1b" not in desk.painted


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff\xfe", "not valid UTF-8 text"),
        (b"a\r\nb\nc\n", "line ends of several kinds"),
        (b"a\x0cb\n", "line ends of several kinds"),
    ],
)
def test_what_this_editor_would_spoil_it_does_not_open(
    tmp_path: Path, data: bytes, why: str
) -> None:
    file = tmp_path / "odd"
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=why):
        open_file(file)


def test_a_new_file_is_opened_where_there_is_a_folder(tmp_path: Path) -> None:
    assert open_file(tmp_path / "new.rs").language_id == "rust"
    with pytest.raises(ConfigError, match="is not a folder"):
        open_file(tmp_path / "missing" / "new.rs")
    with pytest.raises(ConfigError, match="cannot be read"):
        open_file(tmp_path)
