"""Agents that are elsewhere, in the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.client import _resolve as named
from parley.config import AgentEntry, config_path, load
from parley.config._edit import add_agent
from parley.config._file import parse
from parley.errors import ConfigError

URL = "https://agents.example/acp"


def agent(text: str) -> AgentEntry:
    return parse(f"[agents.far]\n{text}", Path("config.toml")).agent("far")


def test_an_agent_may_be_an_address_with_a_token_by_reference(tmp_path: Path) -> None:
    entry = agent(f'url = "{URL}?key=x"\ntoken = "$FAR_TOKEN"')
    assert entry.target == f"{URL}?key=x"
    assert entry.shown == URL
    assert entry.resolve_token({"FAR_TOKEN": "secret"}) == "secret"
    with pytest.raises(ConfigError, match=r"agents\.far\.token refers to \$FAR_TOKEN"):
        entry.resolve_token({})
    file = tmp_path / "token"
    file.write_text("from-a-file\n")
    file.chmod(0o600)
    entry = agent(f'url = "{URL}"\ntoken_file = "{file}"\nca_file = "/ca.pem"')
    resolved = named.resolve_entry(entry)
    assert resolved.target == URL
    assert resolved.remote.token == "from-a-file"
    assert resolved.remote.ca_file == Path("/ca.pem")
    assert agent(f'url = "{URL}"').resolve_token({}) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("args = []", "agents.far.command is missing"),
        (f'url = "{URL}"\ncommand = "x"', "agents.far: it has either command or url"),
        ('url = "agents.example"', "agents.far.url: expected an address"),
        ('command = "x"\ntoken = "$T"', "agents.far: token, token_file and ca_file go with url"),
        (f'url = "{URL}"\ntoken = "$T"\ntoken_file = "t"', "agents.far: it has either token or"),
    ],
)
def test_an_agent_is_reached_in_one_way(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        agent(text)


def test_what_is_added_is_read_again() -> None:
    entry = AgentEntry(name="far", url=URL, token_file="/a/token", ca_file="/ca.pem")
    add_agent(config_path(), entry)
    assert load().agent("far") == entry


def test_an_address_on_the_command_line_gets_the_token_of_the_environment() -> None:
    found = named.resolve(URL, {"PARLEY_TOKEN": "secret"})
    assert (found.target, found.remote.token) == (URL, "secret")
    assert named.resolve(URL, {}).options == {}
    assert named.resolve("a command", {"PARLEY_TOKEN": "secret"}).options == {}
    assert named.resolve(f"{URL}?key=x", {}).label == URL
