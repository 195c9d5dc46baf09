"""Every example runs and prints what it should."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .command import PARLEY, parley
from .shell import EXAMPLES, Shell
from .terminal import run_in_terminal

PRINTED = {
    "ask.py": ["echo: What is in this directory?", "echo: Say it in one word."],
    "stream.py": [
        "[in_progress] Count to three",
        "[in_progress] Count to three",
        "[completed] Count to three",
        "tool:done",
        "parley-demo stopped: end_turn",
    ],
    "stream_text.py": [
        "echo: Hello",
        "first text: waiting to be cancelled",
        "then: cancelled",
    ],
    "permission.py": [
        "Edit notes.txt: allow_once",
        "notes.txt is loud now. (notes.txt: QUIET)",
        "Edit program.py: reject_once",
        "Then it stays as it is. (program.py: quiet)",
    ],
    "policy.py": [
        "Edit guide.md: allow_once; rule 2: allow kind=read,edit path=docs/**",
        "Edit uv.lock: reject_once; rule 1: deny path=*.lock",
        "Edit program.py? (The user says nothing.)",
        "Edit program.py: no answer; no rule fits: the default is to ask",
    ],
    "several.py": [
        "parley demo: echo: Hello",
        "python examples/hello_agent.py: You said: Hello",
        "no: failed: no is not a command on PATH. To use an agent from your configuration file, "
        "pass config=True.",
    ],
    "form.py": [
        "What shall it be? size: StringPropertySchema",
        "What shall it be? pockets: IntegerPropertySchema",
        "A coat in M with 2 pockets.",
        "This editor has no forms. Tell me size and pockets in a prompt.",
    ],
    "nes_context.py": [
        "after the edit: ['the', 'and']",
        "after the action: ['and', 'the']",
    ],
    "extensions.py": [
        "the agent adds: {'example.com': {'add': True}}",
        "log: adding",
        "5",
        "Hello Ada",
        "_example.com/add: Invalid params (-32602): params.left: expected integer",
    ],
    "providers.py": [
        "main ['openai'] None",
        "spare ['openai'] None",
        "from now on main is at https://models.example.com/v1",
        "left: ['main']",
    ],
    "custom_values.py": [
        "kind: _example.com/measure",
        "content: {'type': '_example.com/chart', 'points': [3, 5, 4]}",
        "update: _example.com/alert 2",
        "'urgent' is not a value of 'severity' that the protocol has; "
        "custom values start with an underscore, such as '_urgent'",
    ],
    "login_status.py": [
        "before: unauthenticated",
        "after: authenticated",
        "reported: unauthenticated",
        "The key has just expired.",
    ],
    "open_page.py": [
        "Please connect your account: https://example.com/connect",
        "done: https://example.com/connect",
        "Your account is connected.",
    ],
    "cancel_terminal.py": ["$ make all", "I have stopped the build.", "stopped: end_turn"],
    "system_prompt.py": [
        "You are a coding agent.",
        "append: You are a coding agent. Answer in one sentence.",
        "override: Answer in one sentence.",
    ],
    "log_in.py": [
        "The agent offers: AuthMethodAgent(meta=None, method_id='browser', "
        "name='Log in with the browser', description=None)",
        "Please log in: https://example.com/login?code=1234",
        "Welcome, member.",
        "Without a login: Log in first; "
        "the agent offers these logins: 'browser' (Log in with the browser) (-32000)",
    ],
    "journal.py": [
        "demo | Hello | echo: Where is the [walnut]?",
        "demo | Hello | Where is the [walnut]?",
        "Hello: 4 frames to the agent",
        "left: []",
    ],
    "nes_client.py": [
        *(f"line {line}: insert ' '; Tab takes it" for line in range(3)),
        "# one",
        "print(1)# why",
        "# two",
    ],
    "nes_embedded.py": ["line 4: debug -> info", "line 6: debug -> info"],
    "nes_engine.py": ["info(1)", "info(2)", "info(3)"],
    "proxy_budget.py": [
        "The budget of this session is spent: 1.10 of 1.00 EUR",
        "the turn: cancelled",
        "refused: The budget of this session is spent: 1.10 of 1.00 EUR",
    ],
    "proxy_context.py": ["2: ...'.md:\\n\\nBe kind.\\nHello'", "1: ...'llo again, as before'"],
    "proxy_handlers.py": [
        "{'pong': 2}",
        "answer: YOU SAID: HELLO",
        "title: You said: Who are you?",
        "thoughts: []",
    ],
    "proxy_limits.py": [
        "echo: Hello",
        "A message has at most 4096 bytes",
        "Too many sessions are open (at most 1); close one",
    ],
    "proxy_log.py": ["demo Hello ['Hello', 'echo: Hello']"],
    "proxy_paths.py": ["I work in /work", "and looks at notes.txt"],
    "proxy_policy.py": [
        "docs/guide.md -> guide.md is loud now.",
        "uv.lock -> Then it stays as it is.",
        "Edit program.py? The user says yes.",
        "program.py -> program.py is loud now.",
    ],
    "proxy_record.py": ["recorded: tool:done", "played: tool:done", "lines: 16"],
    "proxy_redact.py": ["You said: It is [redacted].", "I use [redacted] for this."],
    "proxy_session_tools.py": ["one: 2 pear, 1 walnut", "two: 1 plum"],
    "proxy_state.py": ["echo: (1) Hello", "echo: (1) Hello", "echo: (2) Hello"],
    "proxy_versions.py": [
        "version 1 arrives at the agent",
        "version 2 hears: You said: Hello",
        "version 2 arrives at the agent",
        "version 1 hears: You said: Hello",
    ],
    "remote.py": [
        "http: From afar: Hello",
        "ws: From afar: Hello",
        "the guessed token was rejected",
    ],
    "replay.py": [
        "recorded: ['tool', 'tool:done', 'Hello', 'echo: Hello']",
        "played: tool:done",
        "played: echo: Hello",
    ],
    "resume.py": [
        "Note 1 is kept.",
        "found: Buy milk",
        "  user: Buy milk",
        "  agent: Note 1 is kept.",
        "Note 2 is kept.",
    ],
    "environment.py": [
        "typed and not saved",
        "in the editor: TYPED AND NOT SAVED",
        "on the disk: saved",
    ],
    "think.py": [
        "the most frequent: walnut, 2 times",
        "all: walnut 2, pear 1, plum 1",
    ],
    "tools.py": ["2 walnut: 6", "1 pear: 1", "There are 3 words."],
    "session_drafts.py": [
        "title: Counting",
        "fork: You said: one, two",
        "origin: You said: one, three",
        "status: open",
        "listed: ['Counting']",
        "listed: ['Counting', 'Counting']",
    ],
    "side_updates.py": [
        "notice: The context was compacted",
        "cancelled: the build, and the turn continues",
        "I have not built it.",
        "subagents: ['Explore']",
    ],
    "terminals.py": ["$ nice -n 5 echo hi", "term:0:hi", ""],
    "workspace.py": [
        "May it edit notes.txt?",
        "May it read notes.txt?",
        "May it execute cat notes.txt?",
        "output: one",
        "two",
        "May it execute rm notes.txt?",
        "two",
        "exit code 0",
        "/etc/passwd is outside the workspace",
        "Permission to execute rm notes.txt was denied",
    ],
}
"""What the examples print that need no arguments."""


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_it_should(name: str, shell: Shell) -> None:
    done = shell("python", f"examples/{name}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == PRINTED[name]
    assert done.stderr == ""


def test_converse_shows_a_whole_conversation(shell: Shell) -> None:
    lines = shell("python", "examples/converse.py", "three small words").stdout.splitlines()
    assert lines[0].startswith("client ->       initialize")
    assert [line.split()[2] for line in lines if line.startswith("client ->")] == [
        "initialize",
        "session/new",
        "session/prompt",
    ]
    assert lines[-2] == "The agent's answer: You said 3 words: three small words"
    assert lines[-1] == "The turn ended with: end_turn"


def test_the_examples_of_tests_pass(shell: Shell) -> None:
    files = sorted(str(path) for path in EXAMPLES.glob("test_*.py"))
    done = shell("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def talk(agent: str, prompt: str, *options: str) -> subprocess.CompletedProcess[str]:
    target = shlex.join([sys.executable, str(EXAMPLES / agent)])
    return parley("run", prompt, "-a", target, "--quiet", *options)


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_ten_lines_serve_both_versions(version: str) -> None:
    assert talk("hello_agent.py", "Hello", "--protocol", version).stdout == "You said: Hello\n"


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_ten_lines_of_a_proxy_are_a_part_of_a_chain(version: str) -> None:
    proxy = shlex.join([sys.executable, str(EXAMPLES / "proxy_brief.py")])
    agent = [sys.executable, str(EXAMPLES / "hello_agent.py")]
    chain = shlex.join([*PARLEY, "conduct", proxy, "--", *agent])
    done = parley("run", "Hello", "-a", chain, "--quiet", "--protocol", version)
    assert done.stdout == "You said: Be brief. Hello\n"


def test_the_ten_lines_need_no_annotations(tmp_path: Path) -> None:
    program = tmp_path / "hello.py"
    program.write_text(
        "from parley import Agent\n"
        "agent = Agent('hello')\n"
        "@agent.prompt\n"
        "async def reply(turn):\n"
        "    await turn.say(f'You said: {turn.text}')\n"
        "agent.run()\n"
    )
    assert talk(str(program), "Hello").stdout == "You said: Hello\n"


def test_the_demo_agent_accepts_tools(shell: Shell) -> None:
    done = shell("python", "examples/tools.py", "parley demo")
    assert (done.stdout, done.stderr) == ("echo: walnut pear walnut plum\n", "")


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_agent_with_options_greets(version: str) -> None:
    done = talk("options_agent.py", "/greet Ada", "--protocol", version)
    assert done.stdout == "Good day to you, Ada\n"


def test_the_agent_with_tools_changes_what_it_may(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("quiet")
    done = talk("tools_agent.py", "a.txt", "--cwd", str(tmp_path), "--allow", "edit:*.txt")
    assert done.stdout == "a.txt is loud now.\n"
    assert path.read_text() == "QUIET"
    missing = talk("tools_agent.py", "b.txt", "--cwd", str(tmp_path))
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "There is no file b.txt (-32002)" in missing.stderr


def test_the_user_sees_the_change_before_the_question(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("quiet\n")
    agent = shlex.join([sys.executable, str(EXAMPLES / "tools_agent.py")])
    with run_in_terminal(*PARLEY, "run", "a.txt", "-a", agent, "--cwd", str(tmp_path)) as shown:
        shown.until("Edit a.txt")
        shown.until("-quiet")
        shown.until("+QUIET")
        shown.until("1) Allow")
        shown.until("choose")
        shown.press("1\r")
        shown.until("a.txt is loud now.")
        assert shown.exit_code() == 0


def test_the_agent_with_a_login_says_how(tmp_path: Path) -> None:
    agent = shlex.join([sys.executable, str(EXAMPLES / "login_agent.py"), str(tmp_path / "token")])
    done = parley("run", "Hello", "-a", agent)
    assert done.returncode == 6
    assert "'browser' (Log in with the browser); choose one with --login METHOD" in done.stderr
    blind = parley("run", "Hello", "-a", agent, "--login", "browser")
    assert blind.returncode == 6
    assert blind.stderr == "parley: This login needs a client that opens pages\n"


@pytest.mark.requirement("V1-AUTH-15", "V2-AUTH-15")
@pytest.mark.parametrize("version", ["1", "2"])
def test_the_user_logs_in_on_the_terminal(tmp_path: Path, version: str) -> None:
    agent = shlex.join([sys.executable, str(EXAMPLES / "login_agent.py"), str(tmp_path / "token")])
    words = ("run", "Hello", "-a", agent, "--login", "terminal", "--protocol", version)
    with run_in_terminal(*PARLEY, *words) as shown:
        shown.until("this runs: ")
        shown.until("Token: ")
        shown.press("sesame\r")
        shown.until("Welcome, member.")
        assert shown.exit_code() == 0
    assert (tmp_path / "token").read_text() == "sesame"
    blind = parley(*words[:-2])
    assert blind.stdout == "Welcome, member.\n", "the login stays"


def test_the_reader_of_recordings_prints_what_the_agent_wrote(shell: Shell) -> None:
    assert (
        parley("run", "echo", "-q", "-a", "parley tap --name demo -- parley demo").returncode == 0
    )
    lines = shell("python", "examples/read_recording.py", "demo").stdout.splitlines()
    assert "'protocolVersion'" in lines[0]


def test_a_client_talks_to_a_recording_instead_of_the_agent(shell: Shell) -> None:
    recorded = parley("run", "Hello", "-q", "-a", "parley tap --name demo -- parley demo")
    assert recorded.returncode == 0, recorded.stderr
    done = shell("python", "examples/replay_recording.py", "demo")
    assert done.stdout == "echo: Hello\n", done.stderr


def test_every_example_is_executed_here() -> None:
    served = {"hello_agent.py", "login_agent.py", "notes_agent.py", "options_agent.py"}
    served |= {"tools_agent.py", "wire_agent.py", "converse.py", "journal_agent.py"}
    served |= {"proxy_brief.py", "read_recording.py", "replay_recording.py"}
    served |= {"counting_agent.py"}  # by think.py, tools.py and proxy_session_tools.py
    served |= {"remote_agent.py", "asgi_app.py", "asgi_agent.py"}  # in test_remote_programs.py
    served |= {"complete_agent.py"}  # in test_tutorials.py
    served |= {"nes_agent.py"}  # by nes_client.py
    served |= {"nes_model.py"}  # in test_nes_model.py
    tests = {path.name for path in EXAMPLES.glob("test_*.py")}
    assert {path.name for path in EXAMPLES.glob("*.py")} == served | tests | set(PRINTED)
