"""Patches as people see them: what repeats what, and how a change is called."""

from __future__ import annotations

import pytest

from parley.client._patch_reader import (
    change_label,
    read_patch,
    repeats_patch,
    repeats_text,
)
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._diffs import make_diff

OLD = "".join(f"line {n}\n" for n in range(1, 41))
NEW = OLD.replace("line 20\n", "new line\nand more\n")
NO_NEWLINE = "\\ No newline at end of file\n"


def lines_of(hunk: str) -> list[str]:
    [file] = read_patch(f"--- a/x\n+++ b/x\n{hunk}")
    file.hunks[0].drop_newline_remarks()
    return [f"{line.sign}{line.text}" for line in file.hunks[0].lines]


def test_a_patch_repeats_a_diff_with_the_same_changes() -> None:
    diff = make_diff("/w/a.txt", OLD, NEW)
    head = "Index: /w/a.txt\n=====\n--- /w/a.txt\n+++ /w/a.txt\n"
    hunk = "@@ -19,3 +19,4 @@\n line 19\n-line 20\n+new line\n+and more\n line 21\n"
    assert repeats_patch(head + hunk, [diff])
    assert not repeats_patch(head.replace("/w/", "/etc/") + hunk, [diff])
    assert not repeats_patch(head + hunk.replace("-19,3 +19,4", "-9,3 +9,4"), [diff])
    assert not repeats_patch(head + hunk.replace("+and more", "+rm -rf /"), [diff])
    assert not repeats_patch("no patch", [diff])
    assert not repeats_patch(head + hunk, [])


def test_a_text_repeats_a_diff_that_has_all_of_it_on_one_side() -> None:
    diff = make_diff("/w/a.txt", OLD, NEW)
    for text in ("line 20", "new line\nand more\n", "line 19\nnew line", "ew li", OLD, NEW):
        assert repeats_text(text, [diff]), text
    for text in ("line 20\nnew line", "rm -rf /", "", " \n"):
        assert not repeats_text(text, [diff]), text


def test_that_a_newline_is_missing_is_reported_only_where_that_is_the_change() -> None:
    for hunk, lines in (
        (f"@@ -0,0 +1 @@\n+a\n{NO_NEWLINE}", ["+a"]),
        (f"@@ -1 +1 @@\n-a\n{NO_NEWLINE}+b\n", ["-a", "+b"]),
        (f"@@ -1 +1 @@\n-a\n{NO_NEWLINE}+b\n{NO_NEWLINE}", ["-a", "+b"]),
        (f"@@ -1 +1 @@\n-a\n+a\n{NO_NEWLINE}", ["-a", "+a", NO_NEWLINE.rstrip()]),
        ("@@ -1 +1 @@\n-a\n\\ unseen\n+b\n", ["-a", "\\ unseen", "+b"]),
    ):
        assert lines_of(hunk) == lines


@pytest.mark.parametrize(
    ("diff", "label"),
    [
        (make_diff("/x", None, "a\n"), "create"),
        (make_diff("/x", "", "a\n"), "create"),
        (make_diff("/x", "a\n", "b\n"), "modify"),
        (make_diff("/x", "a\n", ""), "modify"),
        (make_diff("/x", "a\n", None), "delete"),
        (v2.Diff(changes=[v2.DiffMove(old_path="/y", path="/x")]), "move"),
        (v2.Diff(changes=[Unknown("melt", b"{}")]), "melt"),
    ],
    ids=["new", "was empty", "changed", "emptied", "deleted", "moved", "unknown"],
)
def test_a_change_has_a_verb_and_a_new_file_is_created(diff: v2.Diff, label: str) -> None:
    assert change_label(diff, diff.changes[0]) == label
