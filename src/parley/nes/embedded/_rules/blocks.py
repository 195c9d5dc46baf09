"""Whole hunks again: blocks that were replaced, lines that came in or went away, moved code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from math import log1p

from parley.nes.embedded._context import (
    Candidate,
    EditContext,
    coverage_features,
    location_features,
)
from parley.nes.embedded._edits import Hunk
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._substitutions import generalize, transfer
from parley.nes.embedded._tokens import alike, indent, is_word, tokens

from .shadowing import loses_foreign

_MOST_LINES = 40
_MOST_PLACES = 60
_ALIKE = 0.55


def blocks(context: EditContext) -> Iterator[Candidate]:
    """Yield what a whole hunk says about other places."""
    for hunk in context.hunks:
        if context.is_late():
            return
        for file in _files_for(context, hunk):
            if not hunk.old:
                yield from _templated(context, hunk, file)
                yield from _inserted(context, hunk, file)
            elif len(hunk.old) != 1 or len(hunk.new) != 1:
                yield from _replaced(context, hunk, file)
        if len(hunk.new) >= 3:
            yield from _moved(context, hunk)


def _files_for(context: EditContext, hunk: Hunk) -> Iterable[SourceFile]:
    lines = hunk.old or [hunk.above, hunk.below]
    found = [token for line in lines for token in tokens(line) if is_word(token) and len(token) > 3]
    if not found:
        return [context.file]
    rare = min(set(found), key=lambda word: (context.project.count(word) or 999, word))
    others = context.elsewhere(rare, 6) if context.project.count(rare) < 25 else iter(())
    return chain([context.file], others)


def _longest(lines: list[str]) -> int:
    return max(range(len(lines)), key=lambda i: len(lines[i].strip()))


def _alike_lines(file: SourceFile, line: str) -> list[int]:
    """Return lines that are like one: the same, or with its rarest word."""
    text = line.strip()
    if len(text) < 3:
        return []
    found = [token for token in tokens(text) if is_word(token) and len(token) > 2]
    if not found:
        return [i for i in file.lines_with(text, _MOST_PLACES) if file.lines[i].strip() == text]
    key = min(set(found), key=lambda word: (len(file.lines_with(word, _MOST_PLACES)) or 999, word))
    lines = file.lines_with(key, _MOST_PLACES)
    if len(lines) >= _MOST_PLACES:
        lines = file.lines_with(text, _MOST_PLACES)
    return lines


def _dedent(lines: list[str]) -> tuple[str, str]:
    """Return lines without the indentation of the first one, and that indentation."""
    margin = next((indent(line) for line in lines if line.strip()), "")
    size = len(margin)
    return "\n".join(x[size:] if x.startswith(margin) else x.lstrip() for x in lines), margin


def _indented(text: str, margin: str) -> list[str]:
    return [margin + line if line.strip() else line for line in text.split("\n")] if text else []


def _replaced(context: EditContext, hunk: Hunk, file: SourceFile) -> Iterator[Candidate]:
    """Yield blocks that are like the old lines of a hunk."""
    size = len(hunk.old)
    if size > _MOST_LINES:
        return
    anchor = _longest(hunk.old)
    old, margin = _dedent(hunk.old)
    new = "\n".join(x[len(margin) :] if x.startswith(margin) else x for x in hunk.new)
    places = _alike_lines(file, hunk.old[anchor])
    for line in places:
        start, end = line - anchor, line - anchor + size
        if start < 0 or end > len(file.lines) or context.is_edited(file.uri, start, end):
            continue
        text, own = _dedent(file.lines[start:end])
        likeness = alike(old, text)
        result = transfer(old, new, text) if likeness >= _ALIKE else None
        if result is None or result == text:
            continue
        if loses_foreign(context, file, start, (text, result)):
            continue
        features = location_features(context, file, start, end)
        features |= _of(context, hunk, len(places)) | {
            "alike": likeness, "same": float(likeness == 1.0),
            "above_same": float(start > 0 and file.lines[start - 1].strip() == hunk.above.strip()),
            "below_same": float(
                end < len(file.lines) and file.lines[end].strip() == hunk.below.strip()
            ),
            "deletes": float(not hunk.new),
            "one": float(size == 1),
        }  # fmt: skip
        yield Candidate(
            uri=file.uri,
            start=start,
            end=end,
            lines=_indented(result, own),
            rule="block",
            cause=f"{old}\0{new}",
            features=features,
        )


def _of(context: EditContext, hunk: Hunk, places: int) -> dict[str, float]:
    about = context.once(("block", id(hunk)), partial(_of_hunk, context, hunk))
    return about | {"places": log1p(places)}


def _of_hunk(context: EditContext, hunk: Hunk) -> dict[str, float]:
    """Describe a hunk: how many others are like it."""
    twins = sum(
        1 for x in context.hunks if x is not hunk and (x.old, x.new) == (hunk.old, hunk.new)
    )
    near = [
        x
        for x in context.hunks
        if x is not hunk
        and len(x.old) == len(hunk.old)
        and alike("\n".join(x.new), "\n".join(hunk.new)) > 0.6
    ]
    likely = len(near)
    return coverage_features(context, [hunk, *near]) | {
        "twins": float(twins > 0),
        "twins2": float(twins > 1),
        "cousins": float(likely > 0),
        "cousins2": float(likely > 1),
        "age": log1p(context.hunks[0].turn - hunk.turn),
        "size": log1p(len(hunk.old) + len(hunk.new)),
    }


def _inserted(context: EditContext, hunk: Hunk, file: SourceFile) -> Iterator[Candidate]:
    """Yield places whose neighbours are like those of lines that came in."""
    if len(hunk.new) > _MOST_LINES or not any(line.strip() for line in hunk.new):
        return
    for is_above, anchor in ((True, hunk.above), (False, hunk.below)):
        places = _alike_lines(file, anchor)
        for line in places:
            at = line + 1 if is_above else line
            likeness = alike(anchor, file.lines[line])
            if likeness < 0.6 or context.is_edited(file.uri, at, at):
                continue
            if file.lines[at : at + len(hunk.new)] == hunk.new:
                continue
            is_same = anchor.strip() == file.lines[line].strip()
            if is_same or any(
                len(x.new) == len(hunk.new) and not x.old for x in context.hunks if x is not hunk
            ):
                yield _insertion(context, hunk, file, (line, at, is_above, len(places)))


def _templated(context: EditContext, hunk: Hunk, file: SourceFile) -> Iterator[Candidate]:
    """Yield lines like those above which the same lines came in, twice."""
    twin = next(
        (x for x in context.hunks if x is not hunk and x.new == hunk.new and not x.old), None
    )
    if twin is None or not hunk.below.strip() or not twin.below.strip():
        return
    text = "\n".join(line.strip() for line in hunk.new)
    sides = [(x.below.strip(), f"{text}\n{x.below.strip()}") for x in (hunk, twin)]
    template = generalize(sides[0], sides[1])
    if template is None:
        return
    places = file.lines_with(template.key, _MOST_PLACES)
    for line in places if len(places) < _MOST_PLACES else ():
        if (
            context.is_edited(file.uri, line, line)
            or template.apply(file.lines[line].strip()) is None
        ):
            continue
        if indent(file.lines[line]) == indent(hunk.below):
            candidate = _insertion(context, hunk, file, (line, line, False, len(places)))
            candidate.lines = list(hunk.new)
            candidate.rule = "templated insertion"
            yield candidate


def _insertion(
    context: EditContext, hunk: Hunk, file: SourceFile, spot: tuple[int, int, bool, int]
) -> Candidate:
    line, at, is_above, places = spot
    anchor = hunk.above if is_above else hunk.below
    text = "\n".join(hunk.new)
    sample = f"{anchor.strip()}\n{text}"
    moved = transfer(anchor.strip(), sample, file.lines[line].strip())
    lines = moved.split("\n")[1:] if moved else list(hunk.new)
    margin, own = indent(anchor), indent(file.lines[line])
    if margin != own:
        lines = [own + x[len(margin) :] if x.startswith(margin) and x.strip() else x for x in lines]
    above = file.lines[at - 1].strip() if at else ""
    below = file.lines[at].strip() if at < len(file.lines) else ""
    features = location_features(context, file, at, at) | _of(context, hunk, places) | {
        "alike": alike(anchor, file.lines[line]),
        "same": float(anchor.strip() == file.lines[line].strip()),
        "above_same": float(above == hunk.above.strip()),
        "below_same": float(below == hunk.below.strip()),
        "anchor_above": float(is_above),
        "words": log1p(sum(is_word(token) for token in tokens(anchor))),
    }  # fmt: skip
    return Candidate(
        uri=file.uri,
        start=at,
        end=at,
        lines=lines,
        rule="insertion",
        cause=f"\0{text}",
        features=features,
    )


def _moved(context: EditContext, hunk: Hunk) -> Iterator[Candidate]:
    """Yield the place that some new lines were copied from."""
    new = [line.strip() for line in hunk.new]
    anchor = _longest(hunk.new)
    if len(new[anchor]) < 12:
        return
    for file in [context.file, *(x for x in context.files.values() if x is not context.file)]:
        for line in file.lines_with(new[anchor], 6):
            if (
                context.is_edited(file.uri, line, line + 1)
                or file.lines[line].strip() != new[anchor]
            ):
                continue
            start, end, i = line, line + 1, anchor
            while start > 0 and i > 0 and file.lines[start - 1].strip() == new[i - 1]:
                start, i = start - 1, i - 1
            j = anchor + 1
            while end < len(file.lines) and j < len(new) and file.lines[end].strip() == new[j]:
                end, j = end + 1, j + 1
            if end - start < 3 or context.is_edited(file.uri, start, end):
                continue
            features = location_features(context, file, start, end) | {
                "whole": float(end - start == len(new)),
                "part": (end - start) / len(new),
                "size": log1p(end - start),
                "replaces": float(bool(hunk.old)),
                "age": log1p(context.hunks[0].turn - hunk.turn),
            }
            yield Candidate(
                uri=file.uri,
                start=start,
                end=end,
                lines=[],
                rule="move",
                cause="\n".join(new[:3]),
                features=features,
            )
