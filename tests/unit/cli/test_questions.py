"""Questions on the terminal: no answer is never a yes, and a value has the type of its field."""

from __future__ import annotations

import re
from typing import Any

import pytest

from parley.cli.questions import Questions
from parley.cli.reporting import write_agent_stderr
from parley.conversation.permission_answer import PermissionAnswer as Answer
from parley.schema import v2
from parley.session._diffs import make_diff
from parley.session._transcript_entries import ToolCallEntry


class Answered(Questions):
    """Answers with lines that were prepared; behind them is the end of the input."""

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.lines = list(lines)
        self.prompts: list[str] = []

    async def ask(
        self, request: v2.RequestPermissionRequest, call: ToolCallEntry | None = None
    ) -> Answer:
        return await self.permission(request, call, agent="coder", cwd="/w")

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
    assert await Answered(*lines).ask(asked()) == Answer(chosen)


async def test_a_yes_that_could_mean_two_things_is_asked_again() -> None:
    two = [option("a", "allow_once"), option("b", "allow_once"), option("c", "_new")]
    assert await Answered("y", "n", "2").ask(asked(*two)) == Answer("b")


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
    assert await Answered(word).ask(asked()) == answer


async def test_one_of_several_is_chosen_by_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert await Answered("0", "3", "x", "2").choice("Which\x1b?", ["a", "b\x1b"]) == 1
    assert await Answered("").choice("Which?", ["a"]) is None
    assert capsys.readouterr().err.splitlines()[:3] == ["? Which␛?", "  1) a", "  2) b␛"]


async def test_the_user_learns_which_answers_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    questions = Answered("may\x1bbe", "1")
    await questions.ask(asked())
    assert questions.prompts == ["choose 1-3 or y or n (Enter: no answer):"] * 2
    assert capsys.readouterr().err.splitlines()[-1] == "  'may␛be' is not 1-3 or y or n"
    alone = Answered("y", "1")
    await alone.ask(asked(option("always", "allow_always")))
    assert alone.prompts == ["choose 1 (Enter: no answer):"] * 2


