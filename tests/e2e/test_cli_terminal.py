"""`parley` as a person uses it, in a terminal: questions, Ctrl-C, and text that stays text."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from parley.testing.scripted import Expect, RespondWithError, Send, SendBytes, Stderr

from .command import PARLEY, TRAP, chunk, opening, scripted, update
from .terminal import BOUND_SECONDS, run_in_terminal


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        ("y\r", '{"outcome":"selected","optionId":"yes"}'),
        ("2\r", '{"outcome":"selected","optionId":"no"}'),
        ("what?\r7\r1\r", '{"outcome":"selected","optionId":"yes"}'),
        ("\r", '{"outcome":"cancelled"}'),
        ("\x04", '{"outcome":"cancelled"}'),
    ],
)
def test_permission_is_asked_on_the_terminal(keys: str, outcome: str) -> None:
    with run_in_terminal(*PARLEY, "run", "perm") as shown:
        shown.until("May I?")
        shown.until("1) Yes")
        for key in keys.splitlines(keepends=True):
            shown.until("(Enter: no answer): ")
            shown.press(key)
        shown.until(f"perm:{outcome}")
        assert shown.exit_code() == 0


def test_what_was_typed_before_the_question_is_no_answer_to_it() -> None:
    with run_in_terminal(*PARLEY, "run", "perm") as shown:
        shown.press("1\r")
        shown.until("(Enter: no answer): ")
        shown.press("2\r")
        shown.until('perm:{"outcome":"selected","optionId":"no"}')
        assert shown.exit_code() == 0


def test_what_the_user_has_typed_is_not_repeated() -> None:
    with run_in_terminal(*PARLEY, "run", "perm", "-a", "parley demo") as shown:
        shown.until("(Enter: no answer): ")
        shown.press("1\r")
        assert shown.exit_code() == 0
    assert shown.output.split("\r\n") == [
        "▸ Do something that needs permission",
        "? parley demo asks for permission. It says:",
        "    │ May I?",
        "    │ Do something that needs permission",
        "  Details:",
        "    input.harm: none",
        "  1) Yes",
        "  2) No",
        "  ys, yp, ns, np) remember it for this session (s) or project (p)",
        "  choose 1-2 or y or n (Enter: no answer): 1",
        "✓ Do something that needs permission",
        'perm:{"outcome":"selected","optionId":"yes"}',
        "",
    ]


@pytest.mark.requirement("V1-ELIC-09", "V1-ELIC-10")
def test_a_form_is_filled_in_and_reviewed_on_the_terminal() -> None:
    with run_in_terminal(*PARLEY, "run", "elicit") as shown:
        shown.until("demo agent asks for information:")
        shown.until("What is your name?")
        shown.until("name: ")
        shown.press("\r")
        shown.until("an answer is required")
        shown.until("name: ")
        shown.press("Ada\r")
        shown.until("1) name: Ada")
        shown.until("n to decline")
        shown.press("1\r")
        shown.until("name [Ada]: ")
        shown.press("Grace\r")
        shown.until("(Enter cancels the question): ")
        shown.press("y\r")
        shown.until('elicit:{"action":"accept","content":{"name":"Grace"}}')
        assert shown.exit_code() == 0


@pytest.mark.requirement("V1-ELIC-09")
def test_a_form_is_declined_on_the_terminal() -> None:
    with run_in_terminal(*PARLEY, "run", "elicit") as shown:
        shown.until("name: ")
        shown.press("\x04")
        shown.until("(Enter cancels the question): ")
        shown.press("n\r")
        shown.until('elicit:{"action":"decline"}')
        assert shown.exit_code() == 0


# Ctrl-C


def test_ctrl_c_cancels_the_turn() -> None:
    with run_in_terminal(*PARLEY, "run", "slow") as shown:
        shown.until("waiting to be cancelled")
        shown.press("\x03")
        shown.until("cancelling; Ctrl-C again ends the agent\r\nstopped: cancelled\r\n")
        assert shown.exit_code() == 130


def test_ctrl_c_ends_a_question_too() -> None:
    with run_in_terminal(*PARLEY, "run", "perm") as shown:
        shown.until("(Enter: no answer): ")
        shown.press("\x03")
        shown.until("stopped: cancelled")
        assert shown.exit_code() == 130


def test_a_second_ctrl_c_kills_an_agent_that_does_not_stop(tmp_path: Path) -> None:
    script = scripted(tmp_path, *opening(), chunk("Busy."), Expect({"method": "never"}, skips=True))
    stubborn = f"trap '' TERM; echo $$ > {tmp_path}/pid; {script}; while :; do sleep 1; done"
    agent = shlex.join(["sh", "-c", stubborn])
    with run_in_terminal(*PARLEY, "run", "Go", "-a", agent) as shown:
        shown.until("Busy.")
        pid = int((tmp_path / "pid").read_text())
        shown.press("\x03")
        shown.until("cancelling")
        shown.press("\x03")
        shown.until("\r\nparley: ended\r\n")
        assert shown.exit_code() == 130
    until_gone(pid)


def until_gone(group: int) -> None:
    """Wait until nothing is left of a process group; nobody is told when that is."""
    end = time.monotonic() + BOUND_SECONDS
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError(f"the group {group} is still there")


def test_ctrl_c_before_there_is_a_turn_ends_it(tmp_path: Path) -> None:
    agent = scripted(tmp_path, Expect({"method": "initialize"}), Stderr("asked"), Expect({}))
    with run_in_terminal(*PARLEY, "run", "Go", "-v", "-a", agent) as shown:
        shown.until("asked")
        shown.press("\x03")
        shown.until("\r\nparley: ending the agent; Ctrl-C again kills it\r\n")
        assert shown.exit_code() == 130


@pytest.mark.parametrize("answers_given", [0, 1])
def test_a_second_ctrl_c_before_there_is_a_turn_kills_the_agent(
    tmp_path: Path, answers_given: int
) -> None:
    begin = opening()[:3] if answers_given else []
    script = scripted(tmp_path, *begin, Stderr("busy"), Expect({"method": "never"}, skips=True))
    stubborn = f"trap '' TERM; echo $$ > {tmp_path}/pid; {script}; while :; do sleep 1; done"
    with run_in_terminal(
        *PARLEY, "run", "Go", "-v", "-a", shlex.join(["sh", "-c", stubborn])
    ) as shown:
        shown.until("busy")
        pid = int((tmp_path / "pid").read_text())
        shown.press("\x03")
        shown.until("the other side closed")
        shown.press("\x03")
        assert shown.exit_code() == 130
    until_gone(pid)


# Inert


@pytest.mark.requirement("SAFE-REACH-08")
def test_nothing_that_an_agent_sends_controls_the_terminal(tmp_path: Path) -> None:
    options = [{"optionId": "o", "name": f"Yes{TRAP}", "kind": "allow_once"}]
    call = {
        "toolCallId": "c",
        "title": f"Tool{TRAP}",
        "kind": "edit",
        "rawInput": {"command": TRAP},
        "locations": [{"path": f"/w/{TRAP}"}],
    }
    entry = {"content": f"Step{TRAP}", "priority": "low", "status": "pending"}
    shown_text = {"type": "content", "content": {"type": "text", "text": f"Shown{TRAP}"}}
    diff = {"type": "diff", "path": f"/w/{TRAP}", "oldText": "", "newText": f"New{TRAP}\n"}
    command = {"name": f"go{TRAP}", "description": TRAP}
    request = {"sessionId": "s", "toolCall": call, "options": options}
    agent = scripted(
        tmp_path,
        *opening(),
        SendBytes(f"Noise{TRAP}\n".encode()),
        chunk(f"Said{TRAP}"),
        update(
            sessionUpdate="agent_thought_chunk",
            content={"type": "text", "text": f"Thought{TRAP}"},
        ),
        update(sessionUpdate="plan", entries=[entry]),
        update(sessionUpdate="tool_call", **call),
        update(sessionUpdate="available_commands_update", availableCommands=[command]),
        Send({"id": 7, "method": "session/request_permission", "params": request}),
        Expect({"id": 7}),
        update(
            sessionUpdate="tool_call_update",
            toolCallId="c",
            status="completed",
            content=[shown_text, diff],
        ),
        update(sessionUpdate=f"_{TRAP}"),
        RespondWithError({"code": 1, "message": f"Error{TRAP}", "data": TRAP}, to="prompt"),
    )
    with run_in_terminal(*PARLEY, "run", "Go", "-a", agent) as shown:
        shown.until("(Enter: no answer): ")
        shown.press("y\r")
        assert shown.exit_code() == 1
    text = shown.output
    for word in ("Said", "Thought", "Step", "Tool", "Yes", "Shown", "New", "Error"):
        assert f"{word}␛]52;c;QQ==␇␛[2J␛[6n�" in text, word
    controls = {each for each in text if ord(each) < 32 or 127 <= ord(each) < 160}
    assert controls <= {"\n", "\r", "\t"}
    assert "\u202e" not in text


def test_an_agent_at_a_terminal_says_what_it_is_and_serves() -> None:
    hello = str(Path(__file__).parents[2] / "examples" / "hello_agent.py")
    with run_in_terminal(sys.executable, hello) as shown:
        shown.until("this is an agent, which a program talks to over stdin and stdout; try ")
        shown.until(f"parley run Hello -a '{sys.executable} {hello}'\r\n")
        shown.press('{"jsonrpc":"2.0","id":1,"method":"initialize"}\r')
        shown.until('"code":-32602')
        shown.press("\x04")
        assert shown.exit_code() == 0


@pytest.mark.parametrize("command", [(), ("run",), ("demo",)])
def test_the_help_fits_into_80_columns(command: tuple[str, ...]) -> None:
    with run_in_terminal(*PARLEY, *command, "--help", env={"COLUMNS": "80"}) as shown:
        assert shown.exit_code() == 0
    assert max(map(len, shown.painted.decode().splitlines())) < 80


def test_the_demo_agent_does_not_talk_to_people() -> None:
    with run_in_terminal(*PARLEY, "demo") as shown:
        shown.until('try `parley run "help"`')
        assert shown.exit_code() == 2


# The progress line


IMPATIENT = """
import sys
from pathlib import Path
from parley.cli import display, main, progress_line

