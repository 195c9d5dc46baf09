from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.proxy import Proxy, builtin


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        "budget --cost 1.5",
        "budget --tokens 1000 --shared",
        "context",
        "context AGENTS.md CLAUDE.md --max-bytes 4k",
        "limits --message-bytes 1M --per-second 50 --prompts 2 --sessions 8",
        "log --agent mine",
        "policy --allow read --deny 'execute:rm *'",
        "redact",
        "redact --to-agent correct-horse",
        "rename-paths /home/me/x=/work --text",
        "v1-v2",
        "v1-v2 --agent 1",
    ],
)
def test_a_line_makes_a_component(line: str) -> None:
    assert builtin.is_builtin(line)
    made = builtin.parse(line)
    assert made.name == line.split()[0]
    assert isinstance(made, Proxy | builtin.TerminatingProxy)


@pytest.mark.parametrize("name", ["log", "policy"])
def test_what_the_agent_is_called_is_told_unless_the_line_says_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def make(*args: object, agent: str, **options: object) -> Proxy:
        called.append(agent)
        return Proxy("p")

    monkeypatch.setattr(f"parley.proxy.builtin._{name}.{name}", make)
    for line in (name, f"{name} --agent mine"):
        builtin.parse(line, agent="claude")
        builtin.parse(line)
    assert called == ["claude", "agent", "mine", "mine"]
    assert builtin.parse("v1-v2", agent="claude").name == "v1-v2"


def test_a_line_may_be_words(tmp_path: Path) -> None:
    assert builtin.parse(["record", str(tmp_path / "a b.jsonl")]).name == "record"


@pytest.mark.parametrize("line", ["", "parley demo", ["python", "budget"]])
def test_anything_else_is_a_command(line: str | list[str]) -> None:
    assert not builtin.is_builtin(line)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "unknown proxy ''"),
        ("polcy", "did you mean policy?"),
        ("zzz", "choose from budget, context"),
        ("budget", "budget: a budget needs a limit"),
        ("budget --cost none", "'none' is not a positive number"),
        ("budget --cost inf", "'inf' is not a positive number"),
        ("budget --tokens 0", "'0' is not a positive whole number"),
        ("budget --cots 1", "unrecognized arguments: --cots 1"),
        ("budget 'a", "No closing quotation"),
        ("limits", "limits: pass at least one limit"),
        ("limits --message-bytes 1x", "is not a positive number of bytes"),
        ("context /no/such/file", "/no/such/file: it cannot be read: No such file"),
        ("context /", "it cannot be read"),
        ("record", "the following arguments are required: FILE"),
        ("record /no/such/place.jsonl", "there is no directory /no/such"),
        ("log --journal /no/such/journal.db", "there is no such directory"),
        ("replay /no/such/place.jsonl", "it cannot be read: No such file"),
        ("redact short", "redact: a secret has at least 6 characters"),
        ("redact --to-agent --to-client", "not allowed with argument"),
        ("rename-paths /a", "has no =; write CLIENT=AGENT"),
        ("rename-paths a=/b", "'a' is not an absolute path"),
        ("rename-paths /=/b", "the root of all files cannot be renamed"),
        ("rename-paths /a=/c /b=/c", "a directory is there twice"),
        ("policy --allow cook", "there is no kind 'cook'"),
        ("v1-v2 --agent 3", "invalid choice: 3"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(line: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        builtin.parse(line)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_record_is_not_played(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text("{}\n")
    with pytest.raises(ConfigError, match="it cannot be played: line 1"):
        builtin.parse(f"replay {path}")


@pytest.mark.parametrize("name", builtin.NAMES)
def test_help_tells_what_a_proxy_does_and_takes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = builtin.help_of(name)
    assert text.startswith(f"usage: {name} [-h]")
    with pytest.raises(SystemExit) as ended:
        builtin.parse([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == text
    assert len(text.splitlines()) > 6


def test_a_policy_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "parley").mkdir()
    (tmp_path / "parley" / "policy.toml").write_text("rules = 3")
    with pytest.raises(ConfigError, match="write each under"):
        builtin.parse("policy")


def test_the_builtin_proxies_are_loaded_when_one_is_asked_for() -> None:
    script = (
        "import sys; import parley.proxy; print('parley.proxy.builtin' in sys.modules); "
        "parley.proxy.Conductor('budget --cost 1'); print('parley.proxy.builtin' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
