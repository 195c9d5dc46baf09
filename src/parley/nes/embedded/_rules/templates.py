"""The same change a third time: two examples say what may differ between the lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log1p

from parley.nes.embedded._context import Candidate, Situation, place, sweeping
from parley.nes.embedded._source import Page
from parley.nes.embedded._substitutions import LineEdit, Template, generalize, separate
from parley.nes.embedded._tokens import alike, indent

_MOST_EDITS = 8
_MOST_TEMPLATES = 10
_MOST_PLACES = 120


def templates(now: Situation) -> Iterator[Candidate]:
    """Yield lines that are like two edited ones, changed as those were."""
    edits = now.edits[:_MOST_EDITS]
    found: dict[Template, list[LineEdit]] = {}
    for i, one in enumerate(edits):
        for other in edits[i + 1 :]:
            if alike(one.old, other.old) < 0.4:
                continue
            template = generalize(_sides(one), _sides(other))
            if template is not None and template not in found:
                found[template] = [
                    x for x in now.edits if template.apply(x.old.strip()) == x.new.strip()
                ]
    for template, examples in list(found.items())[:_MOST_TEMPLATES]:
        if now.is_late():
            return
        if len(examples) > 1:
            yield from _at(now, template, examples, now.page)
            for page in now.elsewhere(template.key, 6) if len(examples) > 2 else ():
                yield from _at(now, template, examples, page)


def _sides(edit: LineEdit) -> tuple[str, str]:
    return edit.old.strip(), edit.new.strip()


def _at(
    now: Situation, template: Template, examples: list[LineEdit], page: Page
) -> Iterator[Candidate]:
    lines = page.lines_with(template.key, _MOST_PLACES)
    if len(lines) >= _MOST_PLACES:
        return
    matches: list[tuple[int, str]] = []
    for line in lines:
        text = page.lines[line]
        bare = text.strip()
        result = template.apply(bare)
        if result is None or result == bare or now.is_edited(page.uri, line, line + 1):
            continue
        matches.append((line, indent(text) + result))
    run: list[tuple[int, str]] = []
    for match in [*matches, (-1, "")]:
        if run and match[0] != run[-1][0] + 1:
            yield _candidate(now, template, examples, (page, run, len(matches)))
            run = []
        run.append(match)


def _candidate(
    now: Situation,
    template: Template,
    examples: list[LineEdit],
    where: tuple[Page, list[tuple[int, str]], int],
) -> Candidate:
    page, run, count = where
    start, end = run[0][0], run[-1][0] + 1
    likeness = max(alike(x.old, page.lines[start]) for x in examples)
    about = now.once(("template", id(examples)), partial(_of, now, template, examples))
    features = place(now, page, start, end) | about
    features |= {
        "alike": likeness,
        "same": float(likeness > 0.85),
        "places": log1p(count),
        "run": float(len(run) > 1),
    }
    return Candidate(
        uri=page.uri,
        start=start,
        end=end,
        lines=[text for _, text in run],
        rule="template",
        cause="\0".join(template.parts),
        features=features,
    )


def _of(now: Situation, template: Template, examples: list[LineEdit]) -> dict[str, float]:
    """Describe a template, wherever it applies."""
    hunks = separate(examples)
    return {
        "support3": float(len(examples) > 2),
        "hunks2": float(hunks > 1),
        "hunks3": float(hunks > 2),
        "fixed": log1p(template.fixed),
        "holes": log1p(template.holes),
        "age": log1p(now.hunks[0].turn - max(x.hunk.turn for x in examples)),
        "calm": max(alike(x.old, x.new) for x in examples),
    } | sweeping(now, (x.hunk for x in examples))
