"""`parley nes eval`: a measure of any agent that suggests edits, over its stdin and stdout."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from tests.unit.nes.eval.made_repository import Repository

from .command import PARLEY, parley
from .terminal import run_in_terminal

WIDE = "\N{MATHEMATICAL SCRIPT CAPITAL X}"
"""A character that counts two in UTF-16."""
CALL = f'x = old("{WIDE}")\n'
FIRST = f"import os\n\n\n{CALL}y = 1\n{CALL}y = 2\n{CALL}"
SECOND = FIRST.replace("old", "new")
THIRD = SECOND.replace("new", "newer")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Two commits that change three lines in the same way."""
    made = Repository(tmp_path / "project")
    made.commit({"a.py": FIRST, "b.py": "z = 1\n"})
    made.commit({"a.py": SECOND}, "Use new")
    made.commit({"a.py": THIRD}, "Use newer")
    return made


def _agent(mode: str = "") -> str:
    path = Path(__file__).parent / "nes_agent.py"
    return shlex.join([sys.executable, str(path), *([mode] if mode else [])])


def _eval(repository: Repository, *words: str, mode: str = "") -> subprocess.CompletedProcess[str]:
    folder = str(repository.folder)
    return parley("nes", "eval", folder, "-a", _agent(mode), "--settle", "0", *words)


def _outcomes(path: Path) -> list[dict[str, Any]]:
    """Return what came of each instance, without what is never the same."""
    found: list[dict[str, Any]] = json.loads(path.read_text())["outcomes"]
    return [{name: each[name] for name in each if name != "milliseconds"} for each in found]


def test_an_agent_is_measured_over_its_pipes(repository: Repository) -> None:
    done = _eval(repository)
    assert (done.returncode, done.stderr) == (0, "")
    head, line = done.stdout.splitlines()[:2]
    assert head.split()[:4] == ["repository", "asked", "speaks", "P(step)"]
    assert line.split()[:2] == ["project", "6"]
    assert "66.7 (67..67)" in line
    assert "100.0 (100..100)" in line
    assert "2 commits, 4 instances with something left, 2 with nothing left" in done.stdout
    assert "memory of the agent" in done.stdout
    assert "Few commits (2): the intervals are wide or mean nothing" in done.stdout


def test_the_same_seed_gives_the_same_outcomes_whoever_works(
    repository: Repository, tmp_path: Path
) -> None:
    for name, jobs in (("one", "1"), ("two", "1"), ("three", "2")):
        done = _eval(repository, "--json", str(tmp_path / name), "--jobs", jobs, "--order", "all")
        assert done.returncode == 0
    first = _outcomes(tmp_path / "one")
    assert len(first) == 18
    assert first == _outcomes(tmp_path / "two")
    assert first == _outcomes(tmp_path / "three")


def test_json_has_the_figures_and_what_is_needed_to_do_it_again(
    repository: Repository, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    _eval(repository, "--json", str(path), "--set", "nes_aggressiveness=quiet")
    told = json.loads(path.read_text())
    (project,) = told["repositories"]
    assert project["tip"] == repository.git("rev-parse", "HEAD")
    assert len(project["commits"]) == 2
    settings = told["settings"]
    assert settings["set"] == ["nes_aggressiveness=quiet"]
    assert (settings["timeout"], settings["settle"], settings["no_chain"]) == (10.0, 0.0, False)
    assert told["isWhole"] is True
    (row,) = told["figures"]
    assert row["figures"]["rates"]["exact"]["value"] == 1.0
    assert row["figures"]["rates"]["saved"]["value"] > 0.5
    assert told["outcomes"][0]["offers"][0]["rule"] == "quiet"
    assert [each["shown"] for each in told["curves"][0]["points"]] == [4]
    assert told["peakBytes"] > 0


def test_a_plot_is_drawn(repository: Repository, tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    assert _eval(repository, "--plot", str(path)).returncode == 0
    picture = ET.fromstring(path.read_text(encoding="utf-8"))
    assert "Next edit suggestions on project" in "".join(picture.itertext())


def test_several_repositories_have_a_line_each_and_one_together(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "copy.git"))
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "other" / "project.git"))
    plot, copy = tmp_path / "plot.svg", str(tmp_path / "copy.git")
    words = ("-a", _agent(), "--settle", "0", "--no-chain")
    done = parley("nes", "eval", str(repository.folder), copy, *words, "--plot", str(plot))
    assert done.returncode == 0
    rows = [line.split()[:2] for line in done.stdout.splitlines()[1:4]]
    assert rows == [["copy", "6"], ["project", "6"], ["together", "12"]]
    assert "Few commits (copy 2, project 2)" in done.stdout
    drawn = ET.fromstring(plot.read_text(encoding="utf-8"))
    texts = ["".join(each.itertext()) for each in drawn]
    assert texts[-5::2] == ["together", "copy", "project"]
    same = str(tmp_path / "other" / "project.git")
    done = parley("nes", "eval", str(repository.folder), same, *words, "--commits", "1")
    names = [line.split()[0] for line in done.stdout.splitlines()[1:4]]
    assert names == [same, str(repository.folder), "together"]


