"""Command lines that are wrong: one sentence on stderr, and the exit code."""

from __future__ import annotations

import pytest

from .command_line import CommandLine


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "the prompt is empty; say what the agent should do"),
        (("run", "x", "--allow", "eat"), "--allow eat: there is no kind 'eat'"),
        (("run", "x", "--cwd", "/no/such"), "there is no directory /no/such"),
        (("run", "x", "--add-dir", "/no/such"), "there is no directory /no/such"),
        (("run", "x", "--file", "/no/such"), "--file /no/such: no such file or directory"),
        (("run", "x", "--set", "mode"), "--set: 'mode' is no option with a value; give ID=VALUE"),
        (("run", "x", "--timeout", "0"), "argument --timeout: '0' is not a positive number"),
        (("run", "x", "--session", " "), "--session: the name is empty"),
        (("run", "x", "--max-cost", "nan"), "argument --max-cost: 'nan' is not a positive number"),
        (("run", "x", "--resume"), "there is no session in "),
        (("run", "x", "--resume", "--no-journal"), "no session can be found without the journal"),
        (("run", "x", "--resume", "--session", "n"), "there is no session 'n'"),
        (("run", "x", "--env", "NO_SUCH"), "--env: NO_SUCH is not set here"),
        (("run", "x", "--env", "=x"), "--env: there is no name in '=x'; give NAME=VALUE"),
        (("run", "x", "--allow", "edit:"), "--allow edit:: there is no pattern"),
        (("run", " "), "the prompt is empty; say what the agent should do"),
        (("rum", "x"), "there is no command 'rum'; did you mean `parley run`?"),
        (("xyzzy",), "there is no command 'xyzzy'; see `parley --help`"),
        (("--nonsense",), "unrecognized arguments: --nonsense; see `parley --help`"),
        (("nes", "demo", "--nope"), "unrecognized arguments: --nope; see `parley nes demo --help`"),
        (("nes", "--nope"), "unrecognized arguments: --nope; see `parley nes --help`"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    parley: CommandLine, words: tuple[str, ...], told: str
) -> None:
    done = parley(*words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"parley: {told}")
    assert len(done.stderr.splitlines()) == 1


def test_a_shell_is_asked_for(parley: CommandLine) -> None:
    assert "say for which shell: bash, zsh, fish" in parley("completion").stderr
    assert parley("completion", "tcsh").returncode == 2
