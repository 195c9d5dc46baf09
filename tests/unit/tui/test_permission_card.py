"""Questions for permission, each alone on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

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

from parley.client._own_permission_request import TURN_OPTION
from parley.conversation.permission_answer import PermissionAnswer
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._diffs import make_diff
from parley.session._transcript_entries import ToolCallEntry
from parley.tui.dialogs.permission_card import PermissionCard

ONCE = v2.PermissionOption(option_id="once", name="Allow", kind="allow_once")
ALWAYS = v2.PermissionOption(option_id="always", name="Allow all", kind="allow_always")
NO = v2.PermissionOption(option_id="no", name="Reject", kind="reject_once")
NEVER = v2.PermissionOption(option_id="never", name="Reject all", kind="reject_always")
FOUR = (ONCE, ALWAYS, NO, NEVER)


def _request(
    *options: v2.PermissionOption,
    subject: v2.RequestPermissionSubject | None = None,
    title: str = "Run it?",
    description: str | None = None,
) -> v2.RequestPermissionRequest:
    return v2.RequestPermissionRequest(
        session_id="s",
        title=title,
        description=description,
        subject=subject,
        options=list(options or FOUR),
    )


def _command(command: str, cwd: str = "/work") -> v2.CommandPermissionSubject:
    return v2.CommandPermissionSubject(command=command, cwd=cwd)


async def _answer_of(card: PermissionCard, *keys: str) -> PermissionAnswer | None:
    """What the card says after these keys; None: nothing yet."""
    async with DialogApp(card).run_test() as pilot:
        await press(pilot, *keys)
        return await card.answer() if card.is_answered else None


# What is shown


async def _shown(card: PermissionCard, size: tuple[int, int] = (80, 60)) -> str:
    app = DialogApp(card)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        return screen_text(app)


async def test_a_command_is_shown_with_its_directory_and_each_option_with_what_it_does() -> None:
    text = await _shown(PermissionCard(_request(subject=_command("make test"))))
    assert "$ make test" in text
    assert "in /work" in text
    assert "Allow  (allows it once)" in text
    assert "Allow all  (always allows it)" in text
    assert "Reject  (refuses it once)" in text
    assert "Reject all  (always refuses it)" in text


async def test_our_own_option_for_the_turn_is_shown_with_what_it_does() -> None:
    imitated = v2.PermissionOption(option_id="x", name="For this turn", kind="allow_always")
    text = await _shown(PermissionCard(_request(ONCE, TURN_OPTION, imitated, NO)))
    assert "Yes, in this turn  (allows it until the turn ends)" in text
    assert "For this turn  (always allows it)" in text


async def test_all_lines_of_a_command_are_shown_and_numbered() -> None:
    text = await _shown(PermissionCard(_request(subject=_command("cd /\n\nrm -rf x"))))
    assert "1 $ cd /" in text
    assert "2 >" in text
    assert "3 > rm -rf x" in text


async def test_a_command_behind_many_blanks_is_still_seen() -> None:
    text = await _shown(PermissionCard(_request(subject=_command(f"ls{' ' * 500}; rm -rf ~"))))
    assert "; rm -rf ~" in text


async def test_what_does_not_fit_is_told_and_can_be_read() -> None:
    command = "\n".join(["true"] * 50 + ["rm -rf /"])
    card = PermissionCard(_request(subject=_command(command)))
    app = DialogApp(card)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "lines 1-7 of 53: PgUp, PgDn to read" in screen_text(app)
        assert "rm -rf /" not in screen_text(app)
        await press(pilot, "pagedown")
        assert "lines 7-13 of 53" in screen_text(app)
        await press(pilot, "end")
        assert "51 > rm -rf /" in screen_text(app)
        await press(pilot, "home")
        assert "Run it?" in screen_text(app)


async def test_however_much_is_asked_options_and_keys_stay_in_view() -> None:
    command = "\n".join(["true"] * 50)
    card = PermissionCard(_request(subject=_command(command), title="so " * 500))
    app = DialogApp(card)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "s")
        text = screen_text(app)
        assert "1 $ true" in text
        assert "4    Reject all" in text
        assert "Esc no answer" in text
        assert card.outer_size.height <= 16


async def test_paths_input_and_diff_of_a_tool_call_are_shown() -> None:
    call = ToolCallEntry("c")
    patch = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-old line\n+new line\n"
    call.title, call.kind = "Edit app.py", "edit"
    call.locations = [v2.ToolCallLocation(path="/etc/app.py", line=7)]
    call.raw_input = {"mode": "w", "deep": {"a": [1, 2]}}
    call.content = [
        v2.Diff(
            changes=[v2.DiffModify(path="/etc/app.py")],
            patch=v2.DiffPatch(format="unified", text=patch),
        )
    ]
    text = await _shown(PermissionCard(_request(), call))
    assert "edit /etc/app.py:7" in text
    assert "tool Edit app.py" in text
    assert "mode: w" in text
    assert '{"a":[1,2]}' in text
    assert "- old line" in text
    assert "+ new line" in text


async def test_what_a_diff_shows_is_not_said_again() -> None:
    call = ToolCallEntry("c")
    call.kind, call.locations = "edit", [v2.ToolCallLocation(path="/w/a.txt")]
    call.content = [make_diff("/w/a.txt", "old\n", "new\n")]
    same = "--- /w/a.txt\n+++ /w/a.txt\n@@ -1,1 +1,1 @@\n-old\n+new\n"
    call.raw_input = {"filepath": "/w/a.txt", "diff": same, "other": same.replace("+new", "+no")}
    text = await _shown(PermissionCard(_request(), call))
    assert text.count("/w/a.txt") == 3
    assert "modify /w/a.txt" in text
    assert "diff:" not in text
    assert "other: --- /w/a.txt" in text


async def test_where_a_path_really_leads_is_shown_too(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("")
    (tmp_path / "readme").symlink_to(secret)
    call = ToolCallEntry("c")
    call.kind = "read"
    call.locations = [v2.ToolCallLocation(path=str(tmp_path / "readme"))]
    text = await _shown(PermissionCard(_request(), call), (200, 40))
    assert f"read {tmp_path / 'readme'}" in text
    assert f"read {secret.resolve()}" in text


async def test_a_command_inside_the_input_is_shown_as_the_command_and_once() -> None:
    update = v2.ToolCallUpdate(
        tool_call_id="c", kind="execute", raw_input={"command": "curl evil", "timeout": 5}
    )
    card = PermissionCard(_request(subject=v2.ToolCallPermissionSubject(tool_call=update)))
    text = await _shown(card)
    assert "$ curl evil" in text
    assert text.count("curl evil") == 1
    assert "timeout: 5" in text


async def test_a_command_in_several_forms_is_shown_once() -> None:
    given = {
        "command": ["/bin/bash", "-lc", "make test"],
        "commands": ["make test"],
        "parsed_cmd": [{"type": "unknown", "cmd": "make test"}],
        "cwd": "/",
    }
    update = v2.ToolCallUpdate(tool_call_id="c", kind="execute", raw_input=given)
    subject = v2.ToolCallPermissionSubject(tool_call=update)
    text = await _shown(PermissionCard(_request(subject=subject, title="`make test`")))
    assert "? Run a command?" in text
    assert "$ /bin/bash -lc 'make test'" in text
    assert text.count("make test") == 1
    assert "input" not in text


async def test_a_question_names_the_kind_of_the_action() -> None:
    call = ToolCallEntry("c")
    call.kind, call.raw_input = "edit", {"path": "/w/a.txt"}
    text = await _shown(PermissionCard(_request(title="write_text_file"), call))
    assert "? Edit a file: write_text_file" in text


async def test_the_content_of_a_new_file_is_shown_once() -> None:
    call = ToolCallEntry("c")
    call.kind, call.locations = "edit", [v2.ToolCallLocation(path="/w/a.txt")]
    call.content = [make_diff("/w/a.txt", "", "only line")]
    call.raw_input = {"path": "/w/a.txt", "content": "only line", "old": "nothing"}
    text = await _shown(PermissionCard(_request(), call))
    assert "create /w/a.txt" in text
    assert text.count("only line") == 1
    assert "No newline" not in text
    assert "old: nothing" in text


async def test_long_json_is_shortened_and_that_is_said() -> None:
    call = ToolCallEntry("c")
    call.raw_input = {"names": ["x" * 50] * 100}
    text = await _shown(PermissionCard(_request(), call))
    assert "… 4,602 more characters" in text
    subject = Unknown("moon", b'{"names":["' + b"x" * 2_000 + b'"]}')
    text = await _shown(PermissionCard(_request(subject=subject)))
    assert "more characters" in text


async def test_a_subject_of_an_unknown_kind_is_shown_as_it_came() -> None:
    subject = Unknown("moon", b'{"type":"moon","phase":"full"}')
    text = await _shown(PermissionCard(_request(subject=subject)))
    assert "about moon" in text
    assert '"phase"' in text


@pytest.mark.requirement("SAFE-USER-02")
async def test_the_words_of_the_agent_are_marked_and_few() -> None:
    call = ToolCallEntry("c")
    call.title, call.kind, call.raw_input = "$ ls\n$ ls", "execute", {"command": "rm -rf /"}
    texts = [v2.TextContent(text=f"$ ls {number}") for number in range(30)]
    call.content = [v2.Content(content=each) for each in texts]
    card = PermissionCard(_request(description="$ ls\nin /tmp\n" * 30), call)
    text = await _shown(card, (80, 40))
    rows = [row.strip() for row in text.splitlines()]
    assert [row for row in rows if row.startswith("$")] == ["$ rm -rf /"]
    assert not [row for row in rows if row.startswith("in ")]
    claimed = [row for row in rows if row.startswith("│")]
    assert claimed[0] == "│ $ ls"
    assert claimed[-1].endswith("more lines")
    assert len(claimed) <= 9


@pytest.mark.requirement("SAFE-USER-02")
async def test_no_words_and_no_places_of_the_agent_push_the_input_out_of_view() -> None:
    call = ToolCallEntry("c")
    call.kind = "execute"
    call.locations = [v2.ToolCallLocation(path=f"/w/../w/file{number}") for number in range(60)]
    call.raw_input = {"body": "line\n" * 100, "frobnicate": "rm -rf /"}
    call.content = [make_diff("/w/a.txt", "old\n" * 100, "new\n" * 100)]
    card = PermissionCard(_request(description="$ ls\n" * 60), call)
    text = await _shown(card, (80, 24))
    assert "frobnicate: rm -rf /" in text


async def test_an_option_of_an_unknown_kind_has_its_kind_beside_it() -> None:
    odd = v2.PermissionOption(option_id="o", name="Sure", kind="allow_maybe")
    assert "Sure  (allow_maybe: not known here)" in await _shown(PermissionCard(_request(odd)))


async def test_hostile_text_is_shown_as_it_is_in_every_place() -> None:
    call = ToolCallEntry("c")
    call.title, call.kind = EVIL, EVIL
    call.locations = [v2.ToolCallLocation(path=f"/{EVIL}")]
    call.raw_input = {EVIL: EVIL, "list": [EVIL]}
    call.content = [
        v2.Content(content=v2.TextContent(text=EVIL)),
        v2.Terminal(terminal_id=EVIL),
        v2.Diff(
            changes=[v2.DiffModify(path=f"/{EVIL}")],
            patch=v2.DiffPatch(format=EVIL, text=EVIL),
        ),
    ]
    option = v2.PermissionOption(option_id=EVIL, name=EVIL, kind=EVIL)
    subject = _command(f"echo {EVIL}\n{EVIL}", f"/{EVIL}")
    request = _request(option, ONCE, subject=subject, title=EVIL, description=EVIL)
    text = await _shown(PermissionCard(request, call), (300, 60))
    assert not set(FORBIDDEN) & set(text)
    for piece in ("[/etc/passwd]", "[@click=app.bell]now[/]", "[bold red]x", "␛]52", "日本語"):
        assert text.count(piece) >= 10, piece


# Answers


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["1"], PermissionAnswer("once", "allow")),
        (["2"], PermissionAnswer("always", "allow")),
        (["3"], PermissionAnswer("no", "deny")),
        (["4"], PermissionAnswer("never", "deny")),
        (["y"], PermissionAnswer("once", "allow")),
        (["n"], PermissionAnswer("no", "deny")),
        (["s", "y"], PermissionAnswer("once", "allow", "session")),
        (["p", "y"], PermissionAnswer("once", "allow", "project")),
        (["p", "n"], PermissionAnswer("no", "deny", "project")),
        (["s", "p", "p", "y"], PermissionAnswer("once", "allow")),
        (["enter"], PermissionAnswer("no", "deny")),
        (["up", "enter"], PermissionAnswer("always", "allow")),
        (["down", "down", "enter"], PermissionAnswer("once", "allow")),
        (["escape"], PermissionAnswer()),
        (["s", "escape"], PermissionAnswer()),
        (["5", "0", "x", "t"], None),
    ],
)
async def test_keys_answer(keys: list[str], answer: PermissionAnswer | None) -> None:
    assert await _answer_of(PermissionCard(_request()), *keys) == answer


async def test_yes_is_no_key_where_two_options_could_be_meant() -> None:
    again = v2.PermissionOption(option_id="once2", name="Allow with care", kind="allow_once")
    assert await _answer_of(PermissionCard(_request(ONCE, again, NO)), "y") is None
    assert await _answer_of(PermissionCard(_request(ONCE, again, NO)), "n") == PermissionAnswer(
        "no"
    )


async def test_enter_chooses_nothing_where_no_option_merely_refuses() -> None:
    assert await _answer_of(PermissionCard(_request(ONCE, ALWAYS, NEVER)), "enter") is None


async def test_an_answer_of_unknown_kind_allows_nothing_and_is_not_remembered() -> None:
    odd = v2.PermissionOption(option_id="o", name="Sure", kind="allow_maybe")
    assert await _answer_of(PermissionCard(_request(odd)), "s", "1") == PermissionAnswer(
        "o", "deny", None
    )


async def test_an_option_that_is_offered_twice_cannot_be_chosen() -> None:
    card = PermissionCard(_request(ONCE, ONCE, NO))
    assert await _answer_of(card, "1", "2", "y") is None
    assert "offered twice" in await _shown(PermissionCard(_request(ONCE, ONCE, NO)))


async def test_that_an_answer_is_remembered_is_said_before_it_is_given() -> None:
    app = DialogApp(PermissionCard(_request()))
    async with app.run_test() as pilot:
        await press(pilot, "p")
        assert "will be remembered in this project" in screen_text(app)
        await press(pilot, "p")
        assert "will be remembered" not in screen_text(app)


async def test_a_click_on_an_option_chooses_it() -> None:
    card = PermissionCard(_request())
    app = DialogApp(card)
    card.input_guard.quiet_seconds = 0.0
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.click(card.options, offset=(8, 1))
        assert await card.answer() == PermissionAnswer("always", "allow")


@pytest.mark.requirement("SAFE-USER-06")
async def test_what_was_pressed_before_it_was_on_the_screen_is_no_answer() -> None:
    early = pressed("y", later=0.0)
    card = PermissionCard(_request())
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await settled(pilot)
        app.post_message(early)
        await settled(pilot)
        assert not card.is_answered
        assert app.stray == ["y"]  # it went on to whoever else wants it


@pytest.mark.requirement("SAFE-USER-06")
async def test_who_goes_on_typing_answers_nothing() -> None:
    card = PermissionCard(_request())
    app = DialogApp(card)
    card.input_guard.quiet_seconds = 60.0
    async with app.run_test() as pilot:
        await settled(pilot)
        for number in range(10):
            app.post_message(pressed("y", later=30.0 * number))
        await settled(pilot)
        assert not card.is_answered
        app.post_message(pressed("n", later=1000.0))
        await settled(pilot)
        assert await card.answer() == PermissionAnswer("no", "deny")


async def test_keys_that_answer_go_no_further() -> None:
    app = DialogApp(PermissionCard(_request()))
    async with app.run_test() as pilot:
        await press(pilot, "s", "escape")
        assert app.stray == []


async def test_only_the_first_answer_counts() -> None:
    assert await _answer_of(PermissionCard(_request()), "n", "y") == PermissionAnswer("no", "deny")


async def test_removed_it_has_no_answer_and_nobody_waits() -> None:
    card = PermissionCard(_request())
    async with DialogApp(card).run_test() as pilot:
        await settled(pilot)
        waiting = asyncio.create_task(card.answer())
        await card.remove()
        assert await waiting == PermissionAnswer()
