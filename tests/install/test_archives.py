"""The wheel and the source distribution: what is in them, and that they can be built again."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

import parley

from .environments import DIST, EXTRAS, ROOT, WAIT_SECONDS, built

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"parley_acp-{parley.__version__}"


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=WAIT_SECONDS
    ).stdout


def source_files() -> set[str]:
    """Return the files of the repository, those that are not committed yet included."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    return {name for name in listed if (ROOT / name).is_file()}


def wheel_files() -> set[str]:
    with zipfile.ZipFile(built("*.whl")) as wheel:
        return set(wheel.namelist())


@pytest.fixture(scope="module")
def metadata() -> Message:
    with zipfile.ZipFile(built("*.whl")) as wheel:
        return email.message_from_string(wheel.read(f"{NAME}.dist-info/METADATA").decode())


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built("*.tar.gz")) as sdist:
        sdist.extractall(folder, filter="data")
    return folder / NAME


def test_the_wheel_has_every_file_of_the_package_and_no_other() -> None:
    package = {name.removeprefix("src/") for name in source_files() if name.startswith("src/")}
    own = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    assert wheel_files() == package | {f"{NAME}.dist-info/{name}" for name in own}
    assert {"parley/py.typed", "parley/gateway/page/index.html"} <= wheel_files()


def test_the_source_distribution_has_what_builds_and_tests_the_package(unpacked: Path) -> None:
    files = {
        path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
    }
    assert files - source_files() == {"PKG-INFO"}
    assert {name for name in source_files() if name.startswith("src/")} <= files
    assert {name.partition("/")[0] for name in files} == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "docs",
        "examples",
        "pyproject.toml",
        "src",
        "tests",
    }


def test_the_unit_tests_run_in_the_source_distribution(unpacked: Path) -> None:
    """All are collected; those run that read files outside of their package."""
    variables = {**os.environ, "PYTHONPATH": str(unpacked / "src")}
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    chosen = [
        path.relative_to(unpacked) for path in (unpacked / "tests" / "unit").glob("test_*.py")
    ]
    for words in (["--collect-only", "tests/unit"], [*map(str, chosen)]):
        done = subprocess.run(
            [*pytest_command, *words],
            cwd=unpacked,
            env=variables,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
        )
        assert done.returncode == 0, done.stdout[-3000:]


def test_building_again_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    """The directory, the times and the permissions of the files do not matter."""
    copy = tmp_path / "another" / "checkout"
    for name in source_files():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)  # without its time
        target.chmod(0o600)
    built_again = tmp_path / "dist"
    variables = {**os.environ, "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct").strip()}
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", built_again, copy],
        env=variables,
        capture_output=True,
        check=True,
        timeout=WAIT_SECONDS,
    )
    for path in sorted(DIST.iterdir()):
        is_same = path.read_bytes() == (built_again / path.name).read_bytes()
        assert is_same, f"{path.name} differs; is it from `make dist` in this state of the tree?"


def test_the_metadata_is_complete(metadata: Message) -> None:
    assert metadata["Name"] == "parley-acp"
    assert metadata["Version"] == parley.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata.get_all("Classifier") == sorted(PROJECT["classifiers"])
    assert metadata["Keywords"] == ",".join(sorted(PROJECT["keywords"]))
    assert metadata.get_payload() == (ROOT / "README.md").read_text()


def test_all_has_what_the_other_extras_have(metadata: Message) -> None:
    requirements: dict[str, set[str]] = {}
    for line in metadata.get_all("Requires-Dist") or []:
        what, _, marker = line.partition(";")
        extra = marker.rpartition("extra == ")[2].strip(" ')")
        requirements.setdefault(extra, set()).add(what.strip())
    assert set(requirements) == {"", "all", *EXTRAS}
    named = {f"parley-acp[{','.join(sorted(EXTRAS))}]"}
    assert requirements["all"] in (named, set().union(*(requirements[each] for each in EXTRAS)))
