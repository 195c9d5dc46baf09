"""Requests and notifications that both versions have, and how each becomes the other.

What needs to remember something about a session is in `lift.py` and `lower.py`; everything here is
a function of its argument. Most messages have the same JSON in both versions: they are written as
version 2's objects and read as version 2's types, under the name and with the capability that
version 1 has for them.

Spec: https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import UNSET, Struct, structs

from parley.errors import Unsupported
from parley.schema import v1, v2
from parley.schema.base import Method, Unknown
from parley.schema.codec import encode
from parley.schema.v1 import methods as methods1
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import methods as methods2
from parley.schema.v2 import unstable as draft2

from .blocks import lift_blocks, lower_prompt
from .recode import recode

__all__ = [
    "NOTIFICATIONS",
    "REQUESTS",
    "Pair",
    "lift_auth_method",
    "lift_fork",
    "lift_info",
    "lift_load",
    "lift_new",
    "lift_prompt",
    "lift_resume",
    "lower_auth_methods",
    "lower_fork",
    "lower_info",
    "lower_load",
    "lower_new",
    "lower_permission_answer",
    "lower_prompt_request",
    "lower_resume",
]

T = TypeVar("T")


def _same(value: Any) -> Any:
    return value


class Pair(Struct, frozen=True, kw_only=True):
    """One method of both versions."""

    v1: Method[Any, Any]
    """As version 1 has it, with the types that it is read as."""
    lower: Callable[[Any], Any] = _same
    """Params of version 2 become version 1's."""
    lift: Callable[[Any], Any] = _same
    """Params of version 1 become version 2's."""
    lower_result: Callable[[Any], Any] = _same
    lift_result: Callable[[Any], Any] = _same


def _alike(name: Method[Any, Any], types: Method[Any, Any], **ways: Callable[[Any], Any]) -> Pair:
    """Pair two methods that have the same JSON, but for what the ways are for."""
    params = name.params if "lift" in ways else types.params
    return Pair(v1=structs.replace(name, params=params, result=types.result), **ways)


# Beginning


def lower_info(info: v2.Implementation) -> v1.Implementation:
    """Return who speaks in version 1's words."""
    return v1.Implementation(name=info.name, version=info.version, title=info.title, meta=info.meta)


def lift_info(info: v1.Implementation) -> v2.Implementation:
    """Return who speaks in version 2's words."""
    return v2.Implementation(name=info.name, version=info.version, title=info.title, meta=info.meta)


def lower_auth_methods(methods: Iterable[v2.AuthMethod]) -> list[v1.AuthMethod]:
    """Return the ways to log in in version 1's words.

    One of an unknown type is left out: a client would take it for one that the agent carries out.
    """
    return [_lower_auth_method(each) for each in methods if not isinstance(each, Unknown)]


def _lower_auth_method(method: v2.AuthMethodAgent | v2.AuthMethodTerminal) -> v1.AuthMethod:
    fields = structs.asdict(method)
    fields["id"] = fields.pop("method_id")
    if isinstance(method, v2.AuthMethodAgent):
        return v1.AuthMethodAgent(**fields)
    fields["env"] = {variable.name: variable.value for variable in method.env}
    return v1.AuthMethodTerminal(**fields)


def lift_auth_method(method: v1.AuthMethod) -> v2.AuthMethod:
    """Return a way to log in in version 2's words."""
    fields = structs.asdict(method)
    fields["method_id"] = fields.pop("id")
    if isinstance(method, v1.AuthMethodAgent):
        return v2.AuthMethodAgent(**fields)
    fields["env"] = [v2.EnvVariable(name=name, value=value) for name, value in method.env.items()]
    return v2.AuthMethodTerminal(**fields)


# Opening sessions


