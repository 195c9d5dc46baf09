"""The editor of the demo on small screens and large ones: what is seen, and what is said where."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.nes._documents.document import Document
from parley.tui.editor.file import open_file

from .editor_session import EditorSession, Stub, editing, replacing

SMALL = (40, 12)
TYPED = ["delete"] * 5 + [*"info"]


def rows(desk: EditorSession) -> list[str]:
    return [line.rstrip() for line in desk.painted.split("\n")]


async def test_on_a_small_screen_the_place_and_the_cursor_are_both_seen() -> None:
    async with editing(Stub(replacing("debug", "info", after="log.info")), size=SMALL) as desk:
        await desk.press(*TYPED)
        await desk.until_painted("11 +         log.info")
        await desk.until_painted("11          log.debug")
        assert " 9      log.info(" in desk.painted


async def test_who_goes_from_place_to_place_sees_the_next_one_however_far_it_is() -> None:
    engine = Stub(replacing("debug", "info", after="log.info", first=22))
    async with editing(engine, size=SMALL) as desk:
        await desk.press(*TYPED)
        await desk.until_painted("23 +     log.info")
        assert "23      log.debug" not in desk.painted  # who types looks at what is typed
        assert " 9      log.info(" in desk.painted
        await desk.press("f2")
        await desk.until_painted("23      log.debug")


async def test_what_goes_is_struck_out_in_a_line_that_is_wrapped() -> None:
    async with editing(Stub(replacing("debug", "info")), size=SMALL) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        page = desk.app.page
        assert page.wrapped_document.get_offsets(8)
        styles = [span for span in page.get_line(8).spans if (span.start, span.end) == (8, 13)]
        assert any(getattr(span.style, "strike", False) for span in styles)
        assert page.get_line(8).plain == page.document.get_line(8)


@pytest.mark.parametrize(
    ("size", "keys"),
    [
        (SMALL, "Tab yes  Esc no  F2 ask  ^Q quit"),
        ((60, 24), "Tab accept  Esc reject  F2 ask  Ctrl-Q quit"),
        ((80, 24), "Ctrl-Z undo  Ctrl-S save  Ctrl-Q quit"),
    ],
)
async def test_the_keys_are_as_many_as_there_is_room_for(size: tuple[int, int], keys: str) -> None:
    async with editing(Stub(lambda question: []), size=size) as desk:
        await desk.until_painted(keys)
        assert rows(desk)[-1].endswith(keys)


async def test_the_keys_change_with_the_screen() -> None:
    async with editing(Stub(lambda question: [])) as desk:
        await desk.until_painted("Ctrl-S save")
        await desk.pilot.resize_terminal(*SMALL)
        await desk.until_painted("^Q quit")


async def test_a_small_panel_says_how_much_more_there_is() -> None:
    async with editing(Stub(replacing("debug", "a\nb\nc")), size=SMALL) as desk:
        await desk.press("f2")
        await desk.until_painted("and 3 more lines")
        assert "Next edit \u00b7 repeat" in desk.painted


async def test_what_is_said_while_something_is_suggested_is_not_cut(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("old = 1\n")
    async with editing(Stub(replacing("old", "new", after="#")), file, size=SMALL) as desk:
        await desk.press("#")
        await desk.until(lambda: desk.app.page.is_asking)
        await desk.press("ctrl+q")
        await desk.until_painted("discard them.")


# What is said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("old\n" * 4, "3 more places are left: F2 shows the next."),
        ("old\n" * 2, "1 more place is left: F2 shows the next."),
        ("old\n", "F2 asks for something else."),
    ],
)
async def test_who_refuses_one_place_hears_of_the_others(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "a.py"
    file.write_text(text)
    async with editing(Stub(replacing("old", "new")), file) as desk:
        await desk.press("f2")
        await desk.until(lambda: desk.app.page.is_asking)
        await desk.press("escape")
        await desk.until_painted(f"It is not suggested again. {said}")


class Bare(Stub):
    """An engine that finds no grammar when a document is opened."""

    def opened(self, document: Document) -> None:
        logging.getLogger("parley.nes._syntax").warning(
            "python: literal rules only without tree-sitter: pip install 'parley-acp[nes]'"
        )


@pytest.mark.parametrize("size", [SMALL, (80, 24)])
async def test_what_the_log_says_does_not_hide_the_hint(size: tuple[int, int]) -> None:
    async with editing(Bare(lambda question: []), size=size) as desk:
        await desk.until_painted("'parley-acp[nes]'")
        assert "literal rules only" in desk.painted
        assert "Change debug to info" in desk.painted
        await desk.until_painted(" 9      log.debug(")


# Files


def test_a_file_with_zeros_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"a\0b\n")
    with pytest.raises(ConfigError, match="is not a text file"):
        open_file(file)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb", "a\r\nb\r\n", "a\rb\r", "\n\n", "\ta"])
async def test_a_text_is_edited_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(text.encode())
    async with editing(Stub(lambda question: []), file) as desk:
        assert desk.text == text
        await desk.press("ctrl+s")
        await desk.until_painted("a.txt is saved.")
    assert file.read_bytes() == text.encode()


async def test_a_text_of_many_lines_is_painted_without_its_colours(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def f(): pass\n" * 6_000)
    async with editing(Stub(lambda question: []), file) as desk:
        await desk.until_painted("def f(): pass")
        assert desk.app.page._coloured == ("", [])
