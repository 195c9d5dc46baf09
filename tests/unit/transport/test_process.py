from __future__ import annotations

import asyncio
import os
import resource
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.errors import ConnectFailed, ProcessExited
from parley.rpc._framing import Frame
from parley.transport import ProcessTransport, child_environment
from parley.transport._base import HIGH_WATER_BYTES
from parley.transport._child_process import _kill_collected

from .recorder import Recorder

CAT = ["cat"]


STUBBORN = [
    *(sys.executable, "-S", "-c"),
    "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); signal.pause()",
]
"""Says that it is ready, and goes neither when its stdin ends nor when it is asked to."""


@pytest.fixture(params=["asyncio", "uvloop"], autouse=True)
def loop_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run each test on both event loops."""
    if request.param == "uvloop":
        uvloop = pytest.importorskip("uvloop")
        monkeypatch.setattr("tests.steady_loop.new_event_loop", uvloop.new_event_loop)
    return str(request.param)


def python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-c", program, *arguments]


async def run(command: Sequence[str], **options: Any) -> Recorder:
    """Start a command, wait until it ends by itself, and return what it said."""
    transport, receiver = await ProcessTransport.spawn(command, **options), Recorder()
    transport.start(receiver)
    await receiver.until_lost()
    return receiver


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that tells nobody when it happens."""
    while not is_so():  # noqa: ASYNC110 - descriptors and process ids announce nothing
        await asyncio.sleep(0.001)


async def test_each_test_runs_on_both_loops(loop_kind: str) -> None:
    is_uvloop = type(asyncio.get_running_loop()).__module__.startswith("uvloop")
    assert is_uvloop == (loop_kind == "uvloop")


async def test_frames_go_both_ways_and_closing_stdin_ends_a_willing_child() -> None:
    transport, receiver = await ProcessTransport.spawn(CAT), Recorder()
    transport.start(receiver)
    for number in range(1000):
        transport.send(b"%d" % number)
    assert await receiver.until_frames(1000) == [b"%d" % number for number in range(1000)]
    assert transport.drained() is None
    await transport.aclose()
    assert receiver.reason == "cat exited with code 0"
    assert not is_alive(transport.pid)
    await transport.aclose()
    assert len(receiver.lost) == 1


async def test_a_child_leads_a_group_and_a_session_of_its_own() -> None:
    transport = await ProcessTransport.spawn(CAT)
    assert os.getpgid(transport.pid) == transport.pid
    assert os.getsid(transport.pid) == transport.pid
    await transport.aclose()


@pytest.mark.requirement("SAFE-REACH-05")
async def test_a_child_gets_no_variable_that_is_not_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "s3cret")
    monkeypatch.setenv("PLANTED_WISH", "wanted")
    program = python("import os; print(*(f'{k}={v}' for k, v in os.environ.items()), sep='\\n')")
    receiver = await run(program, env={"EXTRA": "x", "PATH": "/nowhere"}, inherit=["PLANTED_WISH"])
    seen = dict(frame.decode().split("=", 1) for frame in receiver.frames)
    assert "PLANTED_SECRET" not in seen
    assert "s3cret" not in str(receiver.frames)
    assert seen["PLANTED_WISH"] == "wanted"
    assert seen["EXTRA"] == "x"
    assert seen["PATH"] == "/nowhere"
    assert set(seen) <= {"EXTRA", "PLANTED_WISH", *child_environment()} | {"LC_CTYPE"}


async def test_a_child_runs_in_its_directory_and_arguments_pass_no_shell(
    tmp_path: Path,
) -> None:
    program = "import os, sys; print(os.getcwd()); print(sys.argv[1:])"
    receiver = await run(python(program, "$(id)", "a b", ";"), cwd=tmp_path)
    assert receiver.frames == [str(tmp_path).encode(), b"['$(id)', 'a b', ';']"]


async def test_the_tail_of_stderr_is_kept_and_all_of_it_is_shown() -> None:
    shown: list[bytes] = []
    program = "import os; os.write(2, b'x' * 50_000 + b'last words'); os._exit(3)"
    receiver = await run(python(program), on_stderr=shown.append)
    (end,) = receiver.lost
    assert isinstance(end, ProcessExited)
    assert end.code == 3
    assert len(end.stderr) == 16 * 1024
    assert end.stderr.endswith("xlast words")
    assert len(b"".join(shown)) == 50_010


async def test_stderr_that_is_not_text_does_no_harm() -> None:
    receiver = await run(python("import os; os.write(2, b'\\xff\\x1b')"))
    (end,) = receiver.lost
    assert isinstance(end, ProcessExited)
    assert end.stderr == "\ufffd\x1b"


