"""`parley run` when something ends in the middle of a turn, and how the session is gone on with.

The middle is where the scripted model holds its answer: the agent has heard the beginning of it.
"""

from __future__ import annotations

import json
import os
import signal

import pytest

from .headless import Desk, every_agent, until
from .launch import KINDS
from .model import ANSWER, conversation

RAN = "Please RUN echo hi > ran.txt; and"
ALLOWED = ("--allow", "execute:echo hi > ran.txt")


def goes_on(desk: Desk, *options: str) -> None:
    """Assert that the session is gone on with, and that the agent knows what was said."""
    key = desk.record.key
    run = desk.run("And now?", *options, "--json")
    assert run.code == 0, run.err
    assert (run.events[0]["key"], run.events[0]["isResumed"]) == (key, True)
    assert run.events[-1]["text"].strip() == ANSWER
    assert (desk.record.key, desk.record.state) == (key, "idle")
    heard = [text for role, text in conversation(desk.model.asked[-1]) if role == "user"]
    assert [each for each in heard if RAN in each]
    assert heard[-1] == "And now?"
    said = [each.text for each in desk.transcript.messages if each.role == "user"]
    assert RAN in said[0]
    assert said[-1] == "And now?"


@every_agent
def test_ctrl_c_cancels_the_turn_and_the_named_session_goes_on(desk: Desk) -> None:
    begun = desk.hold(RAN, "--session", "fix", *ALLOWED)
    begun.send(signal.SIGINT)
    run = begun.finish()
    assert run.code == 130, run.err
    assert "parley: cancelling" in run.err
    assert (desk.work / "ran.txt").read_text() == "hi\n"
    assert (desk.record.name, desk.record.state) == ("fix", "idle")
    goes_on(desk, "--session", "fix")


@every_agent
def test_a_killed_client_leaves_a_session_that_goes_on(desk: Desk) -> None:
    begun = desk.hold(RAN, "--session", "fix", *ALLOWED)
    until(desk.journal.list, "the journal has the session")
    until(lambda: ANSWER.split()[0] in desk.transcript.text, "the journal has what was said")
    begun.send(signal.SIGKILL)
    assert begun.finish().code == -signal.SIGKILL
    if desk.kind.name == "fast-agent":
        desk.clear()  # it does not mind the end of its input, and nobody is left to end it
    until(lambda: not desk.alive(), "the agent has ended because its input has")

    (call,) = desk.transcript.tool_calls.values()
    assert (call.kind, call.status) == ("execute", "completed")
    assert [each["decision"] for each in desk.decisions][:1] == ["allow"]
    listed = json.loads(desk.parley("sessions", "list", "--json").out)
    assert [(each["name"], each["state"]) for each in listed] == [("fix", "interrupted")]
    goes_on(desk, "--session", desk.record.key)


@every_agent
def test_a_killed_agent_is_told_of_and_the_session_goes_on(desk: Desk) -> None:
    begun = desk.hold(RAN, *ALLOWED)
    os.killpg(begun.agent, signal.SIGKILL)
    run = begun.finish()
    assert run.code == 5
    *_, died, hint = run.err.splitlines()
    assert died.startswith("parley: peer: ")
    assert died.endswith(" was killed by signal 9")
    assert hint.endswith(f"resume with `parley run --session {desk.record.key} …`")
    assert desk.record.is_interrupted
    goes_on(desk, "--resume")


@pytest.mark.parametrize("kind", KINDS[3:], ids=["codex-v2"])
def test_a_turn_that_takes_too_long_is_cancelled(desk: Desk) -> None:
    run = desk.run("Please HOLD", "--timeout", "5")  # several times what codex needs to begin
    assert run.code == 124, run.err
    assert "of --timeout are over; resume with" in run.err
    assert desk.record.state == "idle"
