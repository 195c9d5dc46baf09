"""`parley agents`: names for agents, kept in the user's configuration, and tried."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parley.config import config_path
from parley.testing.scripted import Exit as Leave
from parley.testing.scripted import Expect, Respond, Stderr

from .command import PARLEY, TRAP, parley, scripted

DEMO = [*PARLEY, "demo"]


def configure(text: str) -> Path:
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text(text)
    return config_path()


def initialized(tmp_path: Path, **answer: Any) -> list[str]:
    """Return the command of an agent that answers initialize and waits."""
    info = answer.pop("agentInfo", {"name": "scripted", "version": "0"})
    told = {"protocolVersion": 1, "agentInfo": info, **answer}
    steps = (Expect({"method": "initialize"}), Respond(told), Expect({"method": "never"}))
    return shlex.split(scripted(tmp_path, *steps))


# The list


def test_a_reader_that_goes_away_ends_it_without_noise() -> None:
    configure("".join(f'[agents.a{i}]\ncommand = "{"x" * 500}"\n' for i in range(400)))
    command = shlex.join([*PARLEY, "agents", "list"])
    done = subprocess.run(
        ["sh", "-c", f"{command} | head -n 1"], capture_output=True, text=True, timeout=300
    )
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


# Adding and removing


def test_an_agent_is_added_tried_used_and_removed() -> None:
    done = parley("agents", "add", "mine", "--default", "--", *DEMO)
    assert done.returncode == 0, done.stderr
    assert "✓ Parley's demo agent" in done.stdout
    assert config_path().stat().st_mode & 0o777 == 0o600
    assert parley("agents", "list").stdout == f"* mine  {shlex.join(DEMO)}\n"
    assert parley("agents", "default").stdout == "mine\n"
    assert "✓ Parley's demo agent" in parley("agents", "test", "mine").stdout
    done = parley("agents", "remove", "mine")
    assert done.returncode == 0
    assert "it was the default" in done.stderr
    assert parley("agents", "list").stdout == ""


def test_one_that_does_not_answer_stays_and_the_exit_code_tells() -> None:
    done = parley("agents", "add", "gone", "--", "no-such-program-here")
    assert done.returncode == 5
    assert "it is saved, but could not be tried: no-such-program-here" in done.stderr
    assert "parley agents remove gone" in done.stderr
    assert "gone" in config_path().read_text()


def test_a_secret_is_referred_to_and_never_written_down(tmp_path: Path) -> None:
    words = ("agents", "add", "x", "--no-test")
    done = parley(*words, "--env", "MY_API_KEY=planted-marker", "--", "x")
    assert done.returncode == 2
    assert "refer to it with --env MY_API_KEY" in done.stderr
    assert "planted-marker" not in done.stderr
    seen = tmp_path / "seen"
    script = f"env > {seen}; exec {shlex.join(DEMO)}"
    given = {"MY_API_KEY": "planted-marker", "UNNAMED_SECRET": "another-marker"}
    named = ("--env", "MY_API_KEY", "--env", "COPY=$MY_API_KEY")
    done = parley("agents", "add", "x", *named, "--", "sh", "-c", script, env=given)
    assert done.returncode == 0, done.stderr
    assert "planted-marker" not in config_path().read_text() + done.stdout + done.stderr
    variables = seen.read_text().splitlines()
    assert "MY_API_KEY=planted-marker" in variables
    assert "COPY=planted-marker" in variables
    assert not [each for each in variables if "another-marker" in each]


# From the registry


def registry(tmp_path: Path, **distribution: Any) -> str:
    entry = {
        "id": "some-agent",
        "name": "Some Agent",
        "version": "1.2.3",
        "description": "It helps",
        "distribution": distribution,
    }
    path = tmp_path / "registry.json"
    path.write_text(json.dumps({"version": "1.0.0", "agents": [entry], "extensions": []}))
    return str(path)


@pytest.mark.requirement("TR-REG-10")
def test_a_listed_agent_is_pinned_and_tried(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    npx = tmp_path / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text(f'#!/bin/sh\necho "$@" > {seen}\nexec {shlex.join(DEMO)}\n')
    npx.chmod(0o755)
    package = {"package": "@some/agent", "args": ["--acp"], "env": {"MODE": "$HOME"}}
    path = f"{npx.parent}{os.pathsep}{os.environ['PATH']}"
    words = ("agents", "add", "some-agent", "--registry", registry(tmp_path, npx=package))
    done = parley(*words, env={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert "✓ Parley's demo agent" in done.stdout
    assert "parley: it gets MODE=$HOME\n" in done.stderr
    assert seen.read_text() == "--yes @some/agent@1.2.3 --acp\n"
    assert config_path().read_text() == (
        '[agents.some-agent]\ndescription = "It helps"\n'
        'command = ["npx", "--yes", "@some/agent@1.2.3", "--acp"]\nenv = { MODE = "$$HOME" }\n'
    )


# The trial


def test_what_an_agent_says_of_itself_is_shown_with_its_logins(tmp_path: Path) -> None:
    methods = [
        {"id": "key", "name": "With a key", "description": "Give a key"},
        {"id": "tty", "name": "In a terminal", "type": "terminal", "args": ["login"]},
    ]
    agent = initialized(
        tmp_path,
        agentCapabilities={"loadSession": True, "promptCapabilities": {"image": True}},
        authMethods=methods,
    )
    done = parley("agents", "test", "--", *agent)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("✓ scripted 0 answered in ")
    assert [line.split(maxsplit=1) for line in rest[1:4]] == [
        ["protocol", "version 1"],
        ["sessions", "new, load"],
        ["prompts", "text, images"],
    ]
    assert "  login        key: With a key" in rest
    assert "  login        tty: In a terminal (in a terminal)" in rest
    told = json.loads(parley("agents", "test", "--json", "--", *agent).stdout)
    assert told["agent"] == {"name": "scripted", "title": None, "version": "0"}
    assert told["protocol"] == 1
    assert {"load", "image", "mcp_stdio"} <= set(told["features"])
    assert told["authMethods"] == [
        {"type": "agent", "id": "key", "name": "With a key", "description": "Give a key"},
        {"type": "terminal", "id": "tty", "name": "In a terminal"},
    ]


def test_text_of_an_agent_is_inert(tmp_path: Path) -> None:
    agent = initialized(
        tmp_path,
        agentInfo={"name": TRAP, "title": f"A{TRAP}", "version": f"1{TRAP}"},
        authMethods=[{"id": f"i{TRAP}", "name": f"n{TRAP}"}],
    )
    for words in ((), ("--json",)):
        done = parley("agents", "test", *words, "--", *agent)
        assert done.returncode == 0, done.stderr
        for char in ("\x1b", "\x07", "\x9b", "\u202e"):
            assert char not in done.stdout


def test_a_trial_that_fails_has_an_exit_code_and_is_told_as_json(tmp_path: Path) -> None:
    agent = shlex.split(scripted(tmp_path, Stderr("no key\n"), Leave(3)))
    done = parley("agents", "test", "--json", "--", *agent)
    assert done.returncode == 5
    assert "no key" in done.stderr
    told = json.loads(done.stdout)
    assert told["error"]["code"] == 5
    assert "exited with code 3" in told["error"]["message"]


def test_without_a_name_the_default_agent_is_tried_else_the_demo_agent() -> None:
    assert "✓ Parley's demo agent" in parley("agents", "test").stdout
    configure('default_agent = "x"\n[agents.x]\ncommand = "no-such-program-here"\n')
    assert parley("agents", "test").returncode == 5


def test_a_configured_agent_is_not_tried_in_the_project_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    script = f"import os, runpy, sys; open({str(seen)!r}, 'w').write(os.getcwd())"
    configure(f'[agents.x]\ncommand = ["{sys.executable}", "-c", """{script}"""]\n')
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(tmp_path)
    assert parley("agents", "test", "x", env={"HOME": str(home)}).returncode == 5
    assert seen.read_text() == str(home)
