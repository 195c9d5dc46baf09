"""What happens in a turn, as lines that can be read."""

from __future__ import annotations

from parley.cli.render import content_lines, plan_lines, result_lines, tool_line
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._diffs import make_diff
from parley.session._transcript_entries import TerminalEntry, ToolCallEntry


def call(**fields: object) -> ToolCallEntry:
    made = ToolCallEntry("call-1")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def content(text: str) -> v2.Content:
    return v2.Content(content=v2.TextContent(text=text))


def test_a_tool_call_is_one_line_with_its_state() -> None:
    assert tool_line(call(title="Read\n a.py", kind="read")) == ("○ read: Read a.py", "dim")
    assert tool_line(call(title="x\x1b[2J", status="failed")) == ("✗ x␛[2J", "red")
    assert tool_line(call(name="grep", status="completed")) == ("✓ grep", "green")
    assert tool_line(call(status="_napping")) == ("? call-1", "dim")


def test_what_a_tool_call_shows_is_inert_and_not_too_long() -> None:
    long = content("\n".join(map(str, range(20))))
    lines = [text for text, _ in content_lines([content("a\x1b]0;t\x07"), long], {})]
    assert lines[:2] == ["    a␛]0;t␇", "    0"]
    assert lines[-2:] == ["    11", "    … 8 more lines"]


def test_a_diff_shows_what_was_done_and_the_changed_lines_in_colour() -> None:
    patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n"
    diff = v2.Diff(
        changes=[v2.DiffModify(path="/w/f"), v2.DiffDelete(path="/w/g"), Unknown("_x", b"{}")],
        patch=v2.DiffPatch(format="git_patch", text=patch),
    )
    assert content_lines([diff], {}) == [
        ("    modify /w/f", "bold"),
        ("    delete /w/g", "bold"),
        ("    f", "bold"),
        ("    @@ -1,2 +1,2 @@", "cyan"),
        ("    -old", "red"),
        ("    +new", "green"),
        ("     same", ""),
    ]


def test_a_changed_line_that_looks_like_a_head_is_shown() -> None:
    patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- a comment\n+++ x; evil()\n"
    diff = v2.Diff(changes=[], patch=v2.DiffPatch(format="git_patch", text=patch))
    lines = [text.strip() for text, _ in content_lines([diff], {})]
    assert lines == ["f", "@@ -1 +1 @@", "--- a comment", "+++ x; evil()"]


def test_a_patch_that_cannot_be_read_is_shown_as_it_is() -> None:
    patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n+unseen\n"
    diff = v2.Diff(changes=[], patch=v2.DiffPatch(format="git_patch", text=patch))
    assert [text[4:] for text, _ in content_lines([diff], {})] == patch.splitlines()


def test_only_lines_near_a_change_are_shown() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 41))
    lines = content_lines([make_diff("/w/f", old, old.replace("line 20\n", "new\n"))], {})
    assert [text[4:] for text, _ in lines] == [
        "modify /w/f",
        "@@ -1,40 +1,40 @@",
        "⋯ 16 lines",
        *(f" line {number}" for number in (17, 18, 19)),
        "-line 20",
        "+new",
        *(f" line {number}" for number in (21, 22, 23)),
    ]


def test_a_title_is_shown_without_its_code_marks_and_output_without_its_fence() -> None:
    assert tool_line(call(title="```sh\nls -la\n```")) == ("○ ls -la", "dim")
    assert tool_line(call(title="`ls`")) == ("○ ls", "dim")
    assert tool_line(call(title="Read `a` and `b`")) == ("○ Read `a` and `b`", "dim")
    assert content_lines([content("```console\nhi\n```")], {}) == [("    hi", "dim")]


def test_output_that_is_only_raw_is_shown() -> None:
    raw = {"output": "one\ntwo\n", "exit_code": 2}
    lines = [("    one", "dim"), ("    two", "dim"), ("    exit code 2", "dim")]
    assert result_lines(call(raw_output=raw), {}) == lines
    assert result_lines(call(raw_output=raw, content=[v2.Terminal(terminal_id="t")]), {}) == lines
    assert result_lines(call(raw_output=raw, content=[content("said")]), {}) == [
        ("    said", "dim")
    ]


def test_the_output_of_a_terminal_is_shown_where_it_is_known() -> None:
    terminal = TerminalEntry("t")
    terminal.add(b"hi\n")
    shown = v2.Terminal(terminal_id="t")
    assert content_lines([shown], {"t": terminal}) == [("    hi", "dim")]
    assert content_lines([shown, Unknown("_x", b"{}")], {}) == []


def test_a_plan_is_a_list_with_boxes() -> None:
    entries = [
        v2.PlanEntry(content="one", priority="high", status="completed"),
        v2.PlanEntry(content="two\x07", priority="high", status="in_progress"),
        v2.PlanEntry(content="three", priority="high", status="pending"),
    ]
    lines = [text for text, _ in plan_lines(v2.PlanItems(plan_id="p", entries=entries))]
    assert lines == ["plan:", "  [x] one", "  [>] two␇", "  [ ] three"]
    markdown = v2.PlanMarkdown(plan_id="p", content="# A\n- b")
    assert [text for text, _ in plan_lines(markdown)] == ["plan:", "  # A", "  - b"]
    assert len(plan_lines(Unknown("_x", b"{}"))) == 1
