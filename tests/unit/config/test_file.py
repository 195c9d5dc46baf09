"""The configuration file: what it says, and what is said about it when it is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parley import config
from parley.config import (
    AgentEntry,
    ChainEntry,
    Config,
    JournalSettings,
    ServerEntry,
    config_path,
    is_agent_name,
    load,
)
from parley.config._file import parse
from parley.errors import ConfigError

WHOLE = """
default_agent = "opencode"

[agents.opencode]
command = ["opencode", "acp"]

[agents.claude]
description = "Claude"
command = "npx --yes 'some package'"
args = ["--acp"]
env = { ANTHROPIC_API_KEY = "$ANTHROPIC_API_KEY", MODE = "plain" }
inherit = ["HTTPS_PROXY"]
protocol = 1

[mcp_servers.files]
command = "mcp-files"
args = ["--root", "/srv"]
env = { TOKEN = "$FILES_TOKEN" }
agents = ["claude"]

[mcp_servers.search]
url = "https://search.example/mcp"
headers = { Authorization = "Bearer $SEARCH_TOKEN" }

[mcp_servers.old]
type = "sse"
url = "http://127.0.0.1:9/sse"

[journal]
enabled = false
max_age_days = 90
max_sessions = 1000
max_bytes = 1000000
"""


def write(text: str) -> Path:
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def complaint(text: str) -> str:
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        config.load()
    told = str(caught.value)
    assert told.startswith(str(path))
    return told.removeprefix(f"{path}").lstrip(": ")


def test_a_missing_file_is_an_empty_configuration_and_is_not_made() -> None:
    assert config.load() == Config(path=config_path())
    assert not config_path().parent.exists()


def test_every_key_is_read() -> None:
    path = write(WHOLE)
    read = config.load()
    assert read == Config(
        path=path,
        default_agent="opencode",
        agents={
            "opencode": AgentEntry(name="opencode", command=["opencode", "acp"]),
            "claude": AgentEntry(
                name="claude",
                command=["npx", "--yes", "some package", "--acp"],
                env={"ANTHROPIC_API_KEY": "$ANTHROPIC_API_KEY", "MODE": "plain"},
                inherit=["HTTPS_PROXY"],
                description="Claude",
                protocol=1,
            ),
        },
        mcp_servers={
            "files": ServerEntry(
                name="files",
                kind="stdio",
                command=["mcp-files", "--root", "/srv"],
                env={"TOKEN": "$FILES_TOKEN"},
                agents=["claude"],
            ),
            "search": ServerEntry(
                name="search",
                kind="http",
                url="https://search.example/mcp",
                headers={"Authorization": "Bearer $SEARCH_TOKEN"},
            ),
            "old": ServerEntry(name="old", kind="sse", url="http://127.0.0.1:9/sse"),
        },
        journal=JournalSettings(
            enabled=False, max_age_days=90, max_sessions=1000, max_bytes=1000000
        ),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("defaultagent = 'x'", "defaultagent is not known; did you mean default_agent?"),
        ("default_agent = 3", "default_agent: expected a string, found a whole number"),
        ("agents = 3", "agents: expected a table, found a whole number"),
        ("[agents]\nx = 'a b'", "agents.x: expected a table, as in [agents.x]"),
        ("[agents.x]\ncomand = 'a'", "agents.x.comand is not known; did you mean command?"),
        (
            "[agents.x]\nzzz = 1",
            "agents.x.zzz is not known; choose from command, args, env, inherit",
        ),
        ("[agents.x]\ncommand = 5", "agents.x.command: expected a string or a list, found a"),
        ("[agents.x]\ncommand = [5]", "agents.x.command[0]: expected a string, found a whole"),
        ("[agents.x]\nargs = ['a']", "agents.x.command is missing"),
        ("[agents.x]\ncommand = ''", "agents.x.command is empty; name a program"),
        ("[agents.x]\ncommand = []", "agents.x.command is empty; name a program"),
        ('[agents.x]\ncommand = "a\'"', "agents.x.command cannot be read: no closing quotation"),
        ("[agents.x]\ncommand = 'a'\nenv = { A = 1 }", "agents.x.env: in it, expected a string"),
        ("[agents.x]\ncommand = 'a'\nenv = { 'A=B' = '1' }", "agents.x.env: 'A=B' cannot be"),
        ("[agents.x]\ncommand = 'a'\nprotocol = 7", "agents.x.protocol: expected 1 or 2"),
        (
            "[agents.'x y']\ncommand = 'a'",
            "agents.x y: a name has letters, digits, - and _",
        ),
        ("[agents.-x]\ncommand = 'a'", "agents.-x: a name has letters, digits, - and _"),
        ("[mcp_servers.x]", "mcp_servers.x: it needs either command or url, and not both"),
        ("[mcp_servers.x]\ncommand = 'a'\nurl = 'https://x'", "mcp_servers.x: it needs either"),
        ("[mcp_servers.x]\nurl = 'file:///x'", "mcp_servers.x.url: expected an address"),
        ("[mcp_servers.x]\nurl = 'https://x'\ntype = 'stdio'", "mcp_servers.x.type: 'stdio' does"),
        ("[mcp_servers.x]\ncommand = 'a'\ntype = 'http'", "mcp_servers.x.type: 'http' does not"),
        ("[mcp_servers.x]\nurl = 'https://x'\ntype = 'ws'", "mcp_servers.x.type: expected stdio,"),
        ("[journal]\nmax_bytes = 0", "journal.max_bytes: must be a positive number"),
        ("[journal]\nenabled = 1", "journal.enabled: expected true or false, found a whole number"),
        ("x = ", "is not valid TOML: Invalid value (at end of document)"),
        pytest.param("x = " + "[" * 100_000, "is not valid TOML: ", id="too deep"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, told: str) -> None:
    assert told in complaint(text)


def test_an_error_quotes_no_value() -> None:
    told = complaint('[agents.x]\ncommand = "a"\nenv = "sk-planted-marker"')
    assert "planted" not in told


def test_a_file_that_is_no_text_or_cannot_be_read_is_told() -> None:
    path = write("")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        config.load()
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load()


def test_an_agent_is_found_by_its_name_and_near_misses_are_hinted_at() -> None:
    write(WHOLE)
    read = config.load()
    assert read.find("claude") is read.agent("claude")
    assert read.find("nope") is None
    with pytest.raises(ConfigError, match="did you mean 'opencode'"):
        read.agent("opncode")
    with pytest.raises(ConfigError, match="choose from opencode, claude"):
        read.agent("zzz")
    with pytest.raises(ConfigError, match="parley agents add zzz"):
        Config(path=Path("x")).agent("zzz")


def test_a_word_can_name_an_agent_and_a_command_line_cannot() -> None:
    assert is_agent_name("opencode")
    assert not is_agent_name("opencode acp")
    assert not is_agent_name("./opencode")


def test_nothing_inside_a_project_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = '[agents.opencode]\ncommand = "evil"\n'
    for place in ("config.toml", ".parley/config.toml", "parley/config.toml", ".config/parley"):
        path = tmp_path / place
        path = path / "config.toml" if path.suffix == "" else path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(hostile)
    monkeypatch.chdir(tmp_path)
    assert load().find("opencode") is None
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")  # no absolute path: counts as absent
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert load().find("opencode") is None


def test_the_page_about_it_shows_a_file_that_can_be_read_and_every_key() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text()
    [shown, suggesting] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert [*parse(suggesting, Path("config.toml")).agents] == ["suggest"]
    read = parse(shown, Path("config.toml"))
    assert [*read.agents, *read.mcp_servers] == [
        "opencode", "claude", "careful", "files", "tickets",
    ]  # fmt: skip
    told = set(re.findall(r"`([a-z_]+)`", page))
    for kind in (AgentEntry, ChainEntry, ServerEntry, JournalSettings):
        assert set(kind.__struct_fields__) - {"name", "kind"} <= told


def test_without_a_file_no_reader_of_toml_is_loaded() -> None:
    program = (
        "import sys; from parley.config import load; load(); "
        "print([name for name in ('tomllib', 'parley.schema.v2') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env=dict(os.environ),
    )
    assert done.stdout == "[]\n"
