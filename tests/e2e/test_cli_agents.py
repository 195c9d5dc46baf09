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


def test_without_a_configuration_it_says_how_to_add_one() -> None:
    done = parley("agents")
    assert (done.returncode, done.stdout) == (0, "")
    assert "parley agents add opencode --default -- opencode acp" in done.stderr
    assert not config_path().exists()


def test_the_list_has_names_commands_and_the_default_and_starts_nothing(tmp_path: Path) -> None:
    started = tmp_path / "started"
    configure(
        f'default_agent = "b"\n[agents.a]\ncommand = ["touch", "{started}"]\n'
        '[agents.b]\ncommand = "b --acp"\ndescription = "The second"\n'
        'env = { SOME_KEY = "planted-marker", OTHER = "$NOT_SET_ANYWHERE" }\n'
    )
    done = parley("agents", "list")
    assert done.stdout.splitlines() == [
        f"  a  touch {started}",
        "* b  b --acp",
        "     The second",
    ]
    told = json.loads(parley("agents", "list", "--json").stdout)
    assert told[1] == {
        "name": "b",
        "command": ["b", "--acp"],
        "url": None,
        "description": "The second",
        "env": ["OTHER", "SOME_KEY"],
        "inherit": [],
        "protocol": None,
        "default": True,
        "source": str(config_path()),
    }
    assert "planted-marker" not in str(told)
    assert not started.exists()


def test_a_broken_configuration_is_told_in_one_sentence() -> None:
    path = configure("[agents.x]\ncomand = 'x'\n")
    done = parley("agents")
    assert done.returncode == 1
    told = f"parley: {path}: agents.x.comand is not known; did you mean command?\n"
    assert done.stderr == told


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


def test_options_may_stand_on_both_sides_of_the_name() -> None:
    words = ["add", "--description", "The first", "a", "--env", "KEY=1", "--no-test"]
    assert parley("agents", *words, "--", "x", "--default", "--", "-v").returncode == 0
    assert config_path().read_text() == (
        '[agents.a]\ndescription = "The first"\ncommand = ["x", "--default", "--", "-v"]\n'
        'env = { KEY = "1" }\n'
    )
    assert parley("agents", "default").returncode == 1
    assert parley("agents", "default", "a").returncode == 0
    assert parley("agents", "default").stdout == "a\n"


def test_one_that_does_not_answer_stays_and_the_exit_code_tells() -> None:
    done = parley("agents", "add", "gone", "--", "no-such-program-here")
    assert done.returncode == 5
    assert "it is written down, but could not be tried: no-such-program-here" in done.stderr
    assert "parley agents remove gone" in done.stderr
    assert "gone" in config_path().read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add", "x"], "say how to start it: `parley agents add x -- COMMAND …`"),
        (["add", "x", "--registry", "r.json", "--", "y"], "say how to start it"),
        (["add", "x", "--env", "=1", "--", "y"], "--env: '' is no name of a variable"),
        (["add", "a b", "--no-test", "--", "y"], "'a b' cannot be the name of an agent"),
        (["remove", "x"], "there is no agent 'x'"),
        (["default", "x"], "there is no agent 'x'"),
        (["frob"], "invalid choice: 'frob'"),
        (["list", "--", "x"], "nothing is taken behind --"),
        (["test", "x", "--", "y"], "give a name or a command, not both"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_sentence(words: list[str], told: str) -> None:
    done = parley("agents", *words)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not config_path().exists()


def test_a_secret_is_referred_to_and_never_written_down(tmp_path: Path) -> None:
    words = ("agents", "add", "x", "--no-test")
    done = parley(*words, "--env", "MY_API_KEY=planted-marker", "--", "x")
    assert done.returncode == 2
    assert "refer to it, as in --env MY_API_KEY" in done.stderr
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


def test_a_variable_that_is_not_set_is_named_when_the_agent_is_started() -> None:
    configure('[agents.x]\ncommand = "x"\nenv = { A = "$NOT_SET_ANYWHERE" }\n')
    assert parley("agents", "list").returncode == 0
    done = parley("agents", "test", "x")
    assert done.returncode == 2
    assert "agents.x.env.A refers to $NOT_SET_ANYWHERE, which is not set" in done.stderr


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


def test_what_the_registry_lacks_or_only_has_as_a_binary_is_told(tmp_path: Path) -> None:
    path = registry(tmp_path, binary={"linux-x86_64": {"archive": "https://a", "cmd": "./a"}})
    done = parley("agents", "add", "some-agent", "--registry", path)
    assert done.returncode == 1
    assert "is a program to download" in done.stderr
    done = parley("agents", "add", "some-agnt", "--registry", path)
    assert "there is no agent 'some-agnt'" in done.stderr
    assert not config_path().exists()


@pytest.mark.requirement("SAFE-USER-03")
def test_a_listed_agent_with_dangerous_variables_is_refused(tmp_path: Path) -> None:
    package = {"package": "some-agent", "env": {"NODE_OPTIONS": "-r ./x.js", "MODE": "1"}}
    done = parley(
        "agents", "add", "some-agent", "--registry", registry(tmp_path, npx=package), "--no-test"
    )
    assert done.returncode == 1
    assert "some-agent is refused: it sets 'NODE_OPTIONS', with which" in done.stderr
    assert not config_path().exists()


def test_a_registry_that_lists_an_id_twice_is_refused(tmp_path: Path) -> None:
    path = Path(registry(tmp_path, npx={"package": "some-agent"}))
    index = json.loads(path.read_text())
    index["agents"].append({**index["agents"][0], "distribution": {"npx": {"package": "evil"}}})
    path.write_text(json.dumps(index))
    done = parley("agents", "add", "some-agent", "--registry", str(path), "--no-test")
    assert done.returncode == 1
    assert "is refused: it lists 'some-agent' more than once" in done.stderr
    assert not config_path().exists()


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


def test_help_has_examples() -> None:
    for words in ([], ["add"], ["test"]):
        done = parley("agents", *words, "--help")
        assert done.returncode == 0
        assert "examples:\n  parley agents " in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
