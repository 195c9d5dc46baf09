"""Permission requests that the client makes for actions the agent has not requested one for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import UNSET

from parley.policy import Scope, Subject
from parley.schema import v2

if TYPE_CHECKING:
    from ._session import Session


_OPTIONS = (
    v2.PermissionOption(option_id="once", name="Yes", kind="allow_once"),
    v2.PermissionOption(option_id="session", name="Yes, in this session", kind="allow_always"),
    v2.PermissionOption(option_id="project", name="Yes, in this project", kind="allow_always"),
    v2.PermissionOption(option_id="no", name="No", kind="reject_once"),
)
SCOPES: dict[str, Scope] = {"session": "session", "project": "project"}
"""The options that are remembered, with their scope."""

_VERBS = {"read": "Read", "edit": "Write"}


def build_permission_request(
    subject: Subject, session: Session, shown: v2.ToolCallContent | None = None
) -> v2.RequestPermissionRequest:
    """Return a permission request for an action that the client is to do for an agent.

    Args:
        subject: A file to read or write, or a command to run.
        session: The session that the action belongs to.
        shown: Further content to show to the user, such as a diff.
    """
    if subject.commands:
        title = "Run a command?"
        where = subject.cwd or os.path.realpath(session.cwd or session.connection.cwd)
        about: v2.RequestPermissionSubject = v2.CommandPermissionSubject(
            command="\n".join(subject.commands), cwd=where
        )
    else:
        verb = _VERBS.get(subject.kind, subject.kind)
        title = f"{verb} {', '.join(subject.paths)}?"
        call = v2.ToolCallUpdate(
            tool_call_id=f"parley-{uuid4().hex}",
            title=title,
            kind=subject.kind,
            locations=[v2.ToolCallLocation(path=each) for each in subject.paths],
            content=UNSET if shown is None else [shown],
        )
        about = v2.ToolCallPermissionSubject(tool_call=call)
    return v2.RequestPermissionRequest(
        session_id=session.id,
        title=title,
        description="The agent wants to do this and did not request permission for it.",
        subject=about,
        options=list(_OPTIONS),
    )
