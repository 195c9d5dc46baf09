"""Type checkers find the types of the installed wheel, in programs outside of the checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .environments import EXAMPLES, ROOT, WAIT_SECONDS, Environment

PROGRAMS = [
    *sorted((ROOT / "tests" / "typing").glob("*.py")),
    *(EXAMPLES / name for name in ("ask.py", "hello_agent.py", "proxy_brief.py", "stream_text.py")),
]


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize("extra", ["", "all"], ids=["none", "all"])
def test_programs_pass_strict_checks(
    checker: str, extra: str, environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    for program in PROGRAMS:
        shutil.copy(program, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    python = environment(extra).python
    words = {
        "mypy": ["mypy", "--strict", "--python-executable", str(python), "."],
        "pyright": ["pyright", "--pythonpath", str(python), "--warnings"],
    }
    done = subprocess.run(
        [sys.executable, "-m", *words[checker]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
