"""Permission requests that the client makes for actions that no grant covers.

Either the agent requested nothing in this turn, or what it requested was not exactly this. The
description says which, because the user may have just allowed that request.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import UNSET

from parley.policy import Scope, Subject
from parley.policy._command import same
from parley.schema import v2

from .workspace._grants import CHANGES

if TYPE_CHECKING:
    from ._session import Session
    from .workspace._grants import Grant


TURN_OPTION = v2.PermissionOption(option_id="turn", name="Yes, in this turn", kind="allow_always")
"""The option that allows exactly the same action until the turn ends."""
_OPTIONS = (
    v2.PermissionOption(option_id="once", name="Yes", kind="allow_once"),
    TURN_OPTION,
    v2.PermissionOption(option_id="session", name="Yes, in this session", kind="allow_always"),
    v2.PermissionOption(option_id="project", name="Yes, in this project", kind="allow_always"),
    v2.PermissionOption(option_id="no", name="No", kind="reject_once"),
)
SCOPES: dict[str, Scope] = {"session": "session", "project": "project"}
"""The options that are remembered, with their scope."""

_VERBS = {"read": "Read", "edit": "Write"}
_EFFECTS = {
    "allow_once": "allows it once",
    "allow_always": "always allows it",
    "reject_once": "refuses it once",
    "reject_always": "always refuses it",
}
_MAX_CHARS = 200
"""The length to which texts of the agent are cut in a description."""


def effect_of(option: v2.PermissionOption) -> str | None:
    """Return what an option does, which its name may not say; None if its kind is not known.

    The option of the turn is recognized by its identity: an agent can imitate its id, and then
    means "always".
    """
    return "allows it until the turn ends" if option is TURN_OPTION else _EFFECTS.get(option.kind)


def build_permission_request(
    subject: Subject,
    session: Session,
    shown: v2.ToolCallContent | None = None,
    *,
    granted: Grant | None = None,
) -> v2.RequestPermissionRequest:
    """Return a permission request for an action that the client is to do for an agent.

    Args:
        subject: A file to read or write, or a command to run.
        session: The session that the action belongs to.
        shown: Further content to show to the user, such as a diff.
        granted: A request of the agent that was allowed in this turn and does not cover the action.
    """
    reads = not subject.commands and subject.kind not in CHANGES  # grants never cover reading
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
        description=_description(subject, granted),
        subject=about,
        options=[each for each in _OPTIONS if each is not TURN_OPTION or not reads],
    )


def _description(subject: Subject, granted: Grant | None) -> str:
    """Return why the user is asked, in short lines."""
    if granted is None:
        return "The agent wants to do this and did not request permission for it."
    decider = "you" if granted.by_user else "your rules"
    return (
        f"In this turn, {decider} allowed: {_shorten(granted.title)}\n"
        f"{_difference(subject, granted.subject)}"
    )


def _difference(subject: Subject, allowed: Subject) -> str:
    """Return why an action is not known to be the one that was allowed."""
    if subject.commands:
        if not allowed.commands:
            return "That request did not contain the command that the agent wants to run now."
        pairs = ((each, known) for each in subject.commands for known in allowed.commands)
        if any(same(*pair) for pair in pairs):
            where = f" {_shorten(allowed.cwd)}" if allowed.cwd else " of the session"
            return f"That request was for the directory{where}."
        return f"That request was for another command: {_shorten('; '.join(allowed.commands))}"
    if not allowed.paths:
        return "That request did not name the file that the agent wants to change now."
    return f"That request was for something else: {_shorten(', '.join(allowed.paths))}"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARS else f"{line[: _MAX_CHARS - 1]}…"
