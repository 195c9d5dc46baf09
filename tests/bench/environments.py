"""Who is measured, and where the other SDKs are installed.

The official SDKs live in `.venvs/` at the root of the repository, made when first needed by an
ordinary `python -m venv` with `pip install`, or `npm install`, and reused from then on. Parley is
measured from this tree with the interpreter that runs the benchmark.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = Path(__file__).resolve().parent
PARLEY = "parley"
PYTHON = "python 0.12.1"
PYTHON_NEXT = "python 1.0.0rc3"
TYPESCRIPT = "typescript 2.4.0"
INSTALL_TIMEOUT = 600.0


class Missing(Exception):
    """A peer cannot be had on this machine; the text says why."""


@dataclass(frozen=True)
class Subject:
    """One SDK: how its two programs are started, and how much work a run of it is given."""

    name: str
    agent: tuple[str, ...]
    client: tuple[str, ...]
    updates: int
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
    return Subject(
        name=PARLEY,
        agent=(sys.executable, str(programs / "parley_agent.py")),
        client=(sys.executable, str(programs / "parley_client.py")),
        updates=100_000,
        has_uvloop=importlib.util.find_spec("uvloop") is not None,
        python_path=str(ROOT / "src"),
    )


def python_sdk(name: str) -> Subject:
    python = str(_virtual_environment(name.split()[1]))
    programs = BENCH / "peers"
    return Subject(
        name=name,
        agent=(python, str(programs / "acp_agent.py")),
        client=(python, str(programs / "acp_client.py")),
        updates=10_000,
        has_uvloop=True,
    )


def typescript_sdk() -> Subject:
    node = shutil.which("node")
    if node is None:
        raise Missing("node is not installed")
    _npm_package(TYPESCRIPT.split()[1])
    programs = BENCH / "peers"
    return Subject(
        name=TYPESCRIPT,
        agent=(node, str(programs / "sdk_agent.mjs")),
        client=(node, str(programs / "sdk_client.mjs")),
        updates=30_000,
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


def _virtual_environment(version: str) -> Path:
    home = ROOT / ".venvs" / f"acp-{version}"
    site = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    python = home / "bin" / "python"
    wanted = (f"agent_client_protocol-{version}.dist-info", "uvloop-*.dist-info")
    if not all(list(site.glob(pattern)) for pattern in wanted):
        _run([sys.executable, "-m", "venv", "--clear", str(home)])
        _run([str(python), "-m", "pip", "install", f"agent-client-protocol=={version}", "uvloop"])
    return python


def _npm_package(version: str) -> None:
    prefix = ROOT / ".venvs" / "npm"
    manifest = prefix / "node_modules" / "@agentclientprotocol" / "sdk" / "package.json"
    if manifest.exists() and json.loads(manifest.read_text())["version"] == version:
        return
    if shutil.which("npm") is None:
        raise Missing("npm is not installed")
    _run(["npm", "install", "--prefix", str(prefix), f"@agentclientprotocol/sdk@{version}"])


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False
    )
    if done.returncode:
        raise Missing(f"`{' '.join(command)}` failed: {done.stderr.strip()[-500:]}")
