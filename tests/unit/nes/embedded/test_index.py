"""The files of the workspace, whatever is there."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

import pytest

from parley.nes._documents.document import Document
from parley.nes.embedded import EmbeddedEngine
from parley.nes.embedded import _project as index
from parley.nes.embedded._engine import EmbeddedPredictor
from parley.nes.embedded._project import Library, Project
from parley.nes.embedded._source import SourceFile
from parley.nes.engine import EditProposal, Question, Span, Spot, Workspace


def read(root: Path, library: Library | None = None) -> Project:
    project = Project((str(root),), library)
    deque(project.reading(), 0)
    return project


def paths(project: Project) -> set[str]:
    return {file.path.name for file in project.files()}


def write(path: Path, text: str = "alpha = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "folder", ["node_modules", "site-packages", "__pycache__", ".git", "vendor", "build/lib"]
)
def test_what_is_installed_hidden_or_built_is_passed_over(tmp_path: Path, folder: str) -> None:
    write(tmp_path / folder / "a.py")
    write(tmp_path / "b.py")
    assert paths(read(tmp_path)) == {"b.py"}


def test_an_environment_of_python_is_passed_over_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path / "env" / "pyvenv.cfg")
    write(tmp_path / "env" / "a.py")
    assert paths(read(tmp_path)) == set()


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside.py", "secret = 1\n")
    inside = write(tmp_path / "work" / "a.py").parent
    (inside / "loop").symlink_to(inside, target_is_directory=True)
    (inside / "link.py").symlink_to(outside)
    (inside / "gone.py").symlink_to(tmp_path / "nowhere.py")
    project = read(inside)
    assert paths(project) == {"a.py"}
    assert project.count("secret") == 0


def test_what_is_no_text_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00 alpha")
    (tmp_path / "b.py").write_bytes(b"alpha\x00beta")
    (tmp_path / "c.py").write_text("x" * (index.MAX_FILE_BYTES + 1))
    (tmp_path / "d.py").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "e.py")
    write(tmp_path / "f.py")
    assert paths(read(tmp_path)) == {"f.py"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="may read all files")
def test_what_may_not_be_read_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "a.py").chmod(0)
    folder = write(tmp_path / "closed" / "b.py").parent
    folder.chmod(0)
    write(tmp_path / "c.py")
    try:
        assert paths(read(tmp_path)) == {"c.py"}
    finally:
        folder.chmod(0o700)


def test_a_repository_within_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a_module" / ".git", "gitdir: ../.git/modules/a\n")
    write(tmp_path / "a_module" / "theirs.py")
    write(tmp_path / "b" / "c" / "ours.py")
    assert paths(read(tmp_path)) == {"ours.py", "theirs.py"}
    monkeypatch.setattr(index, "MAX_FILES", 1)
    assert paths(read(tmp_path)) == {"ours.py"}


@pytest.mark.parametrize(
    ("limit", "value", "count"),
    [
        ("MAX_FILES", 3, 3),
        ("MAX_TOTAL_BYTES", 25, 3),
        ("MAX_ENTRIES", 1, 6),
        ("MAX_FILE_BYTES", 5, 0),
    ],
)
def test_there_is_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, count: int
) -> None:
    for number in range(6):
        write(tmp_path / f"{number}.py")
        write(tmp_path / "below" / f"{number}.py")
    monkeypatch.setattr(index, limit, value)
    assert len(read(tmp_path).files()) == count


def test_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    path = write(tmp_path / "a.py")
    write(tmp_path / "b.py", "beta = alpha\n")
    project = read(tmp_path)
    assert project.count("alpha") == 2
    path.unlink()
    deque(project.reading(), 0)
    assert (project.count("alpha"), project.has(str(path))) == (1, False)
    near = SourceFile(path.as_uri(), [])
    assert [file.path.name for file in project.files_with("alpha", near=near)] == ["b.py"]


def test_files_may_change_and_go_while_they_are_read(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"{number}.py")
    project = Project((str(tmp_path),))
    steps = project.reading()
    next(steps)
    (tmp_path / "1.py").unlink()
    write(tmp_path / "2.py", "beta = 2\n")
    deque(steps, 0)
    assert paths(project) == {"0.py", "2.py", "3.py", "4.py"}
    assert (project.count("alpha"), project.count("beta")) == (3, 1)


def test_a_workspace_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere").files() == []


def test_what_was_read_is_kept_for_the_next_session(tmp_path: Path) -> None:
    write(tmp_path / "a.py")
    library = Library()
    one, other = read(tmp_path, library).files(), read(tmp_path, library).files()
    assert one[0] is other[0]


def test_the_nearest_files_come_first(tmp_path: Path) -> None:
    for name in ("z.py", "a/b/near.py", "a/far.py", "c/d/e.py"):
        write(tmp_path / name)
    near = SourceFile((tmp_path / "a" / "b" / "here.py").as_uri(), [])
    found = read(tmp_path).files_with("alpha", near=near, most=2)
    assert [file.path.name for file in found] == ["near.py", "far.py"]


_THREE = "log.debug(5)\nfoo()\nlog.debug(6)\n"


async def _of_other_file(root: Path) -> tuple[EmbeddedPredictor, Question]:
    """Return a session in which a change of one file fits another one, which is not open."""
    (root / "other.py").write_text(_THREE)
    predictor = EmbeddedEngine().begin(Workspace(folders=(str(root),)))
    text = "log.debug(1)\nstart()\nlog.debug(2)\n"
    document = Document((root / "own.py").as_uri(), "python", 1, text)
    predictor.opened(document)
    for line in (0, 2):
        span = Span(Spot(line, 4), Spot(line, 9))
        predictor.changed(document, [document.edit(span, "info")])
    await predictor.settled()
    return predictor, Question(document=document, spot=Spot(2, 8), trigger="manual")


async def test_a_file_that_has_changed_since_it_was_read_is_read_again_first(
    tmp_path: Path,
) -> None:
    predictor, question = await _of_other_file(tmp_path)
    assert [x.uri for x in await predictor.suggest(question)] == [(tmp_path / "other.py").as_uri()]
    (tmp_path / "other.py").write_text("import logging\n" + _THREE)
    assert await predictor.suggest(question) == []
    await predictor.settled()
    (found,) = await predictor.suggest(question)
    assert isinstance(found, EditProposal)
    assert found.edits[0].span.start.line in (1, 3)


async def test_what_was_accepted_of_a_file_that_is_not_open_does_not_come_again(
    tmp_path: Path,
) -> None:
    predictor, question = await _of_other_file(tmp_path)
    lines: list[int] = []
    while found := await predictor.suggest(question):
        assert isinstance(found[0], EditProposal)
        lines.append(found[0].edits[0].span.start.line)
        predictor.on_outcome(found[0], "accepted")
    assert sorted(lines) == [0, 2]


async def test_a_document_in_front_makes_the_files_of_the_workspace_be_looked_at_again(
    tmp_path: Path,
) -> None:
    now = 0.0
    predictor = EmbeddedEngine(clock=lambda: now).begin(Workspace(folders=(str(tmp_path),)))
    document = Document((tmp_path / "own.py").as_uri(), "python", 1, "x = 1\n")
    predictor.opened(document)
    await predictor.settled()
    (tmp_path / "new.py").write_text("a_rare_word = 1\n")
    question = Question(document=document, spot=Spot(0, 0))
    await predictor.settled()
    assert predictor.edit_context(question).project.count("a_rare_word") == 0
    now = 10.0
    predictor.focused(document, Spot(0, 0), Span(Spot(0, 0), Spot(1, 0)))
    await predictor.settled()
    assert predictor.edit_context(question).project.count("a_rare_word") == 1
