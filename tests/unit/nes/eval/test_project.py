from __future__ import annotations

from pathlib import Path

import pytest

from parley.nes._eval import project
from parley.nes._eval.corpus import Selection, read_commits
from parley.nes._eval.history import History
from parley.nes._eval.project import laid_out

from .made_repository import Repository, commit_of, numbered


def _files(root: Path) -> dict[str, str]:
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text() for path in paths}


def _repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "project")
    repository.commit({"a.py": numbered(9), "in/b.py": "b = 1\n", "c.go": "c\n", "d.txt": "d\n"})
    repository.commit({"a.py": numbered(9, _1="x", _7="y"), "new.py": "new\n"})
    repository.commit({"a.py": "later\n", "in/later.py": "later\n"})
    return repository


def test_the_project_is_as_it_was_before_the_commit(tmp_path: Path) -> None:
    history = History(_repository(tmp_path).folder)
    (commit,) = read_commits(history, Selection())
    with laid_out(commit, history, ["python"]) as root:
        assert _files(root) == {"a.py": numbered(9), "in/b.py": "b = 1\n"}
    assert not root.exists()
    with laid_out(commit, history, ["python", "go"]) as root:
        assert "c.go" in _files(root)


def test_of_a_large_project_so_many_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(_repository(tmp_path).folder)
    (commit,) = read_commits(history, Selection())
    monkeypatch.setattr(project, "MAX_FILES", 1)
    with laid_out(commit, history, ["python"]) as root:
        assert list(_files(root)) == ["a.py"]
    monkeypatch.setattr(project, "MAX_FILES", 9)
    monkeypatch.setattr(project, "MAX_BYTES", len(numbered(9)) + 1)
    with laid_out(commit, history, ["python"]) as root:
        assert list(_files(root)) == ["a.py"]


def test_without_a_history_there_is_an_empty_folder() -> None:
    with laid_out(commit_of(a=("x\n", "y\n")), None, ["python"]) as root:
        assert _files(root) == {}


def test_a_link_in_the_tree_leads_nowhere(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    (repository.folder / "link.py").symlink_to("/etc/hostname")
    repository.commit({"a.py": numbered(9)})
    repository.commit({"a.py": numbered(9, _1="x", _7="y")})
    history = History(repository.folder)
    commits = list(read_commits(history, Selection()))
    with laid_out(commits[0], history, ["python"]) as root:
        assert "link.py" not in _files(root)
