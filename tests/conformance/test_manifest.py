"""Every requirement of the protocol is shown by a test, or it is said why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from .ledger import LEDGERS, MANIFEST, Page, Row, named_in, proofs, read_page, rows

FILES = sorted(MANIFEST.rglob("*.toml"))
LEVELS = {
    *("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"),
    *("MUST†", "SHOULD†", "MUST‡", "SHOULD‡"),
    *("must", "sdk", "ref", "inf"),
}
PARTS = {
    "HTTP and WebSocket",
    "MCP",
    "next edit suggestions",
    "proxies",
}
"""What Parley does not have yet."""
SIDES = {"agent", "client", "both", "sdk", "proxy", "conductor", "server", "registry"}


def complaint(id: str, row: Row, is_shown: bool) -> str | None:
    """Say what is wrong with how a requirement is met."""
    answers = [is_shown, row.reason is not None, row.later is not None]
    if sum(answers) == 1:
        return None
    if not any(answers):
        return f"{id} ({row.level}) has no test, no reason and no later part: {row.text}"
    return f"{id} has more than one of a test, a reason and a later part: {row.text}"


def test_every_requirement_is_shown_or_explained_and_not_both() -> None:
    shown = proofs()
    found = [complaint(id, row, id in shown) for id, row in rows().items()]
    assert [each for each in found if each] == []


def test_a_test_names_only_requirements_that_exist() -> None:
    known = rows()
    unknown = {id: tests for id, tests in proofs().items() if id not in known}
    assert unknown == {}


def test_no_id_is_in_two_places() -> None:
    ids = [id for path in FILES for id in read_page(path).rows]
    assert sorted(ids) == sorted(set(ids))
    assert {path.parent.name for path in FILES} == set(LEDGERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_rows_of_a_page_say_what_they_must(path: Path) -> None:
    page: Page = read_page(path)
    assert page.rows
    for row in page.rows.values():
        assert row.level in LEVELS
        assert row.who in SIDES
        assert row.later is None or row.later in PARTS
        assert row.text.strip()
        assert row.reason != ""


@pytest.mark.parametrize(
    ("row", "is_shown", "is_wrong"),
    [
        (Row("MUST", "both", "It works"), True, False),
        (Row("MUST", "both", "It works"), False, True),
        (Row("inf", "both", "It works"), False, True),
        (Row("MUST", "both", "It works", reason="Not ours"), False, False),
        (Row("MUST", "both", "It works", later="MCP"), False, False),
        (Row("MUST", "both", "It works", later="MCP"), True, True),
        (Row("MUST", "both", "It works", reason="Not ours"), True, True),
        (Row("MUST", "both", "It works", reason="Not ours", later="MCP"), False, True),
    ],
)
def test_a_requirement_is_met_in_exactly_one_way(row: Row, is_shown: bool, is_wrong: bool) -> None:
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
