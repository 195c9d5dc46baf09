"""Commands in processes that are forked where Parley is loaded already.

To import it takes most of the time of a short command. What is forked has arguments, variables, a
directory and pipes of its own, and runs `parley.cli.main`; only the start of the interpreter is
left out. Whatever the command starts, such as an agent, is started as always.

A command whose variables are meant for the interpreter itself has to be started; see `is_forkable`.

The server is this file, run as a program with the path of its socket. It ends with its stdin.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

__all__ = ["ForkServer", "ForkedProcess", "is_forkable"]

WAIT_SECONDS = 300.0
_END = b"\n"


def is_forkable(env: Mapping[str, str]) -> bool:
    """Return whether no variable is one that only the start of an interpreter reads."""
    return not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env)


class ForkedProcess:
    """A command that was forked: its end is waited for, and signals sent to it, as with `Popen`."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(WAIT_SECONDS)
        self._lines = connection.makefile("rb")
        self._connection = connection
        self._lock = threading.Lock()
        self.pid = int(self._lines.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float = WAIT_SECONDS) -> int:
        """Wait for its end and return the exit code."""
        with self._lock:
            if self.returncode is None:
                if not select([self._connection], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired("parley", timeout)
                self.returncode = int(self._lines.readline())
                self._lines.close()
                self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The server as the tests see it; it is started for the first command."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._lock = threading.Lock()

    def run(self, words: Sequence[str], given: bytes | None) -> subprocess.CompletedProcess[str]:
        """Run `parley` with these words, here and with our variables, to its end.

        Args:
            words: The command line.
            given: What can be read from stdin; None: it is the null device.
        """
        (stdin, our_stdin), (our_stdout, stdout), (our_stderr, stderr) = (
            os.pipe() for _ in range(3)
        )
        if given is None:
            os.close(stdin)
            stdin = os.open(os.devnull, os.O_RDONLY)
        process = self.start(words, (stdin, stdout, stderr), os.environ)
        for fd in (stdin, stdout, stderr):
            os.close(fd)
        written = [_Reader(our_stdout), _Reader(our_stderr)]
        with suppress(BrokenPipeError), os.fdopen(our_stdin, "wb") as pipe:
            pipe.write(given or b"")
        code = process.wait()
        for each in written:
            each.join(WAIT_SECONDS)
        texts = (each.data.decode("utf-8").replace("\r\n", "\n") for each in written)
        return subprocess.CompletedProcess(words, code, *texts)

    def start(
        self,
        words: Sequence[str],
        fds: tuple[int, int, int],
        env: Mapping[str, str],
        *,
        cwd: Path | None = None,
        takes_terminal: bool = False,
    ) -> ForkedProcess:
        """Start `parley` with these words.

        Args:
            words: The command line.
            fds: Its stdin, stdout and stderr; the caller closes them.
            env: All of its variables.
            cwd: Its directory; None: ours.
            takes_terminal: It gets a session of its own, whose terminal is its stdin.
        """
        request = {
            "words": words,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(env),
            "takes_terminal": takes_terminal,
        }
        connection = self._connect()
        socket.send_fds(connection, [json.dumps(request).encode() + _END], fds)
        return ForkedProcess(connection)

    def _connect(self) -> socket.socket:
        with self._lock:
            if self._process is None:
                self._folder = tempfile.mkdtemp()
                command = [sys.executable, "-P", __file__, f"{self._folder}/socket"]
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
                )
                assert self._process.stdout is not None
                assert self._process.stdout.readline() == b"ready\n"
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(f"{self._folder}/socket")
        return connection

    def close(self) -> None:
        """End the server."""
        if self._process is not None:
            self._process.communicate()
            Path(self._folder, "socket").unlink()
            Path(self._folder).rmdir()
            self._process = None


class _Reader(threading.Thread):
    """Reads a pipe to its end."""

    def __init__(self, fd: int) -> None:
        super().__init__(daemon=True)
        self._fd = fd
        self.data = b""
        self.start()

    def run(self) -> None:
        with os.fdopen(self._fd, "rb") as pipe:
            self.data = pipe.read()


_LOADED_LATE = ("parley.tui.app", "parley.tui.player", "parley.gateway", "parley.testing.demo")
"""What commands import only when they need it, and takes long."""


def serve(path: str) -> None:
    """Fork a process for each connection, until stdin ends."""
    commands = importlib.import_module("parley.cli").COMMANDS
    for name in commands:
        importlib.import_module(f"parley.cli.{name}")
    for name in _LOADED_LATE:
        importlib.import_module(name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        os.write(1, b"ready\n")
        while 0 not in select([0, listener.fileno()], [], [])[0]:
            connection = listener.accept()[0]
            if os.fork() == 0:
                listener.close()
                _handle(connection)
            connection.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _handle(connection: socket.socket) -> None:
    """Start the command that is asked for; send its process id, and its exit code at the end."""
    data, fds, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while not data.endswith(_END):
        data += connection.recv(1 << 16)
    command = os.fork()
    if command == 0:
        connection.close()
        _run(json.loads(data), fds)
    for fd in fds:
        os.close(fd)
    with suppress(BrokenPipeError):
        connection.send(f"{command}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        connection.send(f"{code}\n".encode())
    os._exit(0)


def _take_terminal() -> None:
    """Become the foreground of the terminal on stdin, with the signals that a shell would leave."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)


def _run(request: dict[str, Any], fds: list[int]) -> None:
    """Be the command."""
    for fd, to in zip(fds, range(3), strict=True):
        os.dup2(fd, to)
        os.close(fd)
    if request["takes_terminal"]:
        _take_terminal()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["parley", *request["words"]]
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - they stay open to the end
    sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    code = 1
    try:
        code = importlib.import_module("parley.cli").main()
    except SystemExit as left:
        code = int(left.code or 0)
    except BaseException:  # noqa: BLE001 - as the interpreter would show it
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                code = 120  # as the interpreter has it
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
