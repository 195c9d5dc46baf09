"""File changes as patches, and texts read back from patches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._diffs import (
    WHOLE_CHARS,
    Excerpt,
    make_diff,
    make_patch,
    read_diff,
)


def patched(*changes: v2.DiffChange, text: str, format: str = "git_patch") -> list[Excerpt]:
    diff = v2.Diff(changes=[*changes], patch=v2.DiffPatch(format=format, text=text))
    return list(read_diff(diff))


def test_a_patch_is_what_git_would_write() -> None:
    assert make_patch("/w/a b.txt", "one\ntwo\n", "one\n2\nthree") == (
        "diff --git /w/a b.txt /w/a b.txt\n"
        "--- /w/a b.txt\t\n"
        "+++ /w/a b.txt\t\n"
        "@@ -1,2 +1,3 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
        "+three\n"
        "\\ No newline at end of file\n"
    )


def test_files_come_into_being_and_go() -> None:
    added = make_diff("/a", None, "x\n")
    assert added.changes == [v2.DiffAdd(path="/a", file_type="text")]
    assert added.patch is not None
    assert "new file mode 100644\n--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n" in added.patch.text
    gone = make_diff("/a", "x\n", None)
    assert gone.changes == [v2.DiffDelete(path="/a", file_type="text")]
    assert gone.patch is not None
    assert "deleted file mode 100644\n--- /a\n+++ /dev/null\n@@ -1 +0,0 @@\n" in gone.patch.text


def test_nothing_changed_needs_no_patch() -> None:
    assert make_diff("/a", "x", "x").patch is None
    (excerpt,) = read_diff(make_diff("/a", "x", "x"))
    assert (excerpt.old, excerpt.new) == (None, None)


def test_an_empty_file_is_added_without_a_hunk() -> None:
    diff = make_diff("/a", None, "")
    assert diff.patch == v2.DiffPatch(
        format="git_patch", text="diff --git /a /a\nnew file mode 100644\n"
    )
    (excerpt,) = read_diff(diff)
    assert (excerpt.old, excerpt.new) == (None, "")


TEXTS = st.text(alphabet=st.sampled_from("ab\n\r\t @-+\\é"), max_size=40)
PATHS = st.text(alphabet=st.sampled_from('/ab "\\\té\n\x01'), min_size=1, max_size=12).map(
    lambda path: "/" + path
)


@given(PATHS, st.none() | TEXTS, st.none() | TEXTS)
def test_both_texts_can_be_read_back_from_a_patch(
    path: str, old: str | None, new: str | None
) -> None:
    if old == new:
        return
    (excerpt,) = read_diff(make_diff(path, old, new))
    assert (excerpt.old, excerpt.new) == (old, new)
    assert isinstance(excerpt.change, v2.DiffAdd | v2.DiffDelete | v2.DiffModify)
    assert excerpt.change.path == path


def test_of_a_long_file_the_neighbourhood_of_each_change_is_shown() -> None:
    lines = [f"line {number}\n" for number in range(WHOLE_CHARS // 8)]
    changed = lines.copy()
    changed[100] = "changed\n"
    changed[104] = "changed too\n"
    changed[1000] = "and this\n"
    first, second = read_diff(make_diff("/a", "".join(lines), "".join(changed)))
    assert first.old == "".join(lines[97:108])
    assert first.new == "".join(changed[97:108])
    assert second.new == "".join(changed[997:1004])


def test_a_file_of_which_nothing_stays_is_one_change() -> None:
    old = "".join(f"a{number}\n" for number in range(5000))
    new = "".join(f"b{number}\n" for number in range(5000))
    (excerpt,) = read_diff(make_diff("/a", old, new))
    assert (excerpt.old, excerpt.new) == (old, new)


@pytest.mark.parametrize(
    "header",
    [
        "diff --git a/w/x b/w/x\n--- a/w/x\n+++ b/w/x\n",
        "diff --git /w/x /w/x\nindex 1..2 100644\n--- /w/x\n+++ /w/x\n",
        'diff --git "a/w/x" "b/w/x"\n--- "a/w/x"\n+++ "b/w/x"\n',
    ],
)
def test_patches_of_others_are_read(header: str) -> None:
    text = f"{header}@@ -1,2 +1,2 @@ def f():\n a\n-b\n+c\n"
    other = "diff --git /y /y\n--- /y\n+++ /y\n@@ -1 +1 @@\n-p\n+q"
    x, y = v2.DiffModify(path="/w/x"), v2.DiffModify(path="/y")
    assert patched(y, x, text=text + other) == [
        Excerpt(y, "p\n", "q\n"),
        Excerpt(x, "a\nb\n", "a\nc\n"),
    ]


def test_names_are_unquoted_as_git_quotes_them() -> None:
    change = v2.DiffModify(path='/é"\t')
    other = v2.DiffModify(path="/z")
    text = 'diff --git "/\\303\\251\\"\\t" "/\\303\\251\\"\\t"\n@@ -1 +1 @@\n-a\n+b\n'
    assert patched(change, other, text=text)[0] == Excerpt(change, "a\n", "b\n")


def test_an_empty_line_may_have_lost_its_space() -> None:
    change = v2.DiffModify(path="/a")
    text = "diff --git /a /a\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"
    assert patched(change, text=text) == [Excerpt(change, "a\n\nb\n", "a\n\nc\n")]


def test_a_hunk_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    change = v2.DiffModify(path="/a")
    text = "diff --git /a /a\n@@ -1,9 +1,9 @@\n a\n-b\n"
    assert patched(change, text=text) == [Excerpt(change, "a\nb\n", "a\n")]


def test_a_header_with_absurd_numbers_begins_no_hunk() -> None:
    change = v2.DiffModify(path="/a")
    text = f"diff --git /a /a\n@@ -1,{'9' * 5000} +1 @@\n-a\n+b\n"
    assert patched(change, text=text) == [Excerpt(change, None, None)]


def test_a_hunk_that_precedes_all_files_is_passed_over() -> None:
    change = v2.DiffModify(path="/a")
    text = "@@ -1,9 +1,9 @@\n x\ndiff --git /a /a\n@@ -1 +1 @@\n-a\n+b\n"
    assert patched(change, text=text) == [Excerpt(change, "a\n", "b\n")]


def test_moved_and_copied_files_are_found_by_their_new_name() -> None:
    move = v2.DiffMove(old_path="/o", path="/n")
    other = v2.DiffModify(path="/x")
    text = (
        "diff --git /o /n\nrename from /o\nrename to /n\n--- /o\n+++ /n\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --git /x /x\nBinary files /x and /x differ\n"
    )
    assert patched(move, other, text=text) == [
        Excerpt(move, "a\n", "b\n"),
        Excerpt(other, None, None),
    ]


def test_what_has_no_text_has_none() -> None:
    binary = v2.DiffAdd(path="/b")
    unknown = Unknown("_fold", b'{"operation":"_fold"}')
    text = "junk\ndiff --git /b /b\nnew file mode 100644\nGIT binary patch\n"
    assert patched(binary, unknown, text=text) == [
        Excerpt(binary, None, None),
        Excerpt(unknown, None, None),
    ]
    change = v2.DiffModify(path="/a")
    assert patched(change, text=make_patch("/a", "x", "y"), format="_ed") == [
        Excerpt(change, None, None)
    ]
    assert list(read_diff(v2.Diff(changes=[change]))) == [Excerpt(change, None, None)]


def test_a_patch_about_other_files_says_nothing() -> None:
    one, two = v2.DiffModify(path="/a"), v2.DiffModify(path="/b")
    excerpts = patched(one, two, text=make_patch("/c", "x", "y"))
    assert [excerpt.new for excerpt in excerpts] == [None, None]
