"""Where the user's things are."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.places import config_dir, private_dir, state_dir


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
