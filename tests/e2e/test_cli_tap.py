"""`parley tap`: neither side notices it, and the recording has everything."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO

import pytest

from parley.recording import (
    RecordedEvent,
    RecordedLine,
    Recording,
    RecordingReader,
    RecordingStore,
    Source,
)

from .command import PARLEY, parley

WAIT_SECONDS = 120

Tapped = subprocess.Popen[bytes]


def script(code: str) -> list[str]:
    """Return the command of an agent that is a script in Python."""
    return [sys.executable, "-S", "-E", "-c", f"import os, signal, sys, time\n{code}"]


def restore_signals() -> None:
    """Undo what a suite in the background, or under nohup, ignores and its children inherit."""
    for each in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)


@contextlib.contextmanager
def tapped(
    command: list[str],
    *options: str,
    env: dict[str, str] | None = None,
    preexec: Callable[[], None] = restore_signals,
) -> Generator[Tapped]:
    """Run a tap with pipes for all streams; it is gone at the end of the block."""
    process = subprocess.Popen(
        [*PARLEY, "tap", *options, "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        preexec_fn=preexec,
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(WAIT_SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def end(process: Tapped, data: bytes = b"") -> tuple[int, bytes, bytes]:
    """Write the rest of the input, and return the exit code, stdout and stderr."""
    out, err = process.communicate(data, timeout=WAIT_SECONDS)
    return process.returncode, out, err


def last_recording() -> Recording:
    return RecordingStore().recordings()[0]


def items(path: Path | None = None) -> list[RecordedLine | RecordedEvent]:
    with RecordingReader(path or last_recording().path) as reader:
        return list(reader)


def stream(source: Source, path: Path | None = None) -> bytes:
    """Return all recorded bytes of a stream."""
    lines = (each for each in items(path) if isinstance(each, RecordedLine))
    return b"".join(e.data + b"\n" * e.has_newline for e in lines if e.source == source)


def events(path: Path | None = None) -> list[RecordedEvent]:
    return [each for each in items(path) if isinstance(each, RecordedEvent)]


def read_line(stream: IO[bytes] | None) -> bytes:
    """Read a line byte by byte, so that nothing after it is taken."""
    assert stream is not None
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([stream], [], [], WAIT_SECONDS)[0], line
        byte = stream.read(1)
        if not byte:
            break
        line += byte
    return line


def until_gone(pid: int) -> None:
    """Wait until a process has ended, as its parent or init sees it."""
    with contextlib.suppress(ProcessLookupError):
        waiting = os.pidfd_open(pid)
        try:
            assert select.select([waiting], [], [], WAIT_SECONDS)[0], f"{pid} is still there"
        finally:
            os.close(waiting)


RANDOM = random.Random(7).randbytes(300_000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}\n",
        b"\r\n\n {}\r\nno newline",
        RANDOM,
        b"x" * 3_000_000 + b"\n" + b"y" * 100_000,
        b'{"id":%d}\n' * 20_000 % tuple(range(20_000)),
    ],
    ids=["empty", "frame", "endings", "random", "huge", "many"],
)
def test_bytes_pass_unchanged_in_both_directions_and_are_recorded(data: bytes) -> None:
    with tapped(["cat"]) as process:
        assert end(process, data) == (0, data, b"")
    assert (stream("client"), stream("agent")) == (data, data)
    closed = [each.source for each in events() if each.event == "closed"]
    assert sorted(map(str, closed)) == ["agent", "client", "stderr"]
    assert events()[-1].code == 0


def test_stderr_passes_unchanged_and_is_recorded() -> None:
    with tapped(script("os.write(2, b'\\xff one\\r\\ntwo'); sys.exit(3)")) as process:
        assert end(process) == (3, b"", b"\xff one\r\ntwo")
    assert stream("stderr") == b"\xff one\r\ntwo"
    assert events()[-1].code == 3


def test_the_agent_has_the_environment_directory_group_and_signals_of_the_editor(
    tmp_path: Path,
) -> None:
    code = """
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
internal = 3 << 31  # 32 and 33 belong to the C library, whose posix_spawn ignores them
signals = [int(status[name], 16) & ~internal for name in ("SigBlk", "SigIgn", "SigCgt")]
group = os.getpgid(0) == os.getpgid(os.getppid())
files = sorted(os.listdir("/proc/self/fd"))[:-1]
print(os.getcwd(), dict(os.environ).get("ODD"), len(os.environ), group, signals, files)
"""
    command = script(code)

    def run(*words: str) -> bytes:
        return subprocess.run(
            [*words, *command],
            cwd=tmp_path,
            env={**os.environ, "ODD": "a\nb=ü"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=WAIT_SECONDS,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        ).stdout

    assert run(*PARLEY, "tap", "--") == run()
    assert last_recording().header.cwd == str(tmp_path)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1"])
def test_a_signal_reaches_the_agent_and_ends_the_tap_as_it_ended_the_agent(name: str) -> None:
    number = signal.Signals[name]
    with tapped(script("print('ready', flush=True); sys.stdin.read()")) as process:
        assert read_line(process.stdout) == b"ready\n"
        process.send_signal(number)
        assert process.wait(WAIT_SECONDS) == -number
    names = [(each.event, each.signal) for each in events() if each.signal]
    assert names == [("signal", name), ("exited", name)]


def test_a_signal_that_the_agent_handles_does_not_end_the_tap() -> None:
    code = """
