"""`python -m tests.bench.run`: Parley beside the official SDKs, in one run.

Prints Markdown tables and, with `--json`, writes every sample. It measures and judges nothing:
the exit code is 0 whatever was reached. How each figure is made: `docs/background/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from tests.peers import Missing

from .environments import PARLEY, parley, peers
from .figures import WIRE_FIGURES
from .journal import JOURNAL_FIGURES
from .plan import Plan
from .proxies import PROXY_FIGURES
from .remote import REMOTE_FIGURES
from .report import Report
from .sessions import SESSION_FIGURES
from .suggestions import NES_FIGURES
from .tap import TAP_FIGURES
from .tui_chat import TEXTUAL, TUI_FIGURES

FIGURES = (
    WIRE_FIGURES
    | SESSION_FIGURES
    | JOURNAL_FIGURES
    | TUI_FIGURES
    | REMOTE_FIGURES
    | PROXY_FIGURES
    | NES_FIGURES
    | TAP_FIGURES
)
ROUNDS, QUICK_ROUNDS = 5, 2
QUICK_SHARE = 0.2


def main() -> None:
    options = _options()
    found = [parley(), *peers()]
    subjects = [subject for subject in found if not isinstance(subject, Missing)]
    rounds = QUICK_ROUNDS if options.quick else options.rounds
    notes = [f"left out: {each}" for each in found if isinstance(each, Missing)]
    plan = Plan(subjects, rounds, QUICK_SHARE if options.quick else 1.0, notes)
    report = Report([subject.name for subject in subjects], rounds, notes=notes)
    screen = Report([PARLEY, TEXTUAL], 1)
    for name in options.only or FIGURES:
        _say(sys.stderr, f"{name} ...")
        (screen if name in TUI_FIGURES else report).rows += FIGURES[name](plan)
    for line in _told(report, screen):
        _say(sys.stdout, line)
    if options.json:
        report.rows += screen.rows
        report.write(options.json)


def _told(report: Report, screen: Report) -> Iterator[str]:
    """The table of the SDKs, and that of the chat, which has another peer."""
    for each in (report, screen):
        if each.rows:
            yield from each.markdown()
            yield ""
    yield report.summary()
    yield from report.notes


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Parley beside the official SDKs.")
    parser.add_argument("--quick", action="store_true", help="two small rounds, for a look")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--only", action="append", choices=list(FIGURES), help="may be repeated")
    return parser.parse_args()


def _say(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