async def test_who_fails_to_see_stderr_does_not_stop_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(data: bytes) -> None:
        raise ZeroDivisionError

    receiver = await run(python("import os; os.write(2, b'words')"), on_stderr=fail)
    assert receiver.reason.endswith("exited with code 0; stderr:\nwords")
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("end", "code"),
    [("0", 0), ("1", 1), ("77", 77), ("SIGKILL", -9), ("SIGSEGV", -11)],
)
async def test_what_a_child_wrote_last_comes_before_its_exit_code(end: str, code: int) -> None:
    how = f"os.kill(os.getpid(), signal.{end})" if end.startswith("SIG") else f"os._exit({end})"
    receiver = await run(python(f"import os, signal; os.write(1, b'a\\nb\\nhalf'); {how}"))
    assert receiver.frames == [b"a", b"b"]
    (reason,) = receiver.lost
    assert isinstance(reason, ProcessExited)
    assert reason.code == code


async def test_what_is_sent_while_a_child_ends_waits_for_the_reason() -> None:
    program = "import os, sys; os.close(1); os.read(0, 100)"
    transport, receiver = await ProcessTransport.spawn(python(program)), Recorder()
    transport.start(receiver)
    while (room := transport.drained()) is None:
        transport.send(b"is it over?")
        await asyncio.sleep(0)
    assert receiver.lost == []
    transport.send(b"this goes nowhere")
    while (room := transport.drained()) is not None:
        await room
    assert receiver.reason.endswith("exited with code 0")
    assert transport.drained() is None
    with pytest.raises(ProcessExited):
        transport.send(b"x")


async def test_a_child_that_takes_nothing_makes_senders_wait_until_it_ends() -> None:
    transport = await ProcessTransport.spawn(python("input()"), grace_after=0.05)
    transport.start(Recorder())
    transport.pause_reading()
    transport.resume_reading()
    transport.send(bytes(HIGH_WATER_BYTES * 4))
    room = transport.drained()
    assert room is not None
    transport.kill()
    await room
    await transport.aclose()
    transport.kill()


async def test_a_transport_started_after_the_end_says_so() -> None:
    transport, receiver = await ProcessTransport.spawn(CAT), Recorder()
    await transport.aclose()
    transport.start(receiver)
    assert await receiver.until_lost() == "cat exited with code 0"


async def test_a_child_that_ended_before_the_start_is_read_to_the_end() -> None:
    transport, receiver = await ProcessTransport.spawn(["echo", "hello"]), Recorder()
    await until(lambda: not is_alive(transport.pid))
    transport.send(b"to nobody")
    transport.start(receiver)
    assert await receiver.until_lost() == "echo hello exited with code 0"
    assert receiver.frames == [b"hello"]


async def test_closing_ends_the_child_although_its_caller_loses_patience() -> None:
    program = "import signal; signal.sigwait([signal.SIGTERM])"
    transport, receiver = (
        await ProcessTransport.spawn(python(program), grace_after=0.05),
        Recorder(),
    )
    transport.start(receiver)
    transport.send(bytes(1_000_000))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await transport.aclose()
    await receiver.until_lost()
    assert not is_alive(transport.pid)


async def test_a_child_that_ignores_the_end_and_the_request_to_go_is_killed() -> None:
    transport, receiver = await ProcessTransport.spawn(STUBBORN, grace_after=0.05), Recorder()
    transport.start(receiver)
    await receiver.until_frames(1)
    await transport.aclose()
    assert receiver.reason.endswith("was killed by signal 9")
    assert not is_alive(transport.pid)


async def test_a_child_that_closes_its_stdout_and_lives_is_ended() -> None:
    program = "import os, signal; os.close(1); signal.pause()"
    receiver = await run(python(program), grace_after=1.0)
    assert receiver.reason.endswith("was killed by signal 15")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_child_has_no_files_of_ours() -> None:
    program = "import os; print(sorted(os.listdir('/proc/self/fd'), key=int), flush=True)"
    inheritable = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    try:
        receiver = await run(python(program))
    finally:
        os.close(inheritable)
    assert receiver.frames == [b"['0', '1', '2', '3']"], "the fourth is the listing itself"


async def test_two_children_know_nothing_of_each_other() -> None:
    one, other = Recorder(), Recorder()
    first, second = await asyncio.gather(ProcessTransport.spawn(CAT), ProcessTransport.spawn(CAT))
    first.start(one)
    second.start(other)
    first.send(b"to the first")
    second.send(b"to the second")
    await one.until_frames(1)
    await first.aclose()
    assert other.lost == [], "closing one does not end the other"
    second.send(b"still there")
    assert await other.until_frames(2) == [b"to the second", b"still there"]
    await second.aclose()
    assert one.frames == [b"to the first"]


