from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from parley.client import Session

from .terminal_commands import FOREVER, PYTHON, OutputLog, is_anywhere
from .workspace_agent import new_session, workspace_connection


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on both event loops."""
    if request.param == "uvloop":
        uvloop = pytest.importorskip("uvloop")
        monkeypatch.setattr("tests.steady_loop.new_event_loop", uvloop.new_event_loop)
    return str(request.param)


@pytest.mark.parametrize("pty", [False, True], ids=["pipe", "pty"])
@pytest.mark.usefixtures("loop_kind")
async def test_a_command_runs_and_tells_how_it_ended(pty: bool, tmp_path: Path) -> None:
    async with workspace_connection(tmp_path, pty=pty) as (agent, _):
        terminal = await agent.run(
            *PYTHON, "import os; print('hi'); os.write(2, b'!'); os._exit(3)"
        )
        assert await agent.wait(terminal) == {"exitCode": 3, "signal": None}
        newline = "\r\n" if pty else "\n"
        assert await agent.output(terminal) == {
            "output": f"hi{newline}!",
            "truncated": False,
            "exitStatus": {"exitCode": 3, "signal": None},
        }
        assert await agent.get("terminal/release", terminalId=terminal) == {}


async def test_a_pseudo_terminal_has_a_size_and_controls_nothing(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "print(sys.stdout.isatty(), sys.stdin.isatty(), *os.get_terminal_size(1))\n"
        "try: open('/dev/tty')\n"
        "except OSError: print('no password')\n"
    )
    async with workspace_connection(tmp_path, pty=True) as (agent, _):
        output = await agent.finished(*PYTHON, program)
        assert output["output"] == "True False 80 24\r\nno password\r\n"


async def test_much_output_of_a_pseudo_terminal_arrives_whole(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path, pty=True) as (agent, _):
        output = await agent.finished(*PYTHON, "print('x' * 200_000)")
        assert output["output"] == "x" * 200_000 + "\r\n"


async def test_there_is_nothing_to_read(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        output = await agent.finished(*PYTHON, "import sys; print(repr(sys.stdin.read()))")
        assert output["output"] == "''\n"


async def test_stdout_and_stderr_come_in_the_order_in_which_they_were_written(
    tmp_path: Path,
) -> None:
    program = "import os\nfor number in range(500): os.write(1 + number % 2, b'%d ' % number)"
    async with workspace_connection(tmp_path) as (agent, _):
        output = await agent.finished(*PYTHON, program)
        assert output["output"].split() == [str(number) for number in range(500)]


async def test_no_shell_looks_at_arguments(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        output = await agent.finished("echo", "$HOME", "`id`", "a  b", "; exit 7", "*")
        assert output["output"] == "$HOME `id` a  b ; exit 7 *\n"


@pytest.mark.usefixtures("loop_kind")
@pytest.mark.requirement("SAFE-REACH-03")
async def test_variables_are_those_of_a_child_and_those_that_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "s3cret")
    monkeypatch.setenv("PLANTED_WISH", "wanted")
    async with workspace_connection(tmp_path, inherit=["PLANTED_WISH"]) as (agent, _):
        env = [{"name": "GIVEN", "value": "a b"}, {"name": "LANG", "value": "C"}]
        output = (await agent.finished("env", env=env))["output"]
        seen = dict(line.split("=", 1) for line in output.splitlines())
        assert "s3cret" not in output
        assert (seen["GIVEN"], seen["LANG"], seen["PLANTED_WISH"]) == ("a b", "C", "wanted")
        assert seen["PATH"] == os.environ["PATH"]


@pytest.mark.usefixtures("loop_kind")
async def test_a_command_runs_in_the_directory_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "link").symlink_to("sub")
    (tmp_path / "further").mkdir()
    async with workspace_connection(tmp_path / "root", tmp_path / "further") as (agent, _):
        assert (await agent.finished("pwd"))["output"] == f"{tmp_path}/root\n"
        for cwd, real in (("root/sub", None), ("further", None), ("root/link", "root/sub")):
            output = await agent.finished("pwd", cwd=f"{tmp_path}/{cwd}")
            assert output["output"] == f"{tmp_path}/{real or cwd}\n"


@pytest.mark.requirement("SAFE-REACH-03")
async def test_a_directory_outside_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to("..")
    (tmp_path / "root" / "file").touch()
    (tmp_path / "rootside").mkdir()
    bad = ["..", "../rootside", "link", "link/rootside"]
    async with workspace_connection(tmp_path / "root") as (agent, _):
        for cwd in (*(f"{tmp_path}/root/{each}" for each in bad), "/", "relative", "/proc/self"):
            code, _message = await agent.fail(
                "terminal/create", command="touch", args=["made"], cwd=cwd
            )
            assert code == -32602
        for name, expected in (("file", -32602), ("missing", -32002)):
            cwd = f"{tmp_path}/root/{name}"
            code, _message = await agent.fail("terminal/create", command="pwd", cwd=cwd)
            assert code == expected
    assert not is_anywhere("made", tmp_path)


async def test_a_directory_swapped_for_a_link_after_the_look_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "root" / "sub").mkdir(parents=True)

    def swap(*_: object) -> bool:
        (tmp_path / "root" / "sub").rmdir()
        (tmp_path / "root" / "sub").symlink_to("..")
        return True

    async with workspace_connection(tmp_path / "root", guard=swap) as (agent, _):
        cwd = f"{tmp_path}/root/sub"
        code, _message = await agent.fail(
            "terminal/create", command="touch", args=["made"], cwd=cwd
        )
        assert code == -32602
    assert not is_anywhere("made", tmp_path)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("/no/such", "/no/such was not found. Is it installed and on PATH?"),
        ("no-such-program", "no-such-program was not found. Is it installed and on PATH?"),
        ("/", "/ is not executable"),
        ("", "There is no command, or a variable has a name that a shell does not accept"),
        ("a\0b", "could not be started: an argument or a variable contains a NUL"),
    ],
)
async def test_a_command_that_cannot_start_says_why(
    command: str, sentence: str, tmp_path: Path
) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        code, message = await agent.fail("terminal/create", command=command)
        assert code == -32602
        assert message.endswith(sentence)


async def test_output_is_there_while_the_command_runs(tmp_path: Path) -> None:
    seen = OutputLog()
    async with workspace_connection(tmp_path, on_output=seen) as (agent, _):
        terminal = await agent.run(*PYTHON, f"print('é', end=''); {FOREVER}")
        await seen.until(b"ready\n")
        assert await agent.output(terminal) == {"output": "éready\n", "truncated": False}
        assert {(session, id) for session, id, _ in seen.pieces} == {("s", terminal)}


async def test_a_character_that_is_not_whole_yet_is_waited_for(tmp_path: Path) -> None:
    seen = OutputLog()
    program = (
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "open('pid', 'w').write(str(os.getpid()))\n"
        "os.write(1, b'a\\xc3'); signal.sigwait([signal.SIGUSR1]); os.write(1, b'\\xa9\\xc3')\n"
    )
    async with workspace_connection(tmp_path, on_output=seen) as (agent, _):
        terminal = await agent.run(*PYTHON, program)
        await seen.until(b"a\xc3")
        assert (await agent.output(terminal))["output"] == "a"
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGUSR1)
        await agent.wait(terminal)
        assert (await agent.output(terminal))["output"] == "aé\ufffd"


async def test_who_fails_to_see_output_does_not_stop_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async with workspace_connection(tmp_path, on_output=fail) as (agent, _):
        assert (await agent.finished("echo", "hi"))["output"] == "hi\n"
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5, 7, 998, 1000, 4095, 4096])
@pytest.mark.requirement("SAFE-REACH-03")
async def test_output_is_cut_from_the_front_between_characters(limit: int, tmp_path: Path) -> None:
    text = "é😀a" * 600
    async with workspace_connection(tmp_path, output_limit_bytes=4096) as (agent, _):
        program = f"import os; os.write(1, {text.encode()!r})"
        output = await agent.finished(*PYTHON, program, outputByteLimit=limit)
        kept = output["output"].encode()
        assert output["truncated"]
        assert limit - 3 <= len(kept) <= limit
        assert text.endswith(output["output"])


@pytest.mark.requirement("SAFE-REACH-03")
async def test_the_smaller_limit_counts(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path, output_limit_bytes=10) as (agent, _):
        for wish, length in ((5, 5), (10, 10), (2**64 - 1, 10), (None, 10)):
            output = await agent.finished(*PYTHON, "print('x' * 50)", outputByteLimit=wish)
            assert output["output"] == "x" * (length - 1) + "\n"
        output = await agent.finished(*PYTHON, "print('x' * 9)", outputByteLimit=None)
        assert (len(output["output"]), output["truncated"]) == (10, False)


async def test_output_that_is_not_text_stays_within_the_limit(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        program = "import os; os.write(1, b'\\xff' * 100)"
        output = await agent.finished(*PYTHON, program, outputByteLimit=100)
        assert output == {
            "output": "\ufffd" * 33,
            "truncated": True,
            "exitStatus": {"exitCode": 0, "signal": None},
        }


async def test_a_flood_does_not_become_memory(tmp_path: Path) -> None:
    seen = 0

    def count(session: Session, terminal: str, data: bytes) -> None:
        nonlocal seen
        seen += len(data)

    async with workspace_connection(tmp_path, on_output=count, output_limit_bytes=1000) as (
        agent,
        session,
    ):
        program = "import os\nfor _ in range(1000): os.write(1, bytes(50_000))"
        output = await agent.finished(*PYTHON, program)
        assert (seen, len(output["output"]), output["truncated"]) == (50_000_000, 1000, True)
        (kept,) = session.transcript.terminals.values()
        assert len(kept.output) == 1000


async def test_released_and_unknown_terminals_are_not_found(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, session):
        released = await agent.run("true")
        await agent.get("terminal/release", terminalId=released)
        other = await new_session(session, agent, "t", tmp_path)
        foreign = (await agent.get("terminal/create", "t", command="true"))["terminalId"]
        for id in (released, foreign, "nothing", ""):
            for method in ("output", "wait_for_exit", "kill", "release"):
                code, message = await agent.fail(f"terminal/{method}", terminalId=id)
                assert (code, message) == (-32002, f"There is no terminal {id}".strip())
        await agent.get("terminal/output", "t", terminalId=foreign)
        assert len({released, foreign}) == 2
        assert min(len(released), len(foreign)) >= 32
        assert list(other.transcript.terminals) == [foreign]


async def test_terminals_of_an_unknown_session_are_refused(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        code, _message = await agent.fail("terminal/create", "nope", command="touch", args=["made"])
        assert code == -32602
    assert not (tmp_path / "made").exists()


@pytest.mark.requirement("SAFE-REACH-03")
async def test_so_many_run_and_no_more(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path, max_terminals=2) as (agent, _):
        first, _second = [await agent.run(*PYTHON, FOREVER) for _ in range(2)]
        code, message = await agent.fail("terminal/create", command="true")
        assert (code, message) == (
            -32005,
            "2 commands are already running; kill or release one first",
        )
        await agent.get("terminal/kill", terminalId=first)
        ended = [await agent.run("true")]
        for _ in range(13):
            await agent.wait(ended[-1])
            ended.append(await agent.run("true"))
        await agent.wait(ended[-1])
        code, message = await agent.fail("terminal/create", command="true")
        assert (code, message) == (-32005, "16 terminals are already open; release some first")
        await agent.get("terminal/release", terminalId=ended[0])
        await agent.run("true")


async def test_what_was_written_stays_in_the_transcript(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, session):
        await agent.finished("echo", "a b", env=[{"name": "X", "value": "y z"}])
        (shown,) = session.transcript.terminals.values()
        assert (shown.text, shown.cwd) == ("a b\n", str(tmp_path))
        assert shown.command == "X='y z' echo 'a b'"
        assert shown.exit_status is not None
        assert shown.exit_status.exit_code == 0
