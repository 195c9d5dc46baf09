"""Command lines that are wrong: one sentence on stderr, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.cli import COMMANDS, parser_of
from parley.config import config_path

from .command_line import CommandLine


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "the prompt is empty; say what the agent should do"),
        (("run", "x", "--allow", "eat"), "--allow eat: there is no kind 'eat'"),
        (("run", "x", "--cwd", "/no/such"), "there is no directory /no/such"),
        (("run", "x", "--add-dir", "/no/such"), "there is no directory /no/such"),
        (("run", "x", "--file", "/no/such"), "--file /no/such: no such file or directory"),
        (("run", "x", "--open", "/no/such"), "--open /no/such: no such file or directory"),
        (("run", "x", "--open", "/"), "--open /: it is a directory; give a file"),
        (("run", "x", "--open", "/dev/null"), "--open /dev/null: it is not a regular file"),
        (("run", "x", "--set", "mode"), "--set: 'mode' is not ID=VALUE"),
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
        (
            ("run", "--sesion", "x"),
            "unrecognized arguments: --sesion; did you mean --session?; see",
        ),
        (
            ("sessions", "list", "--limt=3"),
            "unrecognized arguments: --limt=3; did you mean --limit?",
        ),
        (("--versoin",), "unrecognized arguments: --versoin; did you mean --version?; see"),
        (("tap", "list", "--nope"), "unrecognized arguments: --nope; see `parley tap list --help`"),
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


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_action_fits_into_80_columns(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    parsers = [parser_of(name)[1]]
    for parser in parsers:
        for action in vars(parser)["_actions"]:
            if action.dest == "action":
                parsers += action.choices.values()
    too_long = [line for one in parsers for line in one.format_help().splitlines() if line[79:]]
    assert too_long == []


def test_a_token_file_that_does_not_exist_can_be_created(
    parley: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    done = parley("serve", "--token-file", str(file))
    create = f"parley serve --new-token --token-file {file}"
    assert done.returncode == 2
    assert (
        done.stderr == f"parley: --token-file: {file} does not exist; create it with `{create}`\n"
    )
    assert parley(*create.split()[1:]).returncode == 0
    assert file.read_text().strip()


def test_a_shell_is_asked_for(parley: CommandLine) -> None:
    assert "name a shell: bash, zsh, fish" in parley("completion").stderr
    assert parley("completion", "tcsh").returncode == 2


def test_a_chain_that_cannot_be_is_refused(parley: CommandLine) -> None:
    for words, told in (
        (["--chain", "none"], "there is no chain 'none'"),
        (["budget --nonsense 1", "--", "parley", "demo"], "budget"),
        (["--chain", "none", "log"], "cannot be combined with PROXY"),
        (["log"] * 17, "at most 16"),
        (["", "--", "parley", "demo"], "neither a built-in proxy nor a program"),
        (["budget", "--cost", "1", "--", "parley", "demo"], 'in quotes, such as "budget --cost'),
    ):
        done = parley("conduct", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert told in done.stderr


def test_a_time_limit_above_zero_is_wanted(parley: CommandLine) -> None:
    assert parley("doctor", "--timeout", "0").returncode == 2


def test_without_an_agent_it_asks_for_one(parley: CommandLine) -> None:
    done = parley("login")
    assert done.returncode == 2
    assert "name an agent" in done.stderr


@pytest.mark.requirement("SAFE-USER-04")
@pytest.mark.parametrize(
    "words",
    [("run", "x"), ("serve",), ("agents", "list"), ("login", "x")],
    ids=lambda words: words[0],
)
def test_a_configuration_that_others_may_write_is_refused(
    parley: CommandLine, words: tuple[str, ...]
) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text('[agents.x]\ncommand = "touch owned"\n')
    path.chmod(0o666)
    done = parley(*words)
    assert done.returncode in (1, 2)
    told = f"parley: {path} is refused, since it decides what runs as you: others may write to"
    assert done.stderr.startswith(told)
    assert f"`chmod go-w {path}`" in done.stderr


@pytest.mark.requirement("SAFE-USER-04")
def test_a_policy_that_others_may_write_is_refused(parley: CommandLine) -> None:
    path = config_path().parent / "policy.toml"
    path.parent.mkdir(parents=True)
    path.write_text('default = "allow"\n')
    path.chmod(0o666)
    done = parley("run", "perm")
    assert done.returncode == 2
    assert f"{path} is refused, since it decides what is allowed" in done.stderr
    assert f"`chmod go-w {path}`" in done.stderr
