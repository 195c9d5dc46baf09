from __future__ import annotations

import xml.etree.ElementTree as ET

from parley.nes._eval.chain import Chained
from parley.nes._eval.figures import curve, figures_of, percentile
from parley.nes._eval.plot import svg_of
from parley.nes._eval.replay import InstanceOutcome, Offer
from parley.nes._eval.report import rows_of
from parley.nes._eval.scoring import Verdict
from parley.nes._eval.table import detail_lines, fitting_lines, table_lines

EXACT = Verdict(exact=True, step=True, location=True, next=True)
STEP = Verdict(step=True, location=True)
WRONG = Verdict()


def _outcome(
    commit: str,
    left: int,
    verdict: Verdict | None = None,
    score: float = 0.5,
    kind: str = "edit",
    repository: str = "one",
) -> InstanceOutcome:
    offers = () if verdict is None else (Offer(kind, "rule", score, verdict),)
    return InstanceOutcome(
        repository=repository,
        commit=commit,
        order="canonical",
        view="project",
        made=1,
        left=left,
        path="a.py",
        milliseconds=10.0 * left,
        offers=offers,
    )


OUTCOMES = [
    _outcome("a", 2, EXACT, 0.9),
    _outcome("a", 1, STEP, 0.6),
    _outcome("a", 0, WRONG, 0.5),
    _outcome("b", 3, WRONG, 0.6),
    _outcome("b", 1),
    _outcome("b", 0),
]


def _rates(outcomes: list[InstanceOutcome], *chained: Chained) -> dict[str, float | None]:
    return {name: rate.value for name, rate in figures_of(outcomes, chained).rates.items()}


def test_rates_count_suggestions_at_the_end_as_false() -> None:
    rates = _rates(OUTCOMES)
    assert rates["speaks"] == 4 / 6
    assert rates["exact"] == 1 / 4
    assert rates["step"] == 2 / 4
    assert rates["location"] == 2 / 4
    assert rates["false_at_end"] == 1 / 2
    assert rates["helped"] == 1 / 2
    assert rates["speaks_live"] == 3 / 4
    assert rates["exact_live"] == 1 / 3
    assert rates["recall_exact"] == 1 / 4
    assert rates["next"] == 1 / 4
    assert rates["saved"] is None


def test_saved_keys_are_of_the_same_commits() -> None:
    chained = Chained(
        repository="one", commit="a", order="canonical", view="project", keys=40, saved=10
    )
    assert _rates(OUTCOMES, chained)["saved"] == 0.25


def test_a_fault_is_counted_and_its_time_is_not() -> None:
    fault = InstanceOutcome(
        repository="one",
        commit="a",
        order="canonical",
        view="project",
        made=1,
        left=1,
        path="a.py",
        fault="no idea",
    )
    figures = figures_of([fault, _outcome("a", 3)])
    assert figures.faults == 1
    assert figures.milliseconds == {"p50": 30.0, "p99": 30.0, "max": 30.0}
    assert figures.rates["speaks"].value == 0.0


def test_intervals_are_repeatable_and_contain_the_rate() -> None:
    many = [
        _outcome(str(commit), left, EXACT if commit % 3 else WRONG)
        for commit in range(40)
        for left in (2, 1, 0)
    ]
    rate = figures_of(many, seed=1).rates["exact"]
    assert rate == figures_of(many, seed=1).rates["exact"]
    assert rate != figures_of(many, seed=2).rates["exact"]
    assert (rate.low or 0.0) < (rate.value or 0.0) < (rate.high or 0.0)


def test_intervals_are_wider_than_if_questions_of_a_commit_were_independent() -> None:
    """All questions of a commit go the same way here, so commits count and not questions."""
    same = [_outcome(str(at), 1, EXACT if at % 2 else WRONG) for at in range(20) for _ in range(10)]
    rate = figures_of(same).rates["exact"]
    assert (rate.high or 0.0) - (rate.low or 0.0) > 0.3


def test_nothing_gives_no_figures() -> None:
    figures = figures_of([])
    assert figures.rates["speaks"].value is None
    assert figures.counts["asked"] == 0
    assert percentile([], 0.5) == 0.0


