"""The same change a third time: two examples say what may differ between the lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log1p

from parley.nes.embedded._context import (
    Candidate,
    EditContext,
    coverage_features,
    location_features,
)
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._substitutions import LineEdit, Template, generalize, separate
from parley.nes.embedded._tokens import alike, indent

_MOST_EDITS = 8
_MOST_TEMPLATES = 10
_MOST_PLACES = 120


def templates(context: EditContext) -> Iterator[Candidate]:
    """Yield lines that are like two edited ones, changed as those were."""
    edits = context.edits[:_MOST_EDITS]
    found: dict[Template, list[LineEdit]] = {}
    for i, one in enumerate(edits):
        for other in edits[i + 1 :]:
            if alike(one.old, other.old) < 0.4:
                continue
            template = generalize(_sides(one), _sides(other))
            if template is not None and template not in found:
                found[template] = [
                    x for x in context.edits if template.apply(x.old.strip()) == x.new.strip()
                ]
    for template, examples in list(found.items())[:_MOST_TEMPLATES]:
        if context.is_late():
            return
        if len(examples) > 1:
            yield from _at(context, template, examples, context.file)
            for file in context.elsewhere(template.key, 6) if len(examples) > 2 else ():
                yield from _at(context, template, examples, file)


def _sides(edit: LineEdit) -> tuple[str, str]:
    return edit.old.strip(), edit.new.strip()


def _at(
    context: EditContext, template: Template, examples: list[LineEdit], file: SourceFile
) -> Iterator[Candidate]:
    lines = file.lines_with(template.key, _MOST_PLACES)
    if len(lines) >= _MOST_PLACES:
        return
    matches: list[tuple[int, str]] = []
    for line in lines:
        text = file.lines[line]
        bare = text.strip()
        result = template.apply(bare)
        if result is None or result == bare or context.is_edited(file.uri, line, line + 1):
            continue
        matches.append((line, indent(text) + result))
    run: list[tuple[int, str]] = []
    for match in [*matches, (-1, "")]:
        if run and match[0] != run[-1][0] + 1:
            yield _candidate(context, template, examples, (file, run, len(matches)))
            run = []
        run.append(match)


def _candidate(
    context: EditContext,
    template: Template,
    examples: list[LineEdit],
    where: tuple[SourceFile, list[tuple[int, str]], int],
) -> Candidate:
    file, run, count = where
    start, end = run[0][0], run[-1][0] + 1
    likeness = max(alike(x.old, file.lines[start]) for x in examples)
    about = context.once(("template", id(examples)), partial(_of, context, template, examples))
    features = location_features(context, file, start, end) | about
    features |= {
        "alike": likeness,
        "same": float(likeness > 0.85),
        "places": log1p(count),
        "run": float(len(run) > 1),
    }
    return Candidate(
        uri=file.uri,
        start=start,
        end=end,
        lines=[text for _, text in run],
        rule="template",
        cause="\0".join(template.parts),
        features=features,
    )


def _of(context: EditContext, template: Template, examples: list[LineEdit]) -> dict[str, float]:
    """Describe a template, wherever it applies."""
    hunks = separate(examples)
    return {
        "support3": float(len(examples) > 2),
        "hunks2": float(hunks > 1),
        "hunks3": float(hunks > 2),
        "fixed": log1p(template.fixed),
        "holes": log1p(template.holes),
        "age": log1p(context.hunks[0].turn - max(x.hunk.turn for x in examples)),
        "calm": max(alike(x.old, x.new) for x in examples),
    } | coverage_features(context, (x.hunk for x in examples))
