"""Virtual environments with the built wheel, used as those of pipx and uvx are.

Their programs are run by their full path: no environment is active, `parley` is not on PATH, and
neither variables nor the current directory lead to the checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
EXAMPLES = ROOT / "examples"
PROGRAMS = Path(__file__).parent / "programs"
WAIT_SECONDS = 600.0
EXTRAS = ("tui", "http", "mcp", "nes", "lsp", "telemetry", "speed")
USERS_OWN = {"telemetry": ("opentelemetry-sdk",), "all": ("opentelemetry-sdk",)}
"""What programs that use an extra install besides it: Parley only needs the API."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and a home directory for the programs in it."""

    home: Path

    @property
    def python(self) -> Path:
        return self.home / "venv" / "bin" / "python"

    @property
    def parley(self) -> Path:
        return self.home / "venv" / "bin" / "parley"

    @property
    def variables(self) -> dict[str, str]:
        """All variables of the programs."""
        return {"HOME": str(self.home), "PATH": os.defpath, "LANG": "C.UTF-8"}

    def run(self, *words: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        return subprocess.run(
            words,
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            check=False,
            cwd=self.home,
            env=self.variables,
        )


def create_environment(home: Path, extra: str = "") -> Environment:
    """Create an environment with the wheel and one of its extras; pip's cache makes it fast."""
    environment = Environment(home)
    home.mkdir()
    wheel = f"{built('*.whl')}[{extra}]" if extra else str(built("*.whl"))
    install(environment, wheel, *USERS_OWN.get(extra, ()))
    return environment


def install(environment: Environment, *requirements: str) -> None:
    """Create an environment without pip, and install something there with our own."""
    venv = environment.home / "venv"
    pip = [sys.executable, "-m", "pip", "--python", str(venv), "install", "--quiet"]
    for command in ([sys.executable, "-m", "venv", "--without-pip", str(venv)], pip):
        words = [*command, *requirements] if command is pip else command
        done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_SECONDS)
        assert done.returncode == 0, done.stderr


def built(pattern: str) -> Path:
    """Return the file of `dist/` that `make dist` has built."""
    found = list(DIST.glob(pattern))
    assert len(found) == 1, f"dist/ has {len(found)} files named {pattern}; run `make dist`"
    return found[0]
