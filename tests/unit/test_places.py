"""The directories for the user's configuration and state."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest

from parley._user_dirs import (
    config_dir,
    describe_exposure,
    private_dir,
    state_dir,
)


def test_the_directories_of_the_environment_are_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    assert config_dir() == tmp_path / "c" / "parley"
    assert state_dir() == tmp_path / "s" / "parley"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["", "relative/dir"])
def test_what_is_no_absolute_path_counts_as_absent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", value)
    monkeypatch.setenv("XDG_STATE_HOME", value)
    assert config_dir() == tmp_path / ".config/parley"
    assert state_dir() == tmp_path / ".local/state/parley"


def test_a_private_directory_is_its_owners_alone(tmp_path: Path) -> None:
    made = private_dir(tmp_path / "a" / "b")
    assert made.stat().st_mode & 0o777 == 0o700
    assert private_dir(made) == made


def exposed(path: Path) -> str | None:
    found = describe_exposure(path)
    return None if found is None else found.partition(". Check it, then run ")[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    file = folder / "config.toml"
    file.touch(0o600)
    return file


@pytest.mark.requirement("SAFE-USER-04")
def test_a_file_that_others_may_write_is_exposed(file: Path) -> None:
    assert exposed(file) is None
    for mode in (0o602, 0o622, 0o666):
        file.chmod(mode)
        assert exposed(file) == f"`chmod go-w {file}`"
    file.chmod(0o644)
    assert exposed(file) is None


@pytest.mark.requirement("SAFE-USER-04")
def test_a_file_in_a_directory_that_others_may_write_is_exposed_unless_it_is_sticky(
    file: Path,
) -> None:
    file.parent.chmod(0o777)
    assert exposed(file) == f"`chmod go-w {file.parent}`"
    file.parent.chmod(0o1777)
    assert exposed(file) is None


def test_a_directory_above_that_others_may_write_exposes_a_file_up_to_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    file = home / ".config" / "parley" / "config.toml"
    file.parent.mkdir(parents=True)
    file.touch(0o600)
    for each in (home, home / ".config", file.parent):
        each.chmod(0o755)
    monkeypatch.setattr(Path, "home", lambda: home)
    assert describe_exposure(file) is None
    (home / ".config").chmod(0o777)
    assert "chmod go-w" in (describe_exposure(file) or "")
    (home / ".config").chmod(0o755)
    home.chmod(0o777)
    assert str(home) in (describe_exposure(file) or "")
    home.chmod(0o755)
    tmp_path.chmod(0o777)
    assert describe_exposure(file) is None


@pytest.mark.requirement("SAFE-USER-04")
def test_a_link_is_as_exposed_as_what_it_leads_to(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    assert exposed(link) is None
    file.parent.chmod(0o777)
    assert exposed(link) == f"`chmod go-w {file.parent}`"


def test_a_group_of_one_user_is_nobody_else(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o660)
    own = pwd.getpwuid(os.geteuid())

    def group(name: str, *members: str) -> None:
        made = grp.struct_group((name, "x", own.pw_gid, list(members)))

        def find(_: int) -> grp.struct_group:
            return made

        monkeypatch.setattr(grp, "getgrgid", find)

    os.chown(file, -1, own.pw_gid)
    group(own.pw_name)
    assert exposed(file) is None
    group(own.pw_name, "somebody")
    assert exposed(file) == f"`chmod go-w {file}`"
    group("staff")
    assert exposed(file) == f"`chmod go-w {file}`"


@pytest.mark.requirement("SAFE-USER-04")
def test_a_file_of_another_user_is_exposed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(file, 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert exposed(file) == f"`sudo chown $USER {file}`"