def _lower_server(server: v2.McpServer) -> v1.McpServer:
    if isinstance(server, Unknown):
        if server.tag == "sse":
            return recode(server, v1.McpServerSse)
        raise Unsupported(f"version 1 of the protocol has no MCP server of type {server.tag!r}")
    fields = structs.asdict(server)
    match server:
        case v2.McpServerStdio():
            fields["env"] = [v1.EnvVariable(**structs.asdict(each)) for each in server.env]
            return v1.McpServerStdio(**fields)
        case v2.McpServerHttp():
            fields["headers"] = [v1.HttpHeader(**structs.asdict(each)) for each in server.headers]
            return v1.McpServerHttp(**fields)
        case _:
            return draft1.McpServerAcp(**fields)


def _lift_server(server: v1.McpServer) -> v2.McpServer:
    fields = structs.asdict(server)
    match server:
        case v1.McpServerStdio():
            fields["env"] = [v2.EnvVariable(**structs.asdict(each)) for each in server.env]
            return v2.McpServerStdio(**fields)
        case v1.McpServerHttp():
            fields["headers"] = [v2.HttpHeader(**structs.asdict(each)) for each in server.headers]
            return v2.McpServerHttp(**fields)
        case draft1.McpServerAcp():
            return draft2.McpServerAcp(**fields)
        case _:
            return Unknown("sse", encode(server))


def _lower_setup(cls: Callable[..., T], request: Any, **fields: Any) -> T:
    system = request.system_prompt
    if system is not None:
        content = lower_prompt(system.content)
        system = draft1.SystemPrompt(mode=system.mode, content=content, meta=system.meta)
    return cls(
        cwd=request.cwd,
        additional_directories=request.additional_directories,
        mcp_servers=[_lower_server(server) for server in request.mcp_servers],
        system_prompt=system,
        meta=request.meta,
        **fields,
    )


def _lift_setup(cls: Callable[..., T], request: Any, **fields: Any) -> T:
    system = request.system_prompt
    if system is not None:
        content = lift_blocks(system.content)
        system = draft2.SystemPrompt(mode=system.mode, content=content, meta=system.meta)
    return cls(
        cwd=request.cwd,
        additional_directories=request.additional_directories,
        mcp_servers=[_lift_server(server) for server in request.mcp_servers],
        system_prompt=system,
        meta=request.meta,
        **fields,
    )


def lower_new(request: v2.NewSessionRequest) -> v1.NewSessionRequest:
    """Lower the params of `session/new`."""
    return _lower_setup(v1.NewSessionRequest, request)


def lift_new(request: v1.NewSessionRequest) -> v2.NewSessionRequest:
    """Lift the params of `session/new`."""
    return _lift_setup(v2.NewSessionRequest, request)


def lower_fork(request: draft2.ForkSessionRequest) -> draft1.ForkSessionRequest:
    """Lower the params of `session/fork`."""
    return _lower_setup(draft1.ForkSessionRequest, request, session_id=request.session_id)


def lift_fork(request: draft1.ForkSessionRequest) -> draft2.ForkSessionRequest:
    """Lift the params of `session/fork`."""
    return _lift_setup(draft2.ForkSessionRequest, request, session_id=request.session_id)


def lower_resume(request: v2.ResumeSessionRequest) -> v1.ResumeSessionRequest:
    """Lower the params of `session/resume` without replay."""
    return _lower_setup(v1.ResumeSessionRequest, request, session_id=request.session_id)


def lift_resume(request: v1.ResumeSessionRequest) -> v2.ResumeSessionRequest:
    """Lift the params of `session/resume`, which replays nothing."""
    return _lift_setup(v2.ResumeSessionRequest, request, session_id=request.session_id)


def lower_load(request: v2.ResumeSessionRequest) -> v1.LoadSessionRequest:
    """Lower the params of `session/resume` with replay: `session/load`.

    Raises:
        Unsupported: The replay is to begin elsewhere than at the start.
    """
    if isinstance(request.replay_from, Unknown):
        raise Unsupported("version 1 of the protocol replays whole sessions only")
    return _lower_setup(v1.LoadSessionRequest, request, session_id=request.session_id)


