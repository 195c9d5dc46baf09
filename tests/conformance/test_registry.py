"""The format of the public registry of agents.

https://agentclientprotocol.com/rfds/acp-agent-registry
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from parley.config._registry import Listed, agent_of, read_registry
from parley.errors import ConfigError

requirement = pytest.mark.requirement
ENTRY: dict[str, Any] = {
    "id": "some-agent",
    "name": "Some Agent",
    "version": "1.2.3",
    "description": "It helps",
    "distribution": {"npx": {"package": "@some/agent@1.2.3", "args": ["--acp"]}},
}
ARCHIVE = {"archive": "https://some.example/a.tar.gz", "cmd": "./some-agent", "args": ["serve"]}


def listed(path: Path, entry: dict[str, Any]) -> Listed:
    file = path / "agent.json"
    file.write_text(json.dumps(entry))
    return read_registry(file).entry("some-agent")


def command(path: Path, **distribution: Any) -> list[str]:
    return agent_of(listed(path, {**ENTRY, "distribution": distribution})).command


@requirement("TR-REG-01")
@pytest.mark.parametrize("name", ["name", "version", "description", "distribution"])
def test_an_entry_needs_its_fields(tmp_path: Path, name: str) -> None:
    assert listed(tmp_path, ENTRY).name == "Some Agent"
    index = {"version": "1.0.0", "agents": [{**ENTRY, name: None}]}
    (tmp_path / "registry.json").write_text(json.dumps(index))
    with pytest.raises(ConfigError, match=rf"some-agent\.{name}"):
        read_registry(tmp_path / "registry.json").entry("some-agent")


@requirement("TR-REG-01")
@pytest.mark.parametrize(
    ("id", "is_fine"),
    [("some-agent", True), ("a1", True), ("Some", False), ("1a", False), ("a b", False)],
)
def test_an_id_is_small_letters_digits_and_hyphens(tmp_path: Path, id: str, is_fine: bool) -> None:
    (tmp_path / "agent.json").write_text(json.dumps({**ENTRY, "id": id}))
    registry = read_registry(tmp_path / "agent.json")
    if is_fine:
        assert registry.entry(id).id == id
    else:
        with pytest.raises(ConfigError, match="an id consists of lowercase letters"):
            registry.entry(id)


@requirement("TR-REG-01")
@pytest.mark.parametrize("version", ["", "1", "1.2", "latest", "v1.2.3", "1.2.3 ; x"])
def test_a_version_has_three_numbers(tmp_path: Path, version: str) -> None:
    assert listed(tmp_path, {**ENTRY, "version": "1.2.3-beta.1"}).version == "1.2.3-beta.1"
    with pytest.raises(ConfigError, match="expected a version"):
        listed(tmp_path, {**ENTRY, "version": version})


@requirement("TR-REG-02")
def test_what_else_an_entry_says_is_read(tmp_path: Path) -> None:
    more = {
        "repository": "https://some.example/repository",
        "authors": ["Somebody"],
        "license": "MIT",
        "icon": "https://some.example/icon.svg",
    }
    read = listed(tmp_path, {**ENTRY, **more})
    assert (read.repository, read.authors) == (more["repository"], ["Somebody"])
    assert (read.license, read.icon) == ("MIT", more["icon"])
    with pytest.raises(ConfigError, match="authors: expected a list"):
        listed(tmp_path, {**ENTRY, "authors": "Somebody"})


@requirement("TR-REG-03")
@pytest.mark.parametrize(
    "distribution", [{}, {"docker": {"image": "x"}}, {**ENTRY["distribution"], "docker": {}}]
)
def test_a_distribution_is_binary_npx_or_uvx_and_nothing_else(
    tmp_path: Path, distribution: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=r"some-agent\.distribution"):
        listed(tmp_path, {**ENTRY, "distribution": distribution})


@requirement("TR-REG-04")
@pytest.mark.parametrize(
    "binary", [{"plan9-mips": ARCHIVE}, {"linux-x86_64": {"cmd": "x"}}, {"linux-x86_64": {}}]
)
def test_a_binary_is_for_a_known_platform_and_has_an_archive_and_a_command(
    tmp_path: Path, binary: dict[str, Any]
) -> None:
    whole = {f"{os}-{cpu}": ARCHIVE for os in ("darwin", "linux") for cpu in ("aarch64", "x86_64")}
    assert listed(tmp_path, {**ENTRY, "distribution": {"binary": whole}}).distribution.binary
    with pytest.raises(ConfigError, match=r"some-agent\.distribution\.binary"):
        listed(tmp_path, {**ENTRY, "distribution": {"binary": binary}})


@requirement("TR-REG-05")
@pytest.mark.parametrize("runner", ["npx", "uvx"])
@pytest.mark.parametrize("wrong", [{}, {"package": 5}, {"package": "x", "args": "--acp"}])
def test_what_a_runner_brings_has_a_package(
    tmp_path: Path, runner: str, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=rf"some-agent\.distribution\.{runner}"):
        listed(tmp_path, {**ENTRY, "distribution": {runner: wrong}})


@requirement("TR-REG-07")
@pytest.mark.parametrize("more", [{}, {"extensions": []}, {"extensions": [ENTRY]}])
def test_an_index_has_a_version_and_agents(tmp_path: Path, more: dict[str, Any]) -> None:
    path = tmp_path / "registry.json"
    path.write_text(json.dumps({"version": "1.0.0", "agents": [ENTRY], **more}))
    assert read_registry(path).ids == ["some-agent"]
    path.write_text(json.dumps({"agents": [ENTRY], **more}))
    with pytest.raises(ConfigError, match="version is missing"):
        read_registry(path)


@requirement("TR-REG-08")
def test_keys_that_are_not_known_are_passed_over(tmp_path: Path) -> None:
    npx = {**ENTRY["distribution"]["npx"], "sha256": "0" * 64}
    entry = {**ENTRY, "preview": {"version": "2"}, "distribution": {"npx": npx}}
    path = tmp_path / "registry.json"
    path.write_text(json.dumps({"version": "1.0.0", "agents": [entry], "updated": "today"}))
    assert agent_of(read_registry(path).entry("some-agent")).name == "some-agent"


@requirement("TR-REG-08")
def test_a_broken_entry_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "registry.json"
    broken = {"id": "broken", "name": 5}
    path.write_text(json.dumps({"version": "1.0.0", "agents": [broken, ENTRY, {"id": 5}]}))
    registry = read_registry(path)
    assert registry.entry("some-agent").id == "some-agent"
    with pytest.raises(ConfigError, match="broken"):
        registry.entry("broken")
    with pytest.raises(
        ConfigError, match=r"there is no agent 'some-agnt' .* choose from some-agent"
    ):
        registry.entry("some-agnt")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "5", "{}", '{"agents": 5, "version": "1"}', "{"),
        pytest.param('{"a":' * 100_000, id="too deep"),
    ],
)
def test_what_is_no_registry_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "registry.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"registry\.json is n"):
        read_registry(path)
    with pytest.raises(ConfigError, match="there is no file"):
        read_registry(tmp_path / "nowhere.json")


@requirement("TR-REG-10", "SAFE-USER-08")
@pytest.mark.parametrize(
    ("runner", "package", "started"),
    [
        ("npx", "@some/agent@1.2.3", "@some/agent@1.2.3"),
        ("npx", "agent@2.0.0-rc.1", "agent@2.0.0-rc.1"),
        ("npx", "@some/agent", "@some/agent@1.2.3"),
        ("npx", "agent@latest", "agent@1.2.3"),
        ("npx", "agent@^1", "agent@1.2.3"),
        ("npx", "agent@1.x", "agent@1.2.3"),
        ("uvx", "some-agent==0.10.1", "some-agent==0.10.1"),
        ("uvx", "some-agent@0.10", "some-agent@0.10"),
        ("uvx", "some-agent[acp]==1.0", "some-agent[acp]==1.0"),
        ("uvx", "some-agent", "some-agent@1.2.3"),
        ("uvx", "some_agent@latest", "some_agent@1.2.3"),
        ("uvx", "some-agent>=1", "some-agent@1.2.3"),
    ],
)
def test_a_package_is_run_in_one_version(
    tmp_path: Path, runner: str, package: str, started: str
) -> None:
    flags = ["--yes"] if runner == "npx" else []
    request = {runner: {"package": package, "args": ["--acp", "-x"]}}
    assert command(tmp_path, **request) == [runner, *flags, started, "--acp", "-x"]


@requirement("SAFE-USER-08")
@pytest.mark.parametrize(
    "package",
    ["--eval=x", "-c", "git+https://some.example/x", "github:some/x", "../x", "a b", "a;b", ""],
)
@pytest.mark.parametrize("runner", ["npx", "uvx"])
def test_what_is_no_name_of_a_package_is_not_run(tmp_path: Path, runner: str, package: str) -> None:
    with pytest.raises(ConfigError, match="is not the name of a package"):
        command(tmp_path, **{runner: {"package": package}})


@requirement("SAFE-USER-08")
def test_variables_of_an_entry_cannot_refer_to_ours(tmp_path: Path) -> None:
    npx = {"package": "a@1.0.0", "env": {"MODE": "fast", "LEAK": "$AWS_SECRET ${HOME}"}}
    entry = agent_of(listed(tmp_path, {**ENTRY, "distribution": {"npx": npx}}))
    assert entry.resolve_env({"AWS_SECRET": "s", "HOME": "h"}) == npx["env"]
    assert entry.description == "It helps"


@requirement("TR-REG-10")
def test_a_binary_is_told_to_be_unpacked_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    with pytest.raises(ConfigError) as caught:
        command(tmp_path, binary={"darwin-aarch64": ARCHIVE})
    assert "unpack https://some.example/a.tar.gz" in str(caught.value)
    by_hand = "`parley agents add some-agent -- /PATH/TO/some-agent serve`"
    assert by_hand in str(caught.value)
    with pytest.raises(ConfigError, match="none for darwin-aarch64; only linux-x86_64"):
        command(tmp_path, binary={"linux-x86_64": ARCHIVE})
