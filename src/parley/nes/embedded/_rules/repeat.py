"""The same change again: what was done to one line, done to lines like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import log1p
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, Situation, place, sweeping
from parley.nes.embedded._names.table import names
from parley.nes.embedded._source import Page
from parley.nes.embedded._substitutions import Rule, separate, transfer
from parley.nes.embedded._tokens import alike, is_word, tokens

from .shadowing import is_foreign

_MOST_RULES = 50
_MOST_PLACES = 120
_CONTEXT = 4
_MOST_FILES = 40
_MOST_IN_LINE = 60


class Match(NamedTuple):
    """A line in which a rule applies, and what would become of it."""

    line: int
    result: str
    left: int
    right: int
    column: int


def repeat(now: Situation) -> Iterator[Candidate]:
    """Yield the places where an edited line's change fits again."""
    rules = now.rules[:_MOST_RULES]
    for rule in rules:
        if now.is_late():
            return
        yield from _at(now, rule, now.page)
    for rule in rules:
        if now.is_late():
            return
        word = _key(now, rule)
        for page in now.elsewhere(word) if word else ():
            yield from _at(now, rule, page)


def _key(now: Situation, rule: Rule) -> str:
    """Return a word by which other files are found: one that was replaced, or the rarest beside."""
    word = max((token for token in rule.before if is_word(token)), key=len, default="")
    if len(word) > 3:
        return word if now.project.count(word) < _MOST_FILES else ""
    beside = {*rule.uses[0].left, *rule.uses[0].right}
    counted = [(now.project.count(x), x) for x in beside if len(x) > 3 and is_word(x)]
    return min((x for x in counted if 0 < x[0] < _MOST_FILES), default=(0, ""))[1]


def _needle(rule: Rule) -> str:
    """Return what to look for: the replaced tokens, with context if they say little."""
    before = list(rule.before)
    if any(is_word(token) for token in before):
        return "".join(before)
    left, right = list(rule.uses[0].left), list(rule.uses[0].right)
    while (left or right) and sum(is_word(x) for x in before) < 1 + (not rule.before):
        if left:
            before.insert(0, left.pop())
        if right:
            before.append(right.pop(0))
    return "".join(before).strip()


def _at(now: Situation, rule: Rule, page: Page) -> Iterator[Candidate]:
    """Yield the places of a page where a rule applies; neighbours are one candidate."""
    needle = _needle(rule)
    lines = page.lines_with(needle, _MOST_PLACES)
    if not lines or len(lines) >= _MOST_PLACES:
        return
    matches: list[Match] = []
    skipped = 0
    last = max((use.edit.line for use in rule.uses if use.edit.hunk.uri == page.uri), default=-1)
    first = min((use.edit.line for use in rule.uses if use.edit.hunk.uri == page.uri), default=-1)
    latest = max((hunk.start for hunk in now.touched.get(page.uri, ())), default=-1)
    passed = 0
    for line in lines:
        if now.is_edited(page.uri, line, line + 1):
            continue
        match = _match(rule, line, page.lines[line])
        if match and not (rule.is_name and is_foreign(now, page, line, rule.old)):
            matches.append(match)
            skipped += first < line < last
            passed += line < latest
    for group in _neighbours(matches):
        if _is_worth(now, rule, page, group):
            yield _candidate(now, rule, page, group, (len(matches), skipped, passed))


def _is_worth(now: Situation, rule: Rule, page: Page, group: list[Match]) -> bool:
    """Return whether a place is like an example in any way, or there are several examples."""
    own = now.page
    context = max(match.left + match.right for match in group)
    if rule.is_name and page.language and _is_fresh(now, rule):
        return True
    if not page.language and len(rule.uses) == 1:
        return context >= 2 * _CONTEXT
    if len(rule.uses) == 1 and context < (2 if page is own else 4):
        return False
    return page is own or len(rule.uses) > 1 or context >= 2 * _CONTEXT - 1


def _is_fresh(now: Situation, rule: Rule) -> bool:
    """Return whether a name became one that was not there before."""
    if rule.is_fresh is None:
        rule.is_fresh = (
            len(rule.old) > 3
            and not now.project.count(rule.new)
            and not any(x.has(rule.new) for x in map(now.before, now.touched) if x is not None)
        )
    return rule.is_fresh


def _match(rule: Rule, line: int, text: str) -> Match | None:
    """Apply a rule to a line wherever its context fits best."""
    parts = tokens(text)
    size = len(rule.before)
    found: list[tuple[int, int, int]] = []
    for i in range(len(parts) - size + 1):
        if parts[i : i + size] == rule.before:
            left, right = _context(rule, parts, i)
            if size or (left >= 2 and right >= 1):
                found.append((i, left, right))
    if not found or len(found) > _MOST_IN_LINE:
        return None
    best = max(left + right for _, left, right in found)
    kept = [x for x in found if x[1] + x[2] >= min(best, 2)]
    if not size:
        kept = kept[:1]
    out: list[str] = []
    at = 0
    for i, _, _ in kept:
        out += parts[at:i] + rule.after
        at = i + size
    out += parts[at:]
    _, left, right = max(kept, key=lambda x: x[1] + x[2])
    return Match(line, "".join(out), left, right, len("".join(parts[: kept[0][0]])))


