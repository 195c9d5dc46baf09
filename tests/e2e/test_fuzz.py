"""The inputs of the fuzzer hold, the same ones each time; `make fuzz` looks for new ones."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HAS_WHEEL = sys.platform == "linux" and platform.machine() == "x86_64"
"""Where atheris can be had, and so must be in CI."""
PLANTED = """

def check(data: bytes) -> None:
    assert b"session/update" not in data, "planted"
"""


def _fuzz(*options: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/fuzz.py", *options]
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.requirement("SAFE-WIRE-01")
def test_10_000_mutated_inputs_break_nothing() -> None:
    done = _fuzz("--fixed", "10000")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "10000 inputs hold\n"


def test_what_the_fuzzer_begins_with_holds() -> None:
    done = _fuzz("--replay")
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"(\d+) inputs hold\n", done.stdout)
    assert found is not None
    assert int(found[1]) > 400


def test_what_once_broke_something_is_among_it() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        seeds = set(importlib.import_module("fuzz_target").seeds())
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    kept = list((ROOT / "tests" / "golden" / "fuzz").iterdir())
    assert kept
    assert seeds.issuperset(path.read_bytes() for path in kept)


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None and not (HAS_WHEEL and os.environ.get("CI")),
    reason="atheris is not installed; it has wheels for Linux on x86-64 only",
)
def test_an_input_that_the_search_finds_is_kept_and_explained(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    with (tmp_path / "scripts" / "fuzz_target.py").open("a") as target:
        target.write(PLANTED)
    done = _fuzz("--runs", "10000", "--seconds", "200", "--seed", "1", root=tmp_path)
    assert done.returncode == 1, done.stderr[-3000:]
    [kept] = (tmp_path / ".fuzz").glob("crash-*")
    explained = done.stderr[done.stderr.index("An input that breaks something") :]
    assert str(kept) in explained
    assert "tests/golden/fuzz" in explained
    assert b64decode(explained.splitlines()[1]) == kept.read_bytes()
    again = _fuzz("--replay", str(kept), root=tmp_path)
    assert "AssertionError: planted" in again.stderr


def test_an_input_that_breaks_something_can_be_replayed(tmp_path: Path) -> None:
    program = tmp_path / "break.py"
    program.write_text(
        "import sys; sys.path.insert(0, 'scripts')\n"
        "import fuzz, fuzz_target\n"
        "fuzz_target.FrameSplitter.feed = lambda self, data: [data]\n"
        "fuzz.main(['--replay', sys.argv[1]])\n"
    )
    broken = tmp_path / "input"
    broken.write_bytes(b"\x01{}\n{}\n")
    done = subprocess.run(
        [sys.executable, str(program), str(broken)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert "AssertionError: pieces matter" in done.stderr
