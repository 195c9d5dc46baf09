"""Whatever an agent says, a terminal obeys none of it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.inert import inert


def test_control_characters_become_visible() -> None:
    assert inert("\x1b]52;c;AA\x07\x00\x7f\r") == "␛]52;c;AA␇␀␡␍"
    assert inert("\x9b6n\x9d0;t\x9c") == "␛[6n␛]0;t␛\\"


def test_text_that_would_run_the_other_way_is_shown_as_it_is() -> None:
    assert inert("rm \u202etxt.exe\u2066\u2069") == "rm �txt.exe��"
    assert inert("שלום مرحبا") == "שלום مرحبا"


def test_what_has_no_width_is_seen_and_emoji_stay_whole() -> None:
    assert inert("r\u200bm\u200f -r\u2060f\ufeff") == "r�m� -r�f�"
    assert inert("👩\u200d💻") == "👩\u200d💻"


def test_lines_stay_lines_unless_one_is_wanted() -> None:
    assert inert("a\r\nb\tc\n") == "a\nb\tc\n"
    assert inert(" a\r\nb\tc\n", is_line=True) == "a b c"


@given(st.text())
@pytest.mark.requirement("SAFE-REACH-08")
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    for line in (inert(text), inert(text, is_line=True)):
        controls = {each for each in line if unicodedata.category(each) == "Cc"}
        assert controls <= {"\t", "\n"}
        assert not {"\u202a", "\u202e", "\u2066", "\u2069"} & set(line)
    assert inert(inert(text)) == inert(text)
