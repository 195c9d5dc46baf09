"""A client without an SDK: sends prebuilt bytes, swallows what comes back, waits for the reply.

It stands opposite the agent under test and looks into nothing but the line with the reply.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

CHUNK_BYTES = 1 << 18


class AgentFailed(Exception):
    """The agent ended, was killed after the time limit, or answered with an error."""


class RawClient:
    """One agent process; killed when `limit` seconds have passed, so that every wait is bounded."""

    def __init__(self, command: list[str], *, env: dict[str, str], limit: float) -> None:
        self._command = command
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0
        )
        self._watchdog = threading.Timer(limit, self._process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()
        self._next_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=5)
        finally:
            self._watchdog.cancel()
            self._stdout.close()

    def open_session(self) -> None:
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.call("session/new", {"cwd": "/", "mcpServers": []})

    def prompt(self, text: str) -> None:
        block = {"type": "text", "text": text}
        self.call("session/prompt", {"sessionId": "bench", "prompt": [block]})

    def call(self, method: str, params: dict[str, Any]) -> None:
        self.send(self.frame(method, params))

    def frame(self, method: str, params: dict[str, Any]) -> bytes:
        """Build a request, apart from sending it, so that building is not measured."""
        self._next_id += 1
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    def send(self, frame: bytes) -> None:
        """Send one request and swallow everything up to its reply."""
        self.write(frame)
        self.swallow()

    def write(self, frame: bytes) -> None:
        """Send one request, and read nothing."""
        view = memoryview(frame)
        fd = self._stdin.fileno()
        while view:
            view = view[os.write(fd, view) :]

    @property
    def pid(self) -> int:
        """The agent's process."""
        return self._process.pid

    def resident_bytes(self) -> int:
        """The agent's resident memory now."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def swallow(self) -> None:
        """Read everything up to the next reply."""
        fd = self._stdout.fileno()
        partial = b""
        while chunk := os.read(fd, CHUNK_BYTES):
            whole, _, partial = (partial + chunk).rpartition(b"\n")
            mark = whole.find(b'"id":')
            if mark >= 0:
                line = whole[whole.rfind(b"\n", 0, mark) + 1 :].partition(b"\n")[0]
                reply = json.loads(line)
                if "error" in reply:
                    raise AgentFailed(f"{self._command}: {reply['error']}")
                return
        raise AgentFailed(f"{self._command}: no reply, the agent ended or took too long")

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout
