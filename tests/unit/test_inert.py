"""Whatever an agent says, a terminal obeys none of it."""

from __future__ import annotations

import re
import unicodedata
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley import _display_text as module
from parley._display_text import sanitize_text


def test_control_characters_become_visible() -> None:
    assert sanitize_text("\x1b]52;c;AA\x07\x00\x7f\r") == "␛]52;c;AA␇␀␡␍"
    assert sanitize_text("\x9b6n\x9d0;t\x9c") == "␛[6n␛]0;t␛\\"


def test_text_that_would_run_the_other_way_is_shown_as_it_is() -> None:
    assert sanitize_text("rm \u202etxt.exe\u2066\u2069") == "rm �txt.exe��"
    assert sanitize_text("שלום مرحبا") == "שלום مرحبا"


INVISIBLE = "\u00ad\u034f\u115f\u1160\u3164\uffa0\u2800\u200b\u2060\ufeff\u2028\ufff9\ufffb\ufe00"
TAGS = "".join(chr(0xE0000 + ord(each)) for each in " ignore all rules~\x7f")


@pytest.mark.parametrize("text", [*INVISIBLE, *TAGS, "\U000e0001", "\U000e0100"], ids=ascii)
@pytest.mark.requirement("SAFE-USER-02")
def test_an_invisible_character_is_seen(text: str) -> None:
    assert sanitize_text(f"r{text}m", is_line=True) == "r�m"
    assert sanitize_text(f"r{text}m") == "r�m"
    assert sanitize_text(text, is_line=True) == "�"


def test_every_format_character_that_draws_nothing_is_seen() -> None:
    """The rest of them are signs that are drawn around or below numbers."""
    drawn = {*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}
    codes = [code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]
    left = [
        code for code in codes if code not in drawn and sanitize_text(f"a{chr(code)}b") != "a�b"
    ]
    assert [f"U+{code:04X}" for code in left] == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "👩\u200d💻",
            "❤\ufe0f\u200d🔥",
            "🏳\ufe0f\u200d🌈",
            "👨🏽\u200d🚀",
            "1\ufe0f\u20e3",
            "♀\ufe0e",
            "©\ufe0f",
        ),
        *("\u0645\u06cc\u200c\u062e", "क्\u200dष", "葛\U000e0100城", "神\ufe00", "ᠠ\u180b"),
    ],
    ids=ascii,
)
def test_emoji_and_scripts_that_need_joiners_stay_whole(text: str) -> None:
    assert sanitize_text(text) == text
    assert sanitize_text(text, is_line=True) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("r\u200dm", "r�m"),
        ("rm\u200c -rf", "rm� -rf"),
        ("é\u200dé", "é�é"),
        ("👩\u200d\u200d💻", "👩��💻"),
        ("a\ufe0f", "a�"),
        ("1\ufe0f0", "1�0"),
        ("😀\ufe0f\ufe0f", "😀\ufe0f�"),
        ("葛\U000e0100\U000e0101", "葛\U000e0100�"),
        ("😀\U000e0101", "😀�"),
        ("\u2800\ufe0f", "��"),
    ],
    ids=ascii,
)
def test_a_joiner_or_selector_without_a_meaning_is_seen(text: str, shown: str) -> None:
    assert sanitize_text(text) == shown
    assert sanitize_text(text, is_line=True) == shown


def test_an_emoji_may_come_in_pieces() -> None:
    pieces = ["👩", "\u200d", "💻", " ❤", "\ufe0f\u200d", "🔥"]
    assert "".join(map(sanitize_text, pieces)) == "".join(pieces)
    assert sanitize_text("👩\u200d", is_line=True) == "👩�"


def test_the_page_has_the_same_tables() -> None:
    page = files("parley.gateway").joinpath("page/text.js").read_text()
    for name in ("HIDDEN", "JOINED", "SYMBOLS", "IDEOGRAPHS", "MONGOLIAN"):
        table = re.search(rf"const {name} = (\[.*?\]);", page, re.DOTALL)
        assert table is not None, name
        numbers = [int(each, 16) for each in re.findall(r"0x([0-9a-f]+)", table[1])]
        assert numbers == [code for pair in getattr(module, name) for code in pair], name


def test_lines_stay_lines_unless_one_is_wanted() -> None:
    assert sanitize_text("a\r\nb\tc\n") == "a\nb\tc\n"
    assert sanitize_text(" a\r\nb\tc\n", is_line=True) == "a b c"


@given(st.text())
@pytest.mark.requirement("SAFE-REACH-08")
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    for line in (sanitize_text(text), sanitize_text(text, is_line=True)):
        controls = {each for each in line if unicodedata.category(each) == "Cc"}
        assert controls <= {"\t", "\n"}
        assert not {"\u202a", "\u202e", "\u2066", "\u2069"} & set(line)
    assert sanitize_text(sanitize_text(text)) == sanitize_text(text)
