"""The filters of candidates: what is never proposed, however likely it seems."""

from __future__ import annotations

from parley.nes._filters import breaks_file, changes_space_only, undoes

from ._context import Candidate, EditContext
from ._source import SourceFile


def is_vetoed(context: EditContext, candidate: Candidate, file: SourceFile) -> bool:
    """Return whether a candidate does nothing, undoes something or touches what was edited."""
    old = file.lines[candidate.start : candidate.end]
    is_edited = context.is_edited(file.uri, candidate.start, candidate.end)
    if not candidate.is_sure:
        return is_edited
    if changes_space_only(old, candidate.lines):
        return True
    if candidate.goes_on:
        return False
    return is_edited or _undoes(context, candidate, old)


def _undoes(context: EditContext, candidate: Candidate, old: list[str]) -> bool:
    """Return whether lines would come back that were taken away beside this place."""
    return any(
        undoes(old, candidate.lines, hunk.old, hunk.new, is_adjacent=True)
        for hunk in context.touched.get(candidate.uri, ())
        if candidate.start <= hunk.end and hunk.start <= candidate.end
    )


def breaks(candidate: Candidate, file: SourceFile) -> bool:
    """Return whether a file has more syntax errors with a candidate than without."""
    if file.tree is None or not candidate.is_sure:
        return False
    edit = candidate.start, candidate.end, candidate.lines
    return breaks_file(file.uri, file.language, file.tree, file.lines, edit)
