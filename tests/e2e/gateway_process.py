"""`parley serve` as a process, and what knocks at it."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .command import PARLEY, fork_server
from .fork_server import ForkedProcess, is_forkable

WAIT_SECONDS = 300.0
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": 1, "clientCapabilities": {}},
}


def _fork(
    words: tuple[str, ...], stderr: int, env: dict[str, str], cwd: Path | None
) -> ForkedProcess:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return fork_server.start(words, (null, null, stderr), env, cwd=cwd)
    finally:
        os.close(null)


def _start(
    words: tuple[str, ...], stderr: int, env: dict[str, str], cwd: Path | None
) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(
        [*PARLEY, *words], stdin=null, stdout=null, stderr=stderr, env=env, cwd=cwd
    )


class GatewayProcess:
    """A gateway that runs."""

    def __init__(
        self,
        words: tuple[str, ...],
        env: dict[str, str],
        *,
        cwd: Path | None = None,
        is_forked: bool = True,
    ) -> None:
        self.process: subprocess.Popen[bytes] | ForkedProcess
        read_end, write_end = os.pipe()
        start = _fork if is_forked and is_forkable(env) else _start
        self.process = start(("serve", *words), write_end, {**os.environ, **env}, cwd)
        os.close(write_end)
        self._stderr = os.fdopen(read_end, encoding="utf-8")
        self.lines: list[str] = []
        """What it has told so far."""
        self._told: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.base = ""

    def _read(self) -> None:
        for line in self._stderr:
            self._told.put(line.rstrip("\n"))
        self._told.put(None)

    def until(self, part: str) -> str:
        """Return the next line that has this in it."""
        while True:
            line = self._told.get(timeout=WAIT_SECONDS)
            assert line is not None, "\n".join(self.lines)
            self.lines.append(line)
            if part in line:
                return line

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def url(self, name: str = "", scheme: str = "") -> str:
        base = self.base if not scheme else f"{scheme}://{urlsplit(self.base).netloc}"
        return f"{base}/acp/{name}" if name else f"{base}/acp"

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for its end and return the exit code; everything it told is in `lines`."""
        code = self.process.wait(WAIT_SECONDS)
        self._reader.join(WAIT_SECONDS)
        while (line := self._told.get_nowait()) is not None:
            self.lines.append(line)
        return code

    def close(self) -> None:
        """Close its pipes, when it has ended."""
        self._reader.join(WAIT_SECONDS)
        self._stderr.close()

    def request(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None
    ) -> tuple[int, dict[str, str], str]:
        """Ask something over HTTP/1.1; returns the status, the headers and the body."""
        knocking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            given = headers or {}
            knocking.putrequest(method, path, skip_host="host" in map(str.lower, given))
            data = b"" if body is None else json.dumps(body).encode()
            for name, value in {**given, "content-length": str(len(data))}.items():
                knocking.putheader(name, value)
            knocking.endheaders(data)
            answer = knocking.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, fields, answer.read().decode()
        finally:
            knocking.close()

    def raw(self, request: bytes) -> bytes:
        """Send bytes; returns the first line of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), WAIT_SECONDS) as knocking:
            knocking.sendall(request)
            with knocking.makefile("rb") as answer:
                return answer.readline()

    def initialize(self, path: str = "/acp", **headers: str) -> tuple[int, dict[str, str], str]:
        """Ask for a connection."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"content-type": "application/json", "accept": "application/json", **fields}
        return self.request("POST", path, given, INITIALIZE)

    def upgrade(self, **headers: str) -> int:
        """Ask for a WebSocket; returns the status."""
        fields = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
            **headers,
        }
        return self.request("GET", "/acp", fields)[0]


@contextmanager
def run_gateway(
    *words: str,
    env: dict[str, str] | None = None,
    ready: str = "press Ctrl-C to stop",
    is_forked: bool = True,
) -> Generator[GatewayProcess]:
    """Serve on a free port while the block runs."""
    served = GatewayProcess(("--http", "127.0.0.1:0", *words), env or {}, is_forked=is_forked)
    try:
        served.until(ready)
        listening = next(line for line in served.lines if "listening" in line)
        is_json = listening.startswith("{")
        served.base = json.loads(listening)["url"] if is_json else listening.partition("url=")[2]
        yield served
    finally:
        if served.process.poll() is None:
            served.signal()
        try:
            served.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            served.process.kill()
            served.process.wait(WAIT_SECONDS)
        served.close()


def token_of(places: Path) -> str:
    """Return the token that was made."""
    return token_file(places).read_text().strip()


def token_file(places: Path) -> Path:
    return places / "state" / "parley" / "serve.token"


def principals(folder: Path, **tokens: str) -> Path:
    """Write a configuration with these principals, each with a token in a file."""
    lines = ['http = "127.0.0.1:0"']
    for name, token in tokens.items():
        file = folder / f"{name}.token"
        file.write_text(token)
        file.chmod(0o600)
        lines += [f"[principals.{name}]", f'token_file = "{file.name}"']
    config = folder / "gateway.toml"
    config.write_text("\n".join(lines))
    return config


def program(folder: Path, name: str, text: str) -> str:
    """Write an agent; returns the command that starts it."""
    path = folder / name
    path.write_text(text)
    return f"{sys.executable} {path}"
