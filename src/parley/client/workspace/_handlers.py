"""Request handlers for the client's files and terminals, which exist only in version 1.

To replace a part of the `Workspace`, pass an object with these methods, plain or `async`:

- files: `read_text_file(path, line, limit, session)`, which returns the text, and
  `write_text_file(path, content, session)`; a missing method is not offered to the agent;
- terminals: the methods in `TERMINAL_METHODS`, each called with the version 1 request and the
  session, and returning the version 1 response. `stop_commands(session, keep)`,
  `end_session(session)` and `aclose(connection)` are optional.

The workspace's guards run before such an object is called, with the path as the agent sent it,
normalized to contain no `..`. An object that calls `Workspace.permit` itself sets
`is_guarded = True`.

Spec: https://agentclientprotocol.com/protocol/v1/file-system and
https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from parley._user_code import reraise_if_ending
from parley.client._calling import call_maybe_async
from parley.errors import InvalidParams, RequestError, ResourceNotFound
from parley.peer import RequestContext, RequestHandler
from parley.policy import Subject

from ._command_line import command_line_of
from ._workspace import Workspace

if TYPE_CHECKING:
    from parley.client._connection_state import ConnectionState
    from parley.client._session import Session


logger = logging.getLogger(__name__)

TERMINAL_METHODS = {
    "terminal/create": "create_terminal",
    "terminal/output": "terminal_output",
    "terminal/wait_for_exit": "wait_for_terminal_exit",
    "terminal/kill": "kill_terminal",
    "terminal/release": "release_terminal",
}
"""The methods of a terminals object, by protocol method name."""

_Handler: TypeAlias = Callable[[Any, "Session"], Awaitable[Any]]


def workspace_handlers(
    connection: ConnectionState, workspace: Workspace
) -> Mapping[str, RequestHandler]:
    """Return the request handlers for what a workspace offers, by method name."""
    handlers = {**_file_handlers(workspace), **_terminal_handlers(workspace)}
    return {method: _in_session(connection, handler) for method, handler in handlers.items()}


def _in_session(connection: ConnectionState, handler: _Handler) -> RequestHandler:
    """Wrap a handler that takes a session, which is looked up by the id in the request."""

    async def handle(request: Any, context: RequestContext) -> Any:
        del context
        state = connection.find_session(request.session_id)
        if state is None:
            raise InvalidParams(data={"problem": "params.sessionId: there are too many sessions"})
        result = await handler(request, state.session)
        return {} if result is None else result

    return handle


def _file_handlers(workspace: Workspace) -> Mapping[str, _Handler]:
    files = workspace.files

    async def read_text_file(request: Any, session: Session) -> Any:
        if not _is_guarded(files):
            subject = Subject(kind="read", paths=(_normalize(request.path),))
            await workspace.permit(subject, session)
        arguments = request.path, request.line, request.limit, session
        return {"content": await _call_files(files.read_text_file, *arguments)}

    async def write_text_file(request: Any, session: Session) -> Any:
        try:
            await write(request, session)
        except RequestError as error:
            _report_refusal(workspace, session, request.path, error)
            raise

    async def write(request: Any, session: Session) -> None:
        if not _is_guarded(files):
            subject = Subject(kind="edit", paths=(_normalize(request.path),))
            await workspace.permit(subject, session)
        await _call_files(files.write_text_file, request.path, request.content, session)

    known = {each.__name__: each for each in (read_text_file, write_text_file)}
    return {f"fs/{name}": handler for name, handler in known.items() if hasattr(files, name)}


def _report_refusal(workspace: Workspace, session: Session, path: str, error: RequestError) -> None:
    """Report a refused write to the program."""
    if workspace.on_write_refused is None:
        return
    try:
        workspace.on_write_refused(session, path, error)
    except BaseException as failure:  # the program's: the agent still gets the refusal
        reraise_if_ending(failure)
        logger.exception("the on_write_refused callback failed")


def _terminal_handlers(workspace: Workspace) -> Mapping[str, _Handler]:
    terminals = workspace.terminals
    if terminals is None:
        return {}

    async def create_terminal(request: Any, session: Session) -> Any:
        if not _is_guarded(terminals):
            cwd = _normalize(request.cwd or session.cwd or os.sep)
            lines = (command_line_of(request, cwd, shell=True).text,)
            await workspace.permit(Subject(kind="execute", commands=lines, cwd=cwd), session)
        return await call_maybe_async(terminals.create_terminal, request, session)

    functions = {method: getattr(terminals, name) for method, name in TERMINAL_METHODS.items()}
    return {
        **{method: _without_guard(function) for method, function in functions.items()},
        "terminal/create": create_terminal,
    }


def _without_guard(function: Callable[[Any, Session], Any]) -> _Handler:
    async def handle(request: Any, session: Session) -> Any:
        return await call_maybe_async(function, request, session)

    return handle


def _is_guarded(part: object) -> bool:
    return getattr(part, "is_guarded", False) is True


def _normalize(path: str) -> str:
    return os.path.normpath(path)


async def _call_files(function: Callable[..., Any], path: str, *arguments: Any) -> Any:
    """Call a function of a files object; turn `FileNotFoundError` into an error response."""
    try:
        return await call_maybe_async(function, path, *arguments)
    except FileNotFoundError as error:
        raise ResourceNotFound(data={"path": path}) from error
