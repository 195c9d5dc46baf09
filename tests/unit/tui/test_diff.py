"""Diffs: unified, side by side where there is room, with numbers, signs and colours."""

from __future__ import annotations

import pytest

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._diffs import make_diff
from parley.tui.render.diff import SIDE_BY_SIDE_CELLS, diff_lines
from parley.tui.render.lines import Line, strips
from parley.tui.render.theme import DARK, PLAIN

OLD = "".join(f"line {n}\n" for n in range(1, 41))
NEW = OLD.replace("line 20\n", "new line\nand more\n")


def texts(lines: list[Line]) -> list[str]:
    return [strip.text.rstrip() for strip in strips(lines)]


def patch(text: str, *changes: v2.DiffChange) -> v2.Diff:
    git = v2.DiffPatch(format="git_patch", text=text)
    return v2.Diff(changes=list(changes) or [v2.DiffModify(path="/a.py")], patch=git)


def test_only_what_is_near_a_change_is_shown_with_its_numbers() -> None:
    assert texts(diff_lines(make_diff("/a.txt", OLD, NEW), 60, DARK)) == [
        "modify /a.txt",
        "   ⋯ 16 lines",
        "17   line 17",
        "18   line 18",
        "19   line 19",
        "20 - line 20",
        "20 + new line",
        "21 + and more",
        "22   line 21",
        "23   line 22",
        "24   line 23",
    ]


def test_wide_screens_show_old_and_new_beside_each_other() -> None:
    lines = diff_lines(make_diff("/a.txt", OLD, NEW), SIDE_BY_SIDE_CELLS, DARK)
    rows = [[half.strip() for half in line.split("│")] for line in texts(lines)[2:]]
    assert rows[2:6] == [
        ["19   line 19", "19   line 19"],
        ["20 - line 20", "20 + new line"],
        ["", "21 + and more"],
        ["21   line 21", "22   line 21"],
    ]
    assert {strip.cell_length for strip in strips(lines)[2:]} == {SIDE_BY_SIDE_CELLS - 1}


def test_nothing_of_a_long_line_is_hidden() -> None:
    new = "x" * 100 + "END\n"
    for width in (40, 130):
        shown = "".join(texts(diff_lines(make_diff("/a.txt", "y\n", new), width, DARK)))
        assert shown.count("x") - "/a.txt".count("x") == 100
        assert "END" in shown


def test_code_has_the_colours_of_its_language_on_the_ground_of_the_change() -> None:
    lines = diff_lines(make_diff("/a.py", "x = 1\n", "def f():\n    return 'a'\n"), 60, DARK)
    keyword = next(s for line in lines for s in line if s.text == "def")
    assert keyword.style is not None
    assert keyword.style.color == DARK.syntax["Keyword"].color
    assert keyword.style.bgcolor == DARK.added.bgcolor


def test_without_colours_the_signs_tell() -> None:
    lines = diff_lines(make_diff("/a.py", "x = 1\n", "x = 2\n"), 60, PLAIN)
    assert texts(lines)[1:] == ["1 - x = 1", "1 + x = 2"]
    assert all(s.style is None or s.style.color is None for line in lines for s in line)


def test_a_removed_line_that_looks_like_a_head_is_a_line() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n"
    diff = patch(text, v2.DiffModify(path="/x"))
    assert texts(diff_lines(diff, 60, DARK))[1:] == ["1 - -- old", "1 + ++ new", "2   same"]


def test_several_files_and_no_newline_at_the_end() -> None:
    text = (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
        "--- a/y\n+++ b/y\n@@ -5 +5 @@ def f\n-c\n+d\n"
    )
    changes: list[v2.DiffChange] = [
        v2.DiffModify(path="/x"),
        v2.DiffMove(old_path="/z", path="/y", file_type="symlink"),
    ]
    assert texts(diff_lines(patch(text, *changes), 60, DARK)) == [
        "modify /x",
        "move /z → /y  symlink",
        "x",
        "1 - a",
        "1 + b",
        "y",
        "  ⋯ def f",
        "5 - c",
        "5 + d",
    ]


@pytest.mark.parametrize("text", ["", "no patch at all\n", "@@ nonsense", "diff --git", "--- x"])
@pytest.mark.parametrize("width", [1, 20, 200])
def test_what_is_no_patch_is_shown_as_it_is(text: str, width: int) -> None:
    lines = diff_lines(patch(text, Unknown("melt", b'{"operation":"melt"}')), width, DARK)
    shown = "".join(strip.text for strip in strips(lines))
    assert shown.startswith('melt {"operation":"melt"}')
    assert shown.endswith(text.strip().removeprefix("--- "))


@pytest.mark.parametrize(
    "text",
    [
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+unseen\n",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n unseen\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n",
        "unseen\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/x\n+++ b/x\nunseen\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/x b/x\nunseen\n",
    ],
)
def test_nothing_that_stands_in_a_patch_is_hidden(text: str) -> None:
    for width in (60, 200):
        shown = "".join(texts(diff_lines(patch(text, v2.DiffModify(path="/x")), width, DARK)))
        assert "unseen" in shown


def test_another_file_than_the_one_that_is_said_to_change_is_named() -> None:
    hunk = "@@ -1 +1 @@\n-a\n+b\n"
    harmless, other = f"--- a/x\n+++ b/x\n{hunk}", f"--- a/etc/passwd\n+++ b/etc/passwd\n{hunk}"
    for text, names in ((harmless, 1), (other, 2), (harmless + other, 3)):
        shown = texts(diff_lines(patch(text, v2.DiffModify(path="/w/x")), 60, DARK))
        assert len([line for line in shown if not line.startswith("1 ")]) == names
        assert ("etc/passwd" in shown) is (text != harmless)


def test_a_binary_file_and_a_change_without_patch_are_told() -> None:
    text = "diff --git a/x b/x\nBinary files a/x and b/x differ\n"
    diff = patch(text, v2.DiffModify(path="/x"))
    assert texts(diff_lines(diff, 60, DARK))[1] == "Binary files a/x and b/x differ"
    assert texts(diff_lines(v2.Diff(changes=[v2.DiffAdd(path="/n")]), 60, DARK)) == ["create /n"]


def test_a_last_line_without_an_end_is_told_only_where_that_changes() -> None:
    remark = "No newline at end of file"
    same = "\n".join(texts(diff_lines(make_diff("/a.txt", "old", "new"), 60, DARK)))
    assert remark not in same
    for old, new in (("one\n", "one"), ("one", "one\n")):
        assert remark in "\n".join(texts(diff_lines(make_diff("/a.txt", old, new), 60, DARK)))


def test_the_path_of_a_change_is_shown_whole() -> None:
    path = "/" + "directory/" * 12 + "name.txt"
    assert path in "".join(texts(diff_lines(make_diff(path, "a\n", "b\n"), 40, DARK)))
