"""Markdown in pieces: the same blocks however it comes, and nothing in it is obeyed or lost."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from parley.tui.render.blocks import CodeBlock
from parley.tui.render.markdown_block import MarkdownBlock
from parley.tui.render.markdown_stream import FENCE_LINES, MarkdownPiece, MarkdownStream
from parley.tui.render.theme import DARK, PLAIN

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SCRAPS = st.sampled_from(
    [
        "a", "b c", "\n", "\n\n", "- ", "1. ", "2) ",
        "* ", "+ ", "  ", "    ", "> ", "```", "~~~", "```py\n",
        "|", "---", "\n|-|-|\n", "| a | b |\n", "#",
        "## x\n", "*", "**", "_", "`", "\r\n", "\r", "\t", "\x1b[31m",
        "[x](y)", "[x]: y\n", "\\", "=\n", "===\n", "---\n",
        "<b>", "&#27;", "&#x202e;", "&#10;", "&Tab;", "&#12;", "<!--",
        "漢字", "é\u0301", "!", "&amp;", "\u202e",
    ]
)  # fmt: skip


def whole(text: str) -> list[MarkdownPiece]:
    stream = MarkdownStream()
    stream.feed(text)
    return stream.finish()


def painted(text: str, width: int = 60) -> list[str]:
    return [strip.text.rstrip() for block in whole(text) for strip in block.lines(width, DARK)]


@settings(max_examples=300)
@given(st.lists(SCRAPS, max_size=40), st.data())
def test_it_makes_no_difference_where_the_text_is_cut(
    scraps: list[str], data: st.DataObject
) -> None:
    text = "".join(scraps)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    stream = MarkdownStream()
    blocks: list[MarkdownPiece] = []
    for low, high in pairwise([0, *cuts, len(text)]):
        stream.feed(text[low:high])
        blocks += stream.step()
        stream.rest()
    assert blocks + stream.finish() == whole(text)
    assert stream.rest() is None


@settings(max_examples=150)
@given(st.lists(SCRAPS, max_size=40), st.integers(1, 40))
def test_nothing_painted_is_wider_than_the_screen_or_obeyed_by_it(
    scraps: list[str], width: int
) -> None:
    for block in whole("".join(scraps)):
        for theme in (DARK, PLAIN):
            for strip in block.lines(width, theme):
                assert not CONTROL.search(strip.text)
                assert strip.cell_length == cell_len(strip.text)
                assert strip.cell_length <= max(width, 24)


def test_what_is_finished_is_not_touched_again() -> None:
    stream = MarkdownStream()
    stream.feed("# One\n\ntwo\n\nthree")
    first = stream.step()
    assert first == [MarkdownBlock("# One")]
    assert stream.rest() == MarkdownBlock("two\n\nthree")
    stream.feed(" and\n\nfour\n\nfive\n")
    assert stream.step() == [MarkdownBlock("two"), MarkdownBlock("three and")]


def test_a_list_is_taken_apart_at_its_items_and_keeps_its_numbers() -> None:
    text = "1. one\n1. two\n   - nested\n\n1. three\n\nend"
    assert whole(text) == [
        MarkdownBlock("1. one", number=1),
        MarkdownBlock("1. two\n   - nested", number=2, gap=0),
        MarkdownBlock("1. three", number=3),
        MarkdownBlock("end"),
    ]
    assert painted(text) == ["1. one", "2. two", "   ◦ nested", "3. three", "end"]


def test_code_is_finished_every_so_many_lines() -> None:
    code = [f"line {n}" for n in range(FENCE_LINES + 5)]
    stream = MarkdownStream()
    stream.feed("```python\n" + "\n".join(code) + "\nhalf a l")
    assert stream.step() == [CodeBlock("\n".join(code[:FENCE_LINES]), "python")]
    rest = CodeBlock("\n".join([*code[FENCE_LINES:], "half a l"]), "python", is_open=True, gap=0)
    assert stream.rest() == rest
    stream.feed("ine\n```\nafter")
    assert stream.step() == [
        CodeBlock("\n".join([*code[FENCE_LINES:], "half a line"]), "python", gap=0)
    ]
    assert stream.rest() == MarkdownBlock("after")


def test_code_is_coloured_when_it_is_closed_not_while_it_grows() -> None:
    colours = [
        {
            segment.style.color
            for strip in code.lines(40, DARK)
            for segment in strip
            if segment.style
        }
        for code in (
            CodeBlock("def f(): pass", "python", is_open=True),
            CodeBlock("def f(): pass", "python"),
        )
    ]
    assert colours[0] == {None}
    assert len(colours[1]) > 1


def test_the_end_of_a_fence_does_not_flicker_as_code() -> None:
    stream = MarkdownStream()
    stream.feed("```\ncode\n``")
    stream.step()
    assert stream.rest() == CodeBlock("code", is_open=True)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("[text](https://x.org/a)", ["text (https://x.org/a)"]),
        ("<https://x.org>", ["https://x.org"]),
        ("[javascript](javascript:alert(1))", ["[javascript](javascript:alert(1))"]),
        ("![alt](http://x/y.png)", ["[image: alt] (http://x/y.png)"]),
        ("<script>alert(1)</script>", ["<script>alert(1)</script>"]),
        ("a <b>bold</b>", ["a <b>bold</b>"]),
        ("[red]x[/red] [@click=app.quit]y[/]", ["[red]x[/red] [@click=app.quit]y[/]"]),
        ("[/etc/passwd]", ["[/etc/passwd]"]),
        ("one\r\ntwo", ["one", "two"]),
        ("one\ntwo  \nthree", ["one", "two", "three"]),
        ("[x]: http://y", ["[x]: http://y"]),
        ("# One\n### Three", ["One", "### Three"]),
        ("~~gone~~ **b** _i_ `c`", ["gone b i c"]),
        ("> a\n>> b", ["▎ a", "▎", "▎ ▎ b"]),
        ("- a\n\n  b\n- c", ["• a", "", "  b", "• c"]),
        ("- [ ] todo", ["• [ ] todo"]),
        ("    indented\n\ttoo", [" indented", " too"]),
        ("a\x1b[31mb\x9bc", ["a␛[31mb␛[c"]),
        ("a&#x202e;b&#27;c&#12;d&Tab;e&#10;f", ["a\ufffdb\ufffdc␌d e f"]),
        ("[x](y&#x202e;z&#10;)", ["x (y%E2%80%AEz)"]),
        ("***", ["─" * 40]),
    ],
)
def test_markdown_looks_like_this(source: str, lines: list[str]) -> None:
    assert painted(source) == lines


def test_an_unclosed_fence_is_code_to_the_end() -> None:
    assert whole("```js\nlet a\n\nlet b") == [CodeBlock("let a\n\nlet b", "js")]


def test_a_table_fits_the_width_or_becomes_a_list() -> None:
    table = "| name | what it is |\n|---|---|\n| one | a rather long description of it |\n"
    assert painted(table, 60)[0] == "name │ what it is"
    narrow = painted(table, 24)
    assert all(cell_len(line) <= 24 for line in narrow)
    assert len(narrow) > 3
    assert painted(table, 12)[0] == "name: one"


def test_numbers_stand_at_the_right_end_of_their_column_where_the_table_says_so() -> None:
    table = "| size | took |\n|---|--:|\n| 1 MB | 9 ms |\n| 10 MB | 120 ms |\n"
    assert painted(table, 60) == [
        "size  │   took",
        "──────┼───────",
        "1 MB  │   9 ms",
        "10 MB │ 120 ms",
    ]


def test_wide_and_combining_characters_are_counted_as_cells() -> None:
    lines = painted("漢字" * 20 + " e\u0301e\u0301 👩\u200d👩\u200d👧 end", 20)
    assert all(cell_len(line) <= 20 for line in lines)
    assert "".join(lines).replace(" ", "").startswith("漢字" * 20)
    assert lines[-1].endswith("end")


def test_a_huge_line_and_a_huge_paragraph_are_cut_so_that_each_step_is_short() -> None:
    blocks = whole("x" * 100_000 + "\n\n" + "word word\n" * 5_000)
    assert max(len(block.plain()) for block in blocks) < 7_000
    assert max(block.plain().count("\n") for block in blocks) <= 100
    assert sum(block.plain().count("x") for block in blocks) == 100_000
    assert sum(block.plain().count("word") for block in blocks) == 10_000
    assert sum(block.gap for block in blocks) == 2


def test_a_long_table_goes_on_with_the_same_head() -> None:
    blocks = whole("|a|b|\n|-|-|\n" + "".join(f"|{n}|x|\n" for n in range(300)) + "\nend")
    tables = [block.plain().split("\n") for block in blocks[:-1]]
    assert len(tables) > 2
    assert all(table[:2] == ["|a|b|", "|-|-|"] for table in tables)
    assert [row for table in tables for row in table[2:]] == [f"|{n}|x|" for n in range(300)]
    assert blocks[-1] == MarkdownBlock("end")


@pytest.mark.parametrize("depth", [10, 49, 50, 120])
@pytest.mark.parametrize("mark", ["- ", "1. ", "> "])
def test_nothing_is_lost_that_is_nested_deep_or_follows_it(depth: int, mark: str) -> None:
    indent = mark if mark == "> " else " " * len(mark)
    source = "".join(f"{indent * n}{mark}item{n}\n\n" for n in range(depth)) + "\nend\n"
    shown = "".join(painted(source, 400))
    assert all(f"item{n}" in shown for n in range(depth))
    assert "end" in shown


def test_deep_nesting_ends_in_lines_that_fit() -> None:
    for source in (">" * 200 + " deep", "".join("  " * n + "- x\n" for n in range(60))):
        assert all(cell_len(line) <= 32 for line in painted(source, 30))
