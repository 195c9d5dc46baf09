"""Turns with tools against agents that others wrote, and a client that others wrote against ours.

Versions 1 and 2 as the peer speaks them. The agents are steered by the scripted model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.peers import ACPX, CODEX, FAST_AGENT, OPENCODE, ROOT, Peer, node_environment

from .launch import codex, fast_agent, opencode
from .model import ANSWER, TEXT, serve_model
from .turn import take_turn

Find = Callable[[Peer], Path]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


def test_opencode_writes_a_file_through_us(find_peer: Find, tmp_path: Path, work: Path) -> None:
    program = find_peer(OPENCODE)
    with serve_model() as model:
        launch = opencode(program, tmp_path / "home", model.url)
        turn = take_turn(launch, work, f"Please WRITE {work}/hello.txt")
    assert turn.version == 1
    assert turn.end == "end_turn"
    assert turn.asked == ["permission", "write"]
    assert list(turn.tools.values()) == ["completed"]
    assert turn.said.strip() == ANSWER
    assert (work / "hello.txt").read_text() == TEXT


def test_opencode_is_offered_version_2_and_speaks_version_1(
    find_peer: Find, tmp_path: Path, work: Path
) -> None:
    program = find_peer(OPENCODE)
    with serve_model() as model:
        launch = opencode(program, tmp_path / "home", model.url)
        turn = take_turn(launch, work, "Please RUN echo hi > ran.txt;", version=2)
    assert (turn.version, turn.end) == (1, "end_turn")
    assert turn.asked == ["permission"]
    assert (work / "ran.txt").read_text() == "hi\n"


@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
def test_codex_runs_a_command_that_we_permit(
    find_peer: Find, tmp_path: Path, work: Path, version: int
) -> None:
    program = find_peer(CODEX)
    with serve_model() as model:
        launch = codex(program, tmp_path / "home", model.url)
        turn = take_turn(launch, work, "Please RUN echo hi > ran.txt;", version=version)
    assert (turn.version, turn.end) == (version, "end_turn")
    assert turn.asked == ["permission"]
    assert list(turn.tools.values()) == ["completed"]
    assert turn.said.endswith(ANSWER)
    assert (work / "ran.txt").read_text() == "hi\n"


@pytest.mark.parametrize("version", [1, 2], ids=["offered-v1", "offered-v2"])
def test_fast_agent_runs_a_command_in_our_terminal(
    find_peer: Find, tmp_path: Path, work: Path, version: int
) -> None:
    launch = fast_agent(find_peer(FAST_AGENT), tmp_path / "home")
    call = '***CALL_TOOL execute {"command":"echo hi"}'
    turn = take_turn(launch, work, call, version=version)
    assert (turn.version, turn.end) == (1, "end_turn")
    assert turn.asked == ["permission", "terminal"]
    assert list(turn.tools.values()) == ["completed"]
    assert turn.said.startswith("hi")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("flood 3", ["chunk 0", "chunk 1", "chunk 2"]),
        ("perm", ["perm:yes"]),
        ("fs {work}/notes.txt", ["read:two"]),
    ],
    ids=["stream", "permission", "file"],
)
def test_acpx_drives_our_agent(
    find_peer: Find, tmp_path: Path, work: Path, prompt: str, said: list[str]
) -> None:
    program = find_peer(ACPX)
    (work / "notes.txt").write_text("one\ntwo\nthree\n")
    done = _run_acpx(program, tmp_path, work, prompt.format(work=work))
    messages: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    updates = [each["params"]["update"] for each in messages if _is_update(each)]
    spoken = [each for each in updates if each["sessionUpdate"] == "agent_message_chunk"]
    assert [each["content"]["text"] for each in spoken] == said
    assert messages[-1]["result"] == {"stopReason": "end_turn"}
    assert done.returncode == 0


def test_acpx_learns_why_our_agent_refused(find_peer: Find, tmp_path: Path, work: Path) -> None:
    done = _run_acpx(find_peer(ACPX), tmp_path, work, "boom")
    error = json.loads(done.stdout.splitlines()[-1])["error"]
    assert error == {"code": -32050, "message": "It went off", "data": {"detail": 42}}
    assert done.returncode != 0


def _is_update(message: dict[str, Any]) -> bool:
    return message.get("method") == "session/update"


def _run_acpx(
    program: Path, home: Path, work: Path, prompt: str
) -> subprocess.CompletedProcess[str]:
    agent = f"{sys.executable} -m tests.interop.wire.agent_v1"
    options = ["--agent", agent, "--cwd", str(work), "--approve-all", "--format", "json"]
    env = {"HOME": str(home), "PATH": node_environment()["PATH"], "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [str(program), *options, "exec", prompt],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
