"""Whether a name somewhere is the one that was edited, or another of the same spelling."""

from __future__ import annotations

from parley.nes.embedded._context import EditContext
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._substitutions import LineEdit
from parley.nes.embedded._tokens import is_word, tokens


def is_foreign(context: EditContext, file: SourceFile, line: int, name: str) -> bool:
    """Return whether a name at a line is another one's: bound where nothing was edited yet.

    If it was changed in several statements already, the user means all of them.
    """
    if not is_word(name) or _is_general(context, name):
        return False
    found = context.names(file)
    statement = found.statement(line) if found is not None else None
    if statement is None:
        return False
    top, following, chunk = statement
    end = len(file.lines) if following is None else following
    return name in chunk.local and not context.is_edited(file.uri, top, end)


def loses_foreign(
    context: EditContext, file: SourceFile, start: int, texts: tuple[str, str]
) -> bool:
    """Return whether a change at a line takes away a name that is another one's."""
    lost = set(tokens(texts[0])) - set(tokens(texts[1]))
    return any(is_foreign(context, file, start, name) for name in lost)


def _is_general(context: EditContext, name: str) -> bool:
    """Return whether a name was changed in several statements."""
    known = context.general
    if name not in known:
        renamed = [x for x in context.substitutions if x.before == (name,)]
        known[name] = (
            len({_owner(context, x.edit) for substitution in renamed for x in substitution.uses})
            > 1
        )
    return known[name]


def _owner(context: EditContext, edit: LineEdit) -> tuple[str, int]:
    """Return the top-level statement in which a line was edited."""
    found = context.names(context.files.get(edit.hunk.uri))
    statement = found.statement(edit.line) if found else None
    return edit.hunk.uri, statement[0] if statement else edit.line
