"""Fit the scores of the embedded engine of next edit suggestions to the history of repositories.

Each commit is replayed as `parley nes eval` does it, and all candidates of every moment are judged
as it judges them: would the person keep what it changes, is it all of a change, and is something to
be changed where it begins? For each rule a logistic regression is fitted to each of these answers,
and the coefficients are written as a Python table. The same repositories give the same table.

    python scripts/fit_nes.py FLASK REQUESTS --output src/parley/nes/embedded/coefficients.py

With --check every repository is also scored by what was fitted on the others.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from parley.nes._eval.corpus import Hunk, Selection, read_commits
from parley.nes._eval.driver import Answer, EngineDriver, path_of
from parley.nes._eval.editor_session import EditorSession
from parley.nes._eval.history import History
from parley.nes._eval.instances import plan
from parley.nes._eval.project import laid_out
from parley.nes._eval.replay import Sitting
from parley.nes._eval.scoring import hunk_at, judge
from parley.nes.embedded import EmbeddedEngine
from parley.nes.embedded._context import Candidate
from parley.nes.embedded._engine import EmbeddedPredictor
from parley.nes.embedded._filters import breaks
from parley.nes.embedded._proposals import edit_of, jump_of
from parley.nes.embedded._scoring import BY_HAND, BY_MEANING, PLACE_THRESHOLDS, THRESHOLDS, worth
from parley.nes.embedded._source import SourceFile
from parley.nes.engine import Question, Spot

MOST_NEGATIVES = 8_000
PENALTIES = {0: 6.0, 600: 20.0}
"""How much large coefficients cost, from so many samples on."""
ROUNDS = 30


class Sample(NamedTuple):
    """A candidate with what is known about it, and what is right about it."""

    rule: str
    features: dict[str, float]
    is_sure: bool
    exact: bool = False
    step: bool = False
    place: bool = False


class Moment(NamedTuple):
    """What came to mind at one instance."""

    commit: str
    samples: list[Sample]
    is_end: bool


class Weighted(NamedTuple):
    """A sample with the answer that is fitted, and how much it counts."""

    features: dict[str, float]
    is_right: bool
    weight: float


Table = dict[str, dict[str, float]]
Row = list[tuple[int, float]]
"""What is not zero: the number of a feature, and its value."""


class Watcher(EngineDriver):
    """Collects candidates instead of asking for suggestions."""

    commit: str
    editor: EditorSession
    moments: list[Moment]

    async def ask(self, path: str, spot: Spot) -> Answer:
        """Judge everything that comes to mind."""
        predictor = self._session
        assert isinstance(predictor, EmbeddedPredictor)
        document = self._documents[path]
        context = predictor.edit_context(Question(document=document, spot=document.clamp(spot)))
        context.limit = None
        samples: list[Sample] = []
        for candidate in predictor.candidates(context):
            file = context.file_of(candidate.uri)
            if file is not None and not breaks(candidate, file):
                where = path_of(self._root, candidate.uri) or ""
                samples.append(judged(candidate, file, self.editor, where))
        self.moments.append(Moment(self.commit, samples, not self.editor.left()))
        return Answer([], 0.0)


def judged(candidate: Candidate, file: SourceFile, editor: EditorSession, path: str) -> Sample:
    """Return a candidate with what is right about it."""
    sample = Sample(candidate.rule, candidate.features, candidate.is_sure)
    if editor.lines(path) is None or not any(
        _is_near(candidate, x, editor) for x in editor.left(path)
    ):
        return sample
    spot = jump_of(candidate, file, 0.0).spot
    sample = sample._replace(place=hunk_at(spot.line, editor, path) is not None)
    if not candidate.is_sure:
        return sample
    verdict = judge(edit_of(candidate, file), editor, path, None)
    return sample._replace(exact=verdict.exact, step=verdict.step)


def _is_near(candidate: Candidate, hunk: Hunk, editor: EditorSession) -> bool:
    """Return whether a candidate can be right at all about a remaining change."""
    reach = max(2, len(candidate.lines)) + len(hunk.new)
    start = editor.start(hunk)
    return start - reach <= candidate.end and candidate.start <= start + len(hunk.old) + reach


def collect(folder: str, most: int) -> list[Moment]:
    """Replay the commits of a repository."""
    history, watcher = History(folder), Watcher(EmbeddedEngine(), frozenset({"edit"}))
    watcher.moments = []
    for commit in read_commits(history, Selection(most=most)):
        made = plan(commit, "imports-last", "project", 0)
        with laid_out(commit, history, ("python",)) as root:
            asyncio.run(_replay(Sitting(made, None, root, watcher), watcher))
    return watcher.moments


async def _replay(sitting: Sitting, watcher: Watcher) -> None:
    watcher.commit, watcher.editor = sitting.plan.commit.id, sitting.editor
    await sitting.begin()
    for number, hunk in enumerate(sitting.plan.hunks, 1):
        await sitting.make(hunk)
        if number in sitting.plan.questions:
            await watcher.settle()
            await sitting.ask()
    await watcher.close()


def fitted(moments: Iterable[Moment], target: str) -> Table:
    """Fit one answer, for each rule that was right at least once.

    What a rule says in one commit hangs together, so it counts less the more it says there.
    """
    found: dict[str, list[tuple[str, Sample]]] = {}
    for moment in moments:
        for x in moment.samples:
            if target == "place" or x.is_sure:
                found.setdefault(x.rule, []).append((moment.commit, x))
    out: Table = {}
    for rule, said in sorted(found.items()):
        counts = Counter(commit for commit, _ in said)
        samples = [
            Weighted(x.features, bool(getattr(x, target)), counts[commit] ** -0.5)
            for commit, x in said
        ]
        if rule not in BY_HAND and any(x.is_right for x in samples):
            out[rule] = regression(samples)
    return out


def regression(samples: list[Weighted]) -> dict[str, float]:
    """Return the coefficients of a logistic regression, by Newton's method with a penalty."""
    right = [x for x in samples if x.is_right]
    wrong = [x for x in samples if not x.is_right]
    factor = max(1.0, len(wrong) / MOST_NEGATIVES)
    if factor > 1:
        wrong = random.Random(0).sample(wrong, MOST_NEGATIVES)
    names = ["bias", *sorted({name for x in samples for name in x.features})]
    at = {name: i for i, name in enumerate(names)}
    rows: list[Row] = [
        [(0, 1.0), *((at[k], v) for k, v in sorted(x.features.items()) if v)] for x in right + wrong
    ]
    targets = [float(x.is_right) for x in right + wrong]
    weights = [x.weight * (1.0 if x.is_right else factor) for x in right + wrong]
    penalty = max(cost for least, cost in PENALTIES.items() if len(samples) >= least)
    penalties = [0.001, *(penalty * x if x > 1e-9 else 1e3 for x in _variances(rows, len(names)))]
    slopes = _newton(rows, targets, weights, penalties)
    found = {name: round(x, 2) for name, x in zip(names, slopes, strict=True)}
    return {name: x for name, x in found.items() if x or name == "bias"}


