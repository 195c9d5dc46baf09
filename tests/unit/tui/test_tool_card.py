"""What a card shows of a tool call, as real agents tell of it."""

from __future__ import annotations

from typing import Any

from parley.schema import v2
from parley.session._diffs import make_diff
from parley.session._transcript_entries import ToolCallEntry
from parley.tui.render.theme import PLAIN
from parley.tui.render.tool_card import ToolCard

FILE = "import os\n\n\ndef greet(name):\n    print('hello', name)\n"
WHOLE = make_diff("/w/greet.py", FILE, FILE.replace("hello", "HELLO"))
PART = make_diff("/w/greet.py", "hello", "HELLO")


def text(words: str) -> v2.ToolCallContent:
    return v2.Content(content=v2.TextContent(text=words))


def card(**fields: Any) -> ToolCard:
    call = ToolCallEntry("c")
    call.apply(v2.ToolCallUpdated(tool_call_id="c", **fields))
    return ToolCard(call, {})


def update(shown: ToolCard, *content: v2.ToolCallContent) -> None:
    """Have the card learn of an update, as `TranscriptRenderer` has it."""
    said = v2.ToolCallUpdated(tool_call_id="c", status="completed", content=list(content))
    shown.call.apply(said)
    shown.keep_diffs(content)


def rows(shown: ToolCard, width: int = 60) -> list[str]:
    return ["".join(part.text for part in row).rstrip() for row in shown.rows(width, PLAIN)]


def test_a_diff_stays_when_the_agent_only_says_that_it_is_done() -> None:
    shown = card(title="greet.py", kind="edit", raw_input={"diff": "Index: greet.py"})
    update(shown, WHOLE)
    before = rows(shown)
    assert "  5 -     print('hello', name)" in before
    update(shown, text("Wrote file successfully."))
    assert rows(shown) == [*before, "  Wrote file successfully."]
    assert "HELLO" in shown.plain()


def test_a_diff_is_not_replaced_by_one_that_shows_less_of_the_same() -> None:
    shown = card(title="greet.py", kind="edit")
    update(shown, WHOLE)
    update(shown, text("Applied."), PART)
    assert "  5 -     print('hello', name)" in rows(shown)
    other = make_diff("/w/greet.py", "goodbye", "GOODBYE")
    update(shown, other)
    assert "  1 - goodbye" in rows(shown)
    assert not any("hello" in row for row in rows(shown))


def test_what_a_tool_is_called_and_given_is_said_once() -> None:
    place = [v2.ToolCallLocation(path="/w")]
    given = {"command": "make all", "cwd": "/w", "why": "to see"}
    assert rows(card(title="execute", kind="execute", raw_input={"command": "ls"})) == [
        "○ execute",
        "  command: ls",
    ]
    assert rows(card(title="make all", kind="execute", locations=place, raw_input=given)) == [
        "○ execute make all",
        "  /w",
        "  why: to see",
    ]


def test_the_title_goes_on_below_itself() -> None:
    assert rows(card(title="one two three", kind="execute"), 16) == ["○ execute one", "  two three"]


def test_of_what_a_command_prints_the_end_is_shown() -> None:
    printed = "".join(f"\x1b[1mline {number}\x1b[0m\n" for number in range(20))
    for words in (printed, printed.replace("\x1b[1m", "").replace("\x1b[0m", "")):
        shown = card(title="make", kind="execute", content=[text(words)])
        assert rows(shown)[1:] == ["  … 12 more lines", *(f"  line {n}" for n in range(12, 20))]


def test_a_plan_that_a_tool_is_given_looks_like_one() -> None:
    plan = '[{"content":"look","status":"completed"},{"content":"change","status":"pending"}]'
    steps = [
        {"content": "look", "status": "completed"},
        {"content": "change", "status": "pending"},
    ]
    shown = card(title="2 todos", raw_input={"todos": steps}, content=[text(plan)])
    assert rows(shown) == ["○ 2 todos", "  [x] look", "  [ ] change"]
    odd = card(title="odd", raw_input={"todos": [{"content": 1, "status": "pending"}]})
    assert rows(odd)[1:] == ['  todos: [{"content":1,"status":"pending"}]']


def test_output_that_is_only_raw_is_shown_like_other_output() -> None:
    printed = "".join(f"line {number}\n" for number in range(20))
    raw = {"formatted_output": printed, "exit_code": 0}
    last = ["  … 12 more lines", *(f"  line {n}" for n in range(12, 20))]
    terminal = v2.Terminal(terminal_id="unknown")
    for content in ([], [terminal], [text("")]):
        shown = card(title="make", kind="execute", content=content, raw_output=raw)
        assert rows(shown)[1:] == last
        assert "line 3" in shown.plain()
    shown = card(title="make", kind="execute", content=[text("done")], raw_output=raw)
    assert rows(shown)[1:] == ["  done"]
    shown = card(title="make", kind="execute", raw_output={"pid": 7})
    assert rows(shown)[1:] == ["  pid: 7"]


def test_a_title_is_shown_without_its_code_marks() -> None:
    shown = card(title="```bash\nmake all\n```", kind="execute", raw_input={"command": "make all"})
    assert rows(shown) == ["○ execute make all"]
