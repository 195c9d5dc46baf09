from __future__ import annotations

from pathlib import Path

import pytest

from parley.nes._eval.corpus import Commit, Selection, read_commits
from parley.nes._eval.history import History, HistoryError

from .made_repository import Repository, numbered


def _read(folder: Path, **chosen: object) -> list[Commit]:
    return list(read_commits(History(folder), Selection(**chosen)))  # type: ignore[arg-type]


def _repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "project")
    repository.commit({"a.py": numbered(30), "b.py": numbered(30), "c.go": numbered(30)})
    return repository


def test_a_commit_has_its_changes_as_they_were(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    parent = repository.git("rev-parse", "HEAD")
    id = repository.commit(
        {"a.py": numbered(30, _3="b = 3", _20="b = 20\nc = 21"), "b.py": numbered(29)}
    )
    (commit,) = _read(repository.folder)
    assert (commit.id, commit.parent, commit.repository) == (id, parent, "project")
    assert [(each.path, each.start, each.old, each.new) for each in commit.hunks] == [
        ("a.py", 3, ("a = 3\n",), ("b = 3\n",)),
        ("a.py", 20, ("a = 20\n",), ("b = 20\n", "c = 21\n")),
        ("b.py", 29, ("a = 29\n",), ()),
    ]
    assert "".join(commit.files["a.py"]) == numbered(30)


def test_lines_keep_their_ends_and_a_last_line_may_have_none(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit({"a.py": "a\r\nb\r\nc\r\nd"})
    repository.commit({"a.py": "x\r\nb\r\nc\r\ny"})
    (commit,) = _read(repository.folder)
    assert [(each.old, each.new) for each in commit.hunks] == [
        (("a\r\n",), ("x\r\n",)),
        (("d",), ("y",)),
    ]


def test_a_bare_repository_will_do(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    repository.commit({"a.py": numbered(30, _3="b", _9="c")})
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare" / "repo"))
    (commit,) = _read(tmp_path / "bare" / "repo")
    assert commit.repository == "bare"


@pytest.mark.parametrize(
    ("text", "message", "author"),
    [
        (numbered(30, _3="b"), "One place", "Ada"),
        (numbered(30, _3="b\n" * 36 + "b", _9="c"), "A long place", "Ada"),
        (numbered(30, _3="a  =  3", _9="a=9"), "Blanks", "Ada"),
        (numbered(30, _3="b", _9="c"), "Run black", "Ada"),
        (numbered(30, _3="b", _9="c"), "Reformat everything", "Ada"),
        (numbered(30, _3="b", _9="c"), "Update", "dependabot[bot]"),
    ],
)
def test_some_commits_are_no_work_of_a_person_in_several_places(
    tmp_path: Path, text: str, message: str, author: str
) -> None:
    repository = _repository(tmp_path)
    repository.commit({"a.py": text}, message, author)
    assert _read(repository.folder) == []


def test_a_word_of_formats_inside_another_word_does_no_harm(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    repository.commit({"a.py": numbered(30, _3="b", _9="c")}, "More information, less ruffle")
    assert len(_read(repository.folder)) == 1


def test_more_than_twenty_places_are_too_many(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit({"a.py": numbered(60)})
    repository.commit({"a.py": numbered(60, **{f"_{at}": "b" for at in range(0, 42, 2)})})
    assert _read(repository.folder) == []
    repository.commit({"a.py": numbered(60, **{f"_{at}": "c" for at in range(2, 42, 2)})})
    assert _read(repository.folder) == []
    repository.commit({"a.py": numbered(60, **{f"_{at}": "d" for at in range(2, 42, 2)})})
    assert [len(each.hunks) for each in _read(repository.folder)] == [20]


def test_merges_new_files_and_what_is_no_text_are_left_out(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    repository.git("checkout", "-q", "-b", "side")
    repository.commit({"a.py": numbered(30, _3="b")})
    repository.git("checkout", "-q", "main")
    repository.commit({"b.py": numbered(30, _3="b"), "new.py": numbered(9)})
    repository.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    repository.commit({"new.py": "é\n\n\n\né\n".encode("latin-1")})
    repository.commit({"new.py": "x\n\n\n\ny\n"})
    assert _read(repository.folder) == []


def test_a_language_is_known_by_its_files(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    repository.commit({"a.py": numbered(30, _3="b", _9="c"), "c.go": numbered(30, _3="b")})
    repository.commit({"c.go": numbered(30, _9="b")})
    assert [len(each.hunks) for each in _read(repository.folder)] == [2]
    assert [len(each.hunks) for each in _read(repository.folder, languages=("go",))] == [2]
    both = _read(repository.folder, languages=("python", "go"))
    assert sorted(len(each.hunks) for each in both) == [2, 3]


def test_the_same_seed_draws_the_same_commits(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    for at in range(12):
        repository.commit({"a.py": numbered(30, _3=f"b{at}", _9=f"c{at}")})
    drawn = [each.id for each in _read(repository.folder, most=5, seed=1)]
    assert drawn == [each.id for each in _read(repository.folder, most=5, seed=1)]
    assert len(set(drawn)) == 5
    assert drawn != [each.id for each in _read(repository.folder, most=5, seed=2)]
    assert drawn == [each.id for each in _read(repository.folder, most=12, seed=1)][:5]


def test_commits_may_be_bounded_by_a_date_and_by_a_last_one(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    first = repository.commit({"a.py": numbered(30, _3="b", _9="c")}, date="2025-02-01T12:00:00Z")
    second = repository.commit({"a.py": numbered(30, _3="d", _9="e")}, date="2025-03-01T12:00:00Z")
    assert [each.id for each in _read(repository.folder, since="2025-02-15")] == [second]
    assert [each.id for each in _read(repository.folder, tip=first)] == [first]


def test_a_folder_in_a_repository_is_what_was_changed_in_it(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit({"a.py": numbered(30), "in/b.py": numbered(30)})
    repository.commit({"a.py": numbered(30, _3="b", _9="c")})
    repository.git("config", "diff.relative", "true")
    id = repository.commit(
        {"a.py": numbered(30, _3="d"), "in/b.py": numbered(30, _3="e", _4="x", _6="f")}
    )
    repository.git("config", "diff.interHunkContext", "3")
    history = History(repository.folder / "in")
    (commit,) = read_commits(history, Selection())
    assert (commit.repository, commit.id, list(commit.files)) == ("in", id, ["in/b.py"])
    assert len(commit.hunks) == 2
    assert [each.path for each in history.files(id, [".py"])] == ["a.py", "in/b.py"]


@pytest.mark.parametrize("date", ["nonsense", "now", "2090-01-01", ""])
def test_what_is_no_date_in_the_past_is_told(date: str, tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    repository.commit({"a.py": numbered(30, _3="b", _9="c")})
    with pytest.raises(HistoryError, match="not a date in the past"):
        _read(repository.folder, since=date)


def test_what_is_no_repository_is_told(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="there is no folder"):
        History(tmp_path / "nowhere")
    with pytest.raises(HistoryError, match="not a git repository"):
        History(Repository(tmp_path / "project").folder.parent)
    with pytest.raises(HistoryError, match="there is no commit 'nothing'"):
        _read(_repository(tmp_path / "other").folder, tip="nothing")
