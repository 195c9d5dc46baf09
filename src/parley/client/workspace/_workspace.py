"""The workspace: the files and terminals that a client provides to a version 1 agent.

An agent can reach what is inside the roots and nothing else. The roots are the directories of the
session that sends the request, unless the program sets others. A guard, usually the permission
policy, can refuse individual operations inside them.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack
from weakref import WeakKeyDictionary

from parley.client._calling import call_maybe_async
from parley.client._check_options import check_options
from parley.client._permission_handler import with_origin
from parley.errors import InvalidParams, InvalidRequest, RequestError
from parley.policy import Subject
from parley.schema import v2

from ._files import Buffers, Files
from ._roots import Roots
from ._terminals import OnOutput, TerminalManager

if TYPE_CHECKING:
    from parley.client._connection import Connection
    from parley.client._session import Session


Guard: TypeAlias = Callable[[Subject, "Session"], bool | Awaitable[bool]]
"""Called before something is read, written or run; only a result of `True` allows it."""
Preview: TypeAlias = Callable[[], Awaitable[v2.ToolCallContent | None]]
"""Builds what the user sees of an operation before deciding; None if there is nothing to show."""
PreviewGuard: TypeAlias = Callable[[Subject, "Session", Preview | None], Awaitable[bool]]
"""A guard that can show the user a preview of the operation."""


OnWriteRefused: TypeAlias = Callable[["Session", str, RequestError], object]
"""Called with the session, the path and the error response of a write that was refused."""


class WorkspaceOptions(TypedDict, total=False):
    """The keyword options of `Workspace`: what it offers, and its limits."""

    files: object | None
    """An object that replaces the local disk, see `_handlers.py`; None: no files."""
    terminals: object | None
    """An object that runs commands instead, see the same module; None: no terminals."""
    guard: Guard | None
    """Allows or refuses operations inside the roots; without one, all are allowed."""
    buffers: Buffers | None
    """Unsaved text in an editor, which takes precedence over the disk."""
    read_limit_bytes: int
    """The most that one read returns; 16 MiB by default."""
    write_limit_bytes: int
    """The most that one write accepts; 16 MiB by default."""
    on_output: OnOutput | None
    """Called with the output of commands as they write it."""
    on_write_refused: OnWriteRefused | None
    """Called when an agent gets an error for `fs/write_text_file`."""
    pty: bool
    """Whether commands write to a pseudo-terminal of 80 columns instead of a pipe."""
    shell: bool
    """Whether a command line in `command` that needs a shell is passed to `/bin/sh`."""
    inherit: Iterable[str]
    """Names of additional environment variables that commands inherit from this process."""
    output_limit_bytes: int
    """The most output kept per command; 1 MiB by default. Agents may request less."""
    max_terminals: int
    """The number of commands that may run at once; 32 by default."""
    grace_after: float
    """The seconds that a command has to exit after SIGTERM before it is killed; 2 by default."""


class Workspace:
    """The files and terminals of this machine that a version 1 agent may use.

    Create one and pass it to `parley.connect` as `workspace=`:

        async with connect("opencode acp", workspace=Workspace(terminals=None)) as connection:
            session = await connection.new_session()

    Everything is limited to the roots: each session's own directories, or those given here. Use
    `guard=` to decide about single operations, and `files=None` or `terminals=None` to offer less.
    `stop_commands` and `aclose` end commands that still run. A files or terminals object of your
    own can call `permit` before it does something.
    """

    def __init__(
        self,
        cwd: str | Path | None = None,
        additional_directories: Sequence[str | Path] = (),
        **options: Unpack[WorkspaceOptions],
    ) -> None:
        """Create a workspace.

        Args:
            cwd: The directory where commands run, also a root; without it, each session uses its
                own directories.
            additional_directories: Further roots; relative ones are resolved against `cwd`.
            options: See `WorkspaceOptions`.

        Raises:
            TypeError: An option is unknown or has the wrong type.
        """
        check_options(options, WorkspaceOptions)
        if isinstance(additional_directories, str | Path):
            raise TypeError(
                'additional_directories= must be a list of directories, such as ["lib"]'
            )
        if cwd is None and additional_directories:
            raise TypeError(
                "additional_directories= requires cwd=; sessions otherwise use their own"
            )
        self._roots = None if cwd is None else _roots(Path(cwd), additional_directories)
        self._session_roots: WeakKeyDictionary[Session, Roots] = WeakKeyDictionary()
        self.guard = options.get("guard")
        """Allows or refuses operations inside the roots."""
        self.on_write_refused = options.get("on_write_refused")
        """Called when an agent gets an error for a write."""
        self._connection_guards: WeakKeyDictionary[Connection, PreviewGuard] = WeakKeyDictionary()
        self.files: Any = (
            options["files"] if "files" in options else Files(self, self._find_roots, options)
        )
        """Reads and writes files; None if files are not offered."""
        self.terminals: Any = (
            options["terminals"]
            if "terminals" in options
            else TerminalManager(self, self._find_roots, options)
        )
        """Runs commands; None if terminals are not offered."""

    async def permit(
        self, subject: Subject, session: Session, preview: Preview | None = None
    ) -> None:
        """Return if the guards allow an operation, else raise.

        Args:
            subject: The operation.
            session: The session that requests it.
            preview: Builds what the user sees of it.

        Raises:
            InvalidRequest: It was not allowed.
        """
        connection = session.connection
        subject = with_origin(subject, session)
        is_allowed: object = True
        if self.guard is not None:
            is_allowed = await call_maybe_async(self.guard, subject, session)
        connection_guard = self._connection_guards.get(connection)
        if is_allowed is True and connection_guard is not None:
            is_allowed = await connection_guard(subject, session, preview)
        if is_allowed is not True:
            target = " ".join(subject.commands or subject.paths)
            raise InvalidRequest(f"Permission to {subject.kind} {target:.1000} was denied")

    async def stop_commands(self, session: Session, keep: Collection[str] = ()) -> None:
        """End the commands that run for a session; their output stays readable.

        Args:
            session: The session that started them.
            keep: The ids of terminals whose commands keep running.
        """
        if hasattr(self.terminals, "stop_commands"):
            await call_maybe_async(self.terminals.stop_commands, session, keep)

    async def aclose(self, connection: Connection | None = None) -> None:
        """End the commands of one connection, or of all."""
        if hasattr(self.terminals, "aclose"):
            await call_maybe_async(self.terminals.aclose, connection)

    def _find_roots(self, session: Session) -> Roots:
        """Return the roots of a session; a subagent's session has those of its parent.

        Raises:
            InvalidParams: The session has no directory.
        """
        if self._roots is not None:
            return self._roots
        owner = _owner(session)
        if owner not in self._session_roots:
            if owner.cwd is None:
                raise InvalidParams("The session has no directory", {"sessionId": session.id})
            self._session_roots[owner] = _roots(Path(owner.cwd), owner.additional_directories)
        return self._session_roots[owner]


# The functions below are for the connection, not for programs.


def add_connection_guard(workspace: Workspace, connection: Connection, guard: PreviewGuard) -> None:
    """Set an additional guard for one connection, such as that of its policy."""
    workspace._connection_guards[connection] = guard  # pyright: ignore[reportPrivateUsage]


def open_roots(workspace: Workspace, session: Session) -> None:
    """Open the roots of a new session, so that its paths cannot lead elsewhere later.

    Raises:
        InvalidParams: The session has no directory.
    """
    workspace._find_roots(session)  # pyright: ignore[reportPrivateUsage]


async def end_session(workspace: Workspace, session: Session) -> None:
    """End the commands of a session and release its terminals."""
    if hasattr(workspace.terminals, "end_session"):
        await call_maybe_async(workspace.terminals.end_session, session)


def _roots(cwd: Path, further: Sequence[str | Path]) -> Roots:
    return Roots([os.path.normpath(each) for each in map(cwd.absolute().joinpath, (".", *further))])


def _owner(session: Session) -> Session:
    """Return the session that the user opened, by following subagent sessions to their parents."""
    known, seen = session.connection.sessions.values(), {session}
    while session.cwd is None:
        above = [each for each in known if session.id in each.transcript.subagents]
        if not above or above[0] in seen:
            break
        session = above[0]
        seen.add(session)
    return session
