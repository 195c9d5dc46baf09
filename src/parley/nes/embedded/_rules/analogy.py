"""Lines like an edited one, changed by analogy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log1p

from parley.nes.embedded._context import Candidate, Situation, place, sweeping
from parley.nes.embedded._source import Page
from parley.nes.embedded._substitutions import LineEdit, transfer
from parley.nes.embedded._tokens import alike, indent, is_word, operations, tokens

from .shadowing import loses_foreign

_MOST_PLACES = 120
_ALIKE = 0.5
_MOST_KEYS = 3


def analogy(now: Situation) -> Iterator[Candidate]:
    """Yield what lines of this file become if they change as a line like them did."""
    for edit in now.edits:
        if now.is_late():
            return
        yield from _like(now, edit, now.page)


def _like(now: Situation, edit: LineEdit, page: Page) -> Iterator[Candidate]:
    lines = _lines(edit, page)
    old, new = edit.old.strip(), edit.new.strip()
    for line in lines:
        text = page.lines[line]
        likeness = alike(edit.old, text)
        if likeness < _ALIKE or now.is_edited(page.uri, line, line + 1):
            continue
        bare = text.strip()
        result = transfer(old, new, bare)
        if result is None or result == bare or loses_foreign(now, page, line, (text, result)):
            continue
        about = now.once(("analogy", id(edit)), partial(_of_edit, now, edit))
        if not page.language and not about["cousins"]:
            return
        yield Candidate(
            uri=page.uri,
            start=line,
            end=line + 1,
            lines=[indent(text) + result],
            rule="analogy",
            cause=f"{edit.old}\0{edit.new}",
            features=place(now, page, line, line + 1)
            | about
            | {
                "alike": likeness,
                "same": float(likeness > 0.85),
                "whole": float(bare == old),
                "cousins_same": float(about["cousins"] > 0 and likeness > 0.85),
                "places": log1p(len(lines)),
                "above_same": float(_above(page, line) == _above_edit(now, edit)),
            },
        )


def _lines(edit: LineEdit, page: Page) -> list[int]:
    """Return the lines with one of the rarest words of an example; none if there are too many."""
    words = _words(edit)
    if not page.language and not words:
        return []
    counted = sorted((len(page.lines_with(x, _MOST_PLACES)) or 999, x) for x in set(words))
    found: set[int] = set()
    for key in [word for _, word in counted[:_MOST_KEYS]] or [edit.old.strip()]:
        lines = page.lines_with(key, _MOST_PLACES)
        if len(found) + len(lines) >= _MOST_PLACES:
            break
        found.update(lines)
    return sorted(found)


def _words(edit: LineEdit) -> list[str]:
    return [token for token in tokens(edit.old) if is_word(token) and len(token) > 2]


def _of_edit(now: Situation, edit: LineEdit) -> dict[str, float]:
    """Describe an example: what it does, and how many others do the same."""
    old, new = edit.old.strip(), edit.new.strip()
    others = (x for x in now.edits if x is not edit)
    cousins = [x for x in others if transfer(old, new, x.old.strip()) == x.new.strip()]
    return {
        "cousins": float(len(cousins) > 0),
        "cousins2": float(len(cousins) > 1),
        "wordless": float(not _words(edit)),
        "calm": alike(edit.old, edit.new),
        "even": float(len(edit.hunk.old) == len(edit.hunk.new)),
        "ops": log1p(len(operations(tokens(edit.old), tokens(edit.new)))),
        "age": log1p(now.hunks[0].turn - edit.hunk.turn),
    } | sweeping(now, (x.hunk for x in (edit, *cousins)))


def _above(page: Page, line: int) -> str | None:
    """Return the line above a place."""
    return page.lines[line - 1].strip() if line else None


def _above_edit(now: Situation, edit: LineEdit) -> str:
    """Return the line above an example."""
    page = now.pages.get(edit.hunk.uri)
    return page.lines[edit.line - 1].strip() if page is not None and edit.line > 0 else ""
