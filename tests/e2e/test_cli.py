"""`parley` as a script uses it: what it prints where, exit codes, rules for permissions."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from parley.testing.scripted import Exit, Expect, Respond, RespondWithError, Stderr, Step

from .command import PARLEY, TRAP, chunk, opening, parley, scripted

# What is shown


def test_without_an_agent_the_demo_agent_answers_and_says_so() -> None:
    done = parley("run", "Hello")
    assert (done.stdout, done.returncode) == ("echo: Hello\n", 0)
    assert "the demo agent answers" in done.stderr
    assert "-a" in done.stderr


def test_the_answer_is_on_stdout_and_the_rest_on_stderr() -> None:
    done = parley("run", "diff", "-a", shlex.join([*PARLEY, "demo"]))
    assert done.stdout == "diff:done\n"
    assert done.stderr.splitlines()[:2] == ["▸ edit: Edit demo.txt", "✓ edit: Edit demo.txt"]
    assert "    +new world" in done.stderr.splitlines()


def test_quiet_prints_only_the_final_text() -> None:
    done = parley("run", "plan", "--quiet")
    assert (done.stdout, done.stderr) == ("plan:done\n", "")


def test_json_prints_one_event_a_line() -> None:
    done = parley("run", "tool", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["event"] for each in events] == ["session", *["update"] * (len(events) - 2), "end"]
    assert (events[0]["schema"], events[0]["protocol"], events[0]["isResumed"]) == (1, 2, False)
    assert events[0]["agent"]["name"] == "parley-demo"
    assert events[0]["cwd"] == str(Path.cwd())
    assert events[-1] == {"event": "end", "stopReason": "end_turn", "text": "tool:done"}
    kinds = [each["update"]["sessionUpdate"] for each in events[1:-1]]
    assert kinds[0] == "user_message"
    assert kinds[-1] == "state_update"
    assert "tool_call_content_chunk" in kinds


@pytest.mark.parametrize("version", [1, 2])
def test_it_speaks_the_version_it_is_told(tmp_path: Path, version: int) -> None:
    asked = {"method": "initialize", "params": {"protocolVersion": version}}
    agent = scripted(tmp_path, Expect(asked), Stderr("as told"), Exit(3))
    assert "as told" in parley("run", "Go", "-a", agent, "--protocol", str(version)).stderr


def test_a_prompt_is_read_from_stdin() -> None:
    assert parley("run", "-", "-q", given="from a pipe").stdout == "echo: from a pipe\n"


def test_the_agent_works_in_the_directory_it_is_given(tmp_path: Path) -> None:
    done = parley("run", "diff", "--cwd", str(tmp_path))
    assert f"    modify {tmp_path}/demo.txt" in done.stderr.splitlines()


def test_a_reader_that_goes_away_ends_it_without_noise() -> None:
    command = shlex.join([*PARLEY, "run", "flood 20000", "--json"])
    done = subprocess.run(
        ["sh", "-c", f"{command} | head -n 1"], capture_output=True, text=True, timeout=300
    )
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr


# Exit codes


@pytest.mark.requirement("V1-PROMPT-29")
@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("end_turn", 0),
        ("refusal", 3),
        ("max_tokens", 4),
        ("max_turn_requests", 4),
        ("cancelled", 130),
    ],
)
def test_the_exit_code_tells_why_it_stopped(tmp_path: Path, reason: str, code: int) -> None:
    agent = scripted(tmp_path, *opening(), chunk("So."), Respond({"stopReason": reason}))
    done = parley("run", "Go", "-a", agent)
    assert (done.stdout, done.returncode) == ("So.\n", code)
    assert (f"stopped: {reason}" in done.stderr) is (code != 0)
    forgotten = "the agent will not remember this prompt or its response"
    assert (forgotten in done.stderr) is (reason == "refusal")


def test_an_error_of_the_agent_is_told_with_its_data() -> None:
    done = parley("run", "boom")
    assert done.returncode == 1
    assert 'parley: the agent returned an error: Boom (-32050): {"detail":42}' in done.stderr
    told = json.loads(parley("run", "boom", "--json").stdout.splitlines()[-1])
    assert told["event"] == "error"
    assert (told["error"]["code"], told["error"]["data"]) == (-32050, {"detail": 42})


def test_an_agent_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *opening(), chunk("I am"), Stderr(f"out of {TRAP}luck"), Exit(3))
    done = parley("run", "Go", "-a", agent)
    assert (done.stdout, done.returncode) == ("I am\n", 5)
    assert "exited with code 3; stderr:" in done.stderr
    assert "out of ␛]52;c;QQ==␇␛[2J␛[6n�luck" in done.stderr


def test_the_last_words_of_an_agent_that_never_began_are_all_there_is_to_say() -> None:
    done = parley("run", "Go", "-a", "sh -c 'echo no licence >&2; exit 3'")
    assert done.returncode == 5
    assert done.stderr.endswith("exited with code 3; stderr:\nno licence\n")


def test_an_error_that_says_nothing_is_told_with_where_to_look(tmp_path: Path) -> None:
    vague = RespondWithError({"code": -32603, "message": "Internal error"})
    hint = "run with -v to see what it logged"
    agent = scripted(tmp_path, *opening(), vague)
    assert f"Internal error (-32603); {hint}" in parley("run", "Go", "-a", agent).stderr
    assert hint not in parley("run", "Go", "-v", "-a", agent).stderr


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("no-such-agent", "no-such-agent was not found. Is it installed and on PATH?"),
        ("ftp://example.org", "ftp:// is not supported; use http://"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9/acp cannot be reached: connection refused"),
        ("", "no command to start"),
        ("cat", "cat is not an agent: it echoes its input; pass the command that starts an agent"),
        ("true", "is this the command that starts an agent?"),
        ("sh -c 'echo hi; exit 3'", "is this the command that starts an agent?"),
    ],
)
def test_what_cannot_be_started_or_is_no_agent_is_told(agent: str, told: str) -> None:
    done = parley("run", "Go", "-a", agent)
    assert done.returncode == 5
    assert told in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_an_agent_that_wants_a_login_is_told_with_the_ways(tmp_path: Path) -> None:
    methods = [{"id": "key", "name": "With a key"}]
    begin: list[Step] = [
        Expect({"method": "initialize"}, skips=True),
        Respond({"protocolVersion": 1, "authMethods": methods}),
        Expect({"method": "session/new"}),
        RespondWithError({"code": -32000, "message": "Authentication required"}),
    ]
    done = parley("run", "Go", "-a", scripted(tmp_path, *begin))
    assert done.returncode == 6
    assert "'key' (With a key); choose one with --login METHOD" in done.stderr
    log_in: list[Step] = [
        Expect({"method": "authenticate", "params": {"methodId": "key"}}),
        Respond({}),
        *opening()[2:],
        Respond({"stopReason": "end_turn"}),
    ]
    agent = scripted(tmp_path, *begin, *log_in)
    assert parley("run", "Go", "-a", agent, "--login", "key").returncode == 0
    unknown = parley("run", "Go", "-a", scripted(tmp_path, *begin), "--login", "nope")
    assert unknown.returncode == 6
    assert "there is no login method 'nope'; the agent offers these logins: 'key'" in unknown.stderr


@pytest.mark.parametrize("words", [("run", "x", "--allow", "eat"), ("rum", "x"), ("--nonsense",)])
def test_a_wrong_command_line_is_one_sentence_and_an_exit_code(words: tuple[str, ...]) -> None:
    done = parley(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("parley: ")
    assert len(done.stderr.splitlines()) == 1


def test_help_has_an_example_and_the_exit_codes() -> None:
    assert parley("--version").stdout.startswith("parley ")
    front = parley()
    assert front.returncode == 0
    assert re.search(r"^  run +give an agent one prompt", front.stdout, re.MULTILINE)
    told = parley("run", "--help").stdout
    assert 'parley run "What is in this repository?" -a' in told
    assert re.search(r"exit codes:\n  0 .*\n  1 .*\n  2 .*\n  3 ", told)
    assert "flood N" in parley("demo", "--help").stdout


def test_variables_reach_the_agent_only_by_name() -> None:
    agent = "sh -c 'echo one:$ONE two:$TWO three:$THREE >&2; exit 9'"
    words = ("run", "x", "-a", agent, "--env", "TWO", "--env", "THREE=3")
    done = parley(*words, env={"ONE": "1", "TWO": "2"})
    assert "one: two:2 three:3" in done.stderr


def test_the_agents_stderr_is_shown_on_demand(tmp_path: Path) -> None:
    steps = [*opening(), Stderr(f"loading{TRAP}"), Respond({"stopReason": "end_turn"})]
    agent = scripted(tmp_path, *steps)
    assert "loading" not in parley("run", "Go", "-a", agent).stderr
    assert "loading␛]52" in parley("run", "Go", "-a", agent, "-v").stderr


# Permission


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no"),
        (("--allow", "*"), "yes"),
        (("--allow", "other"), "yes"),
        (("--allow", "read"), "no"),
        (("--allow", "*", "--deny", "other"), "no"),
    ],
)
def test_rules_decide_and_without_one_nothing_is_allowed(words: tuple[str, ...], said: str) -> None:
    done = parley("run", "perm", *words)
    assert done.stdout == f'perm:{{"outcome":"selected","optionId":"{said}"}}\n'
    assert ("nobody can be asked" in done.stderr) is (words in ((), ("--allow", "read")))


# The demo agent


def test_the_demo_agent_ends_with_its_input() -> None:
    done = parley("demo")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_show_runs_to_its_end() -> None:
    show = [sys.executable, "scripts/show.py"]
    root = Path(__file__).parents[2]
    done = subprocess.run(show, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "echo: Hello, who is there?" in done.stdout
    last = shlex.split(done.stdout.splitlines()[-1])
    then = subprocess.run(last, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert "repeats what you say" in then.stdout, then.stderr
