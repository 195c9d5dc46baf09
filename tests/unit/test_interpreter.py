"""Command lines that start this interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from parley._interpreter import (
    module_command,
    parley_command,
    replace_parley,
    script_command,
)
from parley.client._resolve import DEMO, resolve
from parley.config import config_path


def test_a_module_runs_without_the_current_directory_in_its_path() -> None:
    assert module_command("a.b", "c") == [sys.executable, "-P", "-m", "a.b", "c"]
    assert parley_command("demo") == [sys.executable, "-P", "-m", "parley", "demo"]
    assert parley_command("demo") == DEMO


def test_a_script_runs_isolated() -> None:
    assert script_command(Path("/a.py"), "b") == [sys.executable, "-I", "/a.py", "b"]


def test_parley_is_this_parley_and_other_commands_stay_as_they_are() -> None:
    assert replace_parley(["parley", "demo"]) == parley_command("demo")
    for command in (["/opt/parley", "demo"], ["python", "parley"], ["parley-2"], []):
        assert replace_parley(command) is command


def test_parley_needs_no_program_of_that_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config_path().parent.mkdir(parents=True)
    config_path().write_text('[agents.one]\ncommand = "x"\n')
    resolved = resolve("parley")
    assert (resolved.target, resolved.label) == ("parley", "parley")
