"""Which update becomes which block, and that nothing in an update reaches the terminal as it is."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode

import pytest
from tests.unit.tui.history_app import HistoryApp, chunk
from tests.unit.tui.transcript_samples import every_update, output, text
from textual.strip import Strip

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript import Transcript
from parley.tui.render.blocks import Foldable, Note, UserBlock
from parley.tui.render.cards import ContentCard, ExtensionCard, UnknownCard
from parley.tui.render.history import History
from parley.tui.render.markdown_block import MarkdownBlock
from parley.tui.render.theme import DARK, LIGHT, PLAIN
from parley.tui.render.tool_card import TerminalCard, ToolCard
from parley.tui.render.transcript_renderer import TranscriptRenderer

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HOSTILE = [
    "\x1b]52;c;aGFjaw==\x07", "\x1b]0;owned\x1b\\",
    "\x9d52;c;aGFjaw==\x9c", "\x1b[6n\x1b[c", "\x1b[2J\x1b[H",
    "\x1bP+q\x1b\\", "\x07\x08\x7f\x00", "\u202etxt.exe\u2066",
    "\r\n\rfake", "[@click=app.quit]x[/]", "[/nope]",
]  # fmt: skip


def lines(app: HistoryApp) -> list[str]:
    return [line.strip() for line in app.screen_lines() if line.strip()]


def painted(app: HistoryApp, width: int) -> list[Strip]:
    return [
        strip
        for theme in (DARK, LIGHT, PLAIN)
        for block in app.history.blocks
        for strip in block.lines(width, theme)
    ]


async def test_everything_has_its_place_in_order() -> None:
    app = HistoryApp()
    async with app.run_test(size=(80, 150)) as pilot:
        await app.play(*every_update())
        await pilot.pause()
        shown = lines(app)
    marks = [
        "▌ Make the greeting typed.", "∴ I read the file first.", "plan  1/3", "[x] Read the file",
        "[>] Change the greeting  !", "plan  file:///plan",
        "✓ Read greet.py", "/src/greet.py:4",
        "✓ edit Change greet", "modify /src/greet.py",
        "✗ execute pytest -q  failed", "… 22 more lines",
        "1 failed, 4 passed", "ended by SIGHUP",
        "? search_issues  thinking", "query: greeting", "○ Guess",
        "answer: 42", "○ Smell", "content: odour", "What I did", "1. one thing", "▎ A quotation.",
        "▣ image  image/png  3 bytes  file:///x  /pictures opens it",
        "@ notes  file:///notes  my", "@ file:///res", "inside",
        "content: scent", "! Rate limit", "80 %",
        "≡ the context could not be compacted  no", "So far.",
        "◆ subagent reviewer", "⇄ s → here", "hello", "? hologram", "✗ the turn failed", "broken",
    ]  # fmt: skip
    places = [shown.index(mark) for mark in marks]
    assert places == sorted(places)


@pytest.mark.parametrize("say", HOSTILE)
@pytest.mark.parametrize("width", [10, 80, 140])
async def test_hostile_text_in_every_place_is_inert(say: str, width: int) -> None:
    app = HistoryApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.play(*every_update(say))
        await pilot.pause()
        for is_folded in (True, False):
            for block in app.history.blocks:
                app.history.fold(block, is_folded=is_folded)
            for strip in painted(app, width):
                assert not CONTROL.search(strip.text)
                assert not any(s.style and (s.style.link or s.style.meta) for s in strip)
        for block in app.history.blocks:
            assert not CONTROL.search(block.plain().replace("\n", "").replace("\t", ""))


async def test_markup_is_shown_and_never_read() -> None:
    app = HistoryApp()
    async with app.run_test(size=(100, 150)) as pilot:
        await app.play(*every_update("[@click=app.quit]x[/]"))
        await pilot.pause()
        shown = lines(app)
    assert "▌ Make the greeting typed.[@click=app.quit]x[/]" in shown
    assert "◆ subagent reviewer[@click=app.quit]x[/]" in shown


async def test_a_streamed_answer_ends_as_the_same_blocks_as_a_whole_one() -> None:
    answer = "# One\n\n- a\n- b\n\n```py\ncode\n```\n\nlast"
    streamed, at_once = HistoryApp(), HistoryApp()
    async with streamed.run_test(), at_once.run_test():
        for letter in answer:
            await streamed.say(letter)
        await streamed.play(v2.StateUpdated(state="idle", stop_reason="end_turn"))
        await at_once.play(v2.AgentMessage(message_id="a", content=[text(answer)]))
        assert streamed.history.blocks == at_once.history.blocks
        assert len(streamed.history.blocks) == 5


async def test_a_whole_message_replaces_what_was_streamed_unless_it_says_the_same() -> None:
    app = HistoryApp()
    async with app.run_test():
        await app.play(chunk("one\n\ntw"), chunk("o"))
        await app.play(v2.Notice(severity="info", title="between"))
        before = list(app.history.blocks)
        await app.play(v2.AgentMessage(message_id="a", content=[text("one\n\ntwo")]))
        assert [a is b for a, b in zip(before, app.history.blocks, strict=True)] == [True] * 3
        await app.play(v2.AgentMessage(message_id="a", content=[text("other")]))
        assert app.history.blocks[0] == MarkdownBlock("other")
        assert len(app.history.blocks) == 2
        await app.play(v2.AgentMessage(message_id="a", content=[]))
        assert len(app.history.blocks) == 1


async def test_words_behind_a_tool_call_stand_below_it() -> None:
    app = HistoryApp()
    async with app.run_test():
        call = v2.ToolCallUpdated(tool_call_id="1", title="look")
        await app.play(chunk("before"), call, chunk("behind"), call)
        kinds = [type(block) for block in app.history.blocks]
        assert kinds == [MarkdownBlock, ToolCard, MarkdownBlock]
        picture = v2.ImageContent(data="", mime_type="image/png")
        await app.play(v2.AgentMessageChunk(message_id="a", content=picture), chunk("end"))
        assert [type(block) for block in app.history.blocks[3:]] == [ContentCard, MarkdownBlock]


async def test_a_terminal_without_tool_call_has_a_card_until_one_shows_it() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        await app.play(v2.TerminalUpdate(terminal_id="t", command="make"))
        assert [type(block) for block in app.history.blocks] == [TerminalCard]
        shown = v2.Terminal(terminal_id="t")
        await app.play(v2.ToolCallUpdated(tool_call_id="1", title="Build", content=[shown]))
        assert [type(block) for block in app.history.blocks] == [ToolCard]
        await app.play(v2.TerminalOutputChunk(terminal_id="t", data=output("done\n")))
        await pilot.pause()
        assert lines(app) == ["○ Build", "done"]


async def test_a_character_that_is_cut_between_two_chunks_is_whole() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        first, second = (b64encode(each).decode() for each in (b"\xc3", b"\xa9"))
        await app.play(v2.TerminalOutputChunk(terminal_id="t", data=first))
        await app.play(v2.TerminalOutputChunk(terminal_id="t", data=second))
        await pilot.pause()
        assert lines(app) == ["$ t", "é"]


async def test_output_of_a_terminal_that_the_transcript_does_not_know_is_shown() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        app.show.update(v2.TerminalOutputChunk(terminal_id="local", data=output("hello")))
        app.show.update(v2.TerminalOutputChunk(terminal_id="local", data="not base64!"))
        await app.show.paint()
        await pilot.pause()
        assert lines(app) == ["$ local", "hello"]


async def test_a_plan_changes_in_place_within_a_turn_and_stands_anew_in_the_next() -> None:
    def plan(status: str) -> v2.PlanUpdate:
        entry = v2.PlanEntry(content="step", priority="low", status=status)
        return v2.PlanUpdate(plan=v2.PlanItems(plan_id="p", entries=[entry]))

    app = HistoryApp()
    async with app.run_test() as pilot:
        await app.play(plan("pending"), chunk("words"), plan("completed"))
        await pilot.pause()
        assert lines(app) == ["plan  1/1", "[x] step", "words"]
        await app.play(v2.StateUpdated(state="idle", stop_reason="end_turn"), plan("pending"))
        await pilot.pause()
        assert lines(app) == ["plan  1/1", "[x] step", "words", "plan  0/1", "[ ] step"]
        await app.play(v2.PlanRemoved(plan_id="p"))
        await pilot.pause()
        assert lines(app)[-1] == "plan removed"


async def test_a_change_of_an_option_is_told_the_first_values_are_not() -> None:
    def options(mode: str, *, is_fast: bool) -> v2.ConfigOptionUpdate:
        values = [v2.SessionConfigSelectOption(value=each, name=each.title()) for each in "ab"]
        return v2.ConfigOptionUpdate(
            config_options=[
                v2.SessionConfigSelect(
                    config_id="m", name="Mode", current_value=mode, options=values
                ),
                v2.SessionConfigBoolean(config_id="f", name="Fast", current_value=is_fast),
                Unknown("dial", b'{"type":"dial"}'),
            ]
        )

    app = HistoryApp()
    async with app.run_test() as pilot:
        await app.play(options("a", is_fast=False))
        assert not app.history.blocks
        await app.play(options("b", is_fast=True))
        await pilot.pause()
        assert lines(app) == ["· Mode: B", "· Fast: on"]


@pytest.mark.requirement("V1-CONTENT-12")
async def test_text_is_shown_as_markdown() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        text = v2.TextContent(text="# Title\n\nSome **bold** words.\n")
        await app.play(v2.AgentMessageChunk(message_id="m", content=text))
        await app.play(v2.StateUpdated(state="idle", stop_reason="end_turn"))
        await pilot.pause()
        assert lines(app) == ["Title", "Some bold words."]


@pytest.mark.requirement("V1-PROMPT-29")
@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("end_turn", []),
        ("cancelled", ["! cancelled"]),
        ("interrupted", ["! the turn was interrupted: the connection or the agent ended"]),
        ("_tired", ["! stopped: _tired"]),
        ("refusal", ["! the agent refused: it will not remember this prompt or its response"]),
    ],
)
async def test_an_end_is_told_if_it_is_not_the_usual_one(reason: str, told: list[str]) -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        await app.play(v2.StateUpdated(state="idle", stop_reason=reason))
        await pilot.pause()
        assert lines(app) == told


async def test_what_nobody_has_named_is_shown_with_its_json() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        await app.play(Unknown("ping", b'{"sessionUpdate":"ping","n":[1,2]}'))
        await pilot.pause()
        assert lines(app) == ["? ping", '{"sessionUpdate":"ping","n":[1,2]}']
        app.show.update(v2.AuthMethodAgent(method_id="x", name="y"))  # type: ignore[arg-type]
        await app.show.paint()
        assert isinstance(app.history.blocks[-1], UnknownCard)


async def test_extension_notifications_are_one_line_that_unfolds() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        await app.play(Unknown("_auth/status", b'{"n":1}'), Unknown("_x/mood", b'{"n":2}'))
        app.show.add(Note("ready"))
        await app.play(Unknown("_x/mood", b'{"n":3}'))
        await pilot.pause()
        assert lines(app) == ["· 3 extension notifications (_auth/status, _x/mood)", "· ready"]
        card = app.history.blocks[0]
        assert isinstance(card, ExtensionCard)
        card.is_folded = False
        shown = [strip.text.strip() for strip in card.lines(80, DARK)]
        assert shown[1:] == ["_auth/status", '{"n":1}', "_x/mood", '{"n":2}', "_x/mood", '{"n":3}']
        assert "_x/mood" in card.plain()
        prompt = v2.UserMessageChunk(message_id="u", content=v2.TextContent(text="go on"))
        await app.play(prompt, Unknown("_y", b"{}"))
        await pilot.pause()
        assert lines(app)[2:] == ["▌ go on", "· 1 extension notification (_y)"]


async def test_the_details_of_a_failed_turn_are_shown() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        error = v2.Error(code=-32603, message="broken", data={"details": "disk full"})
        await app.play(v2.StateUpdated(state="idle", stop_reason="error", error=error))
        await pilot.pause()
        assert lines(app) == ["✗ the turn failed", "broken: disk full"]


async def test_long_things_are_cut_and_unfold_within_bounds() -> None:
    app = HistoryApp()
    async with app.run_test():
        long = "\n".join(f"line {n}" for n in range(100_000))
        item = v2.Content(content=text(long))
        await app.play(v2.ToolCallUpdated(tool_call_id="1", title="cat", content=[item]))
        card = app.history.blocks[0]
        folded = card.lines(80, DARK)
        assert len(folded) < 12
        assert folded[-1].text.strip().endswith("more lines")
        assert isinstance(card, Foldable)
        card.is_folded = False
        whole = card.lines(80, DARK)
        assert 900 < len(whole) < 1_100
        assert whole[-1].text.strip().endswith("more lines")


async def test_of_many_parts_of_a_tool_call_the_last_are_shown() -> None:
    app = HistoryApp()
    async with app.run_test():
        parts = [v2.Content(content=text(f"part {n}")) for n in range(1_000)]
        chunks = [v2.ToolCallContentChunk(tool_call_id="1", content=each) for each in parts]
        await app.play(v2.ToolCallUpdated(tool_call_id="1", title="watch"), *chunks)
        card = app.history.blocks[0]
        shown = [strip.text.strip() for strip in card.lines(80, DARK)]
        assert shown[0] == "○ watch"
        assert shown[1] == "… 980 earlier parts"
        assert shown[2:] == [f"part {n}" for n in range(980, 1_000)]
        assert "part 0\n" in card.plain()


async def test_a_long_prompt_is_shown_whole_though_it_is_several_blocks() -> None:
    app = HistoryApp()
    said = "".join(f"line {n}\n" + "\n" * (n % 3) for n in range(2_000)) + "x" * 10_000
    async with app.run_test():
        pieces = [said[at : at + 700] for at in range(0, len(said), 700)]
        chunks = [v2.UserMessageChunk(message_id="u", content=text(each)) for each in pieces]
        await app.play(*chunks)
        blocks = list(app.history.blocks)
        at_once = UserBlock(said)
        assert len(blocks) > 5
        assert [block.gap for block in blocks] == [1] + [0] * (len(blocks) - 1)
        painted = [strip.text for block in blocks for strip in block.lines(80, DARK)]
        bare = [line.removeprefix("▌ ").strip() for line in painted]
        whole = [strip.text.removeprefix("▌ ").strip() for strip in at_once.lines(80, DARK)]
        first_x = whole.index("x" * 78)
        assert bare[:first_x] == whole[:first_x]
        assert "".join(bare[first_x:]) == "x" * 10_000


async def test_notes_stand_behind_what_came_before_them() -> None:
    app = HistoryApp()
    async with app.run_test() as pilot:
        app.show.update(chunk("first"))
        app.show.add(Note("allowed: make", "good"))
        await app.show.paint()
        await pilot.pause()
        assert lines(app) == ["first", "✓ allowed: make"]


async def test_who_is_faster_than_the_screen_has_to_wait() -> None:
    app = HistoryApp()
    async with app.run_test():
        waits = [app.show.update(chunk(f"{n}\n\n")) for n in range(5_000)]
        first, second, *_ = [asyncio.ensure_future(each) for each in waits if each is not None]
        first.cancel()
        assert not second.done()
        await app.show.paint()
        await second
        assert len(app.history.blocks) == 5_000
        assert app.show.update(chunk("more")) is None


async def test_the_task_paints_what_comes() -> None:
    app = HistoryApp()
    async with app.run_test():
        show = Watched(app.history, app.transcript)
        worker = app.run_worker(show.run())
        show.update(chunk("hello\n\nyou"))
        await show.painted.wait()
        assert app.history.blocks[0].plain().startswith("hello")
        worker.cancel()


class Watched(TranscriptRenderer):
    """Tells when it has painted."""

    def __init__(self, history: History, transcript: Transcript) -> None:
        super().__init__(history, transcript)
        self.painted = asyncio.Event()

    async def paint(self) -> None:
        await super().paint()
        self.painted.set()
