"""Questions to the user in version 1's words: there, they are always about a tool call.

The question itself stands in the content of that call until it is answered. For a question about
anything else a call is made up; it ends with the answer.

Spec: https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission
"""

from __future__ import annotations

import secrets
from typing import cast, get_args

from msgspec import Struct, structs

from parley.schema import v1, v2

from .lower_terminal import fenced
from .lower_tools import LoweredTools

__all__ = ["LoweredPermission", "lower_permission"]

_KINDS = frozenset(get_args(v1.PermissionOptionKind))


class LoweredPermission(Struct, frozen=True, kw_only=True):
    """A question, and what is to be told when it is answered."""

    request: v1.RequestPermissionRequest
    if_allowed: list[v1.SessionUpdate] = []
    if_not: list[v1.SessionUpdate] = []

    def settled(self, answer: v2.RequestPermissionResponse | None) -> list[v1.SessionUpdate]:
        """Return what is to be told; without an answer nothing was allowed."""
        outcome = None if answer is None else answer.outcome
        if isinstance(outcome, v2.SelectedPermissionOutcome):
            for option in self.request.options:
                if option.option_id == outcome.option_id and option.kind.startswith("allow"):
                    return self.if_allowed
        return self.if_not


def lower_permission(
    tools: LoweredTools, request: v2.RequestPermissionRequest
) -> LoweredPermission:
    """Lower a question, with the tool calls that the client knows."""
    subject = request.subject
    if isinstance(subject, v2.ToolCallPermissionSubject):
        patch = subject.tool_call
    elif isinstance(subject, v2.CommandPermissionSubject) and subject.tool_call_id is not None:
        patch = v2.ToolCallUpdate(tool_call_id=subject.tool_call_id)
        if not tools.knows(subject.tool_call_id):
            patch = structs.replace(patch, kind="execute", raw_input=_raw(subject))
    else:
        return _made_up(request)
    if not tools.knows(patch.tool_call_id) and not patch.title:
        patch = structs.replace(patch, title=request.title)
    call = tools.subject(patch)
    question = _question(request, tools.title(patch.tool_call_id))
    if not question:
        return LoweredPermission(request=_asked(request, call))
    content = tools.content(patch.tool_call_id)
    call = structs.replace(call, content=[*question, *content])
    after: list[v1.SessionUpdate] = [
        v1.ToolCallUpdated(tool_call_id=patch.tool_call_id, content=content)
    ]
    return LoweredPermission(request=_asked(request, call), if_allowed=after, if_not=after)


def _made_up(request: v2.RequestPermissionRequest) -> LoweredPermission:
    subject = request.subject
    is_command = isinstance(subject, v2.CommandPermissionSubject)
    id = f"permission-{secrets.token_hex(8)}"
    call = v1.ToolCallUpdate(
        tool_call_id=id,
        title=request.title,
        kind="execute" if is_command else "other",
        status="pending",
        content=_question(request, request.title) or None,
        raw_input=_raw(subject) if isinstance(subject, v2.CommandPermissionSubject) else None,
    )
    return LoweredPermission(
        request=_asked(request, call),
        if_allowed=[v1.ToolCallUpdated(tool_call_id=id, status="completed")],
        if_not=[v1.ToolCallUpdated(tool_call_id=id, status="failed")],
    )


def _asked(
    request: v2.RequestPermissionRequest, call: v1.ToolCallUpdate
) -> v1.RequestPermissionRequest:
    return v1.RequestPermissionRequest(
        session_id=request.session_id,
        tool_call=call,
        options=[_lower_option(option) for option in request.options],
        meta=request.meta,
    )


def _lower_option(option: v2.PermissionOption) -> v1.PermissionOption:
    """Lower an option; one of an unknown kind must not be taken for one that allows."""
    kind = option.kind if option.kind in _KINDS else "reject_once"
    return v1.PermissionOption(
        option_id=option.option_id,
        name=option.name,
        kind=cast("v1.PermissionOptionKind", kind),
        meta=option.meta,
    )


def _question(request: v2.RequestPermissionRequest, title: str) -> list[v1.ToolCallContent]:
    """Return what the title of the tool call does not tell."""
    parts = [request.title if request.title != title else None, request.description]
    if isinstance(request.subject, v2.CommandPermissionSubject):
        parts.append(fenced(f"{request.subject.cwd}$ {request.subject.command}"))
    text = "\n\n".join(part for part in parts if part)
    return [v1.Content(content=v1.TextContent(text=text))] if text else []


def _raw(subject: v2.CommandPermissionSubject) -> dict[str, str]:
    return {"command": subject.command, "cwd": subject.cwd}
