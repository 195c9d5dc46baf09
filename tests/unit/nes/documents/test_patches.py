from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.patches import MAX_MATCHED_LINES, read_patch, write_patch

WHOLE = """diff --git a/a.py b/a.py
index 123..456 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ def f():
 one
-two
+2
 three
@@ -10,0 +11,1 @@
+ten
"""


def test_a_whole_diff_is_read_with_its_places() -> None:
    first, second = read_patch(WHOLE)
    assert (first.line, first.new_line) == (0, 0)
    assert first.old == ("one", "two", "three")
    assert first.new == ("one", "2", "three")
    assert (first.removed, first.added) == (("two",), ("2",))
    assert (second.line, second.new_line) == (10, 10)
    assert second.lines == (("+", "ten"),)


def test_a_diff_without_any_head_is_one_piece_without_a_place() -> None:
    (hunk,) = read_patch("-a\n+b")
    assert (hunk.line, hunk.old, hunk.new) == (None, ("a",), ("b",))


def test_line_ends_of_any_kind_end_lines() -> None:
    (hunk,) = read_patch("@@ -4 +4 @@\r\n-a\r\n\r\n+b\r\n\\ No newline at end of file\r\n")
    assert (hunk.line, hunk.lines) == (3, (("-", "a"), (" ", ""), ("+", "b")))


def test_a_removed_line_that_looks_like_a_head_is_a_line() -> None:
    (hunk,) = read_patch("@@ -1,2 +1 @@\n--- a comment\n kept")
    assert hunk.removed == ("-- a comment",)


def test_a_head_without_numbers_begins_a_piece_without_a_place() -> None:
    hunks = read_patch("@@ ... @@\n-a\n+b\n@@\n+c")
    assert [(each.line, each.added) for each in hunks] == [(None, ("b",)), (None, ("c",))]


def test_a_new_file_begins_at_its_top() -> None:
    (hunk,) = read_patch("--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+x\n")
    assert (hunk.line, hunk.new_line, hunk.added) == (0, 0, ("x",))


def test_what_is_no_diff_has_no_pieces() -> None:
    assert read_patch("") == []
    assert read_patch("nothing\nto see\n") == []
    assert read_patch(" only\n context\n") == []


@given(st.text(st.sampled_from("@-+ 1,a\n\r\\"), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    for hunk in read_patch(text):
        assert hunk.removed or hunk.added


def ended(*lines: str) -> list[str]:
    return [f"{line}\n" for line in lines]


def test_what_is_far_apart_is_written_in_pieces_of_its_own() -> None:
    old = ended(*(f"line {number}" for number in range(30)))
    new = [*old[:4], "a\n", *old[5:20], *old[21:]]
    assert write_patch(old, new, line=10, context=1) == (
        "@@ -14,3 +14,3 @@\n line 3\n-line 4\n+a\n line 5\n"
        "@@ -30,3 +30,2 @@\n line 19\n-line 20\n line 21\n"
    )
    assert write_patch(old, new).count("@@ -1,30 +1,29 @@\n line 0\n") == 1


def test_a_long_text_is_not_compared_line_by_line_but_where_it_differs() -> None:
    old = ended(*map(str, range(MAX_MATCHED_LINES)))
    (hunk,) = read_patch(write_patch(old, [*old, "x\n"], context=3))
    assert (hunk.removed, hunk.added) == ((), ("x",))
    assert len(hunk.old) == 3
    (hunk,) = read_patch(write_patch(old, ["x\n", *old[1:-1], "y\n"], context=3))
    assert len(hunk.removed) == len(hunk.added) == MAX_MATCHED_LINES


def test_lines_that_are_the_same_have_no_diff() -> None:
    assert write_patch([], []) == ""
    assert write_patch(ended("a"), ended("a")) == ""


LINES = st.lists(st.sampled_from(["a", "b", "", "@@", "--- x", "+"]), max_size=12)


@given(LINES, LINES, st.integers(0, 3) | st.none(), st.integers(0, 5))
def test_what_was_written_is_read_as_it_was(
    old: list[str], new: list[str], context: int | None, line: int
) -> None:
    whole = [*["z"] * line, *old]
    for hunk in reversed(
        read_patch(write_patch(ended(*old), ended(*new), line=line, context=context))
    ):
        assert hunk.line is not None
        assert tuple(whole[hunk.line : hunk.line + len(hunk.old)]) == hunk.old
        whole[hunk.line : hunk.line + len(hunk.old)] = hunk.new
    assert whole == [*["z"] * line, *new]
