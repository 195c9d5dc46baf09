"""Forms, each alone on the screen."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.unit.tui.dialog_app import (
    EVIL,
    FORBIDDEN,
    DialogApp,
    press,
    pressed,
    screen_text,
    settled,
)
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from parley.schema import v2
from parley.schema._codec import decode
from parley.tui.dialogs.form_card import MAX_FIELDS, FormCard

Fields = dict[str, dict[str, Any]]


def _form(fields: Fields, *required: str, message: str = "Tell me", **more: Any) -> FormCard:
    schema = {"type": "object", "properties": fields, "required": list(required), **more}
    form = {"mode": "form", "sessionId": "s", "message": message, "requestedSchema": schema}
    return FormCard(decode(v2.ElicitationFormMode, msgspec.json.encode(form)), agent="opencode")


async def _answer_of(card: FormCard, *keys: str) -> Any:
    """What was filled in, or another answer; None: nothing yet."""
    async with DialogApp(card).run_test() as pilot:
        await press(pilot, *keys)
        if not card.is_answered:
            return None
        answer = await card.answer()
        return answer.content if isinstance(answer, v2.ElicitationAcceptAction) else answer


TEXT: Fields = {"name": {"type": "string"}}
TWO: Fields = {"first": {"type": "string"}, "last": {"type": "string"}}


async def test_a_text_is_filled_in_and_submitted_with_enter() -> None:
    assert await _answer_of(_form(TEXT), "tab", *"dad", "enter") == {"name": "dad"}


async def test_enter_goes_to_the_next_field_and_submits_in_the_last_one() -> None:
    keys = ("enter", *"Ada", "enter", *"Byron", "enter")
    assert await _answer_of(_form(TWO), *keys) == {"first": "Ada", "last": "Byron"}


async def test_what_is_typed_on_the_form_itself_goes_into_the_first_field() -> None:
    assert await _answer_of(_form(TWO), *"Dad", "enter", "enter") == {"first": "Dad"}
    card = _form(TEXT)
    async with DialogApp(card).run_test() as pilot:
        await settled(pilot)
        pasted = events.Paste("Ada\nByron")
        pasted.time += 1
        pilot.app.post_message(pasted)
        await settled(pilot)
        assert _typed(pilot) == "Ada"
    choice: Fields = {"one": {"type": "boolean"}, **TEXT}
    assert await _answer_of(_form(choice), *"yd", "ctrl+s") == {}


async def test_tab_goes_round_and_back() -> None:
    card = _form(TWO)
    async with DialogApp(card).run_test() as pilot:
        seen: list[Any] = []
        for _ in range(4):
            await press(pilot, "tab")
            seen.append(pilot.app.focused)
        first, last = (each.control for each in card.fields)
        assert seen == [first, last, card.actions, first]
        await press(pilot, "shift+tab")
        assert pilot.app.focused is card.actions


@pytest.mark.parametrize("key", ["ctrl+s", "ctrl+enter"])
async def test_a_form_is_submitted_from_any_field(key: str) -> None:
    assert await _answer_of(_form(TWO), "tab", "x", key) == {"first": "x"}


@pytest.mark.requirement("V1-ELIC-09")
async def test_submit_decline_and_no_answer_can_be_chosen_at_the_end() -> None:
    assert await _answer_of(_form(TEXT), "tab", "tab", "enter") == {}
    declined = await _answer_of(_form(TEXT), "tab", "tab", "down", "enter")
    assert declined == v2.ElicitationDeclineAction()
    left = await _answer_of(_form(TEXT), "shift+tab", "up", "enter")
    assert left == v2.ElicitationCancelAction()


async def test_no_letter_declines_but_at_the_actions() -> None:
    yes_or_no: Fields = {"ok": {"type": "boolean"}}
    assert await _answer_of(_form(TEXT), *"dD") is None
    assert await _answer_of(_form(TEXT), "tab", "d") is None
    assert await _answer_of(_form(yes_or_no), "tab", "d") is None
    assert await _answer_of(_form(TEXT), "shift+tab", "d") == v2.ElicitationDeclineAction()


async def test_escape_leaves_from_anywhere() -> None:
    assert await _answer_of(_form(TEXT), "escape") == v2.ElicitationCancelAction()
    assert await _answer_of(_form(TEXT), "tab", "x", "escape") == v2.ElicitationCancelAction()


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ({"type": "integer"}, "42", 42),
        ({"type": "integer"}, "42.0", 42),
        ({"type": "number"}, "-1.5", -1.5),
        ({"type": "number"}, "1e3", 1000),
        ({"type": "string", "format": "email"}, "a@b.c", "a@b.c"),
        ({"type": "string", "format": "date"}, "2025-01-31", "2025-01-31"),
        ({"type": "string", "format": "odd"}, "[x]", "[x]"),
    ],
)
async def test_a_value_is_read_as_its_field_wants_it(
    field: dict[str, Any], typed: str, value: Any
) -> None:
    content = await _answer_of(_form({"it": field}, "it"), "tab", *typed, "enter")
    assert content == {"it": value}
    assert type(content["it"]) is type(value)


@pytest.mark.parametrize(
    ("field", "typed", "problem"),
    [
        ({"type": "integer"}, "4.5", "expected a whole number"),
        ({"type": "integer"}, "four", "expected a whole number"),
        ({"type": "integer", "minimum": 18}, "7", "expected at least 18"),
        ({"type": "number"}, "nan", "expected a number"),
        ({"type": "number", "maximum": 1.5}, "2", "expected at most 1.5"),
        ({"type": "string", "minLength": 3}, "ab", "expected at least 3 characters"),
        ({"type": "string", "format": "email"}, "ab", "in the format email"),
        ({"type": "string"}, "", "it is required"),
    ],
)
async def test_what_does_not_fit_is_told_below_its_field_and_can_be_put_right(
    field: dict[str, Any], typed: str, problem: str
) -> None:
    card = _form({"it": field, "other": {"type": "string"}}, "it")
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "tab", *typed, "ctrl+s")
        lines = screen_text(app).split("\n")
        row = next(number for number, line in enumerate(lines) if problem in line)
        assert "▸ it" in lines[row - 2]
        assert not card.is_answered
        assert pilot.app.focused is card.fields[0].control


@pytest.mark.requirement("V1-ELIC-18", "V2-ELIC-07")
async def test_a_pattern_is_shown_and_left_to_the_agent() -> None:
    card = _form({"id": {"type": "string", "pattern": "^(a+)+$"}}, "id")
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "tab", *"aa!", "ctrl+s")
        assert "matches ^(a+)+$" in screen_text(app)
        assert await card.answer() == v2.ElicitationAcceptAction(content={"id": "aa!"})


async def test_a_field_is_looked_at_when_it_is_left() -> None:
    card = _form({"age": {"type": "integer"}, "other": {"type": "string"}})
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "tab", "x")
        assert "expected" not in screen_text(app)
        await press(pilot, "tab")
        assert "✗ expected a whole number" in screen_text(app)
        await press(pilot, "shift+tab", "backspace", "5", "tab")
        assert "✗" not in screen_text(app)


@pytest.mark.requirement("V1-ELIC-20")
async def test_defaults_are_there_and_are_sent() -> None:
    fields: Fields = {
        "name": {"type": "string", "default": "Ada"},
        "age": {"type": "integer", "default": 12_345_678},
        "ratio": {"type": "number", "default": 2.0},
        "ok": {"type": "boolean", "default": False},
        "one": {"type": "string", "enum": ["a", "b"], "default": "b"},
        "many": {
            "type": "array",
            "items": {"type": "string", "enum": ["x", "y"]},
            "default": ["y"],
        },
    }
    assert await _answer_of(_form(fields), "ctrl+s") == {
        "name": "Ada",
        "age": 12_345_678,
        "ratio": 2,
        "ok": False,
        "one": "b",
        "many": ["y"],
    }


async def test_what_is_not_filled_in_and_not_required_is_left_out() -> None:
    fields: Fields = {
        "name": {"type": "string"},
        "ok": {"type": "boolean"},
        "many": {"type": "array", "items": {"type": "string", "enum": ["x"]}},
    }
    assert await _answer_of(_form(fields), "ctrl+s") == {}
    assert await _answer_of(_form(fields, "ok"), "ctrl+s") is None
    assert await _answer_of(_form(fields, "many"), "ctrl+s") == {"many": []}


async def test_one_of_several_is_chosen_by_its_label() -> None:
    options = [
        {"const": "r", "title": "Red", "description": "warm"},
        {"const": "b", "title": "Blue"},
    ]
    card = _form({"colour": {"type": "string", "oneOf": options}})
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "tab", "down", "down", "space")
        assert "( ) Red  warm" in screen_text(app)
        assert "(•) Blue" in screen_text(app)
        await press(pilot, "enter")
        assert await card.answer() == v2.ElicitationAcceptAction(content={"colour": "b"})


async def test_a_choice_is_taken_back_with_space() -> None:
    field: Fields = {"ok": {"type": "boolean", "default": True}}
    assert await _answer_of(_form(field), "tab", "space", "ctrl+s") == {}


async def test_enter_takes_the_marked_one_and_nothing_where_there_is_no_mark() -> None:
    field: Fields = {"ok": {"type": "boolean"}}
    assert await _answer_of(_form(field), "tab", "enter") == {}
    assert await _answer_of(_form(field), "tab", "down", "enter") == {"ok": True}


async def test_several_are_chosen_and_their_number_is_checked() -> None:
    items = {"anyOf": [{"const": each, "title": each.upper()} for each in "abc"]}
    field: Fields = {"it": {"type": "array", "items": items, "minItems": 2}}
    keys = ("tab", "down", "space", "down", "down", "space")
    assert await _answer_of(_form(field), *keys, "enter") == {"it": ["a", "c"]}
    card = _form(field, "it")
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "tab", "down", "space", "enter")
        assert "✗ expected at least 2 choices" in screen_text(app)


async def test_thousands_of_choices_are_no_trouble() -> None:
    names = [f"choice {number}" for number in range(5_000)]
    field: Fields = {"it": {"type": "string", "enum": names}}
    assert await _answer_of(_form(field), "tab", "up", "enter") == {"it": "choice 4999"}


@pytest.mark.parametrize("kind", ["password", "secret"])
async def test_a_secret_is_not_shown(kind: str) -> None:
    card = _form({"pin": {"type": "string", "format": kind}})
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "tab", *"hunter2")
        assert "hunter2" not in screen_text(app)
        await press(pilot, "enter")
        assert await card.answer() == v2.ElicitationAcceptAction(content={"pin": "hunter2"})


async def test_a_field_of_an_unknown_kind_is_said_and_left_out() -> None:
    card = _form({"map": {"type": "object"}, **TEXT})
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await settled(pilot)
        assert "map  (a kind of field that is not known here)" in screen_text(app)
        await press(pilot, "tab", "x", "enter")
        assert await card.answer() == v2.ElicitationAcceptAction(content={"name": "x"})


@pytest.mark.parametrize("name", ["map", "nowhere"])
async def test_what_cannot_be_filled_in_here_can_only_be_declined(name: str) -> None:
    card = _form({"map": {"type": "object"}}, name)
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "ctrl+s")
        text = " ".join(screen_text(app).split())
        assert f"no known field for {name}, which is required" in text
        assert "Submit" not in text
        assert not card.is_answered
        await press(pilot, "enter", "enter")
        assert await card.answer() == v2.ElicitationDeclineAction()


async def test_a_form_of_too_many_fields_is_not_laid_out() -> None:
    card = _form({f"f{number}": {"type": "string"} for number in range(MAX_FIELDS + 1)})
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "ctrl+s")
        assert "it has 101 fields" in screen_text(app)
        assert not card.is_answered


async def test_a_form_without_fields_is_submitted() -> None:
    assert await _answer_of(_form({}), "ctrl+s") == {}


async def test_what_was_pressed_before_it_was_on_the_screen_fills_in_nothing() -> None:
    early = [pressed(key, later=0.0) for key in ("enter", "x", "enter")]
    card = _form(TEXT)
    async with DialogApp(card).run_test() as pilot:
        await settled(pilot)
        for each in early:
            pilot.app.post_message(each)
            await settled(pilot)
        assert not card.is_answered
        assert _typed(pilot) == ""


def _typed(pilot: Pilot[None]) -> str:
    return pilot.app.query_one(Input).value


async def test_removed_it_has_no_answer_and_nobody_waits() -> None:
    card = _form(TEXT)
    async with DialogApp(card).run_test() as pilot:
        await settled(pilot)
        waiting = asyncio.create_task(card.answer())
        await card.remove()
        assert await waiting == v2.ElicitationCancelAction()


async def test_a_card_can_be_made_where_there_is_no_app() -> None:
    assert _form({"name": {"type": "string", "default": "x"}}).can_submit


async def test_hostile_text_is_shown_as_it_is_in_every_place() -> None:
    words = {"title": EVIL, "description": EVIL}
    choice = {"const": EVIL, **words}
    fields: Fields = {
        EVIL: {"type": "string", "format": EVIL, "pattern": "^$", "default": EVIL, **words},
        "one": {"type": "string", "oneOf": [choice], **words},
        "enum": {"type": "string", "enum": [EVIL]},
        "many": {"type": "array", "items": {"anyOf": [choice]}, **words},
        "odd": {"type": EVIL},
    }
    card = _form(fields, EVIL, EVIL + "2", message=EVIL, title=EVIL, description=EVIL)
    app = DialogApp(card)
    async with app.run_test(size=(240, 100)) as pilot:
        await press(pilot, "tab", "tab")
        text = screen_text(app)
    assert not set(FORBIDDEN) & set(text)
    for piece in ("[/etc/passwd]", "[@click=app.bell]now[/]", "[bold red]x", "␛]52", "日本語"):
        assert text.count(piece) >= 13, piece


async def test_all_of_a_long_form_is_reached_at_80_by_24() -> None:
    card = _form({f"field {number}": {"type": "string"} for number in range(20)})
    app = DialogApp(card)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, *["tab"] * 20)
        assert "▸ field 19" in screen_text(app)
        assert "Esc no answer" in " ".join(screen_text(app).split())
