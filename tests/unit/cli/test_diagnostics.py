"""What `parley doctor` finds in the user's places."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from parley._user_dirs import config_dir, private_dir, state_dir
from parley.cli import diagnostics
from parley.cli.diagnostics import Finding
from parley.config import Config, config_path
from parley.config._entries import AgentEntry


def configure(text: str) -> Path:
    private_dir(config_dir())
    config_path().write_text(text)
    config_path().chmod(0o600)
    return config_path()


def found(text: str) -> list[Finding]:
    configure(text)
    return diagnostics.configuration()[1]


def test_what_is_not_there_yet_is_no_problem_and_is_not_made() -> None:
    assert {each.state for each in diagnostics.places()} == {"ok"}
    assert diagnostics.configuration() == (Config(path=config_path()), [])
    assert [each.text for each in diagnostics.journal()] == ["empty"]
    assert [each.state for each in diagnostics.policy()] == ["ok"]
    assert not config_dir().exists()
    assert not state_dir().exists()


def test_directories_that_others_may_write_to_are_problems() -> None:
    for each in (config_dir(), state_dir()):
        private_dir(each).chmod(0o777)
    assert [(each.state, each.hint) for each in diagnostics.places()] == [
        ("problem", f"chmod go-w {config_dir()}"),
        ("problem", f"chmod go-w {state_dir()}"),
    ]


def test_that_others_may_read_the_history_is_a_warning() -> None:
    private_dir(config_dir()).chmod(0o755)
    private_dir(state_dir()).chmod(0o755)
    assert [each.state for each in diagnostics.places()] == ["ok", "warning"]


def test_a_file_in_the_place_of_a_directory_is_a_problem() -> None:
    config_dir().parent.mkdir(parents=True)
    config_dir().write_text("")
    problem = next(iter(diagnostics.places()))
    assert (problem.state, problem.subject) == ("problem", "config")


def test_one_command_installs_all_missing_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name in ("textual", "mcp"):
            return "1.0"
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    [summary] = [each for each in diagnostics.installed() if each.subject == "extras"]
    assert summary.text == "5 are not installed"
    assert summary.hint == "pip install 'parley-acp[all]' installs them"


def test_a_configuration_that_others_may_write_to_is_a_problem() -> None:
    configure("").chmod(0o666)
    [problem] = diagnostics.configuration()[1]
    assert problem.state == "problem"
    assert "config.toml is refused, since it decides what runs as you: others may" in problem.text


def test_a_configuration_that_cannot_be_read_is_a_problem() -> None:
    configure("[agents.x]\ncomand = 'x'")
    configured, [problem] = diagnostics.configuration()
    assert configured is None
    assert "agents.x.comand is not known" in problem.text
    assert problem.hint == "did you mean command?"


def test_a_secret_that_is_written_out_is_a_warning_that_does_not_quote_it() -> None:
    [warning] = found('[agents.x]\ncommand = "x"\nenv = { API_KEY = "sk-planted-marker-1" }')
    assert warning.state == "warning"
    assert warning.text == "agents.x.env.API_KEY looks like a secret that is written out"
    assert "planted" not in str(warning)
    [warning] = found(
        '[mcp_servers.x]\nurl = "https://x"\nheaders = { Authorization = "Bearer planted-marker" }'
    )
    assert 'write Authorization = "$AUTHORIZATION"' in warning.hint
    assert "planted" not in str(warning)


def test_names_that_lead_nowhere_are_told() -> None:
    default, server = found(
        'default_agent = "opncode"\n[agents.opencode]\ncommand = "x"\n'
        '[mcp_servers.s]\nurl = "https://x"\nagents = ["codex"]\n'
    )
    assert (default.state, default.hint) == ("problem", "did you mean 'opencode'?")
    assert (server.state, server.text) == (
        "warning",
        "mcp_servers.s.agents names 'codex', which is not an agent",
    )


def test_servers_that_would_be_left_out_are_told() -> None:
    missing, unset = found(
        '[mcp_servers.a]\ncommand = "no-such-program-here"\n'
        '[mcp_servers.b]\nurl = "https://x"\nheaders = { X = "$NOT_SET_ANYWHERE" }\n'
    )
    assert missing.text == "mcp_servers.a: there is no program 'no-such-program-here'"
    assert unset.text == "mcp_servers.b.headers.X refers to $NOT_SET_ANYWHERE, which is not set"


def test_a_sound_configuration_is_counted() -> None:
    [fine] = found('[agents.x]\ncommand = "x"\nenv = { API_KEY = "$API_KEY" }')
    assert fine == Finding("ok", "config.toml", "1 agent, no MCP servers")


def test_a_journal_that_is_none_is_a_problem() -> None:
    private_dir(state_dir())
    (state_dir() / "journal.db").write_bytes(b"this is no database" * 100)
    [problem] = diagnostics.journal()
    assert problem.state == "problem"
    assert "move" in problem.hint


def test_a_policy_that_cannot_be_read_is_a_problem() -> None:
    private_dir(config_dir())
    (config_dir() / "policy.toml").write_text("nonsense = 1")
    [problem] = diagnostics.policy()
    assert (problem.state, problem.subject) == ("problem", "policy")


async def test_an_agent_that_never_answers_is_given_up() -> None:
    silent = AgentEntry(name="silent", command=["sleep", "60"])
    configured = Config(path=Path("x"), agents={"silent": silent})
    finding = await diagnostics.agent(configured, "silent", 0.2)
    assert finding.state == "problem"
    assert "did not respond to initialize within 0.2 seconds" in finding.text
    assert finding.hint == "`parley agents test silent` waits longer"


async def test_an_agent_whose_variable_is_not_set_is_not_started() -> None:
    entry = AgentEntry(name="a", command=["no-such-program"], env={"X": "$NOT_SET_ANYWHERE"})
    finding = await diagnostics.agent(Config(path=Path("x"), agents={"a": entry}), "a", 5)
    assert finding.text == "agents.a.env.X refers to $NOT_SET_ANYWHERE, which is not set"
