from __future__ import annotations

from pathlib import Path

import pytest

from parley.config._edit import add_agent, remove_agent
from parley.config._entries import AgentEntry
from parley.config._file import parse
from parley.errors import ConfigError

CHAINS = """
[agents.claude]
command = "claude-acp"
env = { KEY = "$WORK_KEY", OTHER = "${A}-$B" }
inherit = ["HTTPS_PROXY"]

[chains.careful]
proxies = ["log", "budget --cost 2"]
agent = "claude"
inherit = ["MINE"]

[chains.outer]
agent = "careful"
description = "both"
"""


def test_a_chain_is_an_agent_that_is_started_with_all_it_needs() -> None:
    read = parse(CHAINS, Path("config.toml"))
    assert list(read.agents) == ["claude", "careful", "outer"]
    entry = read.agent("careful")
    assert entry.command[1:] == ["-P", "-m", "parley", "conduct", "--chain", "careful"]
    assert entry.description == "log → budget --cost 2 → claude"
    needed = {"PARLEY_TOKEN", "MINE", "WORK_KEY", "A", "B", "HTTPS_PROXY"}
    assert set(entry.inherit) == needed
    assert set(read.agent("outer").inherit) == needed
    assert read.agent("outer").description == "both"
    assert read.chains["careful"].proxies == ["log", "budget --cost 2"]


def test_a_chain_speaks_the_version_that_its_agent_is_given() -> None:
    read = parse(
        """
        [agents.old]
        command = "x"
        protocol = 1
        [chains.plain]
        proxies = ["log"]
        agent = "old"
        [chains.outer]
        agent = "plain"
        [chains.translated]
        proxies = ["v1-v2 --agent 1"]
        agent = "plain"
        """,
        Path("config.toml"),
    )
    spoken = {name: entry.protocol for name, entry in read.agents.items()}
    assert spoken == {"old": 1, "plain": 1, "outer": 1, "translated": None}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[chains.a]\nproxies = []\n", "chains.a.agent is missing"),
        ('[chains.a]\nagent = "x"\nproxies = "log"\n', "chains.a.proxies"),
        ('[chains.a]\nagent = "x"\nproxies = ["  "]\n', "one of them is empty"),
        ('[chains.a]\nagent = "x"\nproxy = ["log"]\n', "did you mean proxies?"),
        ('[chains.a]\nagent = "a"\n', "contains itself"),
        ('[chains.a]\nagent = "b"\n[chains.b]\nagent = "a"\n', "contains itself"),
        ('[chains.a]\nagent = "x"\n[agents.a]\ncommand = "x"\n', "is called a already"),
        (
            '[agents.d]\ncommand = "x"\n[chains.a]\nagent = "d"\n[chains.d]\nagent = "d"\n',
            "chains.d: an agent is called d already",
        ),
        ('[chains."a b"]\nagent = "x"\n', "a name has letters"),
        ("[chains]\na = 3\n", "expected a table"),
    ],
)
def test_a_chain_that_cannot_be_is_an_error_that_says_where(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml") as raised:
        parse(text, Path("config.toml"))
    assert told in str(raised.value)


def test_a_chain_is_neither_removed_nor_replaced_as_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(CHAINS)
    with pytest.raises(ConfigError, match="is a chain"):
        remove_agent(path, "careful")
    with pytest.raises(ConfigError, match="there is a chain 'careful'"):
        add_agent(path, AgentEntry(name="careful", command=["x"]))
    assert path.read_text() == CHAINS
