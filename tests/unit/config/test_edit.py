"""Changes to the configuration keep what the user wrote, or are refused."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.config import AgentEntry, config_path, load
from parley.config._edit import add_agent, remove_agent, set_default
from parley.errors import ConfigError

OPENCODE = AgentEntry(name="opencode", command=["opencode", "acp"])
COMMENTED = """\
# What I work with.

default_agent = "one"  # for now

# The first.
[agents.one]
command = ["one"]  # fast
# env = { A = "1" }

# The second, about which there is more to say.
[agents.two]
command = "two --acp"

[agents.two.env]
MODE = "x"

[journal]
max_age_days = 30
"""


def write(text: str) -> Path:
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    return path


def test_the_first_agent_makes_the_file_for_its_owner_alone() -> None:
    path = config_path()
    add_agent(path, OPENCODE, is_default=True)
    assert path.read_text() == (
        'default_agent = "opencode"\n\n[agents.opencode]\ncommand = ["opencode", "acp"]\n'
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["config.toml"]


def test_an_agent_is_appended_and_everything_else_stays() -> None:
    path = write(COMMENTED)
    entry = AgentEntry(
        name="codex",
        command=["npx", 'a "quoted" word', "back\\slash"],
        env={"OPENAI_API_KEY": "$OPENAI_API_KEY", "ODD.name": "ü\n"},
        inherit=["PROXY"],
        description="Codex\x7f",
        protocol=1,
    )
    add_agent(path, entry)
    assert path.read_text().startswith(COMMENTED)
    assert path.read_text().removeprefix(COMMENTED) == (
        "\n[agents.codex]\n"
        'description = "Codex\\u007f"\n'
        'command = ["npx", "a \\"quoted\\" word", "back\\\\slash"]\n'
        'env = { OPENAI_API_KEY = "$OPENAI_API_KEY", "ODD.name" = "ü\\n" }\n'
        'inherit = ["PROXY"]\n'
        "protocol = 1\n"
    )
    assert load().agent("codex") == entry


def test_a_removed_agent_takes_its_lines_along_and_no_others() -> None:
    path = write(COMMENTED)
    remove_agent(path, "two")
    assert path.read_text() == (
        COMMENTED.replace('[agents.two]\ncommand = "two --acp"\n\n', "").replace(
            '[agents.two.env]\nMODE = "x"\n\n', ""
        )
    )
    remove_agent(path, "one")
    assert path.read_text() == (
        "# What I work with.\n\n\n# The first.\n"
        "# The second, about which there is more to say.\n[journal]\nmax_age_days = 30\n"
    )


def test_the_default_is_changed_where_it_stands() -> None:
    path = write(COMMENTED)
    set_default(path, "two")
    assert path.read_text() == COMMENTED.replace('"one"  # for now', '"two"  # for now')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[agents.a]\ncommand = "a"\n', 'default_agent = "a"\n\n[agents.a]\ncommand = "a"\n'),
        (
            '# Mine.\n\n[agents.a]\ncommand = "a"\n',
            '# Mine.\n\ndefault_agent = "a"\n\n[agents.a]\ncommand = "a"\n',
        ),
        (
            '# The agent.\n[agents.a]\ncommand = "a"\n',
            'default_agent = "a"\n# The agent.\n[agents.a]\ncommand = "a"\n',
        ),
    ],
)
def test_a_first_default_stands_in_front_of_the_tables(before: str, after: str) -> None:
    path = write(before)
    set_default(path, "a")
    assert path.read_text() == after


def test_lines_keep_their_ends_and_the_file_its_mode() -> None:
    path = write('[agents.a]\r\ncommand = "a"\r\n')
    path.chmod(0o640)
    add_agent(path, OPENCODE)
    assert path.read_bytes() == (
        b'[agents.a]\r\ncommand = "a"\r\n\r\n[agents.opencode]\r\ncommand = ["opencode", "acp"]\r\n'
    )
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    path = config_path()
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    add_agent(path, OPENCODE)
    assert path.is_symlink()
    assert load(real).find("opencode") == OPENCODE


@pytest.mark.parametrize(
    "text",
    [
        'agents = { a = { command = "a" } }\n',
        '[agents]\na = { command = "a" }\n',
        'agents.a.command = "a"\n',
        '[agents.a]\ncommand = [\n"a",\n"""\n[other]\n"""\n]\n',
    ],
)
def test_a_layout_that_cannot_be_changed_safely_is_left_alone(text: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError, match="cannot be changed safely; change it by hand"):
        remove_agent(path, "a")
    assert path.read_text() == text


def test_inline_agents_cannot_be_added_to() -> None:
    text = 'agents = { a = { command = "a" } }\n'
    path = write(text)
    with pytest.raises(ConfigError, match="change it by hand"):
        add_agent(path, OPENCODE)
    assert path.read_text() == text


def test_what_is_not_there_or_there_already_is_refused() -> None:
    path = write(COMMENTED)
    with pytest.raises(ConfigError, match="there is an agent 'one' in"):
        add_agent(path, AgentEntry(name="one", command=["x"]))
    with pytest.raises(ConfigError, match="there is no agent 'zzz'"):
        remove_agent(path, "zzz")
    with pytest.raises(ConfigError, match=r"there is no agent 'tow' .* did you mean 'two'"):
        set_default(path, "tow")
    with pytest.raises(ConfigError, match="cannot be the name of an agent"):
        add_agent(path, AgentEntry(name="a b", command=["x"]))
    assert path.read_text() == COMMENTED


def test_a_file_that_cannot_be_read_is_not_replaced() -> None:
    path = write("this is = = no TOML")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        add_agent(path, OPENCODE)
    assert path.read_text() == "this is = = no TOML"


def test_a_word_that_is_no_text_is_refused() -> None:
    path = write("")
    with pytest.raises(ConfigError, match="change it by hand"):
        add_agent(path, AgentEntry(name="x", command=[os.fsdecode(b"\xff")]))
    assert path.read_text() == ""


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(
    command=st.lists(words, min_size=1, max_size=4).filter(lambda each: each[0] != ""),
    env=st.dictionaries(words.filter(lambda n: n and "=" not in n and "\0" not in n), words),
)
def test_whatever_is_added_is_read_back_and_can_be_removed(
    tmp_path_factory: pytest.TempPathFactory, command: list[str], env: dict[str, str]
) -> None:
    env = {name: value.replace("\0", "") for name, value in env.items()}
    path = tmp_path_factory.mktemp("c") / "config.toml"
    path.write_text(COMMENTED)
    entry = AgentEntry(name="new", command=command, env=env)
    add_agent(path, entry)
    assert load(path).agent("new") == entry
    remove_agent(path, "new")
    assert tomllib.loads(path.read_text()) == tomllib.loads(COMMENTED)