def _variances(rows: list[Row], size: int) -> list[float]:
    """Return how much each feature varies; it costs as much as if all varied alike."""
    sums, squares = [0.0] * size, [0.0] * size
    for row in rows:
        for i, x in row:
            sums[i] += x
            squares[i] += x * x
    count = len(rows)
    return [b / count - (a / count) ** 2 for a, b in zip(sums[1:], squares[1:], strict=True)]


def _newton(
    rows: list[Row], targets: list[float], weights: list[float], penalties: list[float]
) -> list[float]:
    size = len(penalties)
    slopes = [0.0] * size
    for _ in range(ROUNDS):
        gradient = [-cost * slope for cost, slope in zip(penalties, slopes, strict=True)]
        curves = [[0.0] * size for _ in range(size)]
        for i, cost in enumerate(penalties):
            curves[i][i] = cost
        for row, target, weight in zip(rows, targets, weights, strict=True):
            total = sum(slopes[i] * x for i, x in row)
            guess = 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
            miss, curve = weight * (target - guess), weight * max(guess * (1 - guess), 1e-6)
            for i, x in row:
                gradient[i] += miss * x
                line, factor = curves[i], curve * x
                for j, y in row:
                    line[j] += factor * y
        steps = _solved(curves, gradient)
        largest = max(map(abs, steps))
        slopes = [a + b * min(1.0, 3.0 / largest) for a, b in zip(slopes, steps, strict=True)]
        if largest < 1e-4:
            break
    return slopes


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a system of linear equations by elimination."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            if factor:
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    out = [0.0] * size
    for i in reversed(range(size)):
        rest = sum(rows[i][j] * out[j] for j in range(i + 1, size))
        out[i] = (rows[i][size] - rest) / rows[i][i]
    return out


