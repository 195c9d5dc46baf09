"""The requirements of the protocol, and the tests that cover them.

The requirements are data, one file per page of the specification in `manifest/`; our own are in
`manifest/safety`. A test names the requirements that it covers with
`@pytest.mark.requirement(...)`. The ids are read from the source of the tests, so there is no list
to maintain. A requirement that no test covers gives the reason.
"""

from __future__ import annotations

import ast
import functools
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
MANIFEST = Path(__file__).parent / "manifest"
SECTIONS = {
    "v1": "Version 1",
    "v2": "Version 2",
    "transports": "Transports, proxies and the rest",
    "safety": "Safety, which is our own",
}
FOLDERS = ("conformance", "unit", "e2e")
"""The folders below tests/ that are always run."""


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One requirement."""

    level: str
    who: str
    text: str
    reason: str | None = None
    """Why no test can cover it."""


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The requirements of one page of the specification."""

    title: str
    rows: dict[str, Requirement]
    link: str | None = None


class CoveringTest(msgspec.Struct, frozen=True, order=True):
    """A test that covers a requirement."""

    path: Path
    """Relative to the root of the repository."""
    name: str


def pages(section: str) -> list[Page]:
    """Return the pages of a section, sorted by title."""
    found = [read_page(path) for path in (MANIFEST / section).glob("*.toml")]
    return sorted(found, key=lambda page: page.title)


def read_page(path: Path) -> Page:
    """Read one file of the manifest."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Page)


def rows() -> dict[str, Requirement]:
    """Return all requirements of all sections."""
    return {
        id: row for section in SECTIONS for page in pages(section) for id, row in page.rows.items()
    }


@functools.cache
def covering_tests() -> dict[str, list[CoveringTest]]:
    """Return the tests that name a requirement, by its id."""
    found: dict[str, list[CoveringTest]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")):
            for id, name in named_in(path.read_text(encoding="utf-8")):
                found[id].append(CoveringTest(path.relative_to(ROOT), name))
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
