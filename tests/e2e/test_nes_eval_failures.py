"""`parley nes eval` where something is wrong: the agent, its model, the repository, the files."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.unit.nes.eval.made_repository import Repository
from tests.unit.nes.model.model_server import saying, scripted

from .command import parley

CALL = "x = old(1)\n"
FIRST = f"import os\n\n\n{CALL}y = 1\n{CALL}y = 2\n{CALL}"
SECOND = FIRST.replace("old", "new")
THIRD = SECOND.replace("new", "newer")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Two commits that change three lines in the same way."""
    made = Repository(tmp_path / "project")
    made.commit({"a.py": FIRST})
    made.commit({"a.py": SECOND}, "Use new")
    made.commit({"a.py": THIRD}, "Use newer")
    return made


def _agent(mode: str) -> str:
    return shlex.join([sys.executable, str(Path(__file__).parent / "nes_agent.py"), mode])


def _eval(repository: Repository, mode: str, *words: str) -> subprocess.CompletedProcess[str]:
    agent = ("-a", _agent(mode), "--settle", "0")
    return parley("nes", "eval", str(repository.folder), *agent, *words)


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("error", "{agent}: nes/suggest: out of ideas (-32603)"),
        ("slow", "it has not answered within 0.2 s"),
    ],
)
def test_an_agent_that_answers_nothing_has_no_figures(
    repository: Repository, mode: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    done = _eval(repository, mode, "--timeout", "0.2", "--json", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    fault = why.format(agent=_agent(mode))
    message = f"parley: the agent has not answered 6 of 6 questions as it should: {fault}\n"
    assert done.stderr == message
    assert {each["fault"] for each in json.loads(path.read_text())["outcomes"]} == {fault}


def test_an_agent_that_dies_is_started_again_and_that_is_told(repository: Repository) -> None:
    done = _eval(repository, "crash", "--timeout", "5")
    assert done.returncode == 0
    assert "2 commits" in done.stdout
    told = "`keys saved` lacks a part of 2 of 2 commits: "
    assert told in done.stderr
    assert "exited with code 3" in done.stderr


def test_nonsense_is_wrong_or_no_answer_and_never_an_end(
    repository: Repository, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    done = _eval(repository, "nonsense", "--order", "all", "--view", "all", "--json", str(path))
    assert done.returncode == 0
    assert "the agent has not answered " in done.stderr
    assert "it suggests a rename, which we do not offer to show" in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    outcomes = json.loads(path.read_text())["outcomes"]
    offers = [each["offers"][0] for each in outcomes if each["offers"]]
    assert {each["kind"] for each in offers} == {"edit", "jump"}
    assert not any(each["verdict"]["step"] or each["verdict"]["exact"] for each in offers)


def test_an_agent_that_makes_no_suggestions_is_refused_by_its_name(repository: Repository) -> None:
    done = _eval(repository, "none")
    assert (done.returncode, done.stdout) == (5, "")
    assert f"{_agent('none')} makes no suggestions" in done.stderr
    lost = parley("nes", "eval", str(repository.folder), "-a", "/nowhere/agent")
    assert lost.returncode == 5


@pytest.fixture
def nobody() -> Generator[str]:
    """An address at which nobody listens, and nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    ("predictor", "count", "has_table"), [("model", "6 of 6", False), ("both", "2 of 2", True)]
)
def test_a_model_that_does_not_answer_is_told(
    repository: Repository, nobody: str, predictor: str, count: str, has_table: bool
) -> None:
    model = ("--model-url", nobody, "--prompt-format", "chat", "--predictor", predictor)
    done = parley("nes", "eval", str(repository.folder), "--no-chain", *model)
    assert done.returncode == 1
    told = f"parley: the model has not answered {count} questions as it should: {nobody}"
    assert done.stderr.startswith(told)
    assert done.stderr.endswith("connection refused; is the server running?\n")
    assert done.stderr.count("\n") == 1
    assert ("P(step)" in done.stdout) is has_table


async def test_a_model_is_measured_with_its_key(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_NES_API_KEY", "sesame")
    async with scripted(saying("NO_EDIT")) as server:
        model = ("--model-url", server.url, "--prompt-format", "chat", "--predictor", "model")
        words = ("--commits", "1", "--no-chain", "--model-timeout", "30", "--timeout", "40")
        folder = str(repository.folder)
        done = await asyncio.to_thread(parley, "nes", "eval", folder, *model, *words)
        assert (done.returncode, done.stderr) == (0, "")
        assert "P(step)" in done.stdout
        assert [each.headers["authorization"] for each in server.requests] == ["Bearer sesame"] * 3


def test_without_commits_it_is_said_why(repository: Repository, tmp_path: Path) -> None:
    Repository(tmp_path / "empty")
    done = parley("nes", "eval", str(tmp_path / "empty"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "empty: there is no commit in this repository yet" in done.stderr
    url = repository.folder.as_uri()
    repository.git("clone", "-q", "--depth", "1", url, str(tmp_path / "shallow"))
    done = parley("nes", "eval", str(tmp_path / "shallow"))
    assert done.returncode == 2
    assert "most commits are not here: `git fetch --unshallow` gets them" in done.stderr


def test_a_repository_that_is_damaged_is_told_in_one_line(tmp_path: Path) -> None:
    made = Repository(tmp_path / "project")
    made.commit({"a.py": FIRST, "part/b.py": CALL}, date="2024-01-01T12:00:00Z")
    made.commit({"a.py": SECOND})
    lost = made.git("rev-parse", "HEAD:part")
    (made.folder / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    done = _eval(made, "", "--language", "python", "--since", "2024-06-01")
    assert (done.returncode, done.stdout) == (1, "")
    assert lost in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_git_there_are_no_commits(repository: Repository) -> None:
    done = parley("nes", "eval", str(repository.folder), env={"PATH": str(repository.folder)})
    assert done.returncode == 1
    assert "git is not installed, or not in PATH" in done.stderr


@pytest.mark.parametrize("flag", ["--json", "--plot"])
def test_what_cannot_be_written_is_told_before_anything_is_done(
    repository: Repository, flag: str, tmp_path: Path
) -> None:
    log, lost = tmp_path / "log", tmp_path / "nowhere" / "out.svg"
    done = _eval(repository, "", flag, str(lost), "--env", f"NES_LOG={log}")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{flag}: {str(lost)!r} cannot be written: {os.strerror(2)}" in done.stderr
    assert not log.exists()


def test_what_is_there_is_kept_until_there_is_something_new(
    repository: Repository, tmp_path: Path
) -> None:
    kept, new = tmp_path / "old.json", tmp_path / "new.svg"
    kept.write_text("old")
    done = _eval(repository, "none", "--json", str(kept), "--plot", str(new))
    assert done.returncode == 5
    assert kept.read_text() == "old"
    assert not new.exists()
