"""acpx, a client that others wrote, drives the demo agent; it speaks version 1."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from tests.peers import ACPX, Peer, node_environment

BOUND_SECONDS = 300.0


class Talk(Struct):
    """What acpx said and was told."""

    code: int
    messages: list[Any]

    @property
    def updates(self) -> list[Any]:
        notes = [each for each in self.messages if each.get("method") == "session/update"]
        return [each["params"]["update"] for each in notes]

    @property
    def said(self) -> list[str]:
        """What the agent said, chunk by chunk."""
        kind = "agent_message_chunk"
        return [each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind]


@pytest.fixture
def talk(find_peer: Callable[[Peer], Path], tmp_path: Path) -> Callable[..., Talk]:
    """Return a function that has acpx prompt the demo agent in the directory of the test."""
    program = find_peer(ACPX)
    agent = shlex.join([sys.executable, "-m", "parley", "demo"])
    env = {**os.environ, "HOME": str(tmp_path), "PATH": node_environment()["PATH"]}

    def run(prompt: str, permission: str = "--approve-all") -> Talk:
        options = ["--agent", agent, "--cwd", str(tmp_path), permission, "--format", "json"]
        done = subprocess.run(
            [str(program), *options, "exec", prompt],
            env=env,
            capture_output=True,
            text=True,
            timeout=BOUND_SECONDS,
            check=False,
        )
        return Talk(done.returncode, [json.loads(line) for line in done.stdout.splitlines()])

    return run


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("hello", ["echo: hello"]),
        ("flood 3", ["chunk 0", "chunk 1", "chunk 2"]),
        ("perm", ['perm:{"outcome":"selected","optionId":"yes"}']),
        ("term", ["term:0:hi\n"]),
        ("plan", ["plan:done"]),
        ("elicit", ["elicit: the client does not support forms (capability elicitation.form)"]),
    ],
)
def test_acpx_drives_the_demo_agent(
    talk: Callable[..., Talk], prompt: str, said: list[str]
) -> None:
    talked = talk(prompt)
    assert talked.said == said
    assert talked.messages[-1]["result"] == {"stopReason": "end_turn"}
    assert talked.code == 0


def test_acpx_can_refuse_what_the_demo_agent_asks_for(talk: Callable[..., Talk]) -> None:
    talked = talk("perm", "--deny-all")
    assert talked.said == ['perm:{"outcome":"selected","optionId":"no"}']
    assert [each["status"] for each in talked.updates if "status" in each][-1] == "failed"


def test_acpx_reads_and_writes_files_for_the_demo_agent(
    talk: Callable[..., Talk], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("two\n")
    assert talk("fs notes.txt").said == ["read:two\n"]
    assert (tmp_path / "notes.txt.out").read_text() == "TWO\n"


def test_acpx_shows_the_tool_calls_of_the_demo_agent(talk: Callable[..., Talk]) -> None:
    talked = talk("tool")
    call, *changes, message = talked.updates
    assert (call["title"], call["status"]) == ("Count to three", "in_progress")
    assert {each["toolCallId"] for each in changes} == {call["toolCallId"]}
    assert changes[-1]["status"] == "completed"
    assert message["content"]["text"] == "tool:done"


def test_acpx_learns_why_the_demo_agent_failed(talk: Callable[..., Talk]) -> None:
    talked = talk("boom")
    error = {"code": -32050, "message": "Boom", "data": {"detail": 42}}
    assert talked.messages[-1]["error"] == error
    assert talked.code != 0
