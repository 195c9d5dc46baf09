"""The ids of tests with long parameters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _collected(tmp_path: Path, decorator: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "test_long.py"
    file.write_text(f"import pytest\n{decorator}\ndef test_it(value): pass\n")
    options = ["--collect-only", "-q", "-p", "tests.parameter_ids", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, "-c", "/dev/null", str(file)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_long_text_is_called_by_its_beginning_and_its_length(tmp_path: Path) -> None:
    values = """[b"x" * 5000, "\\n" * 5000, "short", "a" * 50 + "b", "a" * 50 + "c"]"""
    done = _collected(tmp_path, f"@pytest.mark.parametrize('value', {values})")
    assert done.returncode == 0, done.stderr
    ids = [line.partition("[")[2] for line in done.stdout.splitlines() if "[" in line]
    assert ids[:3] == [f"{'x' * 24}...5000]", "\\n" * 12 + "...5000]", "short]"]
    assert len(set(ids)) == 5
    assert all(each.startswith("a" * 24 + "...51") for each in ids[3:])


def test_an_id_that_is_still_too_long_stops_the_run(tmp_path: Path) -> None:
    done = _collected(tmp_path, "@pytest.mark.parametrize('value', [1], ids=['x' * 200])")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "Give ids= for these" in done.stderr
    assert "::test_it" in done.stderr
