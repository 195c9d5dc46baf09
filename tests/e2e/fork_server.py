"""Commands in processes that are forked where Parley is loaded already.

To import it takes most of the time of a short command. What is forked has arguments, variables, a
directory and pipes of its own, and runs `parley.cli.main`; only the start of the interpreter is
left out. Whatever the command starts, such as an agent, is started as always.

The server is this file, run as a program with the path of its socket. It ends with its stdin.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

__all__ = ["ForkServer"]

WAIT_SECONDS = 300.0
_END = b"\n"


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
        request = {"words": words, "cwd": str(Path.cwd()), "env": dict(os.environ)}
        (stdin, our_stdin), (our_stdout, stdout), (our_stderr, stderr) = (
            os.pipe() for _ in range(3)
        )
        if given is None:
            os.close(stdin)
            stdin = os.open(os.devnull, os.O_RDONLY)
        with self._connect() as connection:
            connection.settimeout(WAIT_SECONDS)
            data = json.dumps(request).encode() + _END
            socket.send_fds(connection, [data], [stdin, stdout, stderr])
            for fd in (stdin, stdout, stderr):
                os.close(fd)
            written = [_Reader(our_stdout), _Reader(our_stderr)]
            with suppress(BrokenPipeError), os.fdopen(our_stdin, "wb") as pipe:
                pipe.write(given or b"")
            code = int(connection.recv(16))
            for each in written:
                each.join(WAIT_SECONDS)
        texts = (each.data.decode("utf-8").replace("\r\n", "\n") for each in written)
        return subprocess.CompletedProcess(words, code, *texts)

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


def serve(path: str) -> None:
    """Fork a process for each connection, until stdin ends."""
    commands = importlib.import_module("parley.cli").COMMANDS
    for name in commands:
        importlib.import_module(f"parley.cli.{name}")
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
    """Run the command that is asked for, and tell its exit code."""
    data, fds, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while not data.endswith(_END):
        data += connection.recv(1 << 16)
    command = os.fork()
    if command == 0:
        connection.close()
        _run(json.loads(data), fds)
    for fd in fds:
        os.close(fd)
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    connection.send(str(code).encode())
    os._exit(0)


def _run(request: dict[str, Any], fds: list[int]) -> None:
    """Be the command."""
    for fd, to in zip(fds, range(3), strict=True):
        os.dup2(fd, to)
        os.close(fd)
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
