"""What a command says about an agent that has failed, and how it exits."""

from __future__ import annotations

import pytest

from parley.cli.failures import failure_of
from parley.cli.reporting import Exit
from parley.errors import AuthRequired, InternalError


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
