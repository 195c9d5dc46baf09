"""Whole hunks again: blocks that were replaced, lines that came in or went away, moved code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from math import log1p

from parley.nes.embedded._context import Candidate, Situation, place, sweeping
from parley.nes.embedded._edits import Hunk
from parley.nes.embedded._source import Page
from parley.nes.embedded._substitutions import generalize, transfer
from parley.nes.embedded._tokens import alike, indent, is_word, tokens

from .shadowing import loses_foreign

_MOST_LINES = 40
_MOST_PLACES = 60
_ALIKE = 0.55


def blocks(now: Situation) -> Iterator[Candidate]:
    """Yield what a whole hunk says about other places."""
    for hunk in now.hunks:
        if now.is_late():
            return
        for page in _pages(now, hunk):
            if not hunk.old:
                yield from _templated(now, hunk, page)
                yield from _inserted(now, hunk, page)
            elif len(hunk.old) != 1 or len(hunk.new) != 1:
                yield from _replaced(now, hunk, page)
        if len(hunk.new) >= 3:
            yield from _moved(now, hunk)


def _pages(now: Situation, hunk: Hunk) -> Iterable[Page]:
    lines = hunk.old or [hunk.above, hunk.below]
    found = [token for line in lines for token in tokens(line) if is_word(token) and len(token) > 3]
    if not found:
        return [now.page]
    rare = min(set(found), key=lambda word: (now.project.count(word) or 999, word))
    others = now.elsewhere(rare, 6) if now.project.count(rare) < 25 else iter(())
    return chain([now.page], others)


def _longest(lines: list[str]) -> int:
    return max(range(len(lines)), key=lambda i: len(lines[i].strip()))


def _alike_lines(page: Page, line: str) -> list[int]:
    """Return lines that are like one: the same, or with its rarest word."""
    text = line.strip()
    if len(text) < 3:
        return []
    found = [token for token in tokens(text) if is_word(token) and len(token) > 2]
    if not found:
        return [i for i in page.lines_with(text, _MOST_PLACES) if page.lines[i].strip() == text]
    key = min(set(found), key=lambda word: (len(page.lines_with(word, _MOST_PLACES)) or 999, word))
    lines = page.lines_with(key, _MOST_PLACES)
    if len(lines) >= _MOST_PLACES:
        lines = page.lines_with(text, _MOST_PLACES)
    return lines


def _dedent(lines: list[str]) -> tuple[str, str]:
    """Return lines without the indentation of the first one, and that indentation."""
    margin = next((indent(line) for line in lines if line.strip()), "")
    size = len(margin)
    return "\n".join(x[size:] if x.startswith(margin) else x.lstrip() for x in lines), margin


def _indented(text: str, margin: str) -> list[str]:
    return [margin + line if line.strip() else line for line in text.split("\n")] if text else []


def _replaced(now: Situation, hunk: Hunk, page: Page) -> Iterator[Candidate]:
    """Yield blocks that are like the old lines of a hunk."""
    size = len(hunk.old)
    if size > _MOST_LINES:
        return
    anchor = _longest(hunk.old)
    old, margin = _dedent(hunk.old)
    new = "\n".join(x[len(margin) :] if x.startswith(margin) else x for x in hunk.new)
    places = _alike_lines(page, hunk.old[anchor])
    for line in places:
        start, end = line - anchor, line - anchor + size
        if start < 0 or end > len(page.lines) or now.is_edited(page.uri, start, end):
            continue
        text, own = _dedent(page.lines[start:end])
        likeness = alike(old, text)
        result = transfer(old, new, text) if likeness >= _ALIKE else None
        if result is None or result == text:
            continue
        if loses_foreign(now, page, start, (text, result)):
            continue
        features = place(now, page, start, end) | _of(now, hunk, len(places)) | {
            "alike": likeness, "same": float(likeness == 1.0),
            "above_same": float(start > 0 and page.lines[start - 1].strip() == hunk.above.strip()),
            "below_same": float(
                end < len(page.lines) and page.lines[end].strip() == hunk.below.strip()
            ),
            "deletes": float(not hunk.new),
            "one": float(size == 1),
        }  # fmt: skip
        yield Candidate(
            uri=page.uri,
            start=start,
            end=end,
            lines=_indented(result, own),
            rule="block",
            cause=f"{old}\0{new}",
            features=features,
        )


def _of(now: Situation, hunk: Hunk, places: int) -> dict[str, float]:
    about = now.once(("block", id(hunk)), partial(_of_hunk, now, hunk))
    return about | {"places": log1p(places)}


def _of_hunk(now: Situation, hunk: Hunk) -> dict[str, float]:
    """Describe a hunk: how many others are like it."""
    twins = sum(1 for x in now.hunks if x is not hunk and (x.old, x.new) == (hunk.old, hunk.new))
    near = [
        x
        for x in now.hunks
        if x is not hunk
        and len(x.old) == len(hunk.old)
        and alike("\n".join(x.new), "\n".join(hunk.new)) > 0.6
    ]
    likely = len(near)
    return sweeping(now, [hunk, *near]) | {
        "twins": float(twins > 0),
        "twins2": float(twins > 1),
        "cousins": float(likely > 0),
        "cousins2": float(likely > 1),
        "age": log1p(now.hunks[0].turn - hunk.turn),
        "size": log1p(len(hunk.old) + len(hunk.new)),
    }


def _inserted(now: Situation, hunk: Hunk, page: Page) -> Iterator[Candidate]:
    """Yield places whose neighbours are like those of lines that came in."""
    if len(hunk.new) > _MOST_LINES or not any(line.strip() for line in hunk.new):
        return
    for is_above, anchor in ((True, hunk.above), (False, hunk.below)):
        places = _alike_lines(page, anchor)
        for line in places:
            at = line + 1 if is_above else line
            likeness = alike(anchor, page.lines[line])
            if likeness < 0.6 or now.is_edited(page.uri, at, at):
                continue
            if page.lines[at : at + len(hunk.new)] == hunk.new:
                continue
            is_same = anchor.strip() == page.lines[line].strip()
            if is_same or any(
                len(x.new) == len(hunk.new) and not x.old for x in now.hunks if x is not hunk
            ):
                yield _insertion(now, hunk, page, (line, at, is_above, len(places)))


def _templated(now: Situation, hunk: Hunk, page: Page) -> Iterator[Candidate]:
    """Yield lines like those above which the same lines came in, twice."""
    twin = next((x for x in now.hunks if x is not hunk and x.new == hunk.new and not x.old), None)
    if twin is None or not hunk.below.strip() or not twin.below.strip():
        return
    text = "\n".join(line.strip() for line in hunk.new)
    sides = [(x.below.strip(), f"{text}\n{x.below.strip()}") for x in (hunk, twin)]
    template = generalize(sides[0], sides[1])
    if template is None:
        return
    places = page.lines_with(template.key, _MOST_PLACES)
    for line in places if len(places) < _MOST_PLACES else ():
        if now.is_edited(page.uri, line, line) or template.apply(page.lines[line].strip()) is None:
            continue
        if indent(page.lines[line]) == indent(hunk.below):
            candidate = _insertion(now, hunk, page, (line, line, False, len(places)))
            candidate.lines = list(hunk.new)
            candidate.rule = "templated insertion"
            yield candidate


def _insertion(
    now: Situation, hunk: Hunk, page: Page, spot: tuple[int, int, bool, int]
) -> Candidate:
    line, at, is_above, places = spot
    anchor = hunk.above if is_above else hunk.below
    text = "\n".join(hunk.new)
    sample = f"{anchor.strip()}\n{text}"
    moved = transfer(anchor.strip(), sample, page.lines[line].strip())
    lines = moved.split("\n")[1:] if moved else list(hunk.new)
    margin, own = indent(anchor), indent(page.lines[line])
    if margin != own:
        lines = [own + x[len(margin) :] if x.startswith(margin) and x.strip() else x for x in lines]
    above = page.lines[at - 1].strip() if at else ""
    below = page.lines[at].strip() if at < len(page.lines) else ""
    features = place(now, page, at, at) | _of(now, hunk, places) | {
        "alike": alike(anchor, page.lines[line]),
        "same": float(anchor.strip() == page.lines[line].strip()),
        "above_same": float(above == hunk.above.strip()),
        "below_same": float(below == hunk.below.strip()),
        "anchor_above": float(is_above),
        "words": log1p(sum(is_word(token) for token in tokens(anchor))),
    }  # fmt: skip
    return Candidate(
        uri=page.uri,
        start=at,
        end=at,
        lines=lines,
        rule="insertion",
        cause=f"\0{text}",
        features=features,
    )


def _moved(now: Situation, hunk: Hunk) -> Iterator[Candidate]:
    """Yield the place that some new lines were copied from."""
    new = [line.strip() for line in hunk.new]
    anchor = _longest(hunk.new)
    if len(new[anchor]) < 12:
        return
    for page in [now.page, *(x for x in now.pages.values() if x is not now.page)]:
        for line in page.lines_with(new[anchor], 6):
            if now.is_edited(page.uri, line, line + 1) or page.lines[line].strip() != new[anchor]:
                continue
            start, end, i = line, line + 1, anchor
            while start > 0 and i > 0 and page.lines[start - 1].strip() == new[i - 1]:
                start, i = start - 1, i - 1
            j = anchor + 1
            while end < len(page.lines) and j < len(new) and page.lines[end].strip() == new[j]:
                end, j = end + 1, j + 1
            if end - start < 3 or now.is_edited(page.uri, start, end):
                continue
            features = place(now, page, start, end) | {
                "whole": float(end - start == len(new)),
                "part": (end - start) / len(new),
                "size": log1p(end - start),
                "replaces": float(bool(hunk.old)),
                "age": log1p(now.hunks[0].turn - hunk.turn),
            }
            yield Candidate(
                uri=page.uri,
                start=start,
                end=end,
                lines=[],
                rule="move",
                cause="\n".join(new[:3]),
                features=features,
            )
