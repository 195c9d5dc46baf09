"""Questions on the terminal: no answer is never a yes, and a value has the type of its field."""

from __future__ import annotations

from typing import Any

import pytest

from parley.cli.questions import Answer, Questions
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session.entries import ToolCall


class Answered(Questions):
    """Answers with lines that were prepared; behind them is the end of the input."""

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.lines = list(lines)
        self.prompts: list[str] = []

    async def _line(self, prompt: str) -> str | None:
        self.prompts.append(prompt.strip())
        return self.lines.pop(0) if self.lines else None


def option(id: str, kind: str) -> v2.PermissionOption:
    return v2.PermissionOption(option_id=id, name=id, kind=kind)


OPTIONS = [
    option("always", "allow_always"),
    option("once", "allow_once"),
    option("no", "reject_once"),
]


def asked(*options: v2.PermissionOption, **fields: Any) -> v2.RequestPermissionRequest:
    return v2.RequestPermissionRequest(
        session_id="s", title="May I?", options=list(options or OPTIONS), **fields
    )


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        (["y"], "once"),
        (["no"], "no"),
        (["1"], "always"),
        (["0", "4", "-1", "²", "maybe", "3"], "no"),
        ([""], None),
        ([], None),
    ],
)
async def test_an_option_is_chosen_by_number_or_by_yes_and_no(
    lines: list[str], chosen: str | None
) -> None:
    assert await Answered(*lines).permission(asked(), None) == Answer(chosen)


async def test_a_yes_that_could_mean_two_things_is_asked_again() -> None:
    two = [option("a", "allow_once"), option("b", "allow_once"), option("c", "_new")]
    assert await Answered("y", "n", "2").permission(asked(*two), None) == Answer("b")


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("ys", Answer("once", "allow", "session")),
        ("yesp", Answer("once", "allow", "project")),
        ("ns", Answer("no", "deny", "session")),
        ("np", Answer("no", "deny", "project")),
        ("1s", Answer()),
        ("s", Answer()),
        ("yx", Answer()),
    ],
)
async def test_a_yes_or_a_no_may_be_remembered(word: str, answer: Answer) -> None:
    assert await Answered(word).permission(asked(), None) == answer


async def test_one_of_several_is_chosen_by_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert await Answered("0", "3", "x", "2").choice("Which\x1b?", ["a", "b\x1b"]) == 1
    assert await Answered("").choice("Which?", ["a"]) is None
    assert capsys.readouterr().err.splitlines()[:3] == ["? Which␛?", "  1) a", "  2) b␛"]


async def test_the_user_learns_which_answers_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    questions = Answered("may\x1bbe", "1")
    await questions.permission(asked(), None)
    assert questions.prompts == ["choose 1-3 or y or n (nothing: no answer):"] * 2
    assert capsys.readouterr().err.splitlines()[-1] == "  'may␛be' is not 1-3 or y or n"
    alone = Answered("y", "1")
    await alone.permission(asked(option("always", "allow_always")), None)
    assert alone.prompts == ["choose 1 (nothing: no answer):"] * 2


async def test_the_user_sees_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    call = ToolCall("c")
    call.title, call.kind = "Clean\x1b up", "execute"
    call.raw_input = {"command": "rm -rf /"}
    call.locations = [v2.ToolCallLocation(path="/w/a")]
    subject = v2.CommandPermissionSubject(command="rm -rf /", cwd="/w")
    await Answered().permission(asked(subject=subject, description="Because."), call)
    assert capsys.readouterr().err.splitlines() == [
        "? May I?",
        "    Because.",
        "    $ rm -rf /",
        "    in /w",
        "    Clean␛ up",
        "    execute: /w/a",
        "    $ rm -rf /",
        "  1) always",
        "  2) once (allows it once)",
        "  3) no",
        "  ys, yp, ns, np) the same from now on, in this session (s) or project (p)",
    ]


