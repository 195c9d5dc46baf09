"""The command `parley` as a process, and scripted agents for it to talk to."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parley.testing import ScriptedPeer
from parley.testing.scripted import Expect, Respond, Send, Step

from .fork_server import WAIT_SECONDS, ForkServer, is_forkable

PARLEY = (sys.executable, "-P", "-m", "parley")
TRAP = "\x1b]52;c;QQ==\x07\x1b[2J\x9b6n\u202e"
"""The clipboard, the screen, an answer typed by the terminal, and text that runs backwards."""

fork_server = ForkServer()


def parley(
    *words: str, given: str | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `parley` to its end, in a process that is forked; see `fork_server.py`.

    The interpreter is started if there are variables for it.
    """
    if not is_forkable(env or {}):
        return subprocess.run(
            [*PARLEY, *words],
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            check=False,
            env={**os.environ, **(env or {})},
        )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        return fork_server.run(words, None if given is None else given.encode())


def opening(version: int = 1) -> list[Step]:
    """How a scripted agent begins: it answers initialize, opens a session, takes a prompt."""
    info = {"name": "scripted", "version": "0"}
    answer: dict[str, Any] = {"protocolVersion": version}
    answer |= (
        {"agentInfo": info} if version == 1 else {"info": info, "capabilities": {"session": {}}}
    )
    return [
        Expect({"method": "initialize"}, skips=True),
        Respond(answer),
        Expect({"method": "session/new"}),
        Respond({"sessionId": "s"}),
        Expect({"method": "session/prompt"}, name="prompt"),
    ]


def scripted(tmp_path: Path, *steps: Step) -> str:
    return shlex.join(ScriptedPeer(*steps).command(tmp_path / "script.json"))


def update(**fields: Any) -> Send:
    return Send({"method": "session/update", "params": {"sessionId": "s", "update": fields}})


def chunk(text: str) -> Send:
    content = {"type": "text", "text": text}
    return update(sessionUpdate="agent_message_chunk", content=content)
