"""Unified diffs: strict and lenient reading, and writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley._unified_diff import (
    DiffWriter,
    Hunk,
    HunkHeader,
    read_header,
    read_leniently,
    read_patch,
    write_range,
)

REMARK = "\\ No newline at end of file"
GIT = DiffWriter(max_compared_lines=4000)


def lenient(diff: str) -> list[tuple[str | None, list[str]]]:
    """Return the header of each hunk and its lines, except those of hunks without lines."""
    return [
        (None if header is None else header.text, [sign + text for sign, text in lines])
        for header, lines in read_leniently(diff)
        if lines
    ]


def ended(*lines: str) -> list[str]:
    return [f"{line}\n" for line in lines]


def test_a_header_names_ranges_and_may_have_a_title() -> None:
    line = "@@ -3,4 +5 @@ def f():"
    assert read_header(line) == HunkHeader(line, 3, 4, 5, 1, "def f():")
    assert read_header("@@ -1 +1 @@") == HunkHeader("@@ -1 +1 @@", 1, 1, 1, 1, "")


@pytest.mark.parametrize(
    "line", ["", "@@", "@@ ... @@", " @@ -1 +1 @@", "@@@ -1 +1 @@@", f"@@ -{'1' * 10} +1 @@"]
)
def test_other_lines_are_not_headers(line: str) -> None:
    assert read_header(line) is None


@pytest.mark.parametrize(
    ("line", "old_index", "new_index"),
    [("@@ -3,2 +4,2 @@", 2, 3), ("@@ -3,0 +4 @@", 3, 3), ("@@ -0,1 +0,0 @@", 0, 0)],
    ids=["both", "empty", "wrong"],
)
def test_an_empty_range_names_the_line_before_it(line: str, old_index: int, new_index: int) -> None:
    header = read_header(line)
    assert header is not None
    assert (header.old_index, header.new_index) == (old_index, new_index)


def test_the_strict_reader_yields_hunks_and_the_lines_between_them() -> None:
    first, *between, second = read_patch(
        "@@ -1,2 +1 @@ f\n--- a comment\n kept\n--- a/y\n+++ b/y\njunk\n@@ -7,0 +8 @@\n+@@\n"
    )
    assert between == ["--- a/y", "+++ b/y", "junk"]
    assert isinstance(first, Hunk)
    assert first.header.text == "@@ -1,2 +1 @@ f"
    assert first.lines == (("-", "-- a comment"), (" ", "kept"))
    assert isinstance(second, Hunk)
    assert second.lines == (("+", "@@"),)


def test_the_strict_reader_ends_lines_at_line_feeds_only() -> None:
    (hunk,) = read_patch("@@ -1,2 +1 @@\n-a\rb\n c\r\n")
    assert isinstance(hunk, Hunk)
    assert hunk.lines == (("-", "a\rb"), (" ", "c\r"))


def test_a_hunk_that_is_cut_off_ends_with_the_patch() -> None:
    (hunk,) = read_patch("@@ -1,9 +1,9 @@\n a\n-b")
    assert isinstance(hunk, Hunk)
    assert (hunk.old_text, hunk.new_text) == ("a\nb\n", "a\n")


def test_a_line_within_a_hunk_that_has_no_sign_is_kept() -> None:
    (hunk,) = read_patch("@@ -1,3 +1,3 @@\n a\n\nxb\n")
    assert isinstance(hunk, Hunk)
    assert hunk.lines == ((" ", "a"), (" ", ""), (" ", "b"))


@pytest.mark.parametrize(
    ("lines", "old", "new"),
    [
        (["-a", REMARK, "+b"], "a", "b\n"),
        (["-a", "+b", REMARK], "a\n", "b"),
        ([" a", REMARK, REMARK], "a", "a"),
        ([REMARK, "-a", "+b"], "a\n", "b\n"),
    ],
    ids=["old", "new", "twice", "first"],
)
def test_a_remark_takes_the_newline_of_the_line_before_it(
    lines: list[str], old: str, new: str
) -> None:
    (hunk,) = read_patch("\n".join(["@@ -1 +1 @@", *lines]))
    assert isinstance(hunk, Hunk)
    assert len(hunk.lines) == len(lines)
    assert (hunk.old_text, hunk.new_text) == (old, new)


def test_the_lenient_reader_ignores_counts_and_file_headers() -> None:
    diff = (
        "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\n+c\n"
        "rename from y\n--- y\n+++ y\n+d\n"
    )
    assert lenient(diff) == [("@@ -1,9 +1 @@", ["-a", "+b", "+c"]), (None, ["+d"])]


def test_the_lenient_reader_leaves_out_what_is_not_part_of_a_diff() -> None:
    assert lenient(f"-a\n{REMARK}\njunk\n\n+b") == [(None, ["-a", " ", "+b"])]
    assert lenient("") == lenient("no diff") == []


def test_the_lenient_reader_takes_a_removed_line_for_a_header_only_before_another_one() -> None:
    assert lenient("@@ -1,2 +1 @@\n--- a\n b\n--- c") == [
        ("@@ -1,2 +1 @@", ["--- a", " b", "--- c"])
    ]


def test_the_lenient_reader_begins_a_hunk_at_any_header() -> None:
    assert lenient("@@ ... @@\n-a\n@@\n+b\n@@@ -1 +1 @@@\n+c") == [
        (None, ["-a"]),
        (None, ["+b"]),
        ("@@ -1 +1 @@@", ["+c"]),
    ]


def test_the_lenient_reader_ends_lines_at_any_line_end() -> None:
    assert lenient("-a\r\n-b\r+c\n\r\n") == [(None, ["-a", "-b", "+c", " "])]


def test_the_writer_writes_one_hunk_with_all_lines_or_one_for_each_group_of_changes() -> None:
    old = ended(*"abcdefgh")
    new = ["A\n", *old[1:4], "E\n", *old[5:], "i"]
    assert GIT.write(old, new, context=1) == (
        "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"
        "@@ -4,3 +4,3 @@\n d\n-e\n+E\n f\n"
        f"@@ -8 +8,2 @@\n h\n+i\n{REMARK}\n"
    )
    assert GIT.write(old, new).startswith("@@ -1,8 +1,9 @@\n-a\n+A\n b\n c\n d\n-e\n")
    assert GIT.write(old, new, context=2).count("@@ -") == 1


def test_the_writer_writes_nothing_for_the_same_lines() -> None:
    assert GIT.write([], []) == GIT.write(["a\n"], ["a\n"]) == ""


def test_the_writer_counts_from_the_first_line() -> None:
    assert GIT.write(["a\n"], [], first_line=4) == "@@ -5 +4,0 @@\n-a\n"
    counting = DiffWriter(max_compared_lines=4, omits_one=False)
    assert counting.write(["a\n"], [], first_line=4) == "@@ -5,1 +4,0 @@\n-a\n"
    assert (write_range(0, 0), write_range(2, 1), write_range(2, 3)) == ("0,0", "3", "3,3")


def test_the_writer_does_not_compare_many_lines() -> None:
    old, new = ended("head", "a", "same", "b", "tail"), ended("head", "c", "same", "d", "tail")
    assert DiffWriter(max_compared_lines=6).write(old, new, context=0).count("@@ -") == 2
    assert DiffWriter(max_compared_lines=5).write(old, new, context=0) == (
        "@@ -2,3 +2,3 @@\n-a\n-same\n-b\n+c\n+same\n+d\n"
    )


def test_the_writer_treats_frequent_lines_as_junk_unless_it_must_be_exact() -> None:
    old = ended("x", *["same"] * 250, "y")
    new = ended("p", *["same"] * 250, "q")
    exact = DiffWriter(max_compared_lines=4000, autojunk=False)
    assert exact.write(old, new, context=0).count("@@ -") == 2
    assert GIT.write(old, new, context=0).count("@@ -") == 1


def test_the_writer_knows_lines_that_end_with_a_carriage_return() -> None:
    classic = DiffWriter(max_compared_lines=10, line_ends=("\n", "\r"))
    assert classic.write(["a\r"], ["b\r\n"]) == "@@ -1 +1 @@\n-a\r\n+b\r\n"
    assert GIT.write(["a\r"], ["b\r\n"]) == f"@@ -1 +1 @@\n-a\r\n{REMARK}\n+b\r\n"


LINES = st.lists(st.sampled_from(["a", "b", "", "@@", "--- x", "+", "\\", "\r"]), max_size=12)


@given(LINES, LINES, st.booleans(), st.integers(0, 3) | st.none())
def test_both_readers_read_what_was_written(
    old: list[str], new: list[str], is_ended: bool, context: int | None
) -> None:
    before, after = ended(*old), ended(*new)
    if not is_ended and after:
        after[-1] = after[-1][:-1] or "end"
    written = GIT.write(before, after, context=context)
    hunks = [part for part in read_patch(written) if isinstance(part, Hunk)]
    for hunk in reversed(hunks):
        first, end = hunk.header.old_index, hunk.header.old_index + hunk.header.old_count
        assert "".join(before[first:end]) == hunk.old_text
        before[first:end] = [hunk.new_text]
    assert "".join(before) == "".join(after)
    if "\r" not in written:  # the lenient reader ends lines there
        changes = [tuple(line for line in hunk.lines if line.sign != "\\") for hunk in hunks]
        assert [lines for _, lines in read_leniently(written) if lines] == changes
