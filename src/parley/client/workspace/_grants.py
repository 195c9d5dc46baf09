"""Grants for the tool calls of the current turn, so that what was shown is what runs.

An agent requests permission for a tool call and then, in version 1, tells the client to write the
file or run the command. The user is not asked a second time if that is exactly what was granted:
this path, or this command in this directory. A grant ends with its turn; one that the user gave
"always" lasts as long as the session.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import ReferenceType, WeakKeyDictionary, ref

from msgspec import Struct

from parley.policy import Subject
from parley.policy._command import same

if TYPE_CHECKING:
    from parley.client._connection_state import ConnectionState
    from parley.client._session import Session
    from parley.client._turn_state import PromptTurnState


CHANGES = frozenset({"edit", "delete", "move"})
"""The kinds of actions on files that a grant can cover."""


class Grant(Struct, frozen=True, eq=False):
    """The permission for one action."""

    subject: Subject
    turn: ReferenceType[PromptTurnState] | None
    """A weak reference: the turn refers to its session, which must not be kept alive."""
    is_lasting: bool
    title: str = ""
    """The title of the agent's request; empty if the client itself asked."""
    by_user: bool = True
    """Whether the user decided, and not the policy."""

    def is_valid_in(self, turn: PromptTurnState | None) -> bool:
        """Return whether the grant is valid in a turn; None stands for no turn."""
        if self.is_lasting:
            return True
        return turn is None if self.turn is None else turn is not None and self.turn() is turn


class Grants:
    """The grants of all sessions of a connection."""

    def __init__(self, connection: ConnectionState) -> None:
        self._connection = connection
        self._grants: WeakKeyDictionary[Session, list[Grant]] = WeakKeyDictionary()

    def add(
        self,
        subject: Subject,
        session: Session,
        *,
        is_lasting: bool = False,
        title: str = "",
        by_user: bool = True,
    ) -> None:
        """Store the permission that an action was given."""
        turn = self._connection.current_turn(session)
        granted_turn = None if turn is None else ref(turn)
        grant = Grant(subject, granted_turn, is_lasting, title, by_user)
        self._grants[session] = [*self._valid(session), grant]

    def cover(self, subject: Subject, session: Session) -> bool:
        """Return whether exactly this action was granted."""
        default_cwd = os.path.realpath(session.cwd or self._connection.cwd)
        return any(_covers(each.subject, subject, default_cwd) for each in self._valid(session))

    def last_request(self, session: Session, *, runs: bool) -> Grant | None:
        """Return the grant for the agent's last request that was allowed in the current turn.

        Args:
            session: The session.
            runs: Whether to prefer a request for a command over one for a file.
        """
        turn = self._connection.current_turn(session)
        found = [
            each
            for each in self._valid(session)
            if each.title and turn is not None and each.turn is not None and each.turn() is turn
        ]
        same_kind = [each for each in found if each.subject.runs == runs]
        return same_kind[-1] if same_kind else found[-1] if found else None

    def _valid(self, session: Session) -> list[Grant]:
        turn = self._connection.current_turn(session)
        grants = self._grants.get(session, [])
        return [each for each in grants if each.is_valid_in(turn)]


def _covers(granted: Subject, action: Subject, default_cwd: str) -> bool:
    """Return whether a grant covers an action.

    Args:
        granted: The action of the tool call that was allowed.
        action: A file to write, or a command to run.
        default_cwd: The directory of a command that does not name one.
    """
    if action.commands:
        directory = action.cwd or default_cwd
        return directory == (granted.cwd or default_cwd) and all(
            any(same(each, known) for known in granted.commands) for each in action.commands
        )
    changes = not CHANGES.isdisjoint(granted.kinds) and action.kind in CHANGES
    return changes and bool(action.paths) and set(action.paths) <= set(granted.paths)
