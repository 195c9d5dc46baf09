"""Edits that go together: after this one came that one, twice, so it may come again."""

from __future__ import annotations

from collections.abc import Iterator

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._edits import Hunk
from parley.nes.embedded._tokens import is_word, operations, tokens

_MOST_HUNKS = 8


def pairs(context: EditContext) -> Iterator[Candidate]:
    """Yield the line that is the partner of the last edit, as lines before were."""
    hunks = sorted(context.hunks[:_MOST_HUNKS], key=lambda hunk: hunk.turn)
    hunks = [hunk for hunk in hunks if len(hunk.new) == 1]
    if len(hunks) < 5 or len(hunks) % 2 == 0 or context.is_late():
        return
    last = hunks[-1]
    (a1, b1), (a2, b2) = (hunks[-5], hunks[-4]), (hunks[-3], hunks[-2])
    if a1.uri != a2.uri or b1.uri != b2.uri or last.uri != a1.uri:
        return
    if _change(b1, a1, a2) != b2.new[0]:
        return
    line = _change(b2, a2, last)
    file = context.file_of(b2.uri)
    if line is None or file is None or line in file.lines:
        return
    at = b2.end
    features = location_features(context, file, at, at) | {"same_file": float(file is context.file)}
    yield Candidate(
        uri=file.uri,
        start=at,
        end=at,
        lines=[line],
        rule="pair",
        cause="pair",
        features=features,
        goes_on=True,
    )


def _change(partner: Hunk, was: Hunk, now: Hunk) -> str | None:
    """Return a partner's line for another edit: words that differ are carried over."""
    one, other = tokens(was.new[0].strip()), tokens(now.new[0].strip())
    words: dict[str, str] = {}
    for op in operations(one, other):
        if op.i2 - op.i1 != 1 or op.j2 - op.j1 != 1 or not is_word(one[op.i1]):
            return None
        words[one[op.i1]] = other[op.j1]
    line = tokens(partner.new[0])
    if not words or not any(token in words for token in line):
        return None
    return "".join(words.get(token, token) for token in line)