def score(table: Table, sample: Sample) -> float:
    """Return how likely a sample is right."""
    weights = table.get(sample.rule) or BY_HAND.get(sample.rule)
    if weights is None:
        return 0.0
    total = weights["bias"] + sum(weights.get(k, 0.0) * v for k, v in sample.features.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def check(moments: Sequence[Moment], tables: dict[str, Table]) -> None:
    """Print figures for the thresholds of each mood: of an edit, and of a jump."""
    end = sum(x.is_end for x in moments) or 1
    for mood, least in THRESHOLDS.items():
        spoken = kept = exact = ends = 0
        for moment in moments:
            sure = [(_worth(tables, x), x) for x in moment.samples if x.is_sure]
            edit = max(sure, key=lambda x: x[0], default=(0.0, None))
            places = [
                (score(tables["PLACE"], x), x) for x in moment.samples if x.rule in BY_MEANING
            ]
            leap = max(places, key=lambda x: x[0], default=(0.0, None))
            if edit[1] is not None and edit[0] >= least:
                spoken, kept, exact = spoken + 1, kept + edit[1].step, exact + edit[1].exact
            elif leap[1] is not None and leap[0] >= PLACE_THRESHOLDS[mood]:
                spoken, kept = spoken + 1, kept + leap[1].place
            else:
                continue
            ends += moment.is_end
        print(
            f"{mood:8} speaks {spoken / len(moments):6.1%}  step {kept / max(1, spoken):6.1%}"
            f"  exact {exact / max(1, spoken):6.1%}  false at the end {ends / end:6.1%}"
        )


def _worth(tables: dict[str, Table], sample: Sample) -> float:
    return worth(sample.rule, score(tables["EXACT"], sample), score(tables["PLACE"], sample))


def tables_of(moments: Sequence[Moment]) -> dict[str, Table]:
    """Fit everything."""
    return {x.upper(): fitted(moments, x) for x in ("step", "exact", "place")}


def written(tables: dict[str, Table], command: str) -> str:
    """Return the tables as a Python module."""
    out = ['"""The coefficients of the scores, made by a program and not by hand.', ""]
    out += [command, '"""', ""]
    out += ["from __future__ import annotations", "", '__all__ = ["EXACT", "PLACE", "STEP"]', ""]
    for name, table in tables.items():
        out.append(f"{name}: dict[str, dict[str, float]] = {{")
        for rule, weights in table.items():
            out.append(f'    "{rule}": {{')
            cells = [f'"{key}":\1{value},' for key, value in weights.items()]
            packed = textwrap.wrap(" ".join(x.replace(" ", "\1") for x in cells), 90)
            out += [f"        {line}".replace("\1", " ") for line in packed]
            out.append("    },")
        out.append("}  # fmt: skip")
    return "\n".join(out) + "\n"


def main() -> None:
    """Fit, and write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--most", type=int, default=1_000, help="commits of each repository")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--check", action="store_true", help="score each by the others")
    options = parser.parse_args()
    folders: list[str] = options.repositories
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(collect, folders, [options.most] * len(folders)))
    for i, folder in enumerate(folders if options.check else ()):
        others = [x for j, moments in enumerate(found) if j != i for x in moments]
        print(folder)
        check(found[i], tables_of(others))
    every = [x for moments in found for x in moments]
    tables = tables_of(every)
    print("all, by what was fitted on all")
    check(every, tables)
    names = " ".join(History(folder).name for folder in folders)
    command = f"python scripts/fit_nes.py {names} --most {options.most}"
    if options.output is not None:
        options.output.write_text(written(tables, command))


if __name__ == "__main__":
    main()
