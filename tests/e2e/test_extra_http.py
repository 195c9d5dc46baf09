"""Without the extra `http`: what needs it says so, and everything else works."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .command import PARLEY, parley

INSTALL = "needs: pip install 'parley-acp[http]'"
NOWHERE = "http://127.0.0.1:9/acp"
PROGRAMS = {
    "run": "import parley\nparley.Agent('bare').run(http='127.0.0.1:0')\n",
    "gateway": "from parley.gateway import serve\n",
}


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the libraries of the extra are not installed."""
    hidden = "import sys\nfor each in ('h2', 'h11', 'websockets'): sys.modules[each] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    return {"PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, ["serve", "parley demo"]),
        (5, ["run", "Hello", "-a", NOWHERE]),
        (5, ["connect", NOWHERE]),
    ],
    ids=["serve", "run", "connect"],
)
def test_what_needs_the_extra_says_which_one(
    without: dict[str, str], code: int, words: list[str]
) -> None:
    done = parley(*words, env=without)
    assert done.returncode == code, done.stderr
    assert INSTALL in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_serves_gets_an_error_that_says_which_one(
    program: str, without: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env=without
    )
    assert done.returncode == 1
    assert "is not installed, which serving " + INSTALL in done.stderr


def test_a_local_agent_needs_none_of_it(without: dict[str, str]) -> None:
    demo = shlex.join([*PARLEY, "demo"])
    done = parley("run", "Hello", "-q", "-a", demo, env=without)
    assert (done.returncode, done.stdout) == (0, "echo: Hello\n"), done.stderr
