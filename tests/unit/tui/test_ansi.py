"""Output of commands: colours stay, everything else that a terminal would obey goes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from rich.style import Style

from parley.tui.render.ansi import MAX_LINE_CHARS, AnsiOutput

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
PIECES = st.sampled_from(
    [
        "a", "word ", "漢", "é", "\n", "\r", "\r\n",
        "\b", "\t", "\x07", "\x00", "\x7f", "\x9b", "\x9d",
        "\x90", "\x9c", "\x1b", "\x1b[", "\x1b]",
        "\x1bP", "\x1b_", "\x1b\\", "31", ";", "m", "K", "2J",
        "?1049h", "\x1b[31m", "\x1b[0m", "\x1b[38;5;9m",
        "\x1b[48;2;1;2;3m", "\x1b]0;title\x07", "\x18",
        "\x1b]52;c;aGk=\x1b\\", "\x1b[6n", "\x1b(B", "\u202e", "0", "52;c;",
    ]
)  # fmt: skip


def _read(*pieces: str) -> AnsiOutput:
    output = AnsiOutput()
    for piece in pieces:
        output.feed(piece)
    return output


def _texts(output: AnsiOutput) -> list[str]:
    return ["".join(text for text, _ in row) for row in (*output.lines, output.last)]


def test_colours_and_weights_are_kept() -> None:
    output = _read(
        "\x1b[1;31mbad\x1b[0m \x1b[38;5;200mx\x1b[38;2;1;2;3my\x1b[48:2::9:8:7mz\x1b[2;3;4;7mw"
    )
    assert output.last == [
        ("bad", Style(color="color(1)", bold=True)),
        (" ", Style.null()),
        ("x", Style(color="color(200)")),
        ("y", Style(color=Color.from_rgb(1, 2, 3))),
        ("z", Style(color=Color.from_rgb(1, 2, 3), bgcolor=Color.from_rgb(9, 8, 7))),
        (
            "w",
            Style(color=Color.from_rgb(1, 2, 3), bgcolor=Color.from_rgb(9, 8, 7))
            + Style(dim=True, italic=True, underline=True, reverse=True),
        ),
    ]


@pytest.mark.parametrize(
    "code", ["38", "38;5", "38;2;1;2", "38;5;999", "38;9;1", "999", "8", "5", ";;"]
)
def test_a_colour_that_cannot_be_read_hides_nothing(code: str) -> None:
    assert _texts(_read(f"a\x1b[{code}mb")) == ["ab"]
    assert all(not style.conceal and not style.blink for _, style in _read(f"\x1b[{code}mb").last)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("10%\r20%", "20%"),
        ("longer\rab", "abnger"),
        ("longer\r\x1b[Kab", "ab"),
        ("longer\x1b[2K\rab", "ab    "),
        ("abc\b\bX", "aXc"),
        ("a\tb", "a       b"),
        ("\b\bx", "x"),
    ],
)
def test_a_line_can_be_written_over(written: str, shown: str) -> None:
    assert _texts(_read(written)) == [shown]


def test_a_carriage_return_before_a_newline_changes_nothing() -> None:
    assert _texts(_read("one\r\ntwo\r\n")) == ["one", "two", ""]


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b]0;title\x07", "\x1b]0;title\x1b\\",
        "\x1b]52;c;aGk=\x9c", "\x9d0;title\x9c", "\x1b[6n",
        "\x9b6n", "\x1b[?1049h", "\x1b[2J",
        "\x1bP1$r\x07q\x1b\\", "\x90payload\x9c", "\x1b_apc\x1b\\",
        "\x1b^pm\x1b\\", "\x1bXsos\x1b\\", "\x1b(0",
        "\x1b#8", "\x1bc", "\x1b[>0;1c", "\x07", "\x00", "\x7f",
        "\x1b[1;1;1;1;1H", "\x1b]8;;http://evil\x1b\\", "\x1b[200~", "\x85",
    ],
)  # fmt: skip
def test_any_other_sequence_is_dropped_whole_wherever_it_is_cut(sequence: str) -> None:
    text = f"before{sequence}after"
    assert _texts(_read(text)) == ["beforeafter"]
    for cut in range(len(text)):
        assert _texts(_read(text[:cut], text[cut:])) == ["beforeafter"]


def test_a_string_without_end_does_not_hide_everything_for_ever() -> None:
    output = _read("\x1b]", "x" * (1 << 20), "shown again")
    assert _texts(output) == ["shown again"]


def test_programs_that_draw_on_the_screen_are_noticed() -> None:
    assert not _read("\x1b[32mok\x1b[0m\r\x1b[K").is_screen
    assert _read("\x1b[?1049h").is_screen
    assert _read("\x1b[5;10Hx").is_screen


def test_lines_and_their_number_are_bounded() -> None:
    output = AnsiOutput(max_lines=10)
    output.feed("".join(f"{n}\n" for n in range(25)))
    output.feed("x" * 100_000 + "\r" + "y" * 100_000)
    assert _texts(output)[:-1] == [str(n) for n in range(15, 25)]
    assert output.dropped == 15
    assert _texts(output)[-1] == "y" * MAX_LINE_CHARS


@given(st.lists(PIECES, max_size=30), st.data())
def test_no_control_character_comes_out_and_cuts_make_no_difference(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    whole = _read(text)
    parts = _read(*(text[low:high] for low, high in pairwise([0, *cuts, len(text)])))
    assert not any(CONTROL.search(line) for line in _texts(whole))
    assert [*parts.lines, parts.last] == [*whole.lines, whole.last]
    assert (parts.style, parts.is_screen) == (whole.style, whole.is_screen)


@given(st.text(st.characters(max_codepoint=0x17F), max_size=200))
def test_nothing_at_all_makes_it_fail(text: str) -> None:
    assert not any(CONTROL.search(line) for line in _texts(_read(text)))
