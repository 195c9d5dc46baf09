"""`parley doctor`: what is there, what each agent answers, what is wrong."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from parley.config import config_path
from parley.testing.scripted import Exit, Expect, Respond, Stderr

from .command import PARLEY, TRAP, parley, scripted


def configure(*agents: tuple[str, list[str]], more: str = "") -> None:
    tables = [f"[agents.{name}]\ncommand = {json.dumps(command)}\n" for name, command in agents]
    config_path().parent.mkdir(parents=True)
    config_path().write_text("\n".join([more, *tables]))
    config_path().chmod(0o600)
    config_path().parent.chmod(0o700)


def found(*words: str) -> dict[str, dict[str, Any]]:
    told = json.loads(parley("doctor", "--json", *words).stdout)
    return {each["subject"]: each for each in told["findings"]}


def test_where_nothing_is_wrong_it_says_what_is_there() -> None:
    done = parley("doctor")
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if line[:2] in ("✓ ", "· ", "! ", "✗ ")]
    marks = {line.split()[1]: line[0] for line in lines}
    assert marks["parley"] == marks["sqlite"] == marks["config"] == marks["state"] == "✓"
    assert "parley agents add" in done.stdout
    assert not config_path().parent.exists()


def test_each_agent_is_asked_and_one_that_fails_makes_it_fail(tmp_path: Path) -> None:
    dying = shlex.split(scripted(tmp_path, Stderr(f"no key{TRAP}\nbye\n"), Exit(3)))
    configure(("demo", [*PARLEY, "demo"]), ("dying", dying), ("gone", ["no-such-program-here"]))
    done = parley("doctor")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    demo = next(line for line in lines if line.startswith("✓ demo"))
    assert "Parley's demo agent" in demo
    assert "protocol 2, no logins" in demo
    at = next(number for number, line in enumerate(lines) if line.startswith("✗ dying"))
    assert "exited with code 3" in lines[at]
    assert "no key" in lines[at + 1]
    gone = next(number for number, line in enumerate(lines) if line.startswith("✗ gone"))
    assert "no-such-program-here was not found" in lines[gone]
    assert "→ Is it installed and on PATH?" in lines[gone + 1]
    for char in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert char not in done.stdout


def test_only_the_named_agents_are_asked_or_none() -> None:
    configure(("demo", [*PARLEY, "demo"]), ("gone", ["no-such-program-here"]))
    assert parley("doctor", "demo").returncode == 0
    assert parley("doctor", "--no-agents").returncode == 0
    assert "gone" not in found("demo")
    assert found("gone")["gone"]["state"] == "problem"
    assert "there is no agent 'nope'" in found("nope")["nope"]["text"]


def test_agents_are_asked_side_by_side(tmp_path: Path) -> None:
    # A pipe opens when both of its ends do: each answers only when the other is started too.
    os.mkfifo(tmp_path / "meeting")
    for name, mode in (("one", "r"), ("two", "w")):
        (tmp_path / f"{name}.py").write_text(
            f"from parley.cli import main; open({str(tmp_path / 'meeting')!r}, {mode!r}).close()\n"
            "main(['demo'])\n"
        )
    programs = [(name, [PARLEY[0], str(tmp_path / f"{name}.py")]) for name in ("one", "two")]
    configure(*programs)
    done = parley("doctor")
    assert done.returncode == 0, done.stdout


def test_a_broken_configuration_is_a_finding_and_starts_nothing(tmp_path: Path) -> None:
    configure(("x", ["touch", str(tmp_path / "started")]), more="unknown_key = 1\n")
    done = parley("doctor")
    assert done.returncode == 1
    assert "✗ config.toml" in done.stdout
    assert "unknown_key is not known" in done.stdout
    assert not (tmp_path / "started").exists()


def test_what_a_server_says_as_its_name_is_not_obeyed_in_json(tmp_path: Path) -> None:
    answer = {"protocolVersion": 1, "agentInfo": {"name": f"a{TRAP}", "version": "1"}}
    steps = (Expect({"method": "initialize"}), Respond(answer), Expect({"method": "never"}))
    configure(("x", shlex.split(scripted(tmp_path, *steps))))
    done = parley("doctor", "--json")
    assert done.returncode == 0
    for char in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert char not in done.stdout
