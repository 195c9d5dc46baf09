"""Lines like an edited one, changed by analogy."""

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
from parley.nes.embedded._substitutions import LineEdit, transfer
from parley.nes.embedded._tokens import alike, indent, is_word, operations, tokens

from .shadowing import loses_foreign

_MOST_PLACES = 120
_ALIKE = 0.5
_MOST_KEYS = 3


def analogy(context: EditContext) -> Iterator[Candidate]:
    """Yield what lines of this file become if they change as a line like them did."""
    for edit in context.edits:
        if context.is_late():
            return
        yield from _like(context, edit, context.file)


def _like(context: EditContext, edit: LineEdit, file: SourceFile) -> Iterator[Candidate]:
    lines = _lines(edit, file)
    old, new = edit.old.strip(), edit.new.strip()
    for line in lines:
        text = file.lines[line]
        likeness = alike(edit.old, text)
        if likeness < _ALIKE or context.is_edited(file.uri, line, line + 1):
            continue
        bare = text.strip()
        result = transfer(old, new, bare)
        if result is None or result == bare or loses_foreign(context, file, line, (text, result)):
            continue
        about = context.once(("analogy", id(edit)), partial(_of_edit, context, edit))
        if not file.language and not about["cousins"]:
            return
        yield Candidate(
            uri=file.uri,
            start=line,
            end=line + 1,
            lines=[indent(text) + result],
            rule="analogy",
            cause=f"{edit.old}\0{edit.new}",
            features=location_features(context, file, line, line + 1)
            | about
            | {
                "alike": likeness,
                "same": float(likeness > 0.85),
                "whole": float(bare == old),
                "cousins_same": float(about["cousins"] > 0 and likeness > 0.85),
                "places": log1p(len(lines)),
                "above_same": float(_above(file, line) == _above_edit(context, edit)),
            },
        )


def _lines(edit: LineEdit, file: SourceFile) -> list[int]:
    """Return the lines with one of the rarest words of an example; none if there are too many."""
    words = _words(edit)
    if not file.language and not words:
        return []
    counted = sorted((len(file.lines_with(x, _MOST_PLACES)) or 999, x) for x in set(words))
    found: set[int] = set()
    for key in [word for _, word in counted[:_MOST_KEYS]] or [edit.old.strip()]:
        lines = file.lines_with(key, _MOST_PLACES)
        if len(found) + len(lines) >= _MOST_PLACES:
            break
        found.update(lines)
    return sorted(found)


def _words(edit: LineEdit) -> list[str]:
    return [token for token in tokens(edit.old) if is_word(token) and len(token) > 2]


def _of_edit(context: EditContext, edit: LineEdit) -> dict[str, float]:
    """Describe an example: what it does, and how many others do the same."""
    old, new = edit.old.strip(), edit.new.strip()
    others = (x for x in context.edits if x is not edit)
    cousins = [x for x in others if transfer(old, new, x.old.strip()) == x.new.strip()]
    return {
        "cousins": float(len(cousins) > 0),
        "cousins2": float(len(cousins) > 1),
        "wordless": float(not _words(edit)),
        "calm": alike(edit.old, edit.new),
        "even": float(len(edit.hunk.old) == len(edit.hunk.new)),
        "ops": log1p(len(operations(tokens(edit.old), tokens(edit.new)))),
        "age": log1p(context.hunks[0].turn - edit.hunk.turn),
    } | coverage_features(context, (x.hunk for x in (edit, *cousins)))


def _above(file: SourceFile, line: int) -> str | None:
    """Return the line above a place."""
    return file.lines[line - 1].strip() if line else None


def _above_edit(context: EditContext, edit: LineEdit) -> str:
    """Return the line above an example."""
    file = context.files.get(edit.hunk.uri)
    return file.lines[edit.line - 1].strip() if file is not None and edit.line > 0 else ""
