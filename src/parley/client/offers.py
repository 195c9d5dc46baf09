"""What a client does for an agent: the functions and objects of a program, as handlers.

What the program does not give is not offered. Nothing is allowed by default: without a function
for permissions every question is answered `cancelled`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from parley.peer import NotificationHandler, RequestContext, RequestHandler, Typed
from parley.policy import Policy
from parley.schema import v2
from parley.schema.v2 import unstable
from parley.session.features import ClientFeatures
from parley.session.surface import Program

from .calling import called
from .editor import editor_handlers
from .elicitation import Elicit, ElicitationDesk, ElicitUrl
from .environment import workspace_handlers
from .permission import Decide, OnDecision, PermissionDesk
from .workspace import Workspace

if TYPE_CHECKING:
    from .connection import Connection
    from .session import Session

__all__ = ["Offers", "features_of", "program_of", "update_callback"]

logger = logging.getLogger(__name__)


class Offers(TypedDict, total=False):
    """What a program does for the agent; functions may be plain or `async`."""

    policy: Policy | None
    """Decides questions for permission before anybody is asked."""
    permission: Decide | None
    """Decides questions for permission: `decide(request, session)`."""
    on_decision: OnDecision | None
    """Is told how each question for permission ended: `see(decided, session)`."""
    elicit: Elicit | None
    """Shows forms to the user: `fill_in(request, session)`, where the session may be None."""
    elicit_url: ElicitUrl | None
    """Asks the user whether to open a page, and opens it: `open_page(request, session)`."""
    on_elicitation_complete: Callable[[v2.ElicitationId], object] | None
    """Called when what the user did on such a page is done."""
    workspace: Workspace | None
    """Reads and writes files and runs commands; only version 1 uses it."""
    editor: object | None
    """Tells which files the user looks at; see `editor.py`."""
    nes: unstable.ClientNesCapabilities | None
    """Which next edit suggestions it shows besides edits; see `parley.nes`."""
    position_encodings: Sequence[unstable.PositionEncodingKind]
    """What it can count the characters of a position in, best first."""
    extensions: Mapping[str, Callable[[Any], Any] | Typed]
    """Handles what others have added to the protocol, by method name, which begins with `_`: a
    function gets the params and returns the result; a `Typed` one gets them typed."""
    capabilities_meta: dict[str, Any] | None
    """The `_meta` of our capabilities, to offer extensions with."""


def features_of(offers: Offers) -> ClientFeatures:
    """Return what to tell the agent about us."""
    workspace, editor = offers.get("workspace"), offers.get("editor")
    files = None if workspace is None else workspace.files
    return ClientFeatures(
        read_files=hasattr(files, "read_text_file"),
        write_files=hasattr(files, "write_text_file"),
        terminals=workspace is not None and workspace.terminals is not None,
        form_elicitation=offers.get("elicit") is not None,
        url_elicitation=offers.get("elicit_url") is not None,
        compaction=True,
        notices=True,
        plans=True,
        subagents=True,
        boolean_options=True,
        open_documents=hasattr(editor, "open_documents"),
        recent_documents=hasattr(editor, "recent_documents"),
        active_document=hasattr(editor, "active_document"),
        nes=offers.get("nes"),
        position_encodings=tuple(offers.get("position_encodings", ())),
        meta=offers.get("capabilities_meta"),
    )


def program_of(connection: Connection, offers: Offers) -> Program:
    """Return the handlers of everything that the agent may ask."""
    permissions = PermissionDesk(
        connection,
        offers.get("permission"),
        policy=offers.get("policy"),
        on_decision=offers.get("on_decision"),
    )
    questions = ElicitationDesk(
        connection,
        offers.get("elicit"),
        offers.get("elicit_url"),
        offers.get("on_elicitation_complete"),
    )
    requests: dict[str, RequestHandler | Typed] = {
        "session/request_permission": permissions.answer,
        "elicitation/create": questions.answer,
        **connection.toolbox.requests(),
    }
    notifications: dict[str, NotificationHandler | Typed] = {
        "session/update": connection.updated,
        "elicitation/complete": questions.complete,
        "auth/status_update": _keep_auth_status(connection),
        **connection.toolbox.notifications(),
    }
    connection.workspace = workspace = offers.get("workspace")
    if workspace is not None:
        requests |= workspace_handlers(connection, workspace)
        if offers.get("policy") is not None:
            workspace.guards[connection] = permissions.may
    if (editor := offers.get("editor")) is not None:
        requests |= editor_handlers(editor)
    for name, extension in offers.get("extensions", {}).items():
        requests[name], notifications[name] = _extension(extension)
    return Program(requests=requests, notifications=notifications)


def _keep_auth_status(connection: Connection) -> NotificationHandler:
    def keep(note: unstable.AuthStatusUpdateNotification) -> None:
        connection.auth_status_update = note

    return keep


def _extension(extension: Callable[[Any], Any] | Typed) -> tuple[Typed, Typed]:
    """Return the handlers for a method that somebody added, as a request and as a notification."""
    function = extension.handler if isinstance(extension, Typed) else extension
    params = extension.params if isinstance(extension, Typed) else Any

    async def requested(params: Any, context: RequestContext) -> Any:
        del context
        return await called(function, params)

    async def notified(params: Any) -> None:
        await called(function, params)

    return Typed(requested, params), Typed(notified, params)


def update_callback(
    function: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None,
) -> Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None:
    """Return a function that is told about updates, which cannot break anything by failing."""
    if function is None:
        return None

    def tell(session: Session, update: v2.SessionUpdate) -> Awaitable[None] | None:
        try:
            rest = function(session, update)
        except Exception:  # of the program: the update is folded already
            logger.exception("%s: on_update failed", session.connection.name)
            return None
        return None if rest is None else _guarded(session, rest)

    return tell


async def _guarded(session: Session, rest: Awaitable[None]) -> None:
    before, session.telling = session.telling, asyncio.current_task()
    try:
        await rest
    except Exception:  # likewise
        logger.exception("%s: on_update failed", session.connection.name)
    finally:
        session.telling = before
