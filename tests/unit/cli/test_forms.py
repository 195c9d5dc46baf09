"""Forms on the terminal: described, reviewed before they are sent, and easy to decline."""

from __future__ import annotations

import pytest

from parley.cli.forms import FormDialog
from parley.schema import v2
from parley.schema.base import Unknown

FIELDS: dict[str, v2.ElicitationPropertySchema] = {
    "name": v2.StringPropertySchema(title="Your name", description="As in your passport"),
    "color": v2.StringPropertySchema(enum=["red", "green"], default="red"),
    "age": v2.IntegerPropertySchema(),
    "size": v2.NumberPropertySchema(),
    "sure": v2.BooleanPropertySchema(),
    "tags": v2.MultiSelectPropertySchema(items=v2.StringMultiSelectItems(enum=["a", "b"])),
    "new": Unknown("_x", b'{"type":"_x"}'),
}
FILLED = ("Ada", "", "", "", "", "")
CANCELLED = v2.ElicitationCancelAction()
DECLINED = v2.ElicitationDeclineAction()


def accepted(**content: object) -> v2.ElicitationAcceptAction:
    return v2.ElicitationAcceptAction(content=content)


class Keyboard:
    """Enters prepared lines; after them the input ends."""

    def __init__(self, *lines: str | None) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []

    async def read_line(self, prompt: str) -> str | None:
        self.prompts.append(prompt.strip())
        return self.lines.pop(0) if self.lines else None


async def filled(
    *lines: str | None,
    required: tuple[str, ...] = (),
    fields: dict[str, v2.ElicitationPropertySchema] = FIELDS,
    message: str = "Who?",
) -> v2.CreateElicitationResponse:
    schema = v2.ElicitationSchema(type="object", properties=fields, required=list(required))
    form = v2.ElicitationFormMode(message=message, requested_schema=schema, session_id="s")
    return await FormDialog(form, "coder", Keyboard(*lines).read_line).run()


async def test_a_form_is_filled_in_field_by_field() -> None:
    lines = ("Ada", "blue", "green", "x", "3.5", "36", "nan", "1.5", "perhaps", "y", "c", "a, b")
    answers = {"name": "Ada", "color": "green", "age": 36, "size": 1.5, "sure": True}
    assert await filled(*lines, "y") == accepted(**answers, tags=["a", "b"])


@pytest.mark.requirement("V1-ELIC-20")
async def test_fields_may_stay_empty_unless_they_are_required_and_defaults_are_kept() -> None:
    answer = await filled("", *FILLED, "y", required=("name",))
    assert answer == accepted(name="Ada", color="red")


@pytest.mark.requirement("V1-ELIC-09", "V1-ELIC-11", "V1-ELIC-20")
async def test_the_agent_the_message_descriptions_choices_and_defaults_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [v2.EnumOption(const="s", title="Small"), v2.EnumOption(const="l", title="Large\x1b")]
    fields: dict[str, v2.ElicitationPropertySchema] = {
        "name": FIELDS["name"],
        "fit": v2.StringPropertySchema(one_of=options, default="s"),
    }
    keyboard = Keyboard("Ada", "2", None)
    schema = v2.ElicitationSchema(type="object", properties=fields, required=["name"])
    form = v2.ElicitationFormMode(message="Who?\nTruly.", requested_schema=schema, session_id="s")
    assert await FormDialog(form, "coder\n", keyboard.read_line).run() == CANCELLED
    assert capsys.readouterr().err.splitlines() == [
        "? coder asks for information:",
        "    │ Who?",
        "    │ Truly.",
        "  Press Enter to keep a [default], Ctrl-D to review, decline or cancel.",
        "  Your name (required)",
        "    │ As in your passport",
        "  fit",
        "      1) Small (s)",
        "      2) Large␛ (l)",
        "  Your answers:",
        "    1) Your name: Ada",
        "    2) fit: l",
    ]
    assert keyboard.prompts == [
        "Your name:",
        "fit (1-2 or a value) [s]:",
        "Send this to coder? y to send, 1-2 to change an answer, n to decline "
        "(Enter cancels the question):",
    ]


@pytest.mark.requirement("V1-ELIC-18", "V2-ELIC-07")
async def test_a_pattern_is_shown_and_left_to_the_agent(capsys: pytest.CaptureFixture[str]) -> None:
    fields: dict[str, v2.ElicitationPropertySchema] = {
        "id": v2.StringPropertySchema(pattern="^(a+)+$")
    }
    typed = "a" * 50 + "!"
    assert await filled(typed, "y", fields=fields) == accepted(id=typed)
    assert "    │ matches ^(a+)+$\n" in capsys.readouterr().err


@pytest.mark.requirement("V1-ELIC-10")
async def test_an_answer_can_be_changed_before_anything_is_sent() -> None:
    assert await filled(*FILLED, "1", "Grace", "y") == accepted(name="Grace", color="red")
    assert await filled(*FILLED, "1", "", "y") == accepted(name="Ada", color="red")


@pytest.mark.requirement("V1-ELIC-09")
@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ((*FILLED, "n"), DECLINED),
        ((*FILLED, "no"), DECLINED),
        ((*FILLED, ""), CANCELLED),
        (FILLED, CANCELLED),
        ((None, "n"), DECLINED),
        ((None, None), CANCELLED),
        ((*FILLED, "perhaps", "0", "9", "n"), DECLINED),
    ],
    ids=["n", "no", "enter", "end", "early-n", "early-end", "other"],
)
async def test_a_form_is_declined_or_cancelled_at_any_point(
    lines: tuple[str | None, ...], answer: v2.CreateElicitationResponse
) -> None:
    assert await filled(*lines) == answer


async def test_a_form_is_not_sent_without_a_required_answer() -> None:
    assert await filled(None, "y", "Ada", "y", required=("name",)) == accepted(name="Ada")


async def test_an_unknown_type_of_field_is_not_asked_for_as_text() -> None:
    assert await filled(*FILLED, "y", required=("new",)) == DECLINED


async def test_a_number_chooses_unless_it_is_a_value_itself() -> None:
    fields: dict[str, v2.ElicitationPropertySchema] = {
        "one": v2.StringPropertySchema(enum=["2", "1", "x"]),
        "many": v2.MultiSelectPropertySchema(items=v2.StringMultiSelectItems(enum=["a", "b"])),
    }
    answer = await filled("2", "2, a", "1", "3", "y", fields=fields)
    assert answer == accepted(one="x", many=["b", "a"])


async def test_long_texts_choices_and_forms_are_bounded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    many = [f"choice {number}" for number in range(100_000)]
    fields: dict[str, v2.ElicitationPropertySchema] = {"x": v2.StringPropertySchema(enum=many)}
    assert await filled("100000", "y", fields=fields, message="hello\n" * 1000) == accepted(
        x="choice 99999"
    )
    assert len(capsys.readouterr().err.splitlines()) < 100
    wide: dict[str, v2.ElicitationPropertySchema] = {
        str(number): v2.StringPropertySchema() for number in range(101)
    }
    assert await filled(fields=wide) == DECLINED
    assert "it has 101 fields, and at most 100 are supported" in capsys.readouterr().err


async def test_a_form_without_fields_asks_for_consent() -> None:
    assert await filled("y", fields={}) == accepted()
    assert await filled("n", fields={}) == DECLINED
