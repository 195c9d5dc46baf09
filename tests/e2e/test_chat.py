"""`parley chat` in a real terminal, with the demo agent as a process."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.command import PARLEY, parley
from tests.e2e.terminal import Terminal, run_in_terminal

if not Path("/proc/self/task").exists():
    pytest.skip("looks for processes as Linux shows them", allow_module_level=True)

TERM = {"TERM": "xterm-256color"}
EVIL_AGENT = """
from parley.agent import Agent, Turn
from parley.schema import v2

EVIL = "x\\x1b]0;owned\\x07\\x1b]52;c;aGk=\\x1b\\\\\\x9b6n[/etc/passwd]"
agent = Agent("evil", title=EVIL)

@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.session.set_title(EVIL)
    await turn.think(EVIL)
    async with turn.tool(EVIL, kind="execute", raw_input={"command": EVIL}) as call:
        await call.add(EVIL)
        options = [v2.PermissionOption(option_id="y", name=EVIL, kind="allow_once")]
        await turn.ask_permission(EVIL, tool=call, options=options)
    await turn.say(EVIL + " said")

agent.run()
"""


@contextmanager
def chat(*words: str) -> Generator[Terminal]:
    with run_in_terminal(*PARLEY, *words, env=TERM) as terminal:
        terminal.shows("ready")
        yield terminal


def agents_of(pid: int) -> list[int]:
    """The agents that a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    started = [each for task in tasks for each in (task / "children").read_text().split()]
    return [int(each) for each in started if b"demo" in Path(f"/proc/{each}/cmdline").read_bytes()]


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_parley_alone_opens_the_chat_with_the_demo_agent_and_a_hint() -> None:
    with chat() as terminal:
        terminal.shows("No agent is configured")
        terminal.press("hello\r")
        terminal.shows("echo: hello")
        started = agents_of(terminal.process.pid)
        terminal.press("\x04")
        assert terminal.exit_code() == 0
        assert started
        assert not any(map(is_alive, started))
        assert b"resume with `parley chat --session" in terminal.painted


def test_how_to_go_on_with_a_session_can_be_copied_whatever_its_name_is() -> None:
    with chat("chat", "--session", "the fix") as terminal:
        terminal.press("hello\r")
        terminal.shows("echo: hello")
        terminal.press("\x04")
        assert terminal.exit_code() == 0
        assert b"resume with `parley chat --session 'the fix'`" in terminal.painted


def test_a_turn_with_a_permission_a_cancel_and_a_crash() -> None:
    with chat("chat") as terminal:
        terminal.press("perm\r")
        terminal.shows("May I?")
        terminal.shows("Waiting for you")
        terminal.answer("Waiting for you", "y")
        terminal.shows('"optionId":"yes"')
        terminal.shows("ready")
        terminal.press("slow\r")
        terminal.shows("waiting to be cancelled")
        terminal.press("\x1b")
        terminal.shows("! cancelled", "ready")
        terminal.press("crash\r")
        terminal.shows("exited with code 3", "Press F5 to restart")
        terminal.press("\r")
        terminal.shows("ready")
        assert terminal.leave() == 0


def test_who_ends_us_ends_the_agent_and_has_the_terminal_back() -> None:
    with chat("chat") as terminal:
        started = agents_of(terminal.process.pid)
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.exit_code() == 0
        assert started
        assert not any(map(is_alive, started))
        assert terminal.painted.rindex(b"\x1b[?1049l") > terminal.painted.rindex(b"\x1b[?1049h")


def test_closing_the_terminal_ends_everything() -> None:
    with chat("chat") as terminal:
        terminal.press("slow\r")
        terminal.shows("working")
        started = agents_of(terminal.process.pid)
        assert started
        terminal.hang_up()
        assert not any(map(is_alive, started))


def test_no_byte_of_an_agent_is_obeyed(tmp_path: Path) -> None:
    program = tmp_path / "evil.py"
    program.write_text(EVIL_AGENT)
    with chat("chat", f"{sys.executable} {program}") as terminal:
        terminal.press("go\r")
        terminal.shows("Waiting for you")
        terminal.answer("Waiting for you", "\x1b")
        terminal.shows("said")
        terminal.press("\x04")
        terminal.exit_code()
        assert b"[/etc/passwd]" in terminal.painted
        text = re.sub("\x1b]22;[a-z-]*\x07", "", terminal.painted.decode())  # the mouse, of Textual
        assert not re.search("\x1b]|\x07|[\x80-\x9f]|\x1b\\[6n", text)


def test_without_a_terminal_it_says_what_to_do() -> None:
    done = parley("chat")
    assert done.returncode == 2
    assert "`parley run` works without one" in done.stderr
    alone = parley()
    assert alone.returncode == 0
    assert "commands:" in alone.stdout


def test_without_textual_it_says_what_to_install(tmp_path: Path) -> None:
    finder = "import sys\nsys.modules['textual'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(finder)
    with run_in_terminal(*PARLEY, env={**TERM, "PYTHONPATH": str(tmp_path)}) as terminal:
        terminal.until("pip install 'parley-acp[tui]'")
        assert terminal.exit_code() == 1


def test_a_replay_needs_no_agent(tmp_path: Path) -> None:
    assert parley("run", "plan", "-q", "--session", "kept").returncode == 0
    file = str(tmp_path / "kept.jsonl")
    assert parley("sessions", "export", "kept", "-o", file).returncode == 0
    for source in ("kept", file):
        with run_in_terminal(
            *PARLEY, "chat", "--replay", source, "--speed", "0", env=TERM
        ) as terminal:
            terminal.shows("plan:done")
            terminal.shows("end of the recording")
            assert terminal.leave() == 0
    with run_in_terminal(*PARLEY, "chat", "--replay", "nothing", env=TERM) as terminal:
        terminal.shows("neither a file nor a session")
        assert terminal.exit_code() == 2


def test_a_session_is_gone_on_with_by_its_name() -> None:
    assert parley("run", "the beginning", "-q", "--session", "story").returncode == 0
    with chat("chat", "--session", "story") as terminal:
        terminal.shows("echo: the beginning")
        terminal.press("and on\r")
        terminal.shows("echo: and on")
        terminal.press("\x04")
        assert terminal.exit_code() == 0
    shown = parley("sessions", "show", "story").stdout
    assert "echo: the beginning" in shown
    assert "echo: and on" in shown
