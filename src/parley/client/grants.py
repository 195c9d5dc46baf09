"""What was granted to tool calls of the running turn, so that what was shown is what runs.

An agent asks for a tool call and then, in version 1, has the client write the file or run the
command. The second is not asked again if it is exactly what was granted: this path, this command
in this directory. A grant ends with its turn; one that the user gave for always lasts as long as
the session.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import ReferenceType, WeakKeyDictionary, ref

from msgspec import Struct

from parley.policy import Subject
from parley.policy.command import same

if TYPE_CHECKING:
    from .session import Session
    from .turn import Turn

__all__ = ["Grants"]

_WRITING = {"edit", "delete", "move"}


class _Grant(Struct, frozen=True, eq=False):
    subject: Subject
    turn: ReferenceType[Turn] | None
    """Weakly: it knows its session, which must not be kept."""
    is_lasting: bool

    def is_valid_in(self, turn: Turn | None) -> bool:
        """Tell whether it holds in a turn, or where none runs."""
        if self.is_lasting:
            return True
        return turn is None if self.turn is None else turn is not None and self.turn() is turn


class Grants:
    """The grants of all sessions of a connection."""

    def __init__(self) -> None:
        self._grants: WeakKeyDictionary[Session, list[_Grant]] = WeakKeyDictionary()

    def add(self, subject: Subject, session: Session, *, is_lasting: bool) -> None:
        """Keep what a tool call was granted."""
        turn = session.turns.first
        grant = _Grant(subject, None if turn is None else ref(turn), is_lasting)
        self._grants[session] = [*self._valid(session), grant]

    def cover(self, subject: Subject, session: Session) -> bool:
        """Tell whether exactly this was granted."""
        top = os.path.realpath(session.cwd or session.connection.cwd)
        return any(_covers(each.subject, subject, top) for each in self._valid(session))

    def _valid(self, session: Session) -> list[_Grant]:
        turn = session.turns.first
        grants = self._grants.get(session, [])
        return [each for each in grants if each.is_valid_in(turn)]


def _covers(granted: Subject, wanted: Subject, top: str) -> bool:
    """Tell whether what is wanted was granted.

    Args:
        granted: What the tool call was about.
        wanted: A file to be written, or a command to be run.
        top: Where a command runs of which no directory was told.
    """
    if wanted.commands:
        where = wanted.cwd or top
        return where == (granted.cwd or top) and all(
            any(same(each, told) for told in granted.commands) for each in wanted.commands
        )
    changes = not _WRITING.isdisjoint(granted.kinds) and wanted.kind in _WRITING
    return changes and bool(wanted.paths) and set(wanted.paths) <= set(granted.paths)
