"""Files and terminals of the client, which only version 1 lets an agent use, as handlers.

Who replaces a part of the `Workspace` gives an object with these functions, plain or `async`:

- files: `read_text_file(path, line, limit, session)`, which returns the text, and
  `write_text_file(path, content, session)`; either may be missing and is then not offered;
- terminals: those of `TERMINAL_METHODS`, each called with version 1's request and the session, and
  returning version 1's response. `end_session(session)` and `aclose(connection)` may be there too.

The guards of the workspace are asked before such an object is, with the path as the agent has
spelled it, without `..`. An object that calls `Workspace.permit` itself says so with
`is_guarded = True`.

Spec: https://agentclientprotocol.com/protocol/v1/file-system and
https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from parley.errors import InvalidParams, ResourceNotFound
from parley.peer import RequestContext, RequestHandler
from parley.policy import Subject

from .calling import called
from .line import line_of
from .workspace import Workspace

if TYPE_CHECKING:
    from .connection import Connection
    from .session import Session

__all__ = ["TERMINAL_METHODS", "workspace_handlers"]

TERMINAL_METHODS = {
    "terminal/create": "create_terminal",
    "terminal/output": "terminal_output",
    "terminal/wait_for_exit": "wait_for_terminal_exit",
    "terminal/kill": "kill_terminal",
    "terminal/release": "release_terminal",
}
"""What terminals are asked for, by method name."""

_Handler: TypeAlias = Callable[[Any, "Session"], Awaitable[Any]]


def workspace_handlers(
    connection: Connection, workspace: Workspace
) -> Mapping[str, RequestHandler]:
    """Return the handlers of what a workspace offers, by method name."""
    handlers = {**_file_handlers(workspace), **_terminal_handlers(workspace)}
    return {method: _in_session(connection, handler) for method, handler in handlers.items()}


def _in_session(connection: Connection, handler: _Handler) -> RequestHandler:
    async def handle(request: Any, context: RequestContext) -> Any:
        del context
        session = connection.session_of(request.session_id)
        if session is None:
            raise InvalidParams(data={"problem": "params.sessionId: there are too many sessions"})
        result = await handler(request, session)
        return {} if result is None else result

    return handle


def _file_handlers(workspace: Workspace) -> Mapping[str, _Handler]:
    files = workspace.files

    async def read_text_file(request: Any, session: Session) -> Any:
        if not _is_guarded(files):
            subject = Subject(kind="read", paths=(_normal(request.path),))
            await workspace.permit(subject, session)
        arguments = request.path, request.line, request.limit, session
        return {"content": await _found(files.read_text_file, *arguments)}

    async def write_text_file(request: Any, session: Session) -> Any:
        if not _is_guarded(files):
            subject = Subject(kind="edit", paths=(_normal(request.path),))
            await workspace.permit(subject, session)
        await _found(files.write_text_file, request.path, request.content, session)

    known = {each.__name__: each for each in (read_text_file, write_text_file)}
    return {f"fs/{name}": handler for name, handler in known.items() if hasattr(files, name)}


def _terminal_handlers(workspace: Workspace) -> Mapping[str, _Handler]:
    terminals = workspace.terminals
    if terminals is None:
        return {}

    async def create_terminal(request: Any, session: Session) -> Any:
        if not _is_guarded(terminals):
            cwd = _normal(request.cwd or session.cwd or os.sep)
            lines = (line_of(request, cwd, shell=True).text,)
            await workspace.permit(Subject(kind="execute", commands=lines, cwd=cwd), session)
        return await called(terminals.create_terminal, request, session)

    functions = {method: getattr(terminals, name) for method, name in TERMINAL_METHODS.items()}
    return {
        **{method: _plain(function) for method, function in functions.items()},
        "terminal/create": create_terminal,
    }


def _plain(function: Callable[[Any, Session], Any]) -> _Handler:
    async def handle(request: Any, session: Session) -> Any:
        return await called(function, request, session)

    return handle


def _is_guarded(part: object) -> bool:
    return getattr(part, "is_guarded", False) is True


def _normal(path: str) -> str:
    return os.path.normpath(path)


async def _found(function: Callable[..., Any], path: str, *arguments: Any) -> Any:
    try:
        return await called(function, path, *arguments)
    except FileNotFoundError as error:
        raise ResourceNotFound(data={"path": path}) from error