def test_of_a_folder_in_a_repository_its_changes_are_replayed(tmp_path: Path) -> None:
    made = Repository(tmp_path / "project")
    made.commit({"a.py": FIRST, "in/b.py": FIRST})
    made.commit({"a.py": SECOND, "in/b.py": SECOND}, "Use new")
    path = tmp_path / "out.json"
    words = ("--json", str(path), "--settle", "0", "-a", _agent())
    done = parley("nes", "eval", str(made.folder / "in"), *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert {each["path"] for each in _outcomes(path)} == {"in/b.py"}
    assert len(_outcomes(path)) == 3


@pytest.fixture
def worked(tmp_path: Path) -> Repository:
    """A commit that renames a function and its calls, and one that logs in another way."""
    names = ("fetch", "parse", "check", "store")
    steps = [
        f"def {name}_all(files):\n    log.debug({name!r})\n    {name}(files)\n" for name in names
    ]
    calls = "".join(f"total += {name}_all(load())\nprint(total)\n" for name in names)
    first = "import log\nfrom disk import load\n\n\n" + "\n\n".join(steps) + "\n\n" + calls
    made = Repository(tmp_path / "worked")
    made.commit({"work.py": first, "disk.py": "def load():\n    return []\n"})
    second = first.replace("log.debug", "log.info")
    made.commit({"work.py": second}, "Say more")
    third = second.replace("load", "read_files")
    disk = "def read_files():\n    return []\n"
    made.commit({"work.py": third, "disk.py": disk}, "Name what is read")
    return made


def test_our_own_agent_is_measured_where_none_is_named(worked: Repository, tmp_path: Path) -> None:
    json_file, plot = tmp_path / "out.json", tmp_path / "plot.svg"
    words = ("--json", str(json_file), "--plot", str(plot), "--seed", "7")
    done = parley("nes", "eval", str(worked.folder), *words)
    assert (done.returncode, done.stderr) == (0, "")  # which is no terminal, and has no bar
    assert "2 commits" in done.stdout
    told = json.loads(json_file.read_text())
    assert told["settings"]["seed"] == 7
    rates = told["figures"][0]["figures"]["rates"]
    assert rates["speaks"]["value"] > 0
    assert rates["exact"]["value"] > 0.5
    assert {each["offers"][0]["rule"] for each in told["outcomes"] if each["offers"]}
    assert "how often it is right then" in "".join(
        ET.fromstring(plot.read_text(encoding="utf-8")).itertext()
    )
    again = tmp_path / "again.json"
    parley("nes", "eval", str(worked.folder), "--json", str(again), "--seed", "7")
    moments = [(each["commit"], each["made"]) for each in _outcomes(json_file)]
    assert moments == [(each["commit"], each["made"]) for each in _outcomes(again)]


def test_a_terminal_is_shown_how_far_it_is(repository: Repository) -> None:
    command = [*PARLEY, "nes", "eval", str(repository.folder), "-a", _agent(), "--settle", "0"]
    with run_in_terminal(*command, columns=100) as shown:
        shown.until("░ 0/2 commits")
        shown.until("█ 2/2 commits")
        shown.until("\x1b[K")  # and it makes room
        shown.until("P(step)")
        assert shown.exit_code() == 0
        assert "2/2" not in shown.text


def test_what_an_agent_writes_is_shown_if_it_is_wanted_or_nothing_is_suggested(
    repository: Repository,
) -> None:
    quiet = _eval(repository, mode="mutter")
    assert (
        quiet.stderr == "parley: no suggestions; the agent's stderr ends with: hm, \u241b[31mno\n"
    )
    loud = _eval(repository, "-v", "--no-chain", mode="mutter")
    assert loud.stderr.count("let me see") == 6
    assert "stderr ends with" not in loud.stderr


def test_an_option_that_the_agent_does_not_take_ends_it(worked: Repository) -> None:
    for option, why in (
        ("nes_aggressiveness=loud", "no such value; use one of default, eager, quiet"),
        ("volume=9", "no option 'volume'"),
    ):
        done = parley("nes", "eval", str(worked.folder), "--set", option, "--commits", "1")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"the agent does not take {option}: " in done.stderr
        assert why in done.stderr


def test_an_agent_hears_what_it_asked_for_and_nothing_of_what_is_to_come(
    repository: Repository, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    _eval(repository, "--env", f"NES_LOG={log}", "--no-chain", "--commits", "1")
    heard = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    once = ["document/didChange", "nes/suggest", "nes/reject"]
    assert [each["method"] for each in heard] == [
        "initialize",
        "nes/start",
        "document/didOpen",
        "document/didFocus",
        *once,
        *once,
        *once[:2],
        "nes/close",
    ]
    changed = [each["params"] for each in heard if each["method"] == "document/didChange"]
    assert [each["version"] for each in changed] == [2, 3, 4]
    assert changed[0]["contentChanges"][0]["range"]["start"] == {"line": 3, "character": 0}
    asked = [each["params"] for each in heard if each["method"] == "nes/suggest"]
    last = len(changed[0]["contentChanges"][0]["text"])  # without its end, but X counts two
    assert asked[0]["position"] == {"line": 3, "character": last}
    assert list(asked[0]["context"]) == ["editHistory"]
    assert [len(each["context"]["editHistory"]) for each in asked] == [1, 2, 2]
    assert not list(
        Path(heard[1]["params"]["workspaceUri"].removeprefix("file://")).parent.glob("a.py")
    )


def test_jumps_are_told_apart(repository: Repository) -> None:
    lines = _eval(repository, mode="jump").stdout.splitlines()
    assert [line.split()[1] for line in lines[1:4]] == ["all", "edits", "jumps"]
    assert lines[3].split()[3:6] == ["66.7", "(67..67)", "100.0"]
    alone = _eval(repository, "--kinds", "edit").stdout.splitlines()
    assert alone[0].split()[1] == "asked"


def test_nothing_is_longer_than_the_terminal_is_wide(repository: Repository) -> None:
    command = [*PARLEY, "nes", "eval", str(repository.folder), "-a", _agent(), "--settle", "0"]
    with run_in_terminal(*command, columns=70) as shown:
        shown.until("memory of the agent")
        assert shown.exit_code() == 0
    lines = re.split(r"\r?\n|\r\x1b\[K", shown.painted.decode())
    assert max(map(len, lines)) <= 70
    assert any(re.match(r"speaks +66\.7 \(67\.\.67\)$", line) for line in lines)
    assert any(line.startswith("█") for line in lines)


def test_ctrl_c_leaves_the_figures_so_far(repository: Repository) -> None:
    words = ["--no-chain", "--settle", "0", "--timeout", "60"]
    command = [*PARLEY, "nes", "eval", str(repository.folder), "-a", _agent("hang"), *words]
    with run_in_terminal(*command, columns=100) as shown:
        shown.until("1/2 commits")
        shown.press("\x03")
        shown.until("P(step)")
        shown.until("1 commit, 2 instances")
        shown.until("stopped after 1 of 2 commits")
        assert shown.exit_code() == 130