async def test_a_receiver_that_fails_ends_the_child(caplog: pytest.LogCaptureFixture) -> None:
    def fail(frames: Sequence[Frame]) -> None:
        raise ZeroDivisionError

    transport, receiver = await ProcessTransport.spawn(CAT), Recorder(fail)
    transport.start(receiver)
    transport.send(b"x")
    assert await receiver.until_lost() == "cat exited with code 0"
    assert "ZeroDivisionError" in caplog.text
    assert not is_alive(transport.pid)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ([], "no command to start: the command is empty"),
        (["no-such-agent"], "no-such-agent was not found. Is it installed and on PATH?"),
        (["cat", "a\0b"], "cat could not be started: an argument or a variable contains"),
        (["{tmp}/plain"], "/plain is not executable"),
        (["{tmp}"], " is not executable"),
        (["{tmp}/broken"], "/broken could not be started: the interpreter in its first line was"),
    ],
    ids=["empty", "missing", "nul", "not executable", "directory", "no interpreter"],
)
async def test_a_command_that_cannot_be_started_says_why(
    command: list[str], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "broken").write_text("#!/no/such/program\n")
    (tmp_path / "broken").chmod(0o755)
    before = _open_files()
    with pytest.raises(ConnectFailed) as caught:
        await ProcessTransport.spawn([part.replace("{tmp}", str(tmp_path)) for part in command])
    assert sentence in str(caught.value)
    assert _open_files() == before


@pytest.mark.parametrize(
    "word", ["127.0.0.1:7400/acp", "localhost:7400", "[::1]:7400", "agents.example/acp/x"]
)
async def test_what_looks_like_an_address_is_hinted_at(word: str) -> None:
    with pytest.raises(ConnectFailed) as caught:
        await ProcessTransport.spawn([word])
    assert str(caught.value).startswith(f"{word} was not found. For a remote agent, use http://")


async def test_a_directory_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConnectFailed, match="cat could not be started: the directory /no/such"):
        await ProcessTransport.spawn(CAT, cwd="/no/such")


async def test_a_variable_with_a_nul_is_refused() -> None:
    with pytest.raises(ConnectFailed, match="an argument or a variable contains a NUL"):
        await ProcessTransport.spawn(CAT, env={"A": "b\0c"})


async def test_no_descriptor_left_is_a_failure_that_leaves_none_behind() -> None:
    transport = await ProcessTransport.spawn(CAT)  # what the loop opens once, it opens now
    await transport.aclose()
    before = _open_files()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fill = [os.open(os.devnull, os.O_RDONLY) for _ in range(before)]  # no gap below the last
    resource.setrlimit(resource.RLIMIT_NOFILE, (fill[-1] + 4, hard))
    try:
        with pytest.raises(ConnectFailed, match="Too many open files"):
            await ProcessTransport.spawn(CAT)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in fill:
            os.close(fd)
    assert _open_files() == before


async def test_a_cancelled_start_leaves_nothing_behind() -> None:
    await (await ProcessTransport.spawn(CAT)).aclose()
    before = _open_files()
    starting = asyncio.create_task(ProcessTransport.spawn(CAT))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await until(lambda: _open_files() == before)  # uvloop does not wait for the end of the child


def test_a_loop_that_ends_while_a_child_is_being_ended_kills_it() -> None:
    group, receivers = 0, list[Recorder]()

    async def leave() -> None:
        nonlocal group
        transport, receiver = await ProcessTransport.spawn(STUBBORN, grace_after=100), Recorder()
        receivers.append(receiver)
        group = transport.pid
        transport.start(receiver)
        await receiver.until_frames(1)
        closing = asyncio.create_task(transport.aclose())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not closing.done()

    asyncio.run(leave())
    assert receivers[0].reason.endswith("was killed by signal 9")
    _reap(group)
    assert not is_alive(group)


async def test_a_fork_of_ours_does_not_kill_the_child_when_it_forgets_its_copy() -> None:
    transport, receiver = await ProcessTransport.spawn(CAT), Recorder()
    transport.start(receiver)
    _kill_collected(transport.pid, os.getppid())
    transport.send(b"still there")
    assert await receiver.until_frames(1) == [b"still there"]
    _kill_collected(transport.pid, os.getpid())
    assert await receiver.until_lost() == "cat was killed by signal 9"


async def test_on_windows_threads_read_and_one_signal_ends_a_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    transport, receiver = await ProcessTransport.spawn(CAT), Recorder()
    transport.start(receiver)
    transport.send(b"x" * 30_000)
    await receiver.until_frames(1)
    await transport.aclose()
    assert receiver.reason == "cat exited with code 0"
    ended = await run(python("import os; os.write(1, b'last\\n'); os.write(2, b'words')"))
    assert ended.frames == [b"last"]
    assert ended.reason.endswith("stderr:\nwords")


def _open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def _reap(pid: int) -> None:
    """Wait for a child whose event loop is gone, if nobody else has."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        for thread in threading.enumerate():
            if thread.name.startswith("waitpid-"):
                thread.join(300)
