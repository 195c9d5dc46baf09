from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
import tty
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from parley.errors import ConnectFailed
from parley.transport import StdioTransport

from .echo import DEEDS
from .recorder import Recorder

ECHO = [sys.executable, str(Path(__file__).with_name("echo.py"))]
LINES = b"".join(b'{"n":%d}\n' % number for number in range(20))


def _echo(*deeds: str, data: bytes = LINES, is_unbuffered: bool = False) -> tuple[bytes, bytes]:
    """Run the program on pipes, and return what came from its stdout and its stderr."""
    env = {**os.environ, "PYTHONUNBUFFERED": "1" if is_unbuffered else ""}
    done = subprocess.run(
        [*ECHO, *deeds], input=data, capture_output=True, env=env, timeout=300, check=True
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("is_unbuffered", [False, True])
@pytest.mark.parametrize("deed", [*DEEDS, "late"])
def test_nothing_but_frames_reaches_stdout(deed: str, is_unbuffered: bool) -> None:
    stdout, stderr = _echo(deed, is_unbuffered=is_unbuffered)
    assert stdout == LINES
    assert (b"stray" in stderr) is ("stdin" not in deed)


def test_what_was_printed_before_the_transport_was_made_goes_to_stderr() -> None:
    assert _echo("early") == (LINES, b"stray\n")


def test_everything_at_once_reaches_stderr_and_no_frame_is_lost() -> None:
    stdout, stderr = _echo(*DEEDS, "early", "late")
    assert stdout == LINES
    assert set(stderr.split()) == {b"stray"}


def test_responses_to_one_who_closes_first_and_reads_afterwards_are_all_there() -> None:
    data = b"".join(b'{"text":"%s"}\n' % (b"%d" % digit * 200_000) for digit in range(10))
    stdout, _ = _echo(data=data)
    assert stdout == data


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_frames_go_both_ways_and_the_open_files_get_their_mode_back(kind: str) -> None:
    if kind == "pipe":
        child_in, ours_out = os.pipe()
        ours_in, child_out = os.pipe()
    else:
        ours, theirs = socket.socketpair()
        child_in = child_out = theirs.detach()
        ours_in, ours_out = os.dup(ours.fileno()), ours.detach()
    with subprocess.Popen(ECHO, stdin=child_in, stdout=child_out, stderr=subprocess.PIPE) as child:
        os.write(ours_out, b"ping\n")
        assert os.read(ours_in, 100) == b"ping\n"
        assert not os.get_blocking(child_in), "it would block its loop"
        if kind == "socket":
            with socket.socket(fileno=ours_out) as half:
                half.shutdown(socket.SHUT_WR)
        else:
            os.close(ours_out)
        _, stderr = child.communicate(timeout=300)
        assert child.returncode == 0, stderr
    assert os.get_blocking(child_in)
    assert os.get_blocking(child_out)
    for fd in {child_in, child_out, ours_in}:
        os.close(fd)


def test_regular_files_serve_as_stdin_and_stdout(tmp_path: Path) -> None:
    request, response = tmp_path / "request", tmp_path / "response"
    data = LINES + b"x" * 1_000_000 + b"\n"
    request.write_bytes(data)
    with request.open("rb") as stdin, response.open("wb") as stdout:
        subprocess.run([*ECHO, "print"], stdin=stdin, stdout=stdout, stderr=-3, timeout=300)
    assert response.read_bytes() == data


def test_a_terminal_serves_as_stdin_and_stdout() -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)
    child = subprocess.Popen(
        [*ECHO, "print"], stdin=slave, stdout=slave, stderr=subprocess.PIPE, start_new_session=True
    )
    assert os.get_blocking(slave)
    os.close(slave)
    os.write(master, b"typed by hand\n")
    assert os.read(master, 100) == b"typed by hand\n"
    os.close(master)
    _, stderr = child.communicate(timeout=300)
    assert child.returncode == 0
    assert stderr == b"stray\n"


