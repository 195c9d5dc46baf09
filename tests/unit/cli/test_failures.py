"""What a command says about an agent that has failed, and how it exits."""

from __future__ import annotations

import pytest

from parley.cli.failures import failure_of
from parley.cli.reporting import Exit
from parley.config import config_path
from parley.errors import AuthRequired, InternalError, ProcessExited

from .command_line import CommandLine

SILENT = ["sh", "-c", "read line; exit 0"]


def test_an_agent_that_died_behind_a_gateway_is_told_like_one_of_ours() -> None:
    data = {"gone": "demo", "exitCode": 3, "lastWords": "out of memory\n"}
    failure = failure_of(
        InternalError("demo exited with code 3", data), is_connected=True, log_hint="; run with -v"
    )
    assert failure.code is Exit.DIED
    assert str(failure) == "demo exited with code 3; stderr:\nout of memory"
    silent = InternalError("demo exited with code 3", {**data, "lastWords": ""})
    assert str(failure_of(silent, is_connected=True)) == "demo exited with code 3"


def test_what_an_agent_answers_itself_is_its_error() -> None:
    failure = failure_of(InternalError("no", {"gone": 1}), is_connected=True, log_hint="; look")
    assert failure.code is Exit.FAILED
    assert str(failure) == 'the agent returned an error: no (-32603): {"gone":1}; look'


@pytest.mark.parametrize("key", ["details", "message", "reason"])
def test_the_details_of_an_error_are_shown_with_it(key: str) -> None:
    shown = str(failure_of(InternalError("no", {key: "disk full"}), is_connected=True))
    assert shown == "the agent returned an error: no (-32603): disk full"
    login = failure_of(AuthRequired("log in", {key: "expired"}), is_connected=True, login_hint="!")
    assert str(login) == "log in: expired!"


def test_a_configured_agent_that_ends_at_once_is_not_called_the_wrong_command() -> None:
    ended = ProcessExited("agent", 0)
    mine = failure_of(ended, is_connected=False, is_configured=True, log_hint="; look at its log")
    assert str(mine) == (
        "agent exited with code 0\n"
        "parley: it ended before it responded to initialize; look at its log"
    )
    other = failure_of(ended, is_connected=False, log_hint="; look at its log")
    assert "is this the command that starts an agent?" in str(other)


def test_a_slow_agent_is_asked_about_only_if_it_is_not_configured(
    parley: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.conversation.conversation.SLOW_AFTER", 0.0)
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text(f"[agents.mine]\ncommand = {SILENT}\n")
    lines = parley("run", "Hi", "-a", "mine").stderr.splitlines()
    assert lines == [
        "parley: mine is slow to start: nothing for 0 seconds; run with -v to see its stderr; "
        "Ctrl-C ends it",
        "parley: mine: sh -c read line; exit 0 exited with code 0",
        "parley: it ended before it responded to initialize; run with -v to see what it logged",
    ]
    assert "-v" not in parley("run", "Hi", "-a", "mine", "-v").stderr
    unknown = parley("run", "Hi", "-a", "sh -c 'read line; exit 0'").stderr
    assert unknown.startswith("parley: it has not responded; is this the command that starts an")
