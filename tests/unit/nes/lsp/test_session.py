"""What the language server tells its engine, and what it offers of the answers."""

from __future__ import annotations

import pytest

from parley.nes._documents.encoding import Encoding
from parley.nes._lsp.session import Session
from parley.nes.engine import Span, Spot, Workspace
from parley.schema.v2 import Position, Range, TextDocumentContentChangeEvent

from .scripted_engine import URI, Rules, proposal

TEXT = "\U0001f600 = 1\nb = 2\n"


def open_session(rules: Rules, encoding: Encoding = "utf-16") -> Session:
    session = Session(rules, ["/project"], encoding)
    session.opened(URI, "python", 1, TEXT)
    return session


def at(line: int, character: int) -> Position:
    return Position(line=line, character=character)


def change(line: int, start: int, end: int, text: str) -> TextDocumentContentChangeEvent:
    return TextDocumentContentChangeEvent(
        range=Range(start=at(line, start), end=at(line, end)), text=text
    )


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 7), ("utf-16", 5), ("utf-32", 4)])
async def test_places_are_as_the_client_counts_them(encoding: Encoding, column: int) -> None:
    rules = Rules(proposal((0, 4, 5, "10")))
    session = open_session(rules, encoding)
    [offer] = await session.edits(URI, at(0, column + 1), version=1, trigger="manual")
    assert (offer.uri, offer.version, offer.text) == (URI, 1, "10")
    assert offer.range == Range(start=at(0, column), end=at(0, column + 1))
    [question] = rules.questions
    assert question.spot == Spot(0, 5)
    assert question.trigger == "manual"
    assert question.kinds == {"edit"}
    assert question.open_uris == (URI,)
    assert rules.workspace == Workspace(folders=("/project",))


async def test_the_engine_hears_of_all_events() -> None:
    rules = Rules()
    session = open_session(rules)
    session.changed(URI, 2, [change(1, 4, 5, "3"), change(1, 5, 5, "0")])
    session.changed(URI, 1, [change(1, 0, 1, "stale")])
    session.changed("file:///unknown", 2, [change(0, 0, 0, "x")])
    session.focused(URI)
    session.focused("file:///unknown")
    session.saved(URI)
    session.saved("file:///unknown")
    session.closed(URI)
    session.closed(URI)
    session.close()
    assert rules.heard == [
        ("opened", URI, TEXT),
        ("changed", "\U0001f600 = 1\nb = 30\n"),
        ("focused", Spot(0, 0), Span(Spot(0, 0), Spot(2, 0))),
        ("saved", URI),
        ("closed", URI),
        "close",
    ]


async def test_a_document_that_is_opened_again_is_a_new_one() -> None:
    rules = Rules(proposal((0, 0, 1, "x")))
    session = open_session(rules)
    session.opened(URI, "python", 1, "y\n")
    assert rules.heard[1:] == [("closed", URI), ("opened", URI, "y\n")]


async def test_the_focus_is_where_the_cursor_was_last() -> None:
    rules = Rules()
    session = open_session(rules)
    await session.edits(URI, at(1, 3), version=1, trigger="automatic")
    session.focused(URI)
    assert rules.heard[-1][:2] == ("focused", Spot(1, 3))


async def test_another_version_has_no_answer() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    session = open_session(rules)
    assert await session.edits(URI, at(1, 5), version=2, trigger="automatic") == []
    assert await session.edits("file:///unknown", at(1, 5), version=1, trigger="automatic") == []
    assert rules.questions == []
    assert len(await session.edits(URI, at(1, 5), version=None, trigger="automatic")) == 1


async def test_an_edit_follows_what_is_changed_while_the_engine_thinks() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    session = open_session(rules)
    rules.meanwhile = lambda: session.changed(
        URI, 2, [change(0, 0, 0, "a\n"), change(2, 0, 0, " ")]
    )
    [offer] = await session.edits(URI, at(1, 5), version=1, trigger="automatic")
    assert (offer.version, offer.text) == (2, "20")
    assert offer.range == Range(start=at(2, 5), end=at(2, 6))
    [question] = rules.questions
    assert question.document.text == TEXT
    session.settle(offer.id, "accepted")
    assert rules.heard[-1] == ("r", "accepted")


