from __future__ import annotations

from parley.nes._eval.instances import ordered, plan

from .made_repository import commit_of, numbered

IMPORTS = commit_of(
    a=("import x\n\nuse(x)\n\nuse(x)\n", "import y\n\nuse(y)\n\nuse(y)\n"),
    b=("import x\n\nuse(x)\n", "import y\n\nuse(y)\n"),
)
MANY = commit_of(
    "many", a=(numbered(40), numbered(40, **{f"_{at}": "b" for at in range(0, 40, 3)}))
)


def test_canonical_order_is_by_path_and_from_top_to_bottom() -> None:
    assert ordered(IMPORTS, "canonical", 0) == IMPORTS.hunks


def test_imports_come_after_the_code_of_their_file() -> None:
    found = [(each.path, each.start) for each in ordered(IMPORTS, "imports-last", 0)]
    assert found == [("a.py", 2), ("a.py", 4), ("a.py", 0), ("b.py", 2), ("b.py", 0)]


def test_random_order_has_everything_and_hangs_on_the_seed() -> None:
    found = ordered(MANY, "random", 1)
    assert found == ordered(MANY, "random", 1)
    assert found != ordered(MANY, "random", 2)
    assert sorted(each.start for each in found) == [each.start for each in MANY.hunks]


def test_at_most_six_moments_are_drawn_and_the_end_is_always_one() -> None:
    drawn = plan(MANY, "canonical", "project", 1).questions
    assert len(drawn) == 7
    assert drawn[-1] == len(MANY.hunks)
    assert list(drawn) == sorted(set(drawn))
    assert drawn == plan(MANY, "canonical", "project", 1).questions
    assert drawn != plan(MANY, "canonical", "project", 2).questions


def test_in_the_file_view_something_is_left_in_the_file_or_nothing_anywhere() -> None:
    assert plan(IMPORTS, "canonical", "file", 0).questions == (1, 2, 4, 5)
    assert plan(IMPORTS, "canonical", "project", 0).questions == (1, 2, 3, 4, 5)
