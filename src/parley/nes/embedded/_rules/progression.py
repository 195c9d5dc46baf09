"""The next line of a regular block: what changes from line to line changes again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import log1p

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._tokens import tokens

_MOST_LINES = 6
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_MONTHS = "January February March April May June July August September October November December"
_LISTS = [
    names.split()
    for names in (
        _DAYS,
        _MONTHS,
        "Mon Tue Wed Thu Fri Sat Sun",
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
        "zero one two three four five six seven eight nine ten",
        "first second third fourth fifth sixth seventh eighth ninth tenth",
        "north east south west",
        "red orange yellow green blue indigo violet",
    )
]
_NUMBER = re.compile(r"(.*?)(0[xX][0-9a-fA-F]+|\d+)(\D*)")


def progression(context: EditContext) -> Iterator[Candidate]:
    """Yield the line that follows two or more lines which differ by a step."""
    hunk = context.hunks[0] if context.hunks else None
    if hunk is None or hunk.uri != context.file.uri or not hunk.new or context.is_late():
        return
    at = hunk.end
    if at > len(context.file.lines) or not hunk.new[-1].strip() or len(hunk.new) <= len(hunk.old):
        return
    block = _block(context.file.lines, at)
    if len(block) < 2:
        return
    line = _next(block)
    if line is None or (
        at < len(context.file.lines) and context.file.lines[at].strip() == line.strip()
    ):
        return
    features = location_features(context, context.file, at, at) | {
        "lines": log1p(len(block)),
        "three": float(len(block) > 2),
        "typed": float(len(hunk.new) > 1 or not hunk.old),
        "typed2": float(len(hunk.new) > 1),
    }
    yield Candidate(
        uri=context.file.uri,
        start=at,
        end=at,
        lines=[line],
        rule="progression",
        cause="progression",
        features=features,
        goes_on=True,
    )


def _block(lines: list[str], end: int) -> list[str]:
    """Return the last lines of the same shape above a place."""
    out = [lines[end - 1]]
    shape = _shape(lines[end - 1])
    while len(out) < _MOST_LINES and end - len(out) > 0:
        line = lines[end - len(out) - 1]
        if _shape(line) != shape:
            break
        out.insert(0, line)
    return out


def _shape(line: str) -> tuple[int, str]:
    blank = len(line) - len(line.lstrip())
    return blank, "".join("w" if x[0].isalnum() or x[0] == "_" else x for x in tokens(line.strip()))


def _next(block: list[str]) -> str | None:
    """Return the line that continues the others; None if no step explains them."""
    rows = [tokens(line) for line in block]
    out: list[str] = []
    steps = 0
    for column in zip(*rows, strict=True):
        if len(set(column)) == 1:
            out.append(column[0])
            continue
        following = _step(column)
        if following is None:
            return None
        out.append(following)
        steps += 1
    return "".join(out) if steps else None


def _step(column: tuple[str, ...]) -> str | None:
    """Return the token that follows some tokens."""
    return _counted(column) or _listed(column) or _lettered(column)


def _counted(column: tuple[str, ...]) -> str | None:
    found = [_NUMBER.fullmatch(token) for token in column]
    parts = [(x[1], x[2], x[3]) for x in found if x]
    if len(parts) != len(column) or len({(a, c) for a, _, c in parts}) != 1:
        return None
    base = 16 if parts[-1][1].lower().startswith("0x") else 10
    numbers = [int(b, base) for _, b, _ in parts]
    steps = {b - a for a, b in pairwise(numbers)}
    head, last, tail = parts[-1]
    following: int | None = None
    if len(steps) == 1:
        following = numbers[-1] + steps.pop()
    elif len(numbers) > 2 and all(a and b == 2 * a for a, b in pairwise(numbers)):
        following = numbers[-1] * 2
    if following is None or following < 0:
        return None
    if base == 16:
        digits = format(following, "X" if last[2:].isupper() else "x")
        return f"{head}0x{digits.zfill(len(last) - 2)}{tail}"
    return f"{head}{str(following).zfill(len(last))}{tail}"


def _listed(column: tuple[str, ...]) -> str | None:
    for names in _LISTS:
        for form in (str, str.lower, str.upper, str.capitalize):
            known = [form(name) for name in names]
            if column[0] not in known:
                continue
            at = known.index(column[0])
            if list(column) == known[at : at + len(column)] and at + len(column) < len(known):
                return known[at + len(column)]
    return None


def _lettered(column: tuple[str, ...]) -> str | None:
    if any(len(token) != 1 or not token.isalpha() for token in column):
        return None
    codes = [ord(token) for token in column]
    if {b - a for a, b in pairwise(codes)} != {1}:
        return None
    following = chr(codes[-1] + 1)
    return following if following.isalpha() and following.isascii() else None
