"""What the user calls an agent: a configured name, a command line, or nothing."""

from __future__ import annotations

import pytest

from parley.cli.reporting import Exit, Failure
from parley.cli.targets import agent_of, resolve
from parley.client import Process
from parley.client._resolve import DEMO
from parley.config import config_path
from parley.journal import Record

CONFIGURED = """
[agents.mine]
command = ["my agent", "--acp"]
env = { KEY = "$MY_KEY" }
inherit = ["PROXY"]
protocol = 1

[agents.sh]
command = ["not-a-shell"]
"""


def configure(text: str) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text(text)


def test_without_a_configuration_a_word_is_a_command_line() -> None:
    resolved = resolve("opencode acp")
    assert (resolved.target, resolved.options, resolved.name) == ("opencode acp", {}, "")
    assert resolve("opencode").target == "opencode"


def test_without_a_word_it_is_the_default_agent_else_the_demo_agent() -> None:
    resolved = resolve(None)
    assert (resolved.target, resolved.is_demo, resolved.label) == (DEMO, True, "the demo agent")
    configure('default_agent = "a"\n[agents.a]\ncommand = "x y"\n')
    resolved = resolve(None)
    assert (resolved.target, resolved.is_demo, resolved.label) == (["x", "y"], False, "a")


def test_a_configured_name_brings_its_variables_and_its_version() -> None:
    configure(CONFIGURED)
    resolved = resolve("mine", {"MY_KEY": "k"})
    assert resolved.target == ["my agent", "--acp"]
    assert resolved.command == "'my agent' --acp"
    assert resolved.options == {
        "name": "mine",
        "process": Process(env={"KEY": "k"}, inherit=["PROXY"]),
        "versions": (1,),
    }
    assert resolved.name == "mine"


def test_a_configured_name_counts_before_a_program() -> None:
    configure(CONFIGURED)
    assert resolve("sh").target == ["not-a-shell"]
    assert resolve("sh -c true").target == "sh -c true"


@pytest.mark.parametrize(
    ("text", "word", "told", "code"),
    [
        (CONFIGURED, "mine", r"refers to \$MY_KEY, which is not set", Exit.USAGE),
        (CONFIGURED, "mien", "neither a configured agent nor a program; did you mean", Exit.DIED),
        ("x = 1", "mine", "x is not known", Exit.USAGE),
        ('default_agent = "gone"', None, "there is no agent 'gone'", Exit.USAGE),
    ],
)
def test_what_cannot_be_resolved_is_told(
    text: str, word: str | None, told: str, code: Exit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    configure(text)
    with pytest.raises(Failure, match=told) as caught:
        resolve(word)
    assert caught.value.code == code


def test_a_session_of_the_demo_agent_stays_one_when_another_is_the_default() -> None:
    configure('default_agent = "a"\n[agents.a]\ncommand = "x y"\n')
    assert agent_of(Record(key="k", agent="demo", session_id="s")).target == DEMO
    assert agent_of(Record(key="k", agent="a", session_id="s")).target == ["x", "y"]