def lift_load(request: v1.LoadSessionRequest) -> v2.ResumeSessionRequest:
    """Lift the params of `session/load`: a resume that replays from the start."""
    return _lift_setup(
        v2.ResumeSessionRequest,
        request,
        session_id=request.session_id,
        replay_from=v2.ReplayFromStart(),
    )


# Prompts and questions


def lower_prompt_request(request: v2.PromptRequest) -> v1.PromptRequest:
    """Lower a prompt.

    Raises:
        Unsupported: Version 1 does not have one of its blocks.
    """
    return v1.PromptRequest(
        session_id=request.session_id, prompt=lower_prompt(request.prompt), meta=request.meta
    )


def lift_prompt(request: v1.PromptRequest) -> v2.PromptRequest:
    """Lift a prompt."""
    return v2.PromptRequest(
        session_id=request.session_id, prompt=lift_blocks(request.prompt), meta=request.meta
    )


def lower_permission_answer(answer: v2.RequestPermissionResponse) -> v2.RequestPermissionResponse:
    """Lower what the user decided; an outcome that version 1 does not have decides nothing."""
    if isinstance(answer.outcome, Unknown):
        return v2.RequestPermissionResponse(
            outcome=v2.CancelledPermissionOutcome(), meta=answer.meta
        )
    return answer


def _lift_elicitation(request: v1.CreateElicitationRequest) -> v2.CreateElicitationRequest:
    if isinstance(request, Unknown):
        return request
    if request.session_id is not None and request.request_id is not UNSET:
        request = structs.replace(request, request_id=UNSET)  # the session counts
    lifted: v2.CreateElicitationRequest = recode(request, v2.CreateElicitationRequest)
    return lifted


def _lower_status(result: draft2.SessionStatusResponse) -> draft2.SessionStatusResponse:
    return structs.replace(result, state=None)


REQUESTS: dict[str, Pair] = {
    pair[0].name: _alike(pair[1], pair[0])
    for pair in (
        (methods2.LOGIN_AUTH, methods1.AUTHENTICATE),
        (methods2.LOGOUT_AUTH, methods1.LOGOUT),
        (methods2.AUTH_STATUS, methods1.AUTH_STATUS),
        (methods2.LIST_SESSIONS, methods1.LIST_SESSIONS),
        (methods2.CLOSE_SESSION, methods1.CLOSE_SESSION),
        (methods2.DELETE_SESSION, methods1.DELETE_SESSION),
        (methods2.ARCHIVE_SESSION, methods1.ARCHIVE_SESSION),
        (methods2.UNARCHIVE_SESSION, methods1.UNARCHIVE_SESSION),
        (methods2.SET_SESSION_TITLE, methods1.SET_SESSION_TITLE),
        (methods2.LIST_PROVIDERS, methods1.LIST_PROVIDERS),
        (methods2.SET_PROVIDER, methods1.SET_PROVIDER),
        (methods2.DISABLE_PROVIDER, methods1.DISABLE_PROVIDER),
        (methods2.MESSAGE_MCP, methods1.MESSAGE_MCP),
    )
} | {
    "session/status": _alike(
        methods1.SESSION_STATUS, methods2.SESSION_STATUS, lower_result=_lower_status
    ),
    "elicitation/create": _alike(
        methods1.CREATE_ELICITATION, methods2.CREATE_ELICITATION, lift=_lift_elicitation
    ),
}
"""The requests that need no memory, by their name in version 2."""

NOTIFICATIONS: dict[str, Pair] = {
    pair[0].name: _alike(pair[1], pair[0])
    for pair in (
        (methods2.CANCEL_SESSION, methods1.CANCEL_SESSION),
        (methods2.AUTH_STATUS_UPDATE, methods1.AUTH_STATUS_UPDATE),
        (methods2.COMPLETE_ELICITATION, methods1.COMPLETE_ELICITATION),
        (methods2.MESSAGE_MCP_NOTIFICATION, methods1.MESSAGE_MCP_NOTIFICATION),
    )
}
"""The notifications that need no memory, by their name in version 2."""