@pytest.mark.requirement("SAFE-LIVE-07")
def test_a_reader_that_goes_away_ends_the_program() -> None:
    with subprocess.Popen(ECHO, stdin=-1, stdout=-1, stderr=-1) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"ping\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"ping\n"
        child.stdout.close()
        with suppress(BrokenPipeError):  # it may have noticed that already
            os.write(child.stdin.fileno(), b"pong\n")
        assert child.wait(300) == 0


def test_closed_stderr_leaves_the_conversation_clean() -> None:
    silent = ["sh", "-c", 'exec "$@" 2>&-', "sh", *ECHO, "print", "system"]
    done = subprocess.run(silent, input=LINES, stdout=subprocess.PIPE, timeout=300, check=True)
    assert done.stdout == LINES


@pytest.mark.parametrize("redirection", ["<&-", ">&-"])
def test_a_program_without_stdin_or_stdout_says_so(redirection: str) -> None:
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", *ECHO]
    done = subprocess.run(command, stdin=-3, stdout=-3, stderr=-1, timeout=300, check=False)
    assert done.returncode == 1
    assert b"ConnectFailed: this process was started without stdin or without stdout" in done.stderr


def test_a_killed_program_leaves_no_half_frame_after_a_whole_one() -> None:
    with subprocess.Popen(ECHO, stdin=-1, stdout=-1, stderr=-1) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"ping\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"ping\n"
        child.send_signal(signal.SIGKILL)
        assert child.stdout.read() == b""
        assert child.wait(300) == -signal.SIGKILL


@contextmanager
def _standard_files(stdin: int, stdout: int, stderr: int | None) -> Generator[None]:
    """Make these this process's descriptors 0, 1 and 2, for a while."""
    saved = [os.dup(fd) for fd in range(3)]
    try:
        for fd, new in enumerate((stdin, stdout, stderr)):
            if new is None:
                os.close(fd)
            else:
                os.dup2(new, fd)
        yield
    finally:
        for fd, old in enumerate(saved):
            os.dup2(old, fd)
            os.close(old)


@pytest.mark.parametrize("has_stderr", [True, False])
@pytest.mark.parametrize("has_stream", [True, False])
async def test_the_transport_takes_stdin_and_stdout_of_this_very_process(
    has_stderr: bool, has_stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin, ours_out = os.pipe()
    ours_in, stdout = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    if not has_stream:
        monkeypatch.setattr("sys.stdout", None)
    receiver = Recorder()
    with _standard_files(stdin, stdout, null if has_stderr else None):
        transport = StdioTransport()
        transport.start(receiver)
        os.write(1, b"stray")
        os.write(2, b"stray")
        assert os.read(0, 10) == b""
        assert os.get_inheritable(1)
        assert os.get_inheritable(2)
        os.write(ours_out, b"ping\n")
        await receiver.until_frames(1)
        transport.send(b"pong")
        await transport.aclose()
    assert os.read(ours_in, 100) == b"pong\n"
    for fd in (stdin, stdout, ours_in, ours_out, null):
        os.close(fd)


async def test_a_buffer_that_cannot_be_written_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken:
        def flush(self) -> None:
            raise BrokenPipeError

    stdin, ours_out = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    monkeypatch.setattr("sys.stdout", Broken())
    with _standard_files(stdin, null, null):
        await StdioTransport().aclose()
    for fd in (stdin, ours_out, null):
        os.close(fd)


async def test_what_took_the_place_of_a_closed_stderr_gets_no_stray_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stdin, ours_out = os.pipe()
    innocent, its_writer = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    monkeypatch.setattr("sys.__stderr__", None)
    with _standard_files(stdin, null, its_writer):
        transport = StdioTransport()
        os.write(1, b"stray")
        await transport.aclose()
    os.close(its_writer)
    assert os.read(innocent, 100) == b""
    for fd in (stdin, ours_out, innocent, null):
        os.close(fd)


@pytest.mark.parametrize("missing", ["sys.__stdin__", "sys.__stdout__"])
async def test_there_is_no_transport_without_stdin_or_stdout(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missing, None)
    with pytest.raises(ConnectFailed):
        StdioTransport()
