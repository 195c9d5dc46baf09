"""`parley agents` where no agent is started: names in the user's configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parley.config import config_path

from .command_line import CommandLine


def configure(text: str) -> Path:
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text(text)
    return config_path()


# The list


def test_without_a_configuration_it_says_how_to_add_one(parley: CommandLine) -> None:
    done = parley("agents")
    assert (done.returncode, done.stdout) == (0, "")
    assert "parley agents add opencode --default -- opencode acp" in done.stderr
    assert not config_path().exists()


def test_the_list_has_names_commands_and_the_default_and_starts_nothing(
    parley: CommandLine, tmp_path: Path
) -> None:
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


def test_a_broken_configuration_is_told_in_one_sentence(parley: CommandLine) -> None:
    path = configure("[agents.x]\ncomand = 'x'\n")
    done = parley("agents")
    assert done.returncode == 1
    told = f"parley: {path}: agents.x.comand is not known; did you mean command?\n"
    assert done.stderr == told


# Adding


def test_options_may_stand_on_both_sides_of_the_name(parley: CommandLine) -> None:
    words = ["add", "--description", "The first", "a", "--env", "KEY=1", "--no-test"]
    assert parley("agents", *words, "--", "x", "--default", "--", "-v").returncode == 0
    assert config_path().read_text() == (
        '[agents.a]\ndescription = "The first"\ncommand = ["x", "--default", "--", "-v"]\n'
        'env = { KEY = "1" }\n'
    )
    assert parley("agents", "default").returncode == 1
    assert parley("agents", "default", "a").returncode == 0
    assert parley("agents", "default").stdout == "a\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add", "x"], "say how to start it: `parley agents add x -- COMMAND …`"),
        (["add", "x", "--registry", "r.json", "--", "y"], "say how to start it"),
        (["add", "x", "--env", "=1", "--", "y"], "--env: '' is not a valid variable name"),
        (["add", "a b", "--no-test", "--", "y"], "'a b' cannot be the name of an agent"),
        (["remove", "x"], "there is no agent 'x'"),
        (["default", "x"], "there is no agent 'x'"),
        (["frob"], "invalid choice: 'frob'"),
        (["list", "--", "x"], "unexpected arguments after --"),
        (["test", "x", "--", "y"], "give a name or a command, not both"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_sentence(
    parley: CommandLine, words: list[str], told: str
) -> None:
    done = parley("agents", *words)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not config_path().exists()


def test_a_variable_that_is_not_set_is_named_when_the_agent_is_started(parley: CommandLine) -> None:
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


def test_what_the_registry_lacks_or_only_has_as_a_binary_is_told(
    parley: CommandLine, tmp_path: Path
) -> None:
    path = registry(tmp_path, binary={"linux-x86_64": {"archive": "https://a", "cmd": "./a"}})
    done = parley("agents", "add", "some-agent", "--registry", path)
    assert done.returncode == 1
    assert "is a program to download" in done.stderr
    done = parley("agents", "add", "some-agnt", "--registry", path)
    assert "there is no agent 'some-agnt'" in done.stderr
    assert not config_path().exists()


@pytest.mark.requirement("SAFE-USER-03")
def test_a_listed_agent_with_dangerous_variables_is_refused(
    parley: CommandLine, tmp_path: Path
) -> None:
    package = {"package": "some-agent", "env": {"NODE_OPTIONS": "-r ./x.js", "MODE": "1"}}
    done = parley(
        "agents", "add", "some-agent", "--registry", registry(tmp_path, npx=package), "--no-test"
    )
    assert done.returncode == 1
    assert "some-agent is refused: it sets 'NODE_OPTIONS', with which" in done.stderr
    assert not config_path().exists()


def test_a_registry_that_lists_an_id_twice_is_refused(parley: CommandLine, tmp_path: Path) -> None:
    path = Path(registry(tmp_path, npx={"package": "some-agent"}))
    index = json.loads(path.read_text())
    index["agents"].append({**index["agents"][0], "distribution": {"npx": {"package": "evil"}}})
    path.write_text(json.dumps(index))
    done = parley("agents", "add", "some-agent", "--registry", str(path), "--no-test")
    assert done.returncode == 1
    assert "is refused: it lists 'some-agent' more than once" in done.stderr
    assert not config_path().exists()


def test_help_has_examples(parley: CommandLine) -> None:
    for words in ([], ["add"], ["test"]):
        done = parley("agents", *words, "--help")
        assert done.returncode == 0
        assert "examples:\n  parley agents " in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