def _context(rule: Rule, parts: tuple[str, ...], at: int) -> tuple[int, int]:
    """Return how many tokens around a place are those around an example."""
    best = (0, 0)
    end = at + len(rule.before)
    for use in rule.uses:
        left = right = 0
        while left < min(_CONTEXT, at, len(use.left)) and parts[at - 1 - left] == use.left[~left]:
            left += 1
        while (
            right < min(_CONTEXT, len(parts) - end, len(use.right))
            and parts[end + right] == use.right[right]
        ):
            right += 1
        if _is_start(parts, at - left) and _is_start(use.left, len(use.left) - left):
            left = _CONTEXT
        if len(parts) - end == right and len(use.right) == right:
            right = _CONTEXT
        best = max(best, (left, right), key=sum)
    return best


def _is_start(parts: Sequence[str], at: int) -> bool:
    """Return whether nothing but blanks is before a token."""
    return at == 0 or (at == 1 and parts[0].isspace())


def _neighbours(matches: list[Match]) -> Iterator[list[Match]]:
    """Yield runs of lines that follow each other."""
    run: list[Match] = []
    for match in matches:
        if run and match.line != run[-1].line + 1:
            yield run
            run = []
        run.append(match)
    if run:
        yield run


def _candidate(
    now: Situation, rule: Rule, page: Page, group: list[Match], counts: tuple[int, int, int]
) -> Candidate:
    start, end = group[0].line, group[-1].line + 1
    best = max(group, key=lambda match: match.left + match.right)
    likeness = max(
        alike(use.edit.old, page.lines[match.line]) for use in rule.uses for match in group
    )
    features = place(now, page, start, end)
    features |= now.once(("repeat", id(rule), page.uri), partial(_of_rule, now, rule, page))
    features |= _of_place(rule, page, best, likeness)
    prose = _is_prose(page, group[0].line, group[0].column)
    features |= {
        "whole": float(
            any(
                use.edit.old.strip() == page.lines[match.line].strip()
                for use in rule.uses
                for match in group
            )
        ),
        "places": log1p(counts[0]),
        "skipped": log1p(counts[1]),
        "passed": log1p(counts[2]),
        "rate": len(rule.uses) / (len(rule.uses) + counts[2]),
        "prose": float(prose),
        "prose_apart": float(prose != _was_prose(now, rule)),
        "run": float(len(group) > 1),
    }
    return Candidate(
        uri=page.uri,
        start=start,
        end=end,
        lines=[match.result for match in group],
        rule="repeat",
        cause=f"{rule.old}\0{rule.new}",
        features=features,
        column=group[0].column,
        names=(rule.old, rule.new) if rule.is_name else None,
    )


def _of_rule(now: Situation, rule: Rule, page: Page) -> dict[str, float]:
    """Describe a rule: how often it was seen, and what it does."""
    hunks = separate(use.edit for use in rule.uses)
    return {
        "support2": float(len(rule.uses) > 1),
        "support3": float(len(rule.uses) > 2),
        "hunks2": float(hunks > 1),
        "hunks3": float(hunks > 2),
        "name": float(rule.is_name),
        "deletes": float(not rule.after),
        "inserts": float(not rule.before),
        "long": log1p(len(rule.before)),
        "wordless": float(not any(is_word(token) for token in rule.before)),
        "age": log1p(now.hunks[0].turn - max(use.edit.hunk.turn for use in rule.uses)),
        "still": float(rule.is_name and _is_bound(page, rule.old)),
        "unknown": float(rule.is_name and not _is_bound(page, rule.new)),
        "calm": max(alike(use.edit.old, use.edit.new) for use in rule.uses),
        "even": float(any(len(x.edit.hunk.old) == len(x.edit.hunk.new) for x in rule.uses)),
        "small": float(any(len(x.edit.hunk.new) == 1 for x in rule.uses)),
        "rest": log1p(min(x.rest for x in rule.uses)),
        "number": float("".join(rule.before).strip(". ").isdigit()),
        "fresh": float(rule.is_name and _is_fresh(now, rule)),
        "common": log1p(now.project.count(rule.old)) if rule.is_name else 0.0,
    } | sweeping(now, (use.edit.hunk for use in rule.uses))


def _of_place(rule: Rule, page: Page, best: Match, likeness: float) -> dict[str, float]:
    """Describe how a place is like the examples."""
    hunks = separate(use.edit for use in rule.uses)
    solid = best.left + best.right >= _CONTEXT
    complete = any(
        transfer(use.edit.old.strip(), use.edit.new.strip(), page.lines[best.line].strip())
        == best.result.strip()
        for use in rule.uses
    )
    return {
        "solid": float(solid),
        "solid2": float(solid and len(rule.uses) > 1),
        "solid3": float(solid and hunks > 2),
        "same1": float(likeness > 0.85 and len(rule.uses) == 1),
        "same2": float(likeness > 0.85 and hunks > 1),
        "left": best.left / _CONTEXT,
        "right": best.right / _CONTEXT,
        "bare": float(best.left + best.right == 0),
        "alike": likeness,
        "same": float(likeness > 0.85),
        "complete": float(complete),
    }


def _is_bound(page: Page, name: str) -> bool:
    found = names(page)
    return found is not None and name in found.bound


def _is_prose(page: Page, line: int, column: int) -> bool:
    """Return whether a place is in a string or a comment."""
    return page.tree is not None and page.tree.is_prose(line, column, page.lines[line])


def _was_prose(now: Situation, rule: Rule) -> bool:
    """Return whether the last example is in a string or a comment."""
    use = rule.uses[0]
    page = now.pages.get(use.edit.hunk.uri)
    if page is None or not 0 <= use.edit.line < len(page.lines):
        return False
    return _is_prose(page, use.edit.line, len("".join(use.left)))