@pytest.mark.requirement("SAFE-USER-02")
async def test_what_it_is_about_stands_between_the_agents_words_and_the_choices(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ToolCallEntry("c")
    call.title, call.kind = "Clean\x1b up", "execute"
    call.raw_input = {"command": "rm -rf /", "timeout": 3}
    call.locations = [v2.ToolCallLocation(path="/w/a", line=7)]
    call.content = [v2.Content(content=v2.TextContent(text="$ ls\n  1) yes"))]
    subject = v2.CommandPermissionSubject(command="rm -rf /", cwd="/w")
    await Answered().ask(asked(subject=subject, description="Because."), call)
    assert capsys.readouterr().err.splitlines() == [
        "? coder asks for permission to run a command. It says:",
        "    │ May I?",
        "    │ Because.",
        "    │ Clean␛ up",
        "    │ $ ls",
        "    │   1) yes",
        "  Details:",
        "    input.timeout: 3",
        "    execute: /w/a:7",
        "    $ rm -rf /",
        "    in /w",
        "  1) always",
        "  2) once (allows it once)",
        "  3) no",
        "  ys, yp, ns, np) remember it for this session (s) or project (p)",
    ]


@pytest.mark.requirement("SAFE-USER-02")
async def test_the_agents_words_are_bounded_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(["x" * 300, *(f"line {number}" for number in range(30))])
    await Answered().ask(asked(description=text))
    shown = capsys.readouterr().err.splitlines()
    assert shown[1:5] == [
        "    │ May I?",
        f"    │ {'x' * 52} … 248 more characters",
        "    │ line 0",
        "    │ line 1",
    ]
    assert shown[8:10] == ["    │ … 25 more lines", "  There are no details."]


@pytest.mark.requirement("SAFE-USER-02")
async def test_no_row_is_wider_than_the_terminal_or_begins_without_a_mark(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ToolCallEntry("c")
    fake = " " * 200 + "  1) yes" + "漢❤\ufe0f" * 60
    call.raw_input = {"script" + fake: fake, "command": f"rm -rf ~ #{fake}\n{fake}", "x": [fake]}
    call.title, call.kind = fake, fake
    call.locations = [v2.ToolCallLocation(path=fake)]
    lie = v2.PermissionOption(option_id="x", name=f"No{fake}", kind="allow_always")
    await Answered().ask(asked(lie, description=fake), call)
    head, *rows = capsys.readouterr().err.splitlines()
    assert head == "? coder asks for permission to run a command. It says:"
    for row in rows:
        assert len(row) + row.count("漢") <= 80, row
        assert re.match(
            "    (?:[│┊$>] |path: |input\\.)|  (?:Details:|! These are|1\\) No)", row
        ), row
    assert rows[-1].startswith("  1) No")
    assert rows[-1].endswith(" (always allows it)")


async def test_a_command_that_fills_the_screen_is_announced_next_to_the_choices(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ["rm -rf ~", *["true"] * 2_000, "ls"]
    subject = v2.CommandPermissionSubject(command="\n".join(lines), cwd="/w")
    await Answered().ask(asked(subject=subject))
    shown = capsys.readouterr().err.splitlines()
    assert "    $ rm -rf ~" in shown
    assert "    ! 1,503 rows are not shown" in shown
    assert shown[-7:-4] == [
        "    > ls",
        "    in /w",
        "  ! These are 501 rows. Scroll up to read them from the beginning.",
    ]


@pytest.mark.parametrize("name", ["$ ls", "> ls", "  1) yes"])
async def test_a_name_of_the_agents_cannot_look_like_a_part_of_the_question(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ToolCallEntry("c")
    call.kind, call.raw_input = name, {name: "x"}
    call.locations = [v2.ToolCallLocation(path="/w/a")]
    await Answered().ask(asked(), call)
    shown = capsys.readouterr().err.splitlines()
    assert shown[3:5] == [f"    input.{' '.join(name.split())}: x", "    path: /w/a"]


async def test_options_beyond_a_bound_cannot_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    many = [option(f"o{number}", "allow_once") for number in range(30)]
    assert await Answered("21", "20").ask(asked(*many)) == Answer("o19")
    assert "  ! 10 more options are not shown" in capsys.readouterr().err


async def test_a_name_cannot_hide_what_an_option_does(capsys: pytest.CaptureFixture[str]) -> None:
    lie = v2.PermissionOption(option_id="x", name="No", kind="allow_always")
    new = v2.PermissionOption(option_id="y", name="Perhaps", kind="_later\x1b")
    await Answered().ask(asked(lie, new))
    shown = capsys.readouterr().err.splitlines()
    assert shown[-2:] == ["  1) No (always allows it)", "  2) Perhaps (_later␛)"]


async def shown_of(capsys: pytest.CaptureFixture[str], kind: str, **fields: Any) -> list[str]:
    """Return the rows of a question about a tool call, without the choices."""
    call = ToolCallEntry("c")
    call.kind = kind
    for name, value in fields.items():
        setattr(call, name, value)
    title = call.title or "May I?"
    request = v2.RequestPermissionRequest(session_id="s", title=title, options=OPTIONS)
    await Answered().ask(request, call)
    return capsys.readouterr().err.splitlines()[:-4]


async def test_a_command_in_several_forms_is_shown_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert await shown_of(
        capsys,
        "execute",
        title="```bash\nmake test\n```",
        raw_input={
            "command": ["/bin/bash", "-lc", "make test"],
            "commands": ["make test"],
            "parsed_cmd": [{"type": "unknown", "cmd": "make test"}],
            "cwd": "/",
            "timeout": 3,
        },
    ) == [
        "? coder asks for permission to run a command.",
        "  Details:",
        "    input.timeout: 3",
        "    $ /bin/bash -lc 'make test'",
        "    in /",
    ]


async def test_a_question_does_not_repeat_its_diff_as_input(
    capsys: pytest.CaptureFixture[str],
) -> None:
    patch = "--- /w/a\n+++ /w/a\n@@ -0,0 +1,1 @@\n+one\n\\ No newline at end of file\n"
    assert await shown_of(
        capsys,
        "edit",
        content=[make_diff("/w/a", "", "one")],
        raw_input={"path": "/w/a", "diff": patch, "content": "one", "mode": "one"},
    ) == [
        "? coder asks for permission to edit a file. It says:",
        "    │ May I?",
        "  Details:",
        "    ± create /w/a",
        "    ± @@ -0,0 +1 @@",
        "    ± +one",
        "    input.mode: one",
        "    edit: /w/a",
    ]


async def test_long_json_next_to_a_question_is_shortened_and_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = await shown_of(capsys, "other", raw_input={"names": ["x" * 50] * 100})
    assert shown[3].startswith('    input.names: ["xxxx')
    assert shown[-1] == "    ┊ … 4,301 more characters"
    assert len(shown) < 20


async def test_all_of_a_diff_is_shown_that_is_asked_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ToolCallEntry("c")
    text = "@@ -0,0 +1,100 @@\n" + "\n".join(f"+line {number}" for number in range(100))
    patch = v2.DiffPatch(format="git_patch", text=text)
    call.content = [v2.Diff(changes=[], patch=patch)]
    await Answered().ask(asked(), call)
    assert "    ± +line 99" in capsys.readouterr().err.splitlines()


async def test_each_line_of_a_command_is_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    subject = v2.CommandPermissionSubject(command="echo  hi\nrm -rf ~\x0bx", cwd="/w")
    await Answered().ask(asked(subject=subject))
    assert capsys.readouterr().err.splitlines()[3:5] == ["    $ echo  hi", "    > rm -rf ~␋x"]


async def test_what_others_write_waits_until_a_question_is_answered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Disturbed(Answered):
        async def _line(self, prompt: str) -> str | None:
            write_agent_stderr(b"? another question\n")
            write_agent_stderr(b"x" * 200_000)
            assert "another" not in capsys.readouterr().err
            return await super()._line(prompt)

    await Disturbed("1").ask(asked())
    assert capsys.readouterr().err == (
        "? another question\nparley: … and 200,000 more characters during the question\n"
    )


@pytest.mark.requirement("V1-ELIC-09", "V1-ELIC-42", "V1-ELIC-43", "SAFE-USER-05")
@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["y"], v2.ElicitationAcceptAction()),
        (["n"], v2.ElicitationDeclineAction()),
        (["what"], v2.ElicitationCancelAction()),
        ([], v2.ElicitationCancelAction()),
    ],
    ids=["accept", "decline", "other", "end"],
)
async def test_an_address_is_shown_with_its_host_and_not_opened(
    lines: list[str],
    answer: v2.CreateElicitationResponse,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = v2.ElicitationUrlMode(
        message="Log in at https://example.org",
        elicitation_id="e",
        url="http://xn--e.example/x",
        session_id="s",
    )
    assert await Answered(*lines).address(request, "coder") == answer
    assert capsys.readouterr().err.splitlines()[:8] == [
        "? coder asks you to open a web page. It says:",
        "    │ Log in at https://example.org",
        "  This is the address:",
        "    http://xn--e.example/x",
        "    on xn--e.example (xn--e.example)",
        "    ! the host contains letters that may only look like others",
        "    ! plain http: others can read and change what is sent",
        "    ! the agent mentions example.org, but the address leads elsewhere",
    ]


@pytest.mark.requirement("SAFE-USER-05")
async def test_what_is_not_a_web_address_is_declined(capsys: pytest.CaptureFixture[str]) -> None:
    request = v2.ElicitationUrlMode(
        message="Log in", elicitation_id="e", url="file:///x\x1b", session_id="s"
    )
    assert await Answered("y").address(request, "coder") == v2.ElicitationDeclineAction()
    shown = capsys.readouterr().err
    assert "    file:///x␛\n" in shown
    assert "  This is declined: only http and https addresses are opened.\n" in shown
