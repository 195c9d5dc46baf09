"""`parley completion`: what a shell offers when Tab is pressed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from parley.cli import COMMANDS
from parley.config import config_path

from .command import parley
from .shell import Shell

PRESS = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_parley
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "parley.bash"
    done = parley("completion", "bash")
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout)
    return path


@pytest.fixture(autouse=True)
def agents() -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text('[agents.opencode]\ncommand = "o"\n[agents.codex]\ncommand = "c"\n')


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("parley ag", ["agents"]),
        ("parley agents re", ["remove"]),
        ("parley agents ", ["list", "add", "remove", "test", "default", "providers"]),
        ("parley agents test ", ["opencode", "codex"]),
        ("parley agents remove op", ["opencode"]),
        ("parley agents add ", []),
        ("parley conduct re", ["record", "redact", "rename-paths", "replay"]),
        ("parley run -a ", ["opencode", "codex"]),
        ("parley run --agent co", ["codex"]),
        ("parley run --agent = co", ["codex"]),
        ("parley run x --agent =", ["opencode", "codex"]),
        ("parley login ", ["opencode", "codex"]),
        ("parley doctor opencode co", ["codex"]),
        ("parley completion ", ["bash", "zsh", "fish"]),
        ("parley agents add x --protocol ", ["1", "2"]),
        ("parley agents add x --no", ["--no-test"]),
        ("parley agents add x -- /bin/s", None),
        ("parley --v", ["--version"]),
        ("parley zzz", []),
    ],
)
def test_bash_offers_what_can_stand_there(
    script: Path, shell: Shell, line: str, offered: list[str] | None
) -> None:
    words = line.split(" ")
    done = shell("bash", "--norc", "-c", PRESS, "bash", str(script), *words)
    assert done.stderr == ""
    found = done.stdout.split()
    if offered is None:
        assert "/bin/sh" in found
    else:
        assert sorted(found) == sorted(offered)


def test_bash_offers_the_chains_where_one_is_meant(script: Path, shell: Shell) -> None:
    with config_path().open("a") as file:
        file.write('[chains.careful]\nagent = "codex"\n[chains.cheap]\nagent = "codex"\n')
    for line, offered in (
        ("parley conduct --chain ", ["careful", "cheap"]),
        ("parley conduct --chain ch", ["cheap"]),
        ("parley run -a ca", ["careful"]),
    ):
        done = shell("bash", "--norc", "-c", PRESS, "bash", str(script), *line.split(" "))
        assert done.stdout.split() == offered


def test_bash_offers_every_command(script: Path, shell: Shell) -> None:
    done = shell("bash", "--norc", "-c", PRESS, "bash", str(script), "parley", "")
    assert done.stdout.split() == list(COMMANDS)


def test_bash_offers_files_and_directories_with_blanks(
    script: Path, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "a file").touch()
    (tmp_path / "a folder").mkdir()
    start = str(tmp_path / "a")
    line = ["parley", "agents", "add", "x", "--registry", start]
    done = shell("bash", "--norc", "-c", PRESS, "bash", str(script), *line)
    assert sorted(done.stdout.splitlines()) == [f"{start} file", f"{start} folder"]
    line = ["parley", "run", "--cwd", start]
    done = shell("bash", "--norc", "-c", PRESS, "bash", str(script), *line)
    assert done.stdout.splitlines() == [f"{start} folder"]


def test_nothing_of_a_broken_configuration_reaches_the_shell(script: Path, shell: Shell) -> None:
    config_path().write_text('[agents."$(touch pwned)"]\ncommand = "x"\n')
    line = ("parley", "run", "-a", "")
    done = shell("bash", "--norc", "-c", PRESS, "bash", str(script), *line)
    assert (done.stdout.strip(), done.stderr) == ("", "")
    assert parley("completion", "--words", "agents").stdout == ""


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_other_shells_get_every_command_and_option(name: str) -> None:
    done = parley("completion", name)
    assert done.returncode == 0
    for word in (*COMMANDS, "agents add", "no-test", "completion --words", "chains"):
        assert word in done.stdout
    if shutil.which(name) is not None:
        checked = subprocess.run([name, "-n"], input=done.stdout, text=True, timeout=300)
        assert checked.returncode == 0


def test_the_script_is_the_same_every_time_and_quotes_what_it_must() -> None:
    first, again = parley("completion", "bash"), parley("completion", "bash")
    assert first.stdout == again.stdout
    assert shlex.quote("agents add") in first.stdout
