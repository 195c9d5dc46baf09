"""The user's choices, and what a connection and a session get by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.client._resolve import (
    DEMO,
    agent_of,
    find_session,
    resolve,
)
from parley.config import config_path
from parley.conversation.setup import ConversationOptions, ConversationSetup
from parley.errors import ConfigError, ConnectFailed
from parley.journal import MemoryJournal, Record
from parley.policy import Subject, parse_flags
from parley.schema import v2
from parley.session._capabilities import AgentFeatures
from parley.testing.demo import demo_agent

CONFIGURED = """
[agents.mine]
command = ["my agent", "--acp"]
env = { KEY = "$MY_KEY", SHARED = "theirs" }
inherit = ["PROXY"]
protocol = 1

[mcp_servers.here]
command = "sh"

[mcp_servers.there]
url = "https://mcp.example.com"

[mcp_servers.lost]
command = "no-such-program"
"""


def configure(text: str = CONFIGURED) -> None:
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text(text)


def test_without_a_choice_the_demo_agent_answers() -> None:
    setup = ConversationSetup()
    assert setup.is_demo
    assert (setup.agent.target, setup.label) == (DEMO, "the demo agent")
    assert setup.connect_options().get("name") == "demo"
    assert setup.cwd == Path.cwd()


def test_the_default_agent_counts_before_the_demo_agent() -> None:
    configure('default_agent = "a"\n[agents.a]\ncommand = "x y"\n')
    setup = ConversationSetup()
    assert (setup.is_demo, setup.label, setup.agent.target) == (False, "a", ["x", "y"])


def test_a_configured_agent_brings_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    configure()
    monkeypatch.setenv("MY_KEY", "k")
    choices = ConversationOptions(
        target="mine", env={"SHARED": "ours"}, inherit=["MORE"], protocol=2
    )
    options = ConversationSetup(choices).connect_options()
    process = options.get("process")
    assert process is not None
    assert process.env == {"KEY": "k", "SHARED": "ours"}
    assert process.inherit == ["PROXY", "MORE"]
    assert (options.get("name"), options.get("versions")) == ("mine", (2,))
    assert ConversationSetup(ConversationOptions(target="mine")).connect_options().get(
        "versions"
    ) == (1,)


def test_a_command_line_and_an_object_are_what_they_are() -> None:
    assert ConversationSetup(ConversationOptions(target="opencode acp")).label == "opencode acp"
    agent = demo_agent()
    setup = ConversationSetup(ConversationOptions(target=agent))
    assert setup.agent.target is agent
    assert setup.label == "Agent"


def test_what_cannot_be_is_said_before_anything_is_started(tmp_path: Path) -> None:
    configure("[agents.mine]\ncommand = 'x'\nenv = { KEY = '$UNSET_HERE' }\n")
    with pytest.raises(ConfigError, match="UNSET_HERE"):
        ConversationSetup(ConversationOptions(target="mine"))
    with pytest.raises(ConnectFailed, match="did you mean 'mine'"):
        ConversationSetup(ConversationOptions(target="mime"))
    with pytest.raises(ConfigError, match="there is no directory"):
        ConversationSetup(ConversationOptions(cwd=tmp_path / "gone"))
    with pytest.raises(ConfigError, match="there is no directory"):
        ConversationSetup(ConversationOptions(additional_directories=[tmp_path / "gone"]))
    configure("nonsense = 1")
    with pytest.raises(ConfigError, match="nonsense"):
        ConversationSetup()


def test_the_policy_is_that_of_the_directory_and_of_the_flags(tmp_path: Path) -> None:
    (tmp_path / ".parley").mkdir()
    project = '[[rules]]\ndecision = "deny"\nkind = "execute"\n'
    (tmp_path / ".parley" / "policy.toml").write_text(project)
    allow, deny = parse_flags(["edit"], "allow"), parse_flags(["fetch"], "deny")
    policy = ConversationSetup(ConversationOptions(cwd=tmp_path, allow=allow, deny=deny)).policy
    decided = {
        kind: policy.decide(Subject(kind=kind, tool=kind, paths=(str(tmp_path / "x"),))).decision
        for kind in ("edit", "fetch", "execute", "delete")
    }
    assert decided == {"edit": "allow", "fetch": "deny", "execute": "deny", "delete": "ask"}


def test_the_journal_and_the_workspace_are_passed_on_or_not() -> None:
    journal = MemoryJournal()
    options = ConversationSetup(journal=journal).connect_options()
    assert options.get("journal") is journal
    assert options.get("workspace") is not None
    bare = ConversationSetup(ConversationOptions(has_workspace=False)).connect_options()
    assert (bare.get("journal"), bare.get("workspace")) == (None, None)


def test_a_session_gets_the_servers_that_the_agent_reaches() -> None:
    configure()
    options, left_out = ConversationSetup().session_options(AgentFeatures(mcp_stdio=True))
    servers = list(options.get("mcp_servers", []))
    assert [getattr(each, "name", "") for each in servers] == ["here"]
    assert isinstance(servers[0], v2.McpServerStdio)
    assert left_out == [
        "the MCP server there is left out: the agent does not support MCP servers over HTTP",
        "the MCP server lost is left out: there is no program 'no-such-program'; "
        "install it, or give its path",
    ]
    options, left_out = ConversationSetup(ConversationOptions(has_mcp=False)).session_options(
        AgentFeatures()
    )
    assert (options, left_out) == ({}, [])


def test_a_configuration_that_is_broken_meanwhile_costs_no_session() -> None:
    setup = ConversationSetup()
    configure("nonsense = 1")
    options, left_out = setup.session_options(AgentFeatures())
    assert "mcp_servers" not in options
    assert "nonsense" in left_out[0]


def test_further_directories_are_for_agents_that_take_them(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    setup = ConversationSetup(
        ConversationOptions(cwd=tmp_path, additional_directories=["lib"], has_mcp=False)
    )
    options, left_out = setup.session_options(AgentFeatures(additional_directories=True))
    assert (options, left_out) == ({"additional_directories": [tmp_path / "lib"]}, [])
    options, left_out = setup.session_options(AgentFeatures())
    assert options == {}
    assert left_out == ["this agent takes no additional directories: it gets none"]


def test_another_tab_is_the_same_with_a_change(tmp_path: Path) -> None:
    journal = MemoryJournal()
    setup = ConversationSetup(ConversationOptions(cwd=tmp_path, protocol=1), journal=journal)
    other = setup.changed(target="other acp")
    assert (other.cwd, other.options.protocol, other.journal) == (tmp_path, 1, journal)
    assert (other.label, other.is_demo) == ("other acp", False)


def test_a_session_of_the_demo_agent_is_gone_on_with_by_the_demo_agent(tmp_path: Path) -> None:
    record = Record(key="k", agent="demo", session_id="s", cwd=str(tmp_path))
    configure('default_agent = "a"\n[agents.a]\ncommand = "x y"\n')
    assert agent_of(record).target == DEMO
    assert ConversationSetup().for_record(record).is_demo
    configure('[agents.demo]\ncommand = "my demo"\n')
    assert agent_of(record).target == ["my", "demo"]
    assert resolve("demo").target == ["my", "demo"]


def test_a_session_is_found_by_name_and_by_key(tmp_path: Path) -> None:
    journal = MemoryJournal()
    assert find_session(journal, None, tmp_path) is None
    for key, name, at in (("abcd1", "one", 1.0), ("abcd2", None, 2.0)):
        journal.put(
            Record(key=key, agent="a", session_id=key, cwd=str(tmp_path), name=name, updated_at=at)
        )
    found = {
        word: getattr(find_session(journal, word, tmp_path), "key", None)
        for word in ("one", "abcd1", "abcd2", "abc", "nothing", None)
    }
    assert found == {
        "one": "abcd1",
        "abcd1": "abcd1",
        "abcd2": "abcd2",
        "abc": None,
        "nothing": None,
        None: "abcd2",
    }
    with pytest.raises(LookupError, match="abcd2, abcd1"):
        find_session(journal, "abcd", tmp_path)