class Line(progress_line.ProgressLine):
    tries = 0

    def _show(self):  # as after a long silence, and once more
        super()._show()
        Line.tries += progress_line.is_stderr_held()
        if Line.tries == 2:
            Path(sys.argv[1]).touch()

progress_line.QUIET_SECONDS = 0.01
display.ProgressLine = Line
sys.exit(main(sys.argv[2:]))
"""
"""`parley` with an impatient progress line, and a file that says that it was held back."""


@pytest.mark.parametrize(
    ("prompt", "question", "key", "answer"),
    [
        ("perm", "  choose 1-2 or y or n (Enter: no answer): ", "1\r", "selected"),
        ("elicit", "name: ", "\x04", "Your answers"),
    ],
    ids=["permission", "form"],
)
def test_a_question_is_not_written_over_however_long_it_is_open(
    tmp_path: Path, prompt: str, question: str, key: str, answer: str
) -> None:
    path = tmp_path / "impatient.py"
    path.write_text(IMPATIENT)
    held = tmp_path / "held"
    with run_in_terminal(sys.executable, str(path), str(held), "run", prompt) as shown:
        shown.shows(question)
        before = shown.text
        end = time.monotonic() + BOUND_SECONDS
        while not held.exists():
            assert time.monotonic() < end
            shown.until_quiet(0.05)
        shown.until_quiet(0.05)
        assert shown.text == before
        assert shown.text.rstrip().endswith(question.rstrip())
        shown.press(key)
        shown.until(answer)
        if prompt == "perm":
            assert shown.exit_code() == 0
