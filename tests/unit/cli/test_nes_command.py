"""`parley nes` with a command line that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.unit.nes.eval.made_repository import Repository

from parley.cli.nes_demo import install_hint

from .command_line import CommandLine

CALL = "x = old(1)\n"
FIRST = f"import os\n\n\n{CALL}y = 1\n{CALL}y = 2\n{CALL}"
SECOND = FIRST.replace("old", "new")
THIRD = SECOND.replace("new", "newer")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Two commits that change three lines in the same way."""
    made = Repository(tmp_path / "project")
    made.commit({"a.py": FIRST})
    made.commit({"a.py": SECOND}, "Use new")
    made.commit({"a.py": THIRD}, "Use newer")
    return made


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nes"], "name an action: serve"),
        (["nes", "eval"], "the following arguments are required: DIR"),
        (["nes", "eval", "/nowhere"], "there is no folder /nowhere"),
        (["nes", "eval", "{}/a.py"], "a.py is a file; name the folder of a git repository"),
        (["nes", "eval", "{}", "{}/../project"], "project is named twice"),
        (["nes", "eval", "{}", "--since", "nonsense"], "since 'nonsense': not a date"),
        (["nes", "eval", "{}", "--since", "2026-01-01"], "commit to replay since 2026-01-01 in"),
        (["nes", "eval", "{}", "--plot", "out.png"], "draws SVG and nothing else: name the file"),
        (["nes", "eval", "{}", "--model", "m"], "a model needs an address: add --model-url URL"),
        (["nes", "eval", "{}", "-a", "x", "--model-url", "http://h"], "leave --agent out"),
        (["nes", "demo", "--nope"], "see `parley nes demo --help`"),
        (["nes", "eval", "{}", "--tip", "nothing"], "there is no commit 'nothing'"),
        (["nes", "eval", "{}", "--language", "go"], "there is no commit to replay in files of go"),
        (["nes", "eval", "{}", "--kinds", "edit,song"], "--kinds: there is no 'song'"),
        (["nes", "eval", "{}", "--set", "quiet"], "--set: 'quiet' is not ID=VALUE"),
        (["nes", "eval", "{}", "--commits", "0"], "'0' is not a positive whole number"),
        (["nes", "eval", "{}", "--timeout", "0"], "'0' is not a positive number"),
        (["nes", "eval", "{}", "--settle", "-1"], "'-1' is not zero or a positive number"),
        (["nes", "serve", "--model-timeout", "0"], "'0' is not a positive number"),
    ],
)
def test_a_wrong_command_line_is_told(
    parley: CommandLine, repository: Repository, words: list[str], told: str
) -> None:
    done = parley(*(each.replace("{}", str(repository.folder)) for each in words))
    assert done.returncode == 2
    assert told in done.stderr


def test_the_demo_names_only_the_extras_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    assert install_hint() == "an extra: pip install 'parley-acp[tui]'"
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    assert install_hint() == "extras: pip install 'parley-acp[tui,nes]'"
