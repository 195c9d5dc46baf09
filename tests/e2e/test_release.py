"""Releases: the workflows are valid and careful, and only the right tag is released."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import parley

from .shell import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"
TAG = f"v{parley.__version__}"


def workflow(name: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text())
    return loaded


def check_tag(tag: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "check_tag.py"), tag]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the files that the check reads."""
    for name in ("scripts/check_tag.py", "src/parley/__init__.py", "CHANGELOG.md"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_the_tag_of_the_version_is_released(project: Path) -> None:
    (project / "CHANGELOG.md").write_text(
        f"# Changelog\n\n## Unreleased\n\n## {parley.__version__}\n\nMany things.\n"
    )
    done = check_tag(TAG, project)
    assert (done.returncode, done.stdout) == (0, f"{TAG} can be released\n"), done.stderr


@pytest.mark.parametrize("tag", ["v0.0.1", parley.__version__, f"{TAG}rc1", "", "main"])
def test_another_tag_is_refused(tag: str) -> None:
    done = check_tag(tag)
    assert done.returncode == 1
    assert f'Tag "{TAG}".' in done.stdout


@pytest.mark.parametrize(
    ("changelog", "reason"),
    [
        ("## Unreleased\n", "says nothing below"),
        (f"## {parley.__version__}\n\n## 0.0.1\n\nOld.\n", "says nothing below"),
        (f"## Unreleased\n\n- New.\n\n## {parley.__version__}\n\nText.\n", "has entries below"),
    ],
    ids=["no section", "empty section", "unreleased entries"],
)
def test_a_changelog_that_is_not_ready_is_refused(
    changelog: str, reason: str, project: Path
) -> None:
    (project / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}")
    done = check_tag(TAG, project)
    assert done.returncode == 1
    assert reason in done.stdout


def test_the_changelog_begins_with_the_next_and_the_present_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[:2] == ["Unreleased", parley.__version__]


def test_a_release_starts_with_a_version_tag_and_its_check() -> None:
    release = workflow("release.yml")
    assert release[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key `on` as true
    commands = [step["run"] for step in release["jobs"]["build"]["steps"] if "run" in step]
    assert commands == ['python scripts/check_tag.py "$GITHUB_REF_NAME"', "make dist"]


def test_the_published_files_are_those_that_were_built_and_tested() -> None:
    jobs = workflow("release.yml")["jobs"]
    assert jobs["test"]["needs"] == "build"
    assert set(jobs["publish"]["needs"]) == {"build", "ci", "test"}
    for job in ("test", "publish"):
        (download,) = [each for each in jobs[job]["steps"] if "download" in each.get("uses", "")]
        assert download["with"] == {"name": "dist", "path": "dist/"}
        assert "make dist" not in [each.get("run") for each in jobs[job]["steps"]]


def test_only_the_job_that_publishes_may_prove_who_it_is() -> None:
    release = workflow("release.yml")
    assert release["permissions"] == {}
    permissions = {name: job["permissions"] for name, job in release["jobs"].items()}
    assert permissions.pop("publish") == {"id-token": "write"}
    assert list(permissions.values()) == [{"contents": "read"}] * 3
    publish = release["jobs"]["publish"]
    assert publish["environment"] == "pypi"
    assert publish["steps"][-1] == {"uses": "pypa/gh-action-pypi-publish@release/v1"}


def test_ci_runs_the_same_checks_as_a_developer() -> None:
    ci = workflow("ci.yml")
    assert ci["permissions"] == {"contents": "read"}
    assert {"workflow_call", "pull_request"} <= ci[True].keys()
    assert ci["jobs"]["ci"]["steps"][-1] == {"run": ".ci/run"}
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_action_is_pinned() -> None:
    texts = [path.read_text() for path in WORKFLOWS.iterdir()]
    used = [each for text in texts for each in re.findall(r"uses: (\S+)", text)]
    pinned = re.compile(r"[\w-]+/[\w-]+@(v\d+|release/v\d+|[0-9a-f]{40})|\./\.github/workflows/.+")
    assert [each for each in used if not pinned.fullmatch(each)] == []
    assert len(used) > 8
