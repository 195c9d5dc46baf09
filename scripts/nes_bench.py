"""Measure an engine of next edit suggestions in this process, without the protocol.

The instances and scores are those of `parley nes eval`; only the wire is left out, so that it is
fast while an engine is being made, and all candidates can be looked at. The engine is named as
`module:factory`; the factory is called without arguments in each worker. An engine that reads the
project beside its work gives its sessions a coroutine function `settled()`, which is waited for.

    scripts/nes_bench.py REPO … --engine parley.nes.embedded:EmbeddedEngine --commits 50
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from parley.nes._eval.chain import Chained, chain
from parley.nes._eval.corpus import Commit, Selection, read_commits
from parley.nes._eval.driver import EngineDriver
from parley.nes._eval.figures import curve, figures_of
from parley.nes._eval.history import History, HistoryError
from parley.nes._eval.instances import ORDERS, VIEWS, Order, View, plan
from parley.nes._eval.languages import LANGUAGES
from parley.nes._eval.project import laid_out
from parley.nes._eval.replay import InstanceOutcome, replay
from parley.nes._eval.report import rows_of
from parley.nes._eval.table import detail_lines, table_lines


class Work(NamedTuple):
    """What a worker is told."""

    engine: str
    folder: str
    languages: tuple[str, ...]
    order: Order
    view: View
    seed: int
    kinds: frozenset[str]
    options: dict[str, str]
    chained: bool


def main() -> None:
    """Measure and print."""
    arguments = _parser().parse_args()
    outcomes: list[InstanceOutcome] = []
    chained: list[Chained] = []
    with ExitStack() as files:
        dump = files.enter_context(Path(arguments.dump or os.devnull).open("wb"))
        try:
            for done, (found, kept) in enumerate(_measured(arguments), 1):
                outcomes += found
                chained += [kept] if kept else []
                dump.writelines(msgspec.json.encode(each) + b"\n" for each in found)
                if sys.stderr.isatty():
                    print(f"\r{done} commits", end="", file=sys.stderr, flush=True)
        except HistoryError as error:
            sys.exit(f"nes_bench: {error}")
    print(file=sys.stderr)
    _report(outcomes, chained, arguments.thresholds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", metavar="REPO", nargs="+")
    parser.add_argument("--engine", default="parley.nes.embedded:EmbeddedEngine")
    parser.add_argument("--commits", type=int, default=200, help="at most, of each repository")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--order", choices=ORDERS, default="imports-last")
    parser.add_argument("--view", choices=VIEWS, default="project")
    parser.add_argument("--language", choices=LANGUAGES, action="append")
    parser.add_argument("--tip", default="HEAD", help="the last commit that counts")
    parser.add_argument("--since")
    parser.add_argument("--kinds", default="edit,jump", help="what the editor can show")
    parser.add_argument("--set", metavar="OPTION=VALUE", action="append", default=[])
    parser.add_argument("--chain", action="store_true", help="count the keys that are saved too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--dump", metavar="FILE", help="write all candidates, a line an instance")
    parser.add_argument("--thresholds", action="store_true", help="print what thresholds give")
    return parser


def _measured(
    arguments: argparse.Namespace,
) -> Iterator[tuple[list[InstanceOutcome], Chained | None]]:
    languages = tuple(arguments.language or ["python"])
    options = dict(each.partition("=")[::2] for each in arguments.set)
    for folder in arguments.repositories:
        selection = Selection(
            languages=languages,
            most=arguments.commits,
            seed=arguments.seed,
            tip=arguments.tip,
            since=arguments.since,
        )
        commits = read_commits(History(folder), selection)
        work = Work(
            engine=arguments.engine,
            folder=folder,
            languages=languages,
            order=arguments.order,
            view=arguments.view,
            seed=arguments.seed,
            kinds=frozenset(arguments.kinds.split(",")),
            options=options,
            chained=arguments.chain,
        )
        yield from _spread(partial(_measure, work), commits, arguments.jobs)


def _spread(measure: Any, commits: Iterable[Commit], jobs: int) -> Iterator[Any]:
    if jobs == 1:
        yield from map(measure, commits)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(measure, commits)


@cache
def _engine(name: str) -> Any:
    module, _, factory = name.partition(":")
    return getattr(importlib.import_module(module), factory)()


def _measure(work: Work, commit: Commit) -> tuple[list[InstanceOutcome], Chained | None]:
    driver = EngineDriver(_engine(work.engine), work.kinds, work.options)
    todo = plan(commit, work.order, work.view, work.seed)
    history = History(work.folder) if work.view == "project" else None
    with laid_out(commit, history, work.languages) as root:
        outcomes = asyncio.run(replay(todo, root, driver))
        return outcomes, asyncio.run(chain(todo, root, driver)) if work.chained else None


def _report(outcomes: list[InstanceOutcome], chained: list[Chained], thresholds: bool) -> None:
    rows = [((row.repository, row.shown), row.figures) for row in rows_of(outcomes, chained)]
    print("\n".join(table_lines(rows, ("repository", "shown"))))
    print("\n".join(detail_lines(figures_of(outcomes, chained))))
    _by_rule(outcomes)
    if thresholds:
        points = curve(outcomes)
        print("threshold  speaks  P(step)  P(exact)  false at end")
        for each in points[:: max(1, len(points) // 25)]:
            shares = "  ".join(f"{100 * share:6.1f}" for share in each[2:])
            print(f"{each.threshold:9.3f}  {shares}")


def _by_rule(outcomes: list[InstanceOutcome]) -> None:
    tops = [each.top for each in outcomes if each.top]
    for rule in sorted({each.rule for each in tops}):
        some = [each.verdict for each in tops if each.rule == rule]
        right = f"step {sum(each.step for each in some)}, exact {sum(each.exact for each in some)}"
        print(f"  {rule}: {len(some)} shown, {right}")


if __name__ == "__main__":
    main()