async def test_an_edit_that_is_typed_meanwhile_is_offered_as_far_as_it_is_left() -> None:
    rules = Rules(proposal((1, 5, 5, "00 + 1")))
    session = open_session(rules)
    rules.meanwhile = lambda: session.changed(URI, 2, [change(1, 5, 5, "0")])
    [offer] = await session.edits(URI, at(1, 5), version=1, trigger="automatic")
    assert (offer.text, offer.range) == ("0 + 1", Range(start=at(1, 6), end=at(1, 6)))


async def test_an_edit_whose_place_was_changed_meanwhile_is_not_offered() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    session = open_session(rules)
    rules.meanwhile = lambda: session.changed(URI, 2, [change(1, 4, 5, "3")])
    assert await session.edits(URI, at(1, 5), version=1, trigger="automatic") == []
    rules.meanwhile = lambda: session.closed(URI)
    assert await session.edits(URI, at(1, 5), version=2, trigger="automatic") == []


async def test_what_had_no_answer_is_asked_again_when_the_user_has_rested() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    rules.silences = 1
    session = Session(rules, [], "utf-16", rest_after=0.01)
    session.opened(URI, "python", 1, TEXT)
    session.changed(URI, 2, [change(0, 0, 0, "a")])
    assert len(await session.edits(URI, at(0, 1), version=2, trigger="automatic")) == 1
    assert len(rules.questions) == 2


async def test_what_is_changed_before_the_second_question_moves_nothing_twice() -> None:
    rules = Rules(proposal((2, 4, 5, "20")))
    rules.silences = 1
    session = Session(rules, [], "utf-16", rest_after=0.01)
    session.opened(URI, "python", 1, TEXT)

    def type_above() -> None:
        rules.meanwhile = None
        session.changed(URI, 2, [change(0, 0, 0, "a\n")])

    rules.meanwhile = type_above
    [offer] = await session.edits(URI, at(1, 5), version=None, trigger="automatic")
    assert offer.range == Range(start=at(2, 4), end=at(2, 5))
    assert [each.document.version for each in rules.questions] == [1, 2]


async def test_what_was_asked_by_hand_or_about_an_old_text_is_asked_once() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    rules.silences = 2
    session = open_session(rules)
    assert await session.edits(URI, at(0, 1), version=1, trigger="automatic") == []
    session.changed(URI, 2, [change(0, 0, 0, "a")])
    assert await session.edits(URI, at(0, 1), version=2, trigger="manual") == []
    assert len(rules.questions) == 2


async def test_a_completion_is_for_the_text_that_was_asked_about() -> None:
    rules = Rules(proposal((1, 5, 5, "0")))
    session = open_session(rules)
    rules.meanwhile = lambda: session.changed(URI, 2, [change(0, 0, 0, "a")])
    assert await session.completions(URI, at(1, 5), trigger="automatic") == []
    rules.meanwhile = None
    assert len(await session.completions(URI, at(1, 5), trigger="automatic")) == 1


async def test_only_the_best_edit_is_offered_and_only_in_open_documents() -> None:
    other = proposal((0, 0, 0, "import x\n"), uri="file:///project/closed.py")
    rules = Rules(other, proposal((1, 4, 5, "20"), (0, 4, 5, "10")), proposal((1, 0, 1, "c")))
    session = open_session(rules)
    [offer] = await session.edits(URI, at(1, 5), version=1, trigger="automatic")
    assert offer.text == "10\nb = 20"


async def test_an_edit_of_another_open_document_is_offered() -> None:
    other = "file:///project/other.py"
    rules = Rules(proposal((0, 0, 1, "y"), uri=other))
    session = open_session(rules)
    session.opened(other, "python", 7, "x\n")
    [offer] = await session.edits(URI, at(1, 5), version=1, trigger="automatic")
    assert (offer.uri, offer.version) == (other, 7)
    assert await session.completions(URI, at(1, 5), trigger="automatic") == []


