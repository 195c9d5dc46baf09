"""Every requirement of the protocol is shown by a test, or it is said why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .requirements import (
    MANIFEST,
    ROOT,
    SECTIONS,
    Page,
    Requirement,
    covering_tests,
    named_in,
    pages,
    read_page,
    rows,
)

FILES = sorted(MANIFEST.rglob("*.toml"))
LEVELS = {
    *("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"),
    *("MUST†", "SHOULD†", "MUST‡", "SHOULD‡"),
    *("must", "sdk", "ref", "inf"),
}
SIDES = {"agent", "client", "both", "sdk", "proxy", "conductor", "server", "registry"}


def complaint(id: str, row: Requirement, is_shown: bool) -> str | None:
    """Return the problem with the tests of a requirement."""
    if is_shown == (row.reason is None):
        return None
    if not is_shown:
        return f"{id} ({row.level}) has neither a test nor a reason: {row.text}"
    return f"{id} has a test and also a reason why there is none: {row.text}"


def test_every_requirement_is_shown_or_explained_and_not_both() -> None:
    shown = covering_tests()
    found = [complaint(id, row, id in shown) for id, row in rows().items()]
    assert [each for each in found if each] == []


def test_a_test_names_only_requirements_that_exist() -> None:
    known = rows()
    unknown = {id: tests for id, tests in covering_tests().items() if id not in known}
    assert unknown == {}


def test_no_id_is_in_two_places() -> None:
    ids = [id for path in FILES for id in read_page(path).rows]
    assert sorted(ids) == sorted(set(ids))
    assert {path.parent.name for path in FILES} == set(SECTIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_rows_of_a_page_say_what_they_must(path: Path) -> None:
    page: Page = read_page(path)
    assert page.rows
    for row in page.rows.values():
        assert row.level in LEVELS
        assert row.who in SIDES
        assert row.text.strip()
        assert row.reason != ""


@pytest.mark.parametrize(
    ("row", "is_shown", "is_wrong"),
    [
        (Requirement("MUST", "both", "It works"), True, False),
        (Requirement("MUST", "both", "It works"), False, True),
        (Requirement("inf", "both", "It works"), False, True),
        (Requirement("MUST", "both", "It works", reason="Not ours"), False, False),
        (Requirement("MUST", "both", "It works", reason="Not ours"), True, True),
    ],
)
def test_a_requirement_has_a_test_or_a_reason(
    row: Requirement, is_shown: bool, is_wrong: bool
) -> None:
    assert (complaint("X-1", row, is_shown) is not None) is is_wrong


def test_names_are_read_from_marks_of_test_functions() -> None:
    source = (
        "@requirement('A-1', 'B-2')\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.requirement('C-3'))])\n"
        "async def test_it(x): ...\n"
        "@other('D-4')\n"
        "def test_that(): ...\n"
    )
    assert list(named_in(source)) == [("A-1", "test_it"), ("B-2", "test_it"), ("C-3", "test_it")]
    with pytest.raises(ValueError, match="written out"):
        list(named_in("@requirement(*IDS)\ndef test_it(): ..."))


SECURITY = ROOT / "docs" / "background" / "security.md"


def named_on(page: Path) -> set[str]:
    """Return the ids of requirements that a document names."""
    return set(re.findall(r"`([A-Z][A-Z0-9]*(?:-[A-Z]+)+-[0-9]+)`", page.read_text("utf-8")))


def test_the_security_model_promises_only_what_a_test_shows() -> None:
    assert named_on(SECURITY) - (covering_tests().keys() & rows().keys()) == set()


def test_the_security_model_names_every_requirement_of_safety() -> None:
    ids = {id for page in pages("safety") for id in page.rows}
    assert ids - named_on(SECURITY) == set()
