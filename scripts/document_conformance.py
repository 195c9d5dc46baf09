"""Write docs/reference/conformance.md from the manifest of requirements and their tests.

Run it with `make docs`; with --check it only says whether the page is up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.conformance.requirements import (
    ROOT,
    SECTIONS,
    CoveringTest,
    Page,
    Requirement,
    covering_tests,
    pages,
)

PAGE = ROOT / "docs" / "reference" / "conformance.md"
MOST_PROOFS = 3
"""So many tests are named for a row; the others are counted."""
HEAD = """# Conformance

What the protocol asks for, row by row, and the test that shows it in Parley; and, last, what we ask
of ourselves for safety. Written by `make docs` from `tests/conformance/manifest` and the marks of
the tests; do not edit.

*Level*: `MUST`, `SHOULD` and `MAY` are the specification's. `MUST†` and `must` follow from its
schema or from prose without such a word. `MUST‡`, `inf`, `sdk` and `ref` are choices where it is
silent: a recommendation of ours, an inference, advice to authors of SDKs, what the reference
implementation does. *Who* has to keep it; `sdk` is any library.
"""
COLUMNS = "| id | who | level | requirement | shown by |"
STATES = ("shown", "not a library's matter")


def page() -> str:
    """Return the whole page."""
    shown = covering_tests()
    parts = [HEAD, _counts(shown)]
    for section, title in SECTIONS.items():
        parts.append(f"\n## {title}\n")
        parts += [_table(each, shown) for each in pages(section)]
    return "".join(parts)


def _counts(shown: dict[str, list[CoveringTest]]) -> str:
    lines = [f"\n| | requirements | {' | '.join(STATES)} |\n|{'---|' * 4}\n"]
    total: Counter[str] = Counter()
    for section, title in SECTIONS.items():
        counts = Counter(
            _state(row, shown.get(id, []))
            for each in pages(section)
            for id, row in each.rows.items()
        )
        lines.append(_count(title, counts))
        total += counts
    return "".join([*lines, _count("together", total)])


def _count(title: str, counts: Counter[str]) -> str:
    cells = (str(counts[state]) for state in STATES)
    return f"| {title} | {counts.total()} | {' | '.join(cells)} |\n"


def _state(row: Requirement, tests: list[CoveringTest]) -> str:
    return STATES[0] if tests else STATES[1]


def _table(each: Page, shown: dict[str, list[CoveringTest]]) -> str:
    title = f"[{each.title}]({each.link})" if each.link else each.title
    rows = (_row(id, row, shown.get(id, [])) for id, row in each.rows.items())
    return f"\n### {title}\n\n{COLUMNS}\n|{'---|' * 5}\n{''.join(rows)}"


def _row(id: str, row: Requirement, tests: list[CoveringTest]) -> str:
    cells = (id, row.who, row.level, row.text.replace("|", "\\|"), _shown_by(row, tests))
    return f"| {' | '.join(cells)} |\n"


def _shown_by(row: Requirement, tests: list[CoveringTest]) -> str:
    if row.reason:
        return f"*{row.reason}*"
    more = len(tests) - MOST_PROOFS
    named = [_link(test) for test in tests[:MOST_PROOFS]]
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def _link(test: CoveringTest) -> str:
    sentence = test.name.removeprefix("test_").replace("_", " ")
    return f"[{sentence}]({Path('../..') / test.path})"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    if parser.parse_args().check:
        is_current = PAGE.exists() and PAGE.read_text() == page()
        print(f"{PAGE.name} is {'up to date' if is_current else 'old; run make docs'}")
        return 0 if is_current else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