def test_a_curve_says_what_each_threshold_gives() -> None:
    points = curve(OUTCOMES)
    assert [each.threshold for each in points] == [0.9, 0.6, 0.5]
    assert [each.shown for each in points] == [1, 3, 4]
    assert points[1].speaks == 3 / 6
    assert points[1].step == 2 / 3
    assert [each.false_at_end for each in points] == [0.0, 0.0, 0.5]
    assert curve([_outcome("a", 1)]) == []


def test_rows_are_per_repository_and_together_and_by_kind() -> None:
    other = [_outcome("c", 1, STEP, kind="jump", repository="two"), _outcome("c", 0)]
    rows = rows_of([*OUTCOMES, *other], [])
    names = [(row.repository, row.shown) for row in rows]
    assert names == [
        ("one", "all"),
        ("two", "all"),
        ("two", "edits"),
        ("two", "jumps"),
        ("together", "all"),
        ("together", "edits"),
        ("together", "jumps"),
    ]
    together = {row.shown: row.figures.counts for row in rows[4:]}
    assert together["all"]["spoken"] == 5
    assert together["edits"]["spoken"] == 4
    assert (together["jumps"]["spoken"], together["jumps"]["step"]) == (1, 1)


def test_a_table_has_a_line_for_each_row() -> None:
    figures = figures_of(OUTCOMES)
    head, line = table_lines([(("one",), figures)], ["repository"], intervals=False)
    assert head.split()[:3] == ["repository", "asked", "speaks"]
    assert line.split()[:4] == ["one", "6", "66.7", "50.0"]
    with_intervals = table_lines([(("one",), figures)], ["repository"])[1]
    assert "66.7 (" in with_intervals
    turned = table_lines([(("one",), figures), (("two",), figures)], ["repository"], is_turned=True)
    assert [line.split()[0] for line in turned[:3]] == ["repository", "asked", "speaks"]
    assert turned[1].split()[1:] == ["6", "6"]
    assert turned[2].count("66.7 (") == 2
    assert "2 commits, 4 instances with something left, 2 with nothing left" in detail_lines(
        figures
    )


def test_a_plot_is_a_picture_that_names_its_curves() -> None:
    many = [_outcome(str(at), at % 3, EXACT if at % 2 else WRONG, at / 40) for at in range(40)]
    picture = ET.fromstring(svg_of("a < b & c", {"canonical, file view": curve(many)}))
    words = "".join(picture.itertext())
    assert "a < b & c" in words
    assert "canonical, file view" in words
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert [each.get("class") for each in lines] == ["line step", "line exact"]
    places = [each.split(",") for each in (lines[0].get("points") or "").split()]
    assert len(places) == 36
    assert all(64 <= float(x) <= 696 and 56 <= float(y) <= 384 for x, y in places)
    assert ET.fromstring(svg_of("nothing", {"empty": []})) is not None


def test_of_many_curves_the_main_one_stands_out() -> None:
    many = curve([_outcome(str(at), at % 3, EXACT, at / 40) for at in range(40)])
    names = ["together", "a repository with quite a long name", "b", "c", "d", "e"]
    picture = ET.fromstring(svg_of("six", dict.fromkeys(names, many), main="together"))
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert [each.get("class") for each in lines] == [
        "line step main",
        "line exact",
        *["line step"] * 5,
    ]
    assert "a repository with quite a l\u2026b" in "".join("".join(picture.itertext()).split("\n"))
    picture = ET.fromstring(svg_of("six", dict.fromkeys(names, many)))
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert [each.get("class") for each in lines] == ["line step", "line exact many"] * 6


def test_a_table_fits_into_the_room_that_there_is() -> None:
    rows = [((f"repository{at}", "imports-last"), figures_of(OUTCOMES)) for at in range(7)]
    wide = fitting_lines(rows, ("repository", "order"), None)
    assert wide == table_lines(rows, ("repository", "order"))
    for room in (160, 120, 110, 80, 60, 40):
        lines = fitting_lines(rows, ("repository", "order"), room)
        assert max(map(len, lines)) <= room
        for at in range(7):
            assert sum(f"repository{at}" in line for line in lines) == 1
    assert fitting_lines(rows, ("repository", "order"), 80).count("") == 1  # 4 and 3
    assert fitting_lines(rows, ("repository", "order"), 5)  # in which nothing fits