async def test_an_edit_of_a_document_that_is_another_one_by_now_is_not_offered() -> None:
    other = "file:///project/other.py"
    rules = Rules(proposal((0, 0, 1, "y"), uri=other))
    session = open_session(rules)
    session.opened(other, "python", 7, "x\n")
    rules.meanwhile = lambda: session.opened(other, "python", 7, "other\n")
    assert await session.edits(URI, at(1, 5), version=1, trigger="automatic") == []


async def test_a_document_that_becomes_too_large_is_closed_to_the_engine() -> None:
    rules = Rules(proposal((0, 0, 1, "x")))
    session = Session(rules, [], "utf-16", max_bytes=8)
    session.opened(URI, "python", 1, "12345678")
    session.changed(URI, 2, [change(0, 8, 8, "9")])
    assert rules.heard == [("opened", URI, "12345678"), ("closed", URI)]
    assert await session.edits(URI, at(0, 0), version=2, trigger="automatic") == []


async def test_completions_are_those_at_the_cursor() -> None:
    rules = Rules(proposal((0, 4, 5, "10")), proposal((1, 5, 5, "0")), proposal((1, 5, 5, "5")))
    session = open_session(rules)
    offers = await session.completions(URI, at(1, 5), trigger="automatic")
    assert [offer.text for offer in offers] == ["0", "5"]


async def test_the_engine_learns_what_became_of_its_proposals() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    session = open_session(rules)

    async def ask() -> str:
        [offer] = await session.edits(URI, at(1, 5), version=1, trigger="automatic")
        return offer.id

    session.settle(await ask(), "accepted")
    session.settle(await ask(), "rejected")
    session.settle("unknown", "rejected")
    assert rules.heard[1:] == [("r", "accepted"), ("r", "rejected")]


async def test_what_was_shown_and_is_not_offered_again_was_ignored() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    session = open_session(rules)
    [shown] = await session.edits(URI, at(1, 5), version=1, trigger="automatic")
    session.shown(shown.id)
    session.shown("unknown")
    await session.edits(URI, at(1, 5), version=1, trigger="automatic")
    assert rules.heard[1:] == []
    rules.proposals = []
    await session.edits(URI, at(1, 5), version=1, trigger="automatic")
    assert rules.heard[1:] == [("r", "ignored")]
    session.settle(shown.id, "accepted")
    assert rules.heard[1:] == [("r", "ignored")]


async def test_what_nobody_settles_is_forgotten() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    session = open_session(rules)
    offers = [await session.edits(URI, at(1, 5), version=1, trigger="manual") for _ in range(80)]
    session.settle(offers[0][0].id, "accepted")
    assert rules.heard[1:] == []
    session.settle(offers[-1][0].id, "accepted")
    assert rules.heard[1:] == [("r", "accepted")]


async def test_what_was_shown_and_nobody_settles_is_forgotten() -> None:
    rules = Rules(proposal((1, 4, 5, "20")))
    session = open_session(rules)
    for _ in range(80):
        [offer] = await session.edits(URI, at(1, 5), version=1, trigger="manual")
        session.shown(offer.id)
    assert len(session._shown) == len(session._offered) <= 65


def test_options_are_set_to_values_that_there_are() -> None:
    rules = Rules()
    session = open_session(rules)
    session.set_options(
        {"nes_aggressiveness": "eager", "nes_on": False, "nes_other": "x", "more": {"a": 1}}
    )
    session.set_options({"nes_aggressiveness": "shouting", "nes_on": 1})
    assert rules.heard[1:] == [("nes_aggressiveness", "eager"), ("nes_on", False)]


def test_what_is_wrong_with_options_is_said(caplog: pytest.LogCaptureFixture) -> None:
    session = open_session(Rules())
    assert session.set_options({"nes_aggressiveness": "eager", "nes_on": True}) == []
    wrong = {"nes_aggressiveness": "shouting", "nes_on": 1, "aggressiveness": "eager"}
    assert session.set_options({**wrong, "editorInfo": {"name": "Neovim"}}) == [
        "nes_aggressiveness is one of \"eager\", and not 'shouting'",
        "nes_on is one of true, false, and not 1",
        "there is no option 'aggressiveness'; did you mean nes_aggressiveness?",
    ]
    assert [each.getMessage() for each in caplog.records] == ["there is no option 'editorInfo'"]
