"""Who is measured, and where the other SDKs are installed.

Parley is measured from this tree with the interpreter that runs the benchmark; `tests/peers.py`
installs the others.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests import peers as install
from tests.peers import Missing

ROOT = Path(__file__).resolve().parents[2]
BENCH = Path(__file__).resolve().parent
PARLEY = "parley"
PYTHON = f"python {install.PYTHON_SDK}"
PYTHON_NEXT = f"python {install.NEXT_PYTHON_SDK}"
TYPESCRIPT = f"typescript {install.TYPESCRIPT_SDK}"


@dataclass(frozen=True)
class Programs:
    """The two programs of a conversation."""

    client: tuple[str, ...]
    agent: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """One SDK: how its programs are started, and how much work a run of it is given."""

    name: str
    agent: tuple[str, ...]
    client: tuple[str, ...]
    updates: int
    sessions: Mapping[int, Programs]
    """The programs of the whole stack, by the version that they speak, the oldest first."""
    fold: str = ""
    """The program that folds updates in one process; empty for who cannot fold."""
    has_accumulator: bool = False
    """Whether its session client can fold, or not."""
    has_uvloop: bool = False
    python_path: str = ""

    @property
    def interpreter(self) -> str:
        return self.agent[0]

    @property
    def env(self) -> dict[str, str]:
        """The environment of its processes; byte code is cached, as on a user's machine."""
        env = {name: os.environ[name] for name in ("HOME", "PATH", "LANG") if name in os.environ}
        return env | {"PYTHONPATH": self.python_path}


def parley() -> Subject:
    programs = BENCH / "subjects"
    agent = (sys.executable, str(programs / "parley_session_agent.py"))
    client = (sys.executable, str(programs / "parley_session_client.py"))
    return Subject(
        name=PARLEY,
        agent=(sys.executable, str(programs / "parley_agent.py")),
        client=(sys.executable, str(programs / "parley_client.py")),
        updates=100_000,
        sessions={each: Programs((*client, "--version", str(each)), agent) for each in (1, 2)},
        fold=str(programs / "parley_fold.py"),
        has_uvloop=importlib.util.find_spec("uvloop") is not None,
        python_path=str(ROOT / "src"),
    )


def python_sdk(name: str) -> Subject:
    python = str(install.python_sdk(name.split()[1]))
    programs = BENCH / "peers"
    agent = (python, str(programs / "acp_agent.py"))
    client = (python, str(programs / "acp_client.py"))
    sessions = {1: Programs(client, agent)}
    if name == PYTHON_NEXT:
        agent_v2 = (python, str(programs / "acp_agent_v2.py"))
        sessions[2] = Programs((python, str(programs / "acp_client_v2.py")), agent_v2)
    return Subject(
        name=name,
        agent=agent,
        client=client,
        updates=10_000,
        sessions=sessions,
        fold=str(programs / "acp_fold.py") if name == PYTHON else "",  # the next has the same
        has_accumulator=True,
        has_uvloop=True,
    )


def typescript_sdk() -> Subject:
    node = shutil.which("node")
    if node is None:
        raise Missing("node is not installed")
    install.typescript_sdk()
    programs = BENCH / "peers"
    agent = (node, str(programs / "sdk_agent.mjs"))
    client = (node, str(programs / "sdk_session_client.mjs"))
    agent_v2 = (node, str(programs / "sdk_agent_v2.mjs"))
    return Subject(
        name=TYPESCRIPT,
        agent=agent,
        client=(node, str(programs / "sdk_client.mjs")),
        updates=30_000,
        sessions={1: Programs(client, agent), 2: Programs((*client, "--v2"), agent_v2)},
    )


def peers() -> Iterator[Subject | Missing]:
    """Every peer, or the reason why it is left out."""
    makers: list[Callable[[], Subject]] = [
        partial(python_sdk, PYTHON),
        partial(python_sdk, PYTHON_NEXT),
        typescript_sdk,
    ]
    for make in makers:
        try:
            yield make()
        except Missing as reason:
            yield reason
