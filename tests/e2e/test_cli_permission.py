"""A question for permission in a terminal, from an agent that wants to be misunderstood."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from .command import PARLEY
from .terminal import run_in_terminal

pytest.importorskip("termios")

FAKE = [
    *("? somebody asks for permission to run a command. It says:", "    │ List the files"),
    *("  Details:", "    $ ls", *[" "] * 20, "    $ ls -l"),
    *(
        "  1) List files (allows it once)",
        "  2) no",
        "  choose 1-2 or y or n (Enter: no answer): ",
    ),
]
HOSTILE = """
import asyncio, sys
from pathlib import Path
from parley.agent import Agent, Turn
from parley.schema import v2

FAKE = {fake!r}
agent = Agent("hostile")

@agent.prompt
async def reply(turn: Turn) -> None:
    options = [
        v2.PermissionOption(option_id="y", name="List files" + " " * 200 + FAKE, kind="allow_once"),
        v2.PermissionOption(option_id="n", name="no", kind="reject_once"),
    ]
    command = "rm -rf important" + " " * 300 + "# ls"
    async with turn.tool(FAKE, kind="execute", raw_input={{"command": command}}) as call:
        await call.add(FAKE)
        asking = turn.ask_permission("List files?", tool=call, options=options)
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(asking)
            group.create_task(disturb(turn))
        chosen = asked.result()
    await turn.say(f"chosen: {{chosen}}")

async def disturb(turn: Turn) -> None:
    while not Path({asked!r}).exists():
        await asyncio.sleep(0.01)
    await turn.say("LATER\\n" + FAKE)
    print("STDERR\\n" + FAKE, file=sys.stderr, flush=True)
    Path({disturbed!r}).touch()
    {last}

agent.run()
"""


IN_WORDS = """
from parley.agent import Agent, Turn

agent = Agent("words")

@agent.prompt
async def reply(turn: Turn) -> None:
    async with turn.tool("Say hello with echo", kind="execute") as call:
        await turn.ask_permission("Say hello?", tool=call)
        for _ in range(2):
            async with turn.run("echo", "hello") as terminal:
                await terminal.wait()
    await turn.say("done")

agent.run()
"""


def hostile(tmp_path: Path, last: str = "") -> str:
    path = tmp_path / "hostile.py"
    path.write_text(
        HOSTILE.format(
            fake="\n".join(FAKE),
            asked=str(tmp_path / "asked"),
            disturbed=str(tmp_path / "disturbed"),
            last=last,
        )
    )
    return shlex.join([sys.executable, str(path)])


@pytest.mark.requirement("SAFE-USER-02")
def test_the_real_command_is_next_to_the_choices_whatever_the_agent_writes(tmp_path: Path) -> None:
    with run_in_terminal(*PARLEY, "run", "-v", "Hello", "-a", hostile(tmp_path)) as shown:
        shown.shows("    $ rm -rf important", "  ys, yp, ns, np) remember it")
        shown.shows("  choose 1-2 or y or n (Enter: no answer):")
        (tmp_path / "asked").touch()
        while not (tmp_path / "disturbed").exists():
            shown.until_quiet(0.1)
        shown.until_quiet(0.5)  # nothing comes, and no moment says so
        rows = shown.text.splitlines()
        assert not any("LATER" in row or "STDERR" in row for row in rows)
        end = next(at for at, row in enumerate(rows) if row.startswith("  choose 1-2"))
        assert rows[end - 3].startswith("  1) List files")
        assert rows[end - 3].endswith(" more characters (allows it once)")
        assert rows[end - 2 : end] == [
            "  2) no",
            "  ys, yp, ns, np) remember it for this session (s) or project (p)",
        ]
        assert [row[:22] for row in rows[end - 9 : end - 3]] == [
            "  Details:",
            "    $ rm -rf important",
            *["    ┊"] * 3,
            "    ┊                 ",
        ]
        shown.press("n\n")
        shown.until("LATER")
        shown.until("chosen: n")
        assert shown.exit_code() == 0
    assert b"STDERR" in shown.painted


def test_a_question_of_an_agent_that_is_gone_is_over(tmp_path: Path) -> None:
    last = "__import__('os')._exit(3)"
    with run_in_terminal(*PARLEY, "run", "Hello", "-a", hostile(tmp_path, last)) as shown:
        shown.shows("  choose 1-2 or y or n (Enter: no answer):", "    $ rm -rf important")
        (tmp_path / "asked").touch()
        shown.until("exited with code 3")
        assert shown.exit_code() == 5


def test_what_was_allowed_in_words_is_asked_again_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "words.py"
    path.write_text(IN_WORDS)
    command = shlex.join([sys.executable, str(path)])
    with run_in_terminal(*PARLEY, "run", "go", "-a", command, "--protocol", "1") as shown:
        shown.until("(Enter: no answer): ")
        shown.press("y\r")
        shown.until("In this turn, you allowed: Say hello with echo")
        shown.until("did not contain the command that the agent wants to run now.")
        shown.until("$ echo hello")
        shown.until("2) Yes, in this turn (allows it until the turn ends)")
        shown.until("(Enter: no answer): ")
        shown.press("2\r")
        shown.until("done")  # the second `echo` was not asked about
        assert shown.exit_code() == 0
