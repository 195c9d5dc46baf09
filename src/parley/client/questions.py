"""Questions of our own, about what an agent wants done and has not asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import UNSET

from parley.policy import Scope, Subject
from parley.schema import v2

if TYPE_CHECKING:
    from .session import Session

__all__ = ["SCOPES", "question_about"]

_OPTIONS = (
    v2.PermissionOption(option_id="once", name="Yes", kind="allow_once"),
    v2.PermissionOption(option_id="session", name="Yes, in this session", kind="allow_always"),
    v2.PermissionOption(option_id="project", name="Yes, in this project", kind="allow_always"),
    v2.PermissionOption(option_id="no", name="No", kind="reject_once"),
)
SCOPES: dict[str, Scope] = {"session": "session", "project": "project"}
"""The options that are remembered, and for how long."""

_VERBS = {"read": "Read", "edit": "Write"}


def question_about(
    subject: Subject, session: Session, shown: v2.ToolCallContent | None = None
) -> v2.RequestPermissionRequest:
    """Return the question whether something may be done here for an agent.

    Args:
        subject: A file to be read or written, or a command to be run.
        session: The session that wants it.
        shown: What the user sees of it besides.
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
        description="The agent wants this done and has not asked for it.",
        subject=about,
        options=list(_OPTIONS),
    )
