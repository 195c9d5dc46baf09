"""The tap in the settings of an editor: exactly one change, and exactly its reverse."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.cli.editor_settings import add_tap, remove_tap
from parley.cli.jsonc import JsoncError, parse

from .command_line import CommandLine

PARLEY = ["/opt/bin/parley"]
ZED = """\
// Zed settings
{
  "theme": "One Dark", // a comment
  /* a longer
     comment */
  "agent_servers": {
    "OpenCode": {
      "type": "custom",
      "command": "opencode",
      "args": ["acp"],
      "env": { "A": "//not a comment" },
    },
    "other": { "type": "custom", "command": "other", "args": [] },
  },
}
"""
MANY_LINES = """\
{
\t"agent_servers": {
\t\t"a": {
\t\t\t"args": [
\t\t\t\t"--flag", // why
\t\t\t\t"acp",
\t\t\t],
\t\t\t"command": "/a b/c\\u0064"
\t\t}
\t}
}
"""
FORMS = {
    "zed": (ZED, "OpenCode", ["opencode", "acp"]),
    "no-arguments": (ZED, "other", ["other"]),
    "windows-lines": (ZED.replace("\n", "\r\n"), "OpenCode", ["opencode", "acp"]),
    "byte-order-mark": ("\ufeff" + ZED, "OpenCode", ["opencode", "acp"]),
    "many-lines": (MANY_LINES, "a", ["/a b/cd", "--flag", "acp"]),
    "absent": ('{"agent_servers":{"a":{"command":"x"}}}', "a", ["x"]),
    "absent-then-env": ('{"agent_servers":{"a":{"command":"x", "env":{}}}}', "a", ["x"]),
    "comment-in-empty": ('{"agent_servers":{"a":{"command":"x","args":[ /**/ ]}}}', "a", ["x"]),
    "blank-first": ('{"agent_servers":{"a":{"command":"x","args":[ "y" ]}}}', "a", ["x", "y"]),
}


def _agent(text: str, name: str) -> tuple[str, list[str]]:
    servers = parse(text).member("agent_servers")
    assert servers is not None
    entry = servers.value.member(name)
    assert entry is not None
    command, args = entry.value.member("command"), entry.value.member("args")
    assert command is not None
    return command.value.value, (args.value.strings or []) if args else []


@pytest.mark.parametrize("form", FORMS)
def test_the_tap_is_put_before_the_command_and_taken_away_again(form: str) -> None:
    text, name, command = FORMS[form]
    added = add_tap(text, name, PARLEY).text
    assert _agent(added, name) == (PARLEY[0], ["tap", "--name", name, "--", *command])
    assert remove_tap(added, name).text == text


@pytest.mark.parametrize("form", FORMS)
def test_an_interpreter_that_runs_parley_is_recognized_too(form: str) -> None:
    text, name, command = FORMS[form]
    added = add_tap(text, name, ["/usr/bin/python3", "-P", "-m", "parley"]).text
    prefix = ["-P", "-m", "parley", "tap", "--name", name, "--"]
    assert _agent(added, name) == ("/usr/bin/python3", [*prefix, *command])
    assert remove_tap(added, name).text == text


def test_nothing_but_the_command_and_its_arguments_changes() -> None:
    added = add_tap(ZED, "OpenCode", PARLEY).text
    changed = [line for line in added.splitlines() if line not in ZED.splitlines()]
    assert changed == [
        '      "command": "/opt/bin/parley",',
        '      "args": ["tap", "--name", "OpenCode", "--", "opencode", "acp"],',
    ]


def test_edits_elsewhere_stay_when_the_tap_is_taken_away() -> None:
    added = add_tap(ZED, "OpenCode", PARLEY).text
    edited = added.replace('"acp"]', '"acp", "--verbose"]').replace("One Dark", "Ayu")
    expected = ZED.replace('"acp"]', '"acp", "--verbose"]').replace("One Dark", "Ayu")
    assert remove_tap(edited, "OpenCode").text == expected


def test_a_second_tap_is_not_added_and_a_missing_one_not_removed() -> None:
    added = add_tap(ZED, "OpenCode", PARLEY).text
    assert add_tap(added, "OpenCode", PARLEY).text == added
    assert remove_tap(ZED, "OpenCode").text == ZED


def test_the_name_of_an_agent_may_be_written_in_another_case() -> None:
    assert add_tap(ZED, "opencode", PARLEY).agent == "OpenCode"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not valid JSON in line 1"),
        ('{\n "agent_servers": {', "not valid JSON"),
        ('{"a": 1} x', "not valid JSON"),
        ("[1,,2]", "not valid JSON"),
        ('{"a": tru}', "not valid JSON"),
        ("[" * 1000, "not valid JSON"),
        ("{}", 'there is nothing in "agent_servers"'),
        ('{"agent_servers": {"b": {}}}', "no agent 'a'; there are b"),
        ('{"agent_servers": {"a": {"type": "registry"}}}', "has no command there"),
        ('{"agent_servers": {"a": {"command": "x", "args": "y"}}}', "not a list of strings"),
        ('{"agent_servers": {"a": {"command": "x", "command": "y"}}}', "twice"),
        ('{"agent_servers": {}, "agent_servers": {}}', "twice"),
    ],
    ids=range(12),
)
def test_settings_that_cannot_be_changed_are_refused(text: str, problem: str) -> None:
    with pytest.raises(JsoncError, match=problem):
        add_tap(text, "a", PARLEY)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_VALUES)
def test_any_json_is_parsed(value: Any) -> None:
    def plain(node: Any) -> Any:
        if node.members is not None:
            return {each.name: plain(each.value) for each in node.members}
        return node.value if node.items is None else [plain(each) for each in node.items]

    assert plain(parse(json.dumps(value, indent=1))) == value


# The command


@pytest.fixture
def settings(places: Path) -> Path:
    path = places / "config" / "zed" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(ZED)
    path.chmod(0o640)
    return path


def test_the_command_shows_the_change_makes_it_and_reverts_it(
    parley: CommandLine, settings: Path
) -> None:
    added = parley("tap", "install", "zed", "OpenCode", "--yes")
    assert added.returncode == 0, added.stderr
    assert '-      "command": "opencode",' in added.stdout
    command, args = _agent(settings.read_text(), "OpenCode")
    assert Path(command).is_absolute()
    assert args[-4:] == ["OpenCode", "--", "opencode", "acp"]
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert parley("tap", "uninstall", "zed", "OpenCode", "--yes").returncode == 0
    assert settings.read_text() == ZED
    assert sorted(each.name for each in settings.parent.iterdir()) == ["settings.json"]


def test_without_yes_and_without_a_terminal_nothing_is_changed(
    parley: CommandLine, settings: Path
) -> None:
    refused = parley("tap", "install", "zed", "OpenCode")
    assert refused.returncode == 2
    assert "give --yes" in refused.stderr
    assert settings.read_text() == ZED


def test_the_settings_of_jetbrains_are_in_the_home_directory(
    parley: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / ".jetbrains" / "acp.json"
    path.parent.mkdir()
    path.write_text('{"agent_servers": {"My Agent": {"command": "x"}}}')
    done = parley("tap", "install", "jetbrains", "My Agent", "--yes", env={"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert _agent(path.read_text(), "My Agent")[1][-3:] == ["My Agent", "--", "x"]


def test_a_link_is_not_followed_and_its_target_named(
    parley: CommandLine, settings: Path, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    refused = parley("tap", "install", "zed", "OpenCode", "--yes")
    assert refused.returncode == 1
    assert f"--settings {shlex.quote(str(real.resolve()))}" in refused.stderr
    assert real.read_text() == ZED
    named = parley("tap", "install", "zed", "OpenCode", "--yes", "--settings", str(real))
    assert named.returncode == 0
    assert settings.is_symlink()


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\xff", "not UTF-8"), (b"{", "not valid JSON"), (None, "does not exist")],
    ids=["bytes", "broken", "missing"],
)
def test_a_file_that_cannot_be_used_is_left_alone(
    parley: CommandLine, settings: Path, content: bytes | None, problem: str
) -> None:
    settings.unlink()
    if content is not None:
        settings.write_bytes(content)
    refused = parley("tap", "install", "zed", "OpenCode", "--yes")
    assert refused.returncode == 1
    assert problem in refused.stderr
    assert content is None or settings.read_bytes() == content


def test_the_configuration_of_neovim_is_only_shown(parley: CommandLine) -> None:
    for editor, word in (("codecompanion", "commands"), ("avante", "acp_providers")):
        shown = parley("tap", "install", editor, 'a"b', "--", "opencode", "acp\n")
        assert shown.returncode == 0
        assert word in shown.stdout
        assert r'"--name", "a\"b", "--", "opencode", "acp\010"' in shown.stdout
    refused = parley("tap", "install", "avante", "x")
    assert refused.returncode == 2
    assert "give the command" in refused.stderr
