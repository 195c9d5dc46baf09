"""What is longer than anybody reads costs no more than what is shown of it."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any

import pytest
from rich.cells import split_graphemes
from tests.unit.tui.history_app import HistoryApp

from parley.schema import v2
from parley.session._diffs import make_diff
from parley.session._transcript_entries import ToolCallEntry
from parley.tui.dialogs.permission_details import permission_lines
from parley.tui.render import cards, lines, transcript_renderer
from parley.tui.render.blocks import MAX_CHARS, MAX_LINE_CHARS, Note, one_line
from parley.tui.render.cards import Card, ContentCard, PlanCard, ThoughtCard
from parley.tui.render.diff import first_lines
from parley.tui.render.theme import PLAIN
from parley.tui.render.tool_card import ToolCard

WIDTH = 60


def rows(card: Card) -> list[str]:
    return ["".join(part.text for part in row).rstrip() for row in card.rows(WIDTH, PLAIN)]


def tool(**fields: Any) -> ToolCard:
    call = ToolCallEntry("c")
    call.apply(v2.ToolCallUpdated(tool_call_id="c", **fields))
    card = ToolCard(call, {})
    card.keep_diffs(call.content)
    return card


def test_a_line_tells_how_much_of_it_is_left_out() -> None:
    assert one_line("a\nb") == "a b"
    assert one_line("x" * MAX_LINE_CHARS) == "x" * MAX_LINE_CHARS
    assert one_line("x" * (MAX_LINE_CHARS + 1_234)).endswith("x… 1,234 more characters")


@pytest.mark.parametrize(
    "card",
    [
        tool(title="T t" * 100_000),
        tool(title="t", kind="k " * 100_000),
        tool(title="t", status="s " * 100_000),
        tool(title="t", locations=[v2.ToolCallLocation(path="/p p" * 100_000)]),
        tool(title="t", raw_input={"k k" * 100_000: 1}),
        ContentCard(v2.ImageContent(data="", mime_type="m m" * 100_000)),
        ContentCard(v2.ResourceLink(name="n n" * 100_000, uri="u u" * 100_000)),
        PlanCard(
            v2.PlanItems(
                plan_id="p",
                entries=[v2.PlanEntry(content="c c" * 100_000, priority="low", status="pending")],
            )
        ),
    ],
)
def test_a_name_may_be_as_long_as_it_likes(card: Card) -> None:
    card.is_folded = False
    shown = rows(card)
    assert len(shown) < 2 * MAX_LINE_CHARS // WIDTH + 50
    assert "more characters" in " ".join(" ".join(shown).split())


def test_a_note_is_bounded() -> None:
    note = Note("t " * 100_000, more="m " * 100_000)
    assert len(note.plain()) < MAX_CHARS + MAX_LINE_CHARS + 100


def test_of_a_long_plan_only_what_is_shown_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[v2.PlanEntry] = []
    real = cards.step_lines

    def counted(entry: v2.PlanEntry, *how: Any) -> Any:
        painted.append(entry)
        return real(entry, *how)

    monkeypatch.setattr(cards, "step_lines", counted)
    entry = v2.PlanEntry(content="step", priority="low", status="pending")
    card = PlanCard(v2.PlanItems(plan_id="p", entries=[entry] * 10_000))
    assert rows(card)[-1] == "  … 9,970 more lines"
    card.is_folded = False
    assert rows(card)[-1] == "  … 9,000 more lines"
    assert len(painted) < 3_000


def test_of_a_long_thought_only_the_end_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def measured(text: str) -> str:
        lengths.append(len(text))
        return text

    card = ThoughtCard()
    card.append("first\n" * 100_000)
    card.append("last")
    monkeypatch.setattr(cards, "sanitize_text", measured)
    assert rows(card) == ["∴ last"]
    assert max(lengths) <= MAX_CHARS


def test_a_line_that_is_clipped_is_not_measured_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths: list[int] = []

    def measured(text: str) -> Any:
        lengths.append(len(text))
        return split_graphemes(text)

    monkeypatch.setattr(lines, "split_graphemes", measured)
    clipped = lines.clip([("é" * 100_000, PLAIN.strong)], 10)
    assert "".join(part.text for part in clipped) == "é" * 9 + "…"
    assert max(lengths) < 1_000


def test_of_many_fields_some_are_shown() -> None:
    given = {f"field{n}": n for n in range(10_000)}
    card = tool(title="t", raw_input=given)
    card.is_folded = False
    assert rows(card)[-1] == "  … 9,500 more fields"
    request = v2.RequestPermissionRequest(session_id="s", title="May I?", options=[])
    asked = permission_lines(request, card.call, "/", WIDTH, PLAIN)
    assert "… 9,000 more fields" in "".join(part.text for line in asked for part in line)


@pytest.mark.parametrize("colour", ["", "\x1b[31m"])
def test_of_long_output_the_end_is_shown(colour: str) -> None:
    output = "".join(f"{colour}line {n}\n" for n in range(100_000))
    card = tool(
        title="t", kind="execute", content=[v2.Content(content=v2.TextContent(text=output))]
    )
    assert rows(card)[-1] == "  line 99999"
    card.is_folded = False
    assert len(rows(card)) < 1_100
    assert rows(card)[-1] == "  line 99999"


def test_of_a_long_diff_only_what_is_shown_is_painted() -> None:
    diff = make_diff("/a.txt", None, "x\n" * 20_000)
    painted, others = first_lines(diff, WIDTH, PLAIN, 100)
    assert len(painted) < 110
    assert others == 20_000 - 100
    card = tool(title="a.txt", kind="edit", content=[diff])
    assert rows(card)[-1] == "  … 19,977 more lines"


@pytest.mark.parametrize(
    "update",
    [
        v2.AgentMessage(message_id="m", content=[v2.TextContent(text="- a *b* `c`\n" * 5_000)]),
        v2.TerminalOutputChunk(
            terminal_id="t", data=b64encode(b"some output\n" * 5_000).decode("ascii")
        ),
    ],
)
async def test_others_have_their_turn_while_something_long_is_taken(
    update: v2.SessionUpdate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_renderer, "TIME_SLICE", -1.0)  # each step is a long one
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    app = HistoryApp()
    async with app.run_test():
        other = asyncio.create_task(count())
        await app.play(update)
        other.cancel()
        assert app.history.blocks
    assert turns > 100
