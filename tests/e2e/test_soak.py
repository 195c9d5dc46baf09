"""The soak runs, for a few seconds, and notices growth; `make soak` runs it for ten minutes."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOAK = ROOT / "scripts" / "soak.py"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.requirement("SAFE-TIME-01")
@on_linux
def test_a_short_soak_finds_that_nothing_grows() -> None:
    command = [sys.executable, str(SOAK), "--seconds", "3", "--at-once", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"^Nothing grew: ([\d,]+) updates in ([\d,]+) turns\.$", done.stdout, re.M)
    assert found is not None
    assert int(found[1].replace(",", "")) > 1_000
    assert int(found[2].replace(",", "")) > 10
    assert len(re.findall(r"updates/s", done.stdout)) >= 5, "it reports as it goes"


@on_linux
@pytest.mark.requirement("SAFE-LIVE-05", "SAFE-TIME-01")
def test_a_short_soak_on_a_bad_network_finds_that_nothing_grows() -> None:
    command = [sys.executable, "-m", "scripts.soak_remote", "--seconds", "4", "--at-once", "20"]
    command += ["--growth", "20"]  # so soon much is done for the first time
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(
        r"^Nothing grew: ([\d,]+) updates in ([\d,]+) turns, ([\d,]+) connections\.$",
        done.stdout,
        re.M,
    )
    assert found is not None
    updates, turns, connections = (int(each.replace(",", "")) for each in found.groups())
    assert updates > 1_000
    assert turns > 10
    assert connections > 10


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (None, None),
        ("client_bytes", "client_bytes grew from 33,500,000 to 38,500,000"),
        ("agent_bytes", "agent_bytes grew from 33,500,000 to 38,500,000"),
        ("client_files", "client_files grew from 5 to 6"),
        ("agent_files", "agent_files grew from 5 to 6"),
        ("client_tasks", "client_tasks grew from 5 to 6"),
        ("agent_tasks", "agent_tasks grew from 5 to 6"),
    ],
)
def test_growth_is_noticed(name: str | None, sentence: str | None) -> None:
    soak: dict[str, Any] = runpy.run_path(str(SOAK))
    fields: tuple[str, ...] = soak["Sample"].__struct_fields__
    flat = {field: 30_000_000 if field.endswith("bytes") else 5 for field in fields}

    def sample(step: int) -> Any:
        return soak["Sample"](**{**flat, **({name: flat[name] + step} if name else {})})

    is_memory = name is not None and name.endswith("bytes")
    samples = [sample(number * 500_000 if is_memory else 0) for number in range(20)]
    found: list[str] = soak["grown"](sample(0), samples, sample(1))
    assert found == ([] if sentence is None else [sentence])