async def test_a_name_cannot_hide_what_an_option_does(capsys: pytest.CaptureFixture[str]) -> None:
    lie = v2.PermissionOption(option_id="x", name="No", kind="allow_always")
    new = v2.PermissionOption(option_id="y", name="Perhaps", kind="_later\x1b")
    await Answered().permission(asked(lie, new), None)
    shown = capsys.readouterr().err.splitlines()
    assert shown[1:3] == ["  1) No (always allows it)", "  2) Perhaps (_later␛)"]


async def test_all_of_a_diff_is_shown_that_is_asked_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ToolCall("c")
    text = "@@ -0,0 +1,100 @@\n" + "\n".join(f"+line {number}" for number in range(100))
    patch = v2.DiffPatch(format="git_patch", text=text)
    call.content = [v2.Diff(changes=[], patch=patch)]
    await Answered().permission(asked(), call)
    assert "    +line 99" in capsys.readouterr().err.splitlines()


async def test_each_line_of_a_command_is_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    subject = v2.CommandPermissionSubject(command="echo hi\nrm -rf ~\x0bx", cwd="/w")
    await Answered().permission(asked(subject=subject), None)
    assert capsys.readouterr().err.splitlines()[1:3] == ["    $ echo hi", "    $ rm -rf ~␋x"]


FIELDS: dict[str, v2.ElicitationPropertySchema] = {
    "name": v2.StringPropertySchema(title="Your name"),
    "colour": v2.StringPropertySchema(enum=["red", "green"], default="red"),
    "age": v2.IntegerPropertySchema(),
    "size": v2.NumberPropertySchema(),
    "sure": v2.BooleanPropertySchema(),
    "tags": v2.MultiSelectPropertySchema(items=v2.StringMultiSelectItems(enum=["a", "b"])),
    "new": Unknown("_x", b'{"type":"_x"}'),
}


def form(*required: str) -> v2.ElicitationFormMode:
    schema = v2.ElicitationSchema(type="object", properties=FIELDS, required=list(required))
    return v2.ElicitationFormMode(message="Who?", requested_schema=schema, session_id="s")


async def test_a_form_is_filled_in_field_by_field() -> None:
    lines = ("Ada", "blue", "green", "x", "3.5", "36", "nan", "1.5", "perhaps", "y", "c", "a, b")
    questions = Answered(*lines)
    answer = await questions.form(form())
    assert answer == v2.ElicitationAcceptAction(
        content={
            "name": "Ada",
            "colour": "green",
            "age": 36,
            "size": 1.5,
            "sure": True,
            "tags": ["a", "b"],
        }
    )
    assert questions.prompts[:2] == ["Your name:", "colour [red]:"]


async def test_fields_may_stay_empty_unless_they_are_required() -> None:
    answer = await Answered("", "", "Ada", "", "", "", "", "").form(form("name"))
    assert answer == v2.ElicitationAcceptAction(content={"name": "Ada", "colour": "red"})


async def test_a_kind_of_field_that_is_not_known_is_not_asked_for_as_a_text() -> None:
    answer = await Answered("Ada", "", "", "", "", "").form(form("new"))
    assert answer == v2.ElicitationDeclineAction()


async def test_the_end_of_the_input_is_no_answer() -> None:
    assert await Answered("Ada").form(form()) == v2.ElicitationCancelAction()


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["y"], v2.ElicitationAcceptAction()),
        (["n"], v2.ElicitationDeclineAction()),
        (["what"], v2.ElicitationCancelAction()),
        ([], v2.ElicitationCancelAction()),
    ],
)
async def test_an_address_is_shown_and_not_opened(
    lines: list[str],
    answer: v2.CreateElicitationResponse,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = v2.ElicitationUrlMode(
        message="Log in", elicitation_id="e", url="https://x\x1b", session_id="s"
    )
    assert await Answered(*lines).address(request) == answer
    assert "    https://x␛\n" in capsys.readouterr().err
