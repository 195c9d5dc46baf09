"""What was rejected is not shown again, and what was answered is not asked again."""

from __future__ import annotations

from msgspec.structs import replace

from parley.nes._documents.change import Change, Spot
from parley.nes._rebase import Step
from parley.nes.client import EditSuggestion
from parley.nes.client._suggestion_memory import Key, RejectionMemory, SuggestionCache
from parley.nes.engine import TextEdit

from .editor import URI, open_editor, span

OTHER = "file:///w/b.py"


def insertion(column: int, text: str, id: str = "x") -> EditSuggestion:
    return EditSuggestion(id=id, uri=URI, edits=(TextEdit(span(0, column), text),))


def typed(column: int, text: str) -> Step:
    return Step(URI, Change(span(0, column), "", text), Spot(0, column + len(text)), "")


# Rejecting


async def test_after_a_rejection_nothing_is_asked_for_a_while() -> None:
    async with open_editor("a") as editor:
        await editor.suggested("s", (0, 2), "b", "x")
        await editor.nes.reject()
        assert editor.nes.shown is None
        await editor.type("y", 0, 0)
        editor.clock.advance(4.9)
        await editor.type("z", 0, 0)
        editor.clock.advance(10)
        await editor.settle()
        assert (editor.agent.questions, editor.agent.outcomes) == (1, [("s", "rejected")])
        await editor.type("w", 0, 0)
        await editor.question()


async def test_a_rejection_takes_back_what_is_under_way() -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("s", (1, 0), "b", "x")
        await editor.type("y", 0, 0)
        question = await editor.question()
        await editor.nes.reject()
        await editor.settle()
        assert editor.agent.cancelled == [question["id"]]


async def test_what_was_rejected_is_not_shown_again_where_it_has_moved_to() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.suggested("s", (1, 1), "cd", "x")
        await editor.nes.reject()
        editor.clock.advance(6)
        await editor.type("\n", 0, 0)
        shown = await editor.shown(
            editor.agent.edit("again", ((2, 1, 2, 1), "cd")),
            editor.agent.edit("other", ((2, 1, 2, 1), "ef")),
        )
        assert shown is not None
        assert shown.id == "other"
        assert editor.agent.outcomes == [("s", "rejected"), ("again", "cancelled")]


async def test_what_was_rejected_is_not_shown_again_in_part() -> None:
    async with open_editor("a\n") as editor:
        await editor.suggested("s", (0, 2), "bcd", "x")
        await editor.nes.reject()
        editor.clock.advance(6)
        await editor.type("b", 0, 2)
        assert await editor.shown(editor.agent.edit("again", ((0, 3, 0, 3), "cd"))) is None


def test_rejections_are_forgotten_when_the_place_changes_and_when_there_are_too_many() -> None:
    memory = RejectionMemory(2)
    memory.add(insertion(3, "abc"))
    assert replace(insertion(3, "abc", id="other"), meta={"p": 1}, cursor=Spot(0, 9)) in memory
    assert insertion(3, "abd") not in memory
    memory.follow(typed(0, "__"))
    assert insertion(5, "abc") in memory
    memory.follow(typed(5, "x"))
    assert len(memory) == 0
    for column in range(3):
        memory.add(insertion(column, "q"))
    assert [insertion(column, "q") in memory for column in range(3)] == [False, True, True]


# Remembering answers


async def test_nothing_is_an_answer_that_is_not_asked_for_again() -> None:
    async with open_editor("a\nb") as editor:
        await editor.nes.focus(URI)
        await editor.shown()
        for _ in range(3):
            await editor.nes.focus(URI, Spot(0, 1))
            editor.clock.advance(1)
        await editor.settle()
        assert editor.agent.questions == 1
        await editor.nes.focus(URI, Spot(1, 0))
        await editor.question()


async def test_what_is_shown_is_not_asked_for_again_also_when_a_part_of_it_is_typed() -> None:
    async with open_editor("a") as editor:
        await editor.suggested("s", (0, 2), "bcd", "x")
        await editor.nes.focus(URI)
        await editor.type("b", 0, 2)
        await editor.nes.focus(URI)
        editor.clock.advance(1)
        await editor.settle()
        assert (editor.agent.questions, editor.target) == (1, "xabcd")


async def test_what_gave_way_is_asked_for_again_because_its_fate_was_told() -> None:
    async with open_editor("a\nb") as editor:
        await editor.nes.focus(URI)
        await editor.shown(editor.agent.edit("s", ((0, 1, 0, 1), "!")))
        await editor.nes.open(OTHER, "python", "z")
        await editor.nes.focus(OTHER)
        await editor.shown(editor.agent.edit("t", ((0, 1, 0, 1), "?"), uri=OTHER))
        await editor.nes.close(OTHER)
        await editor.nes.focus(URI)
        assert editor.nes.shown is None
        await editor.shown(editor.agent.edit("u", ((0, 1, 0, 1), "!")))
        await editor.nes.accept()
        await editor.settle()
        assert editor.agent.outcomes == [("s", "replaced"), ("t", "ignored"), ("u", "accepted")]


async def test_each_suggestion_of_an_answer_has_one_fate() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.nes.focus(URI)
        letters = [editor.agent.edit(each, ((1, 1, 1, 1), each)) for each in "stu"]
        await editor.shown(*letters)
        assert editor.agent.outcomes == [("t", "cancelled"), ("u", "cancelled")]
        await editor.nes.change(URI, TextEdit(span(1, 0, 1, 1), "q"))
        await editor.nes.set_text(URI, "a\nb\n")
        editor.clock.advance(2)
        await editor.nes.focus(URI)
        assert editor.nes.shown is None
        await editor.shown(editor.agent.edit("v", ((1, 1, 1, 1), "s")))
        await editor.nes.reject()
        await editor.settle()
        assert editor.agent.outcomes[2:] == [("s", "ignored"), ("v", "rejected")]


def test_an_answer_belongs_to_a_text_a_line_and_a_document() -> None:
    cache = SuggestionCache(50)
    cache.put(Key(URI, 1, 0), None)
    assert Key(URI, 1, 0) in cache
    others = (Key(URI, 2, 0), Key(URI, 1, 1), Key(OTHER, 1, 0))
    assert [key in cache for key in others] == [False] * 3


def test_an_answer_is_forgotten_when_its_fate_is_told() -> None:
    cache = SuggestionCache(50)
    for text, id in ((1, "s"), (2, "s"), (3, "t"), (4, None)):
        cache.put(Key(URI, text, 0), id)
    cache.drop("s")
    assert [Key(URI, text, 0) in cache for text in (1, 2, 3, 4)] == [False, False, True, True]


def test_the_answer_that_was_used_least_lately_goes_first() -> None:
    cache = SuggestionCache(2)
    for text in (1, 2):
        cache.put(Key(URI, text, 0), None)
    assert Key(URI, 1, 0) in cache
    cache.put(Key(URI, 3, 0), None)
    assert [Key(URI, text, 0) in cache for text in (1, 2, 3)] == [True, False, True]
    cache.put(Key(OTHER, 4, 0), None)
    cache.forget(URI)
    assert len(cache) == 1
