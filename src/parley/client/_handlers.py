"""Handlers of the agent's requests, made from the functions and objects given to `connect`.

A feature without a handler is not offered to the agent. Nothing is allowed by default: with neither
a policy nor a function for permissions, every permission request is answered as `cancelled`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict
from weakref import WeakMethod

from parley._user_code import reraise_if_ending
from parley.peer import NotificationHandler, RequestContext, RequestHandler, TypedHandler
from parley.policy import Policy, Subject
from parley.schema import v2
from parley.schema._custom_values import check_custom_method
from parley.schema.base import JsonObject
from parley.session._adapter import HandlerTable
from parley.session._capabilities import ClientFeatures
from parley.session._checked_adapter import checked_handler
from parley.session._response_meta import ResponseMeta, with_response_meta

from ._calling import call_maybe_async
from ._editor import editor_handlers
from ._elicitation import Elicit, ElicitationHandler, ElicitUrl
from ._permission_handler import Decide, OnDecision, PermissionHandler
from .workspace._handlers import workspace_handlers
from .workspace._workspace import Preview, PreviewGuard, Workspace, add_connection_guard

if TYPE_CHECKING:
    from ._connection_state import ConnectionState, UpdateCallback
    from ._session import Session
    from ._session_state import SessionState


logger = logging.getLogger(__name__)


class ClientHandlers(TypedDict, total=False):
    """The keyword arguments of `connect` that handle requests and notifications from the agent."""

    policy: Policy | None
    permission: Decide | None
    on_decision: OnDecision | None
    elicit: Elicit | None
    elicit_url: ElicitUrl | None
    on_elicitation_complete: Callable[[v2.ElicitationId], object] | None
    on_auth_status: Callable[[v2.AuthStatusUpdateNotification], object] | None
    workspace: Workspace | None
    editor: object | None
    nes: v2.ClientNesCapabilities | None
    position_encodings: Sequence[v2.PositionEncodingKind]
    extensions: Mapping[str, Callable[[Any], Any] | TypedHandler] | None
    response_meta: ResponseMeta | None
    capabilities_meta: JsonObject | None


def capabilities_of(handlers: ClientHandlers) -> ClientFeatures:
    """Return the features to offer to the agent."""
    workspace, editor = handlers.get("workspace"), handlers.get("editor")
    files = None if workspace is None else workspace.files
    return ClientFeatures(
        read_files=hasattr(files, "read_text_file"),
        write_files=hasattr(files, "write_text_file"),
        terminals=workspace is not None and workspace.terminals is not None,
        form_elicitation=handlers.get("elicit") is not None,
        url_elicitation=handlers.get("elicit_url") is not None,
        compaction=True,
        notices=True,
        plans=True,
        subagents=True,
        boolean_options=True,
        open_documents=hasattr(editor, "open_documents"),
        recent_documents=hasattr(editor, "recent_documents"),
        active_document=hasattr(editor, "active_document"),
        nes=handlers.get("nes"),
        position_encodings=tuple(handlers.get("position_encodings", ())),
        meta=handlers.get("capabilities_meta"),
    )


def handler_table(connection: ConnectionState, handlers: ClientHandlers) -> HandlerTable:
    """Return the handlers of all requests and notifications from the agent."""
    permissions = PermissionHandler(
        connection,
        handlers.get("permission"),
        policy=handlers.get("policy"),
        on_decision=handlers.get("on_decision"),
    )
    elicitations = ElicitationHandler(
        connection,
        handlers.get("elicit"),
        handlers.get("elicit_url"),
        handlers.get("on_elicitation_complete"),
    )
    requests: dict[str, RequestHandler | TypedHandler] = {
        "session/request_permission": checked_handler(permissions.handle_request),
        "elicitation/create": checked_handler(elicitations.handle_request),
        **connection.toolbox.requests(),
    }
    notifications: dict[str, NotificationHandler | TypedHandler] = {
        "session/update": connection.handle_update,
        "elicitation/complete": elicitations.complete,
        "auth/status_update": _auth_status(connection, handlers.get("on_auth_status")),
        **connection.toolbox.notifications(),
    }
    connection.workspace = workspace = handlers.get("workspace")
    if workspace is not None:
        requests |= workspace_handlers(connection, workspace)
        if handlers.get("policy") is not None:
            add_connection_guard(workspace, connection.connection, _guard(permissions))
    if (editor := handlers.get("editor")) is not None:
        requests |= editor_handlers(connection, editor)
    for name, extension in (handlers.get("extensions") or {}).items():
        check_custom_method(name)
        requests[name], notifications[name] = _extension(extension)
    if (response_meta := handlers.get("response_meta")) is not None:
        for name, handler in requests.items():
            if not isinstance(handler, TypedHandler):
                requests[name] = with_response_meta(handler, response_meta)
    return HandlerTable(requests=requests, notifications=notifications)


def _guard(permissions: PermissionHandler) -> PreviewGuard:
    """Return the guard of a policy, for a workspace that may outlive the connection.

    A strong reference would keep the connection alive as long as the workspace.
    """
    method = WeakMethod(permissions.is_permitted)

    async def is_permitted(subject: Subject, session: Session, preview: Preview | None) -> bool:
        found = method()
        return found is not None and await found(subject, session, preview)

    return is_permitted


def _auth_status(
    connection: ConnectionState,
    function: Callable[[v2.AuthStatusUpdateNotification], object] | None,
) -> NotificationHandler:
    async def keep(note: v2.AuthStatusUpdateNotification) -> None:
        connection.auth_status_update = note
        if function is not None:
            await call_maybe_async(function, note)

    return keep


def _extension(extension: Callable[[Any], Any] | TypedHandler) -> tuple[TypedHandler, TypedHandler]:
    """Return the handlers of an extension method, as a request and as a notification."""
    function = extension.handler if isinstance(extension, TypedHandler) else extension
    params = extension.params if isinstance(extension, TypedHandler) else Any

    async def requested(params: Any, context: RequestContext) -> Any:
        del context
        return await call_maybe_async(function, params)

    async def notified(params: Any) -> None:
        await call_maybe_async(function, params)

    return TypedHandler(requested, params), TypedHandler(notified, params)


def update_callback(
    function: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None,
) -> UpdateCallback | None:
    """Wrap `on_update`, so that its exceptions are logged and do not end the connection."""
    if function is None:
        return None

    def call(session: SessionState, update: v2.SessionUpdate) -> Awaitable[None] | None:
        try:
            rest = function(session.session, update)
        except BaseException as error:  # the program's: the update is folded already
            reraise_if_ending(error)
            logger.exception("%s: on_update failed", session.connection.name)
            return None
        return None if rest is None else _await_and_log(session, rest)

    return call


async def _await_and_log(session: SessionState, rest: Awaitable[None]) -> None:
    """Await an `async` `on_update` and log its exceptions.

    `session.update_task` holds the task meanwhile, so that awaiting a prompt in it raises an error
    instead of blocking forever.
    """
    before, session.update_task = session.update_task, asyncio.current_task()
    try:
        await rest
    except BaseException as error:  # the same
        reraise_if_ending(error)
        logger.exception("%s: on_update failed", session.connection.name)
    finally:
        session.update_task = before