signal.signal(signal.SIGTERM, lambda *_: (print("handled", flush=True), sys.exit(9)))
print("ready", flush=True)
sys.stdin.read()
"""
    with tapped(script(code)) as process:
        assert read_line(process.stdout) == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert read_line(process.stdout) == b"handled\n"
        assert process.wait(WAIT_SECONDS) == 9


def test_an_agent_that_is_killed_ends_the_tap_in_the_same_way() -> None:
    with tapped(script("print('x' * 10, flush=True); os.kill(os.getpid(), 9)")) as process:
        assert end(process) == (-signal.SIGKILL, b"x" * 10 + b"\n", b"")
    assert events()[-1].signal == "SIGKILL"
    assert stream("agent") == b"x" * 10 + b"\n"


def test_a_tap_that_is_killed_takes_the_agent_with_it() -> None:
    code = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True: signal.pause()
"""
    with tapped(script(code)) as process:
        pid = int(read_line(process.stdout))
        while not RecordingStore().recordings():
            os.sched_yield()
        process.kill()
        until_gone(pid)
        process.wait(WAIT_SECONDS)
    assert not last_recording().is_active


def test_the_end_of_each_stream_is_passed_on() -> None:
    code = """
print("ready", flush=True)
rest = sys.stdin.buffer.read()
os.write(1, b"read %d" % len(rest))
os.close(1)
print("still here", file=sys.stderr, flush=True)
signal.pause()
"""
    with tapped(script(code)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert read_line(process.stdout) == b"ready\n"
        process.stdin.write(b"12345")
        process.stdin.close()
        assert process.stdout.read(6) == b"read 5"
        assert process.stdout.read(1) == b""
        assert read_line(process.stderr) == b"still here\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == -signal.SIGTERM


def test_an_agent_whose_client_stops_reading_gets_the_error_of_a_pipe() -> None:
    code = """
print("ready", flush=True)
sys.stdin.readline()
try:
    while True: os.write(1, b"x" * 1000)
except BrokenPipeError:
    sys.exit(33)
"""
    with tapped(script("signal.signal(signal.SIGPIPE, signal.SIG_IGN)" + code)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert read_line(process.stdout) == b"ready\n"
        process.stdout.close()
        process.stdin.write(b"go\n")
        assert process.wait(WAIT_SECONDS) == 33
    reasons = {each.source: each.reason for each in events() if each.event == "closed"}
    assert reasons["agent"] == "the client is gone"


def test_a_client_whose_agent_stops_reading_gets_the_error_of_a_pipe() -> None:
    code = "os.close(0); print('closed', flush=True); signal.pause()"
    with tapped(script(code)) as process:
        assert process.stdin is not None
        assert read_line(process.stdout) == b"closed\n"
        with pytest.raises(BrokenPipeError):  # noqa: PT012 - the tap notices it a moment later
            while True:
                process.stdin.write(b"x\n")
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == -signal.SIGTERM


def test_what_an_agent_wrote_last_arrives_although_a_grandchild_keeps_the_pipe_open() -> None:
    code = """
if os.fork() == 0:
    os.write(2, b"%d\\n" % os.getpid())
    while True: signal.pause()
os.write(1, b"z" * 50_000)
os._exit(4)
"""
    with tapped(script(code)) as process:
        grandchild = int(read_line(process.stderr))
        try:
            assert process.stdout is not None
            assert len(process.stdout.read(50_000)) > 0
            assert process.wait(WAIT_SECONDS) == 4
        finally:
            os.kill(grandchild, signal.SIGKILL)
    assert stream("agent") == b"z" * 50_000


def test_a_client_that_does_not_read_slows_the_agent_down_as_without_a_tap() -> None:
    code = """
os.set_blocking(1, False)
total = 0
while True:
    try:
        total += os.write(1, b"x" * 4096)
    except BlockingIOError:
        os.write(2, b"%d\\n" % total)
        import select
        if not select.select([], [1], [], 0.5)[1]:
            break
os.write(2, b"full\\n")
sys.stdin.readline()
"""
    with tapped(script(code)) as process:
        taken = 0
        while (line := read_line(process.stderr)) != b"full\n":
            taken = int(line)
        assert taken <= 4 * 65536  # two pipes, what the tap holds, and a page here and there
        assert end(process, b"\n")[1] == b"x" * taken


def test_an_agent_that_never_reads_slows_the_client_down_as_without_a_tap() -> None:
    with tapped(script("print('ready', flush=True); signal.pause()")) as process:
        assert process.stdin is not None
        assert read_line(process.stdout) == b"ready\n"
        os.set_blocking(process.stdin.fileno(), False)
        total = 0
        while select.select([], [process.stdin], [], 0.5)[1]:
            total += process.stdin.write(b"x" * 4096) or 0
        assert 65536 <= total <= 4 * 65536
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == -signal.SIGTERM


@pytest.mark.parametrize(("command", "code"), [("parley-no-such-agent", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_be_started_ends_as_in_a_shell_and_leaves_a_recording(
    command: str, code: int
) -> None:
    with tapped([command]) as process:
        returned, out, err = end(process)
    assert (returned, out) == (code, b"")
    recording = last_recording()
    assert f"{command!r} cannot be started" in err.decode()
    assert str(recording.path) in err.decode()
    assert events()[-1].event == "failed"


def test_an_empty_command_is_a_mistake_of_the_command_line() -> None:
    with tapped([""]) as process:
        code, _, err = end(process)
    assert (code, err) == (2, b"parley: the COMMAND of the agent is empty\n")


def test_a_recording_is_named_after_the_program_that_is_run_not_after_its_interpreter(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deployer.py"
    path.write_text("")
    with tapped([sys.executable, str(path)]) as process:
        assert end(process)[0] == 0
    assert RecordingStore().find("deployer") == last_recording()


def test_a_full_disk_breaks_nothing_and_the_loss_is_reported_once() -> None:
    with tapped(["cat"], "--file", "/dev/full") as process:
        code, out, err = end(process, b"12345\n" * 1000)
    assert (code, out) == (0, b"12345\n" * 1000)
    assert err == b"parley tap: 12,000 bytes were not recorded: No space left on device\n"


def test_a_recording_that_reaches_the_limit_of_the_file_system_counts_the_rest() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    with tapped(["cat"], preexec=limit) as process:
        code, out, err = end(process, b"12345\n" * 5000)
    assert (code, out) == (0, b"12345\n" * 5000)
    assert b"File too large" in err
    assert len(stream("agent")) < 10_000


def test_a_directory_that_cannot_be_made_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with tapped(["cat"], env={"XDG_STATE_HOME": str(tmp_path / "file")}) as process:
        code, out, err = end(process, b"12345\n")
    assert (code, out) == (0, b"12345\n")
    assert b"12 bytes were not recorded" in err


def test_secrets_are_not_in_the_file_and_the_list_says_which_were_masked() -> None:
    env = {"DEMO_API_KEY": "hunter22-from-env"}
    data = b'{"params":{"env":{"TOKEN":"from-setup-1234"}}}\nhunter22-from-env\n'
    command = script(f"os.write(2, sys.stdin.buffer.read()) # --token {'from-argv-5678'}")
    with tapped(command, env=env) as process:
        assert end(process, data) == (0, b"", data)
    content = last_recording().path.read_bytes()
    for secret in (b"hunter22-from-env", b"from-setup-1234", b"from-argv-5678"):
        assert secret not in content
    masked = {(each.source, each.what) for each in events() if each.event == "masked"}
    assert masked == {
        (source, what)
        for source in ("client", "stderr")
        for what in ("the environment variable DEMO_API_KEY", "the environment variable TOKEN")
    }


def test_two_taps_at_once_make_two_recordings() -> None:
    with tapped(["cat"]) as first, tapped(["cat"]) as second:
        assert end(second, b"second\n")[1] == b"second\n"
        assert end(first, b"first\n")[1] == b"first\n"
    recordings = RecordingStore().recordings()
    assert {stream("agent", each.path) for each in recordings} == {b"first\n", b"second\n"}


def test_a_recording_is_followed_while_it_grows() -> None:
    with tapped(["cat"], "--name", "demo") as process:
        assert process.stdin is not None
        process.stdin.write(b'{"id":1,"method":"first"}\n')
        read_line(process.stdout)
        while not RecordingStore().recordings():
            os.sched_yield()
        follow = [*PARLEY, "tap", "show", "demo", "--follow"]
        with subprocess.Popen(follow, stdout=subprocess.PIPE, bufsize=0) as showing:
            while b"agent   #1 first" not in read_line(showing.stdout):
                pass
            process.stdin.write(b'{"method":"second"}\n')
            while b"agent   second" not in read_line(showing.stdout):
                pass
            process.stdin.close()
            assert b"the agent exited with code 0" in showing.communicate(timeout=WAIT_SECONDS)[0]
            assert showing.returncode == 0


def test_a_conversation_through_a_tap_can_be_listed_shown_exported_and_deleted(
    tmp_path: Path,
) -> None:
    demo = f"{sys.executable} -P -m parley demo"
    tap = f"{sys.executable} -P -m parley tap --name demo -- {demo}"
    assert parley("run", "hello", "--quiet", "-a", tap).returncode == 0
    key = last_recording().key
    assert key in parley("tap").stdout
    shown = parley("tap", "show", key[:15]).stdout
    for text in ("#0 initialize", "session/new responded (", "session/prompt hello", "code 0"):
        assert text in shown
    output = tmp_path / "demo.jsonl"
    assert parley("tap", "export", "demo", "-o", str(output)).returncode == 0
    assert parley("tap", "export", "demo").stdout == output.read_text()
    imported = parley("tap", "import", str(output)).stdout.strip()
    assert parley("tap", "show", imported).stdout.split("\n")[1:] == shown.split("\n")[1:]
    assert parley("tap", "delete", key).returncode == 0
    assert [each.key for each in RecordingStore().recordings()] == [imported]


def test_an_export_is_private_and_never_replaces_the_recording_itself(tmp_path: Path) -> None:
    with tapped(["cat"], "--name", "demo") as process:
        end(process, b"one\n")
    recording = last_recording().path
    content = recording.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(recording)
    for output in (recording, link):
        refused = parley("tap", "export", "demo", "-o", str(output))
        assert refused.returncode == 1
        assert "it is the recording itself" in refused.stderr
    assert recording.read_bytes() == content
    readable = tmp_path / "demo.jsonl"
    readable.write_text("x" * 10_000)
    readable.chmod(0o644)
    assert parley("tap", "export", "demo", "-o", str(readable)).returncode == 0
    assert readable.stat().st_mode & 0o777 == 0o600
    assert readable.read_text() == parley("tap", "export", "demo").stdout
