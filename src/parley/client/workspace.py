"""The workspace: the files and terminals that a client lends to an agent of version 1.

An agent reaches what lies in the roots and nothing else. The roots are the directories of the
session that asks, unless the program names others. What is inside may be asked about before it is
done: that is the guard's part, which is usually the permission policy.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from parley.errors import InvalidParams, InvalidRequest
from parley.policy import Subject
from parley.schema import v2

from .calling import called
from .files import Buffers, Files
from .options import check_options
from .roots import Roots
from .terminals import OnOutput, Terminals

if TYPE_CHECKING:
    from .connection import Connection
    from .session import Session

__all__ = ["Guard", "Workspace", "WorkspaceOptions"]

Guard: TypeAlias = Callable[[Subject, "Session"], bool | Awaitable[bool]]
"""Is asked before something is read, written or run; only True allows it."""
Preview: TypeAlias = Callable[[], Awaitable[v2.ToolCallContent | None]]
"""Makes what a user is shown of it, where there is something to see."""
ShowingGuard: TypeAlias = Callable[[Subject, "Session", Preview | None], Awaitable[bool]]


class WorkspaceOptions(TypedDict, total=False):
    """What a workspace does, and how much of it."""

    files: object | None
    """Other files than those on this disk, see `environment.py`; None: files are not offered."""
    terminals: object | None
    """Another way to run commands, likewise; None: terminals are not offered."""
    guard: Guard | None
    """Allows or refuses what lies in the roots; without one it is allowed."""
    buffers: Buffers | None
    """What an editor has not saved yet, which wins over the disk."""
    read_limit_bytes: int
    """How much one read returns, 16 MiB unless told otherwise."""
    write_limit_bytes: int
    """How much one write takes, 16 MiB unless told otherwise."""
    on_output: OnOutput | None
    """Sees what commands write, while they do."""
    pty: bool
    """Whether commands write to a pseudo-terminal of 80 columns instead of a pipe."""
    shell: bool
    """Whether a whole line in `command` that needs a shell is given to `/bin/sh`."""
    inherit: Iterable[str]
    """Names of further variables of ours that commands get."""
    output_limit_bytes: int
    """How much output of a command is kept, 1 MiB unless told otherwise; agents may want less."""
    max_terminals: int
    """How many commands may run at once, 32 unless told otherwise."""
    grace_after: float
    """How many seconds a command has to end when asked to, before it is killed; 2 at first."""


class Workspace:
    """What an agent may use of the machine that the client is on."""

    def __init__(
        self,
        cwd: str | Path | None = None,
        additional_directories: Sequence[str | Path] = (),
        **options: Unpack[WorkspaceOptions],
    ) -> None:
        """Make a workspace.

        Args:
            cwd: Where commands run, and a root; without it, each session has its own directories.
            additional_directories: Further roots; relative ones are below `cwd`.
            options: See `WorkspaceOptions`.

        Raises:
            TypeError: There is no such option, or it is something else than it should be.
        """
        check_options(options, WorkspaceOptions)
        if isinstance(additional_directories, str | Path):
            raise TypeError('additional_directories= takes directories, as ["lib"]')
        if cwd is None and additional_directories:
            raise TypeError("additional_directories= needs cwd=; sessions bring their own")
        self._roots = None if cwd is None else _roots(Path(cwd), additional_directories)
        self._roots_of: WeakKeyDictionary[Session, Roots] = WeakKeyDictionary()
        self.guard = options.get("guard")
        """Allows or refuses what lies in the roots."""
        self.guards: WeakKeyDictionary[Connection, ShowingGuard] = WeakKeyDictionary()
        """Further guards, each for one connection."""
        self.files: Any = options["files"] if "files" in options else Files(self, options)
        """Reads and writes; None: not offered."""
        self.terminals: Any = (
            options["terminals"] if "terminals" in options else Terminals(self, options)
        )
        """Runs commands; None: not offered."""

    def roots_of(self, session: Session) -> Roots:
        """Return what a session may reach; one that a session has begun may reach the same.

        Raises:
            InvalidParams: Nobody has said where it works.
        """
        if self._roots is not None:
            return self._roots
        owner = _owner(session)
        if owner not in self._roots_of:
            if owner.cwd is None:
                raise InvalidParams("The session has no directory", {"sessionId": session.id})
            self._roots_of[owner] = _roots(Path(owner.cwd), owner.additional_directories)
        return self._roots_of[owner]

    async def permit(
        self, subject: Subject, session: Session, preview: Preview | None = None
    ) -> None:
        """Ask the guards about what a session wants.

        Args:
            subject: What it is.
            session: Who wants it.
            preview: Makes what a user is shown of it.

        Raises:
            InvalidRequest: It was not allowed.
        """
        connection = session.connection
        subject = replace(subject, agent=connection.name, session=session.id)
        is_allowed: object = True
        if self.guard is not None:
            is_allowed = await called(self.guard, subject, session)
        further = self.guards.get(connection)
        if is_allowed is True and further is not None:
            is_allowed = await further(subject, session, preview)
        if is_allowed is not True:
            what = " ".join(subject.commands or subject.paths)
            raise InvalidRequest(f"It is not allowed to {subject.kind} {what:.1000}")

    async def stop(self, session: Session, but: Collection[str] = ()) -> None:
        """End the commands that run for a session, except some terminals; all stay readable."""
        if hasattr(self.terminals, "stop"):
            await called(self.terminals.stop, session, but)

    async def end_session(self, session: Session) -> None:
        """End what runs for a session."""
        if hasattr(self.terminals, "end_session"):
            await called(self.terminals.end_session, session)

    async def aclose(self, connection: Connection | None = None) -> None:
        """End what runs for a connection, or all that runs."""
        if hasattr(self.terminals, "aclose"):
            await called(self.terminals.aclose, connection)


def _roots(cwd: Path, further: Sequence[str | Path]) -> Roots:
    return Roots([os.path.normpath(each) for each in map(cwd.absolute().joinpath, (".", *further))])


def _owner(session: Session) -> Session:
    """Return the session that the user has opened, where an agent has begun another one for it."""
    known, seen = session.connection.sessions.values(), {session}
    while session.cwd is None:
        above = [each for each in known if session.id in each.transcript.subagents]
        if not above or above[0] in seen:
            break
        session = above[0]
        seen.add(session)
    return session
