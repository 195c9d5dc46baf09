"""Which files of a workspace are offered."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from parley.conversation import workspace_files as module
from parley.conversation.workspace_files import WorkspaceFiles


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


async def listed(*roots: Path) -> list[str]:
    files = WorkspaceFiles(roots)
    await files.refresh()
    return sorted(files.find("", 1000))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run = subprocess.run(["git", "init", "-q", str(tmp_path)], check=False, capture_output=True)
    if run.returncode != 0:
        pytest.skip("there is no git")
    return tmp_path


async def test_git_says_what_is_ignored(repository: Path) -> None:
    write(repository, "a.py", "src/b.py", "out/c.o", ".hidden/d", "two words.md")
    (repository / ".gitignore").write_text("out/\n")
    assert await listed(repository) == [
        ".gitignore",
        ".hidden/d",
        "a.py",
        "src/b.py",
        "two words.md",
    ]


async def test_a_directory_of_a_repository_has_its_own_files_alone(repository: Path) -> None:
    write(repository, "a.py", "src/b.py", "out/c.py")
    (repository / ".gitignore").write_text("out/\n")
    assert await listed(repository / "src") == ["b.py"]
    assert await listed(repository / "out") == ["c.py"]


async def test_a_program_that_the_repository_names_is_not_run(repository: Path) -> None:
    write(repository, "a.py")
    trap = repository / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {repository}/sprung\n")
    trap.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(trap))
    assert "a.py" in await listed(repository)
    assert not (repository / "sprung").exists()


async def test_what_is_deleted_is_not_offered(repository: Path) -> None:
    write(repository, "a.py", "b.py")
    git(repository, "add", ".")
    (repository / "a.py").unlink()
    assert await listed(repository) == ["b.py"]


async def test_without_git_directories_are_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(module, "_MAX_ENTRIES", 5)
    write(tmp_path, "a.py", "src/b.py", ".git/c", "node_modules/d.js", "x/.secret")
    write(tmp_path, *(f"heap/{number}" for number in range(6)))
    assert await listed(tmp_path) == ["a.py", "src/b.py"]


async def test_a_link_out_of_the_workspace_is_not_offered(tmp_path: Path) -> None:
    write(tmp_path, "inside/a.py", "outside/b.py")
    inside = tmp_path / "inside"
    (inside / "out").symlink_to(tmp_path / "outside" / "b.py")
    (inside / "there").symlink_to(inside / "a.py")
    (inside / "nowhere").symlink_to(inside / "gone")
    os.mkfifo(inside / "pipe")
    assert await listed(inside) == ["a.py", "there"]
    further = str(tmp_path / "outside" / "b.py")
    assert await listed(inside, tmp_path / "outside") == [further, "a.py", "out", "there"]


async def test_the_number_is_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 3)
    write(repository, *(f"{number}.py" for number in range(10)))
    assert len(await listed(repository)) == 3


async def test_the_time_is_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GIT", ("sleep", "60"))
    monkeypatch.setattr(module, "LIST_AFTER", 0.0)
    write(repository, "a.py")
    assert await listed(repository) == []


async def test_a_list_is_kept_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.py")
    files = WorkspaceFiles([tmp_path])
    assert (files.find("a"), files.is_fresh) == ([], False)
    await files.refresh()
    assert (files.find("./a"), files.is_fresh) == (["a.py"], True)
    write(tmp_path, "ab.py")
    await files.refresh()
    assert files.find("a") == ["a.py"]
    monkeypatch.setattr(module, "FRESH_AFTER", 0.0)
    await files.refresh()
    assert files.find("a") == ["a.py", "ab.py"]
