"""What the protocol asks for, row by row, and the tests that show it.

The rows are data, one file per page of the specification in `manifest/`; what we ask of ourselves
beyond it is in `manifest/safety`. A test names the rows that it shows with
`@pytest.mark.requirement(...)`; the names are read from the files of the tests, so no list has to
be kept. A row that no test shows says why, or which part of Parley brings it.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
MANIFEST = Path(__file__).parent / "manifest"
LEDGERS = {
    "v1": "Version 1",
    "v2": "Version 2",
    "transports": "Transports, proxies and the rest",
    "safety": "Safety, which is our own",
}
FOLDERS = ("conformance", "unit", "e2e")
"""The folders below tests/ that are always run."""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One requirement."""

    level: str
    who: str
    text: str
    reason: str | None = None
    """Why there is nothing to show: it is not a library's matter."""
    later: str | None = None
    """The part of Parley that brings it, which is not there yet."""


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The requirements of one page of the specification."""

    title: str
    rows: dict[str, Row]
    link: str | None = None


class Proof(msgspec.Struct, frozen=True, order=True):
    """A test that shows a requirement."""

    path: Path
    """Where it is, below the root of the repository."""
    name: str


def pages(ledger: str) -> list[Page]:
    """Return the pages of a ledger, in the order of their titles."""
    found = [read_page(path) for path in (MANIFEST / ledger).glob("*.toml")]
    return sorted(found, key=lambda page: page.title)


def read_page(path: Path) -> Page:
    """Read one file of the manifest."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Page)


def rows() -> dict[str, Row]:
    """Return all requirements of all ledgers."""
    return {
        id: row for ledger in LEDGERS for page in pages(ledger) for id, row in page.rows.items()
    }


def proofs() -> dict[str, list[Proof]]:
    """Return the tests that name a requirement, by its id."""
    found: dict[str, list[Proof]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")):
            for id, name in named_in(path.read_text(encoding="utf-8")):
                found[id].append(Proof(path.relative_to(ROOT), name))
    return dict(found)


def named_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield each id that a test in this source names, with the name of the test."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            ids = {id for mark in node.decorator_list for id in _ids(mark)}
            yield from ((id, node.name) for id in sorted(ids))


def _ids(decorator: ast.expr) -> Iterator[str]:
    for call in ast.walk(decorator):
        if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "requirement":
            for argument in call.args:
                yield from _written_out(argument)


def _written_out(argument: ast.expr) -> list[str]:
    """Return the ids of an argument: a string, or a starred tuple of strings."""
    try:
        value = ast.literal_eval(argument.value if isinstance(argument, ast.Starred) else argument)
    except ValueError:
        raise ValueError(f"ids are written out: {ast.unparse(argument)}") from None
    return [value] if isinstance(value, str) else list(value)
