"""How much work an answer takes, whatever is edited: the event loop waits for it."""

from __future__ import annotations

import pytest
from tests.work_counting import counting_lines

from parley.nes._documents.document import Document
from parley.nes.embedded import EmbeddedEngine
from parley.nes.embedded._engine import EmbeddedPredictor
from parley.nes.embedded._substitutions import Template
from parley.nes.embedded._tokens import operations
from parley.nes.engine import Diagnostic, HistoryEntry, Question, Span, Spot, Workspace

KINDS = frozenset({"edit", "jump", "rename", "searchAndReplace"})
BOUND = 400_000
"""Lines of Python: at least twice what it takes, far less than it once took."""


def opened(text: str, language: str = "plaintext") -> tuple[EmbeddedPredictor, Document]:
    predictor = EmbeddedEngine().begin(Workspace())
    document = Document("file:///w/a.txt", language, 1, text)
    predictor.opened(document)
    return predictor, document


def edit(predictor: EmbeddedPredictor, document: Document, span: Span, new: str) -> None:
    predictor.changed(document, [document.edit(span, new)])


async def work(predictor: EmbeddedPredictor, question: Question) -> int:
    with counting_lines() as count:
        await predictor.suggest(question)
    return count[0]


async def test_a_text_that_became_another_one() -> None:
    old = "".join(f"value_{i} = compute(a_{i}, b, {i})\n" for i in range(600))
    new = "".join(f"value_{i} = other(a_{i}, c, {i})\n" for i in range(590))
    predictor, document = opened(old)
    edit(predictor, document, Span(Spot(0, 0), Spot(600, 0)), new)
    assert await work(predictor, Question(document=document, spot=Spot(0, 0))) < BOUND


def test_a_long_text_that_is_told_whole_at_each_key() -> None:
    text = "".join(f"value_{i} = compute(a_{i}, b, {i})\n" for i in range(60_000))
    predictor, document = opened(text)
    with counting_lines() as count:
        for number in range(3):
            edit(predictor, document, Span(Spot(0, 0), document.end), f"{text}x = {number}\n")
    assert count[0] < 3 * BOUND


async def test_lines_that_are_almost_like_two_examples() -> None:
    lines = ["call a, b, c, d, e, end", "call f, g, h, i, j, end"]
    lines += ["call " + ", ".join("x" * 200) + " stop"] * 10
    predictor, document = opened("\n".join(lines))
    for line in range(2):
        edit(predictor, document, Span(Spot(line, 0), Spot(line, 4)), "invoke")
    assert await work(predictor, Question(document=document, spot=Spot(1, 6))) < BOUND


def test_a_template_tries_each_place_of_a_line_once() -> None:
    template = Template(("call ", *[", "] * 5, " end"), (0,), "call", 1, 6)
    with counting_lines() as count:
        assert template.apply("call " + ", ".join("x" * 600) + " stop") is None
        assert template.apply("call a, b, c, d, e, (f, g) end") == "a"
    assert count[0] < BOUND


@pytest.mark.parametrize("other", [(" ", "x"), ("c", ",")])
def test_long_lists_of_the_same_tokens_are_not_compared_at_all_places(
    other: tuple[str, str],
) -> None:
    with counting_lines() as count:
        operations((other[1],) * 630, other * 315)
    assert count[0] < BOUND / 4


@pytest.mark.parametrize("size", [1_200, 7_900, 25_000])
async def test_a_very_long_line(size: int) -> None:
    line = ("a, " * size)[:size]
    predictor, document = opened(f"x = [{line}]\ny = [{line}]\nz = [{line}]\n", "python")
    new = ("c, " * size)[: size // 2 - 7]
    edit(predictor, document, Span(Spot(0, 5), Spot(0, 5 + size // 2)), new)
    assert await work(predictor, Question(document=document, spot=Spot(0, 5))) < BOUND


@pytest.mark.parametrize("lines", [20_000, 10])
async def test_a_long_history(lines: int) -> None:
    predictor, document = opened("".join(f"v = {i % 7}\n" for i in range(lines)), "python")
    diff = "".join(
        f"@@ -{i * 60 + 1} +{i * 60 + 1} @@\n-v = {i % 5}0\n+v = {i % 7}\n" for i in range(300)
    )
    history = (HistoryEntry(document.uri, diff * 30), *[HistoryEntry(document.uri, diff)] * 3)
    question = Question(document=document, spot=Spot(0, 0), history=history)
    assert await work(predictor, question) < BOUND


@pytest.mark.parametrize("piece", ["'a", "'a' ", "maybe '", "did you mean ", "'a b c ", "a."])
async def test_a_long_message(piece: str) -> None:
    predictor, document = opened("x = 1\n", "python")
    span = Span(Spot(0, 0), Spot(0, 1))
    problem = Diagnostic(document.uri, span, "error", (piece * 8_000)[:8_000])
    question = Question(document=document, spot=Spot(0, 0), diagnostics=(problem,) * 8)
    assert await work(predictor, question) < BOUND
