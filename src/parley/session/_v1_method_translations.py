"""The translation table: how each method of version 2 looks in version 1, and back.

`TRANSLATIONS` has a row, a `MethodTranslation`, for each version 1 form of a version 2 method. Most
methods have one form. `session/resume` with replay is `session/load` in version 1, and
`session/set_config_option` is `session/set_mode` if the option stands for the agent's modes; the
rows of these forms say when they apply. Everything that translates reads this table: the version 1
adapters, the dialect of proxies, `frame_replay.py` and `_session_follower.py`.

A conversion takes a value and the translation state of its session: a `SessionUpgrader` if the
agent speaks version 1, a `SessionDowngrader` if the client does. Most need no state and ignore it.
Session updates are translated in `_v1_session_upgrader.py` and `_v1_session_downgrader.py`.

Most messages have the same JSON in both versions. They are encoded and decoded as version 2 types,
with version 1's method name and capability.

In next edit suggestions (`nes/*`) the two versions name the id of a suggestion differently. Older
version 1 agents also send suggestions of the kind `action`, which ask the client to run something.
Actions with a well-known name become today's renames and replacements; any other stays as it is.

Spec: https://agentclientprotocol.com/protocol/v2/migration and
https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, cast, get_args

from msgspec import UNSET, Struct, structs

from parley.errors import Unsupported
from parley.schema import v1, v2
from parley.schema._codec import encode
from parley.schema.base import Kind, Method, Unknown
from parley.schema.v1 import methods as methods1
from parley.schema.v1 import nes as nes1
from parley.schema.v2 import methods as methods2
from parley.schema.v2 import nes as nes2

from ._capabilities import ClientFeatures
from ._config_options import upgrade_options
from ._content_blocks import downgrade_prompt, upgrade_blocks
from ._reencode import reencode
from ._v1_capabilities import WELL_KNOWN_ACTIONS
from ._v1_session_downgrader import SessionDowngrader
from ._v1_session_upgrader import SessionUpgrader

T = TypeVar("T")


def _unchanged(value: Any, *_: object) -> Any:
    return value


class MethodTranslation(Struct, frozen=True, kw_only=True):
    """A version 1 form of a version 2 method, and the conversions between the two.

    Each conversion also takes the translation state of the session, which is a `SessionUpgrader`
    next to a version 1 agent and a `SessionDowngrader` next to a version 1 client.
    """

    v1: Method[Any, Any]
    """The version 1 method, with the types that its params and result are decoded as."""
    v2: Method[Any, Any]
    """The version 2 method."""
    downgrade: Callable[[Any, Any], Any] = _unchanged
    """Converts params from version 2 to version 1."""
    upgrade: Callable[[Any, Any], Any] = _unchanged
    """Converts params from version 1 to version 2."""
    downgrade_result: Callable[[Any, Any], Any] = _unchanged
    upgrade_result: Callable[[Any, Any, Any], Any] = _unchanged
    """Converts the result to version 2, given the version 1 params, too."""
    applies: Callable[[Any, SessionUpgrader], bool] | None = None
    """Whether version 2 params take this form; None for the usual form of the method."""
    is_reversible: bool = True
    """Whether an upgraded result can be downgraded again without the state of the session."""
    is_in_dialect: bool = True
    """Whether proxies see the method as version 2 types; otherwise they see what is on the wire."""


def _stateless(convert: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a conversion that ignores all arguments but the value."""

    def converted(value: Any, *_: object) -> Any:
        return convert(value)

    return converted


class _Conversions(TypedDict, total=False):
    """The fields of a `MethodTranslation` that have defaults, except `applies`."""

    downgrade: Callable[[Any, Any], Any]
    upgrade: Callable[[Any, Any], Any]
    downgrade_result: Callable[[Any, Any], Any]
    upgrade_result: Callable[[Any, Any, Any], Any]
    is_reversible: bool
    is_in_dialect: bool


def _same_json(
    method1: Method[Any, Any], method2: Method[Any, Any], **conversions: Unpack[_Conversions]
) -> MethodTranslation:
    """Return the row of a method whose JSON is the same in both versions.

    Args:
        method1: The version 1 method, whose name and capability are used.
        method2: The version 2 method, whose types are used.
        conversions: Other fields of the row: the conversions of what does differ. Params and
            results that need an upgrade are decoded as version 1 types.
    """
    params = method1.params if "upgrade" in conversions else method2.params
    result = method1.result if "upgrade_result" in conversions else method2.result
    return MethodTranslation(
        v1=structs.replace(method1, params=params, result=result), v2=method2, **conversions
    )


# Initialization


def downgrade_info(info: v2.Implementation) -> v1.Implementation:
    """Downgrade the name and version of a client or an agent."""
    return v1.Implementation(name=info.name, version=info.version, title=info.title, meta=info.meta)


def upgrade_info(info: v1.Implementation) -> v2.Implementation:
    """Upgrade the name and version of a client or an agent."""
    return v2.Implementation(name=info.name, version=info.version, title=info.title, meta=info.meta)


def downgrade_auth_methods(methods: Iterable[v2.AuthMethod]) -> list[v1.AuthMethod]:
    """Downgrade the authentication methods.

    Methods of an unknown type are dropped: a client would take them for the agent's own method.
    """
    return [_downgrade_auth_method(each) for each in methods if not isinstance(each, Unknown)]


def _downgrade_auth_method(method: v2.AuthMethodAgent | v2.AuthMethodTerminal) -> v1.AuthMethod:
    fields = structs.asdict(method)
    fields["id"] = fields.pop("method_id")
    if isinstance(method, v2.AuthMethodAgent):
        return v1.AuthMethodAgent(**fields)
    fields["env"] = {variable.name: variable.value for variable in method.env}
    return v1.AuthMethodTerminal(**fields)


def upgrade_auth_method(method: v1.AuthMethod) -> v2.AuthMethod:
    """Upgrade an authentication method."""
    fields = structs.asdict(method)
    fields["method_id"] = fields.pop("id")
    if isinstance(method, v1.AuthMethodAgent):
        return v2.AuthMethodAgent(**fields)
    fields["env"] = [v2.EnvVariable(name=name, value=value) for name, value in method.env.items()]
    return v2.AuthMethodTerminal(**fields)


# Opening sessions


def _downgrade_server(server: v2.McpServer) -> v1.McpServer:
    if isinstance(server, Unknown):
        if server.tag == "sse":
            return reencode(server, v1.McpServerSse)
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
            return v1.McpServerAcp(**fields)


def _upgrade_server(server: v1.McpServer) -> v2.McpServer:
    fields = structs.asdict(server)
    match server:
        case v1.McpServerStdio():
            fields["env"] = [v2.EnvVariable(**structs.asdict(each)) for each in server.env]
            return v2.McpServerStdio(**fields)
        case v1.McpServerHttp():
            fields["headers"] = [v2.HttpHeader(**structs.asdict(each)) for each in server.headers]
            return v2.McpServerHttp(**fields)
        case v1.McpServerAcp():
            return v2.McpServerAcp(**fields)
        case _:
            return Unknown("sse", encode(server))


def _downgrade_setup(cls: Callable[..., T], request: Any, **fields: Any) -> T:
    system = request.system_prompt
    if system is not None:
        content = downgrade_prompt(system.content)
        system = v1.SystemPrompt(mode=system.mode, content=content, meta=system.meta)
    return cls(
        cwd=request.cwd,
        additional_directories=request.additional_directories,
        mcp_servers=[_downgrade_server(server) for server in request.mcp_servers],
        system_prompt=system,
        meta=request.meta,
        **fields,
    )


def _upgrade_setup(cls: Callable[..., T], request: Any, **fields: Any) -> T:
    system = request.system_prompt
    if system is not None:
        content = upgrade_blocks(system.content)
        system = v2.SystemPrompt(mode=system.mode, content=content, meta=system.meta)
    return cls(
        cwd=request.cwd,
        additional_directories=request.additional_directories,
        mcp_servers=[_upgrade_server(server) for server in request.mcp_servers],
        system_prompt=system,
        meta=request.meta,
        **fields,
    )


def downgrade_new(request: v2.NewSessionRequest) -> v1.NewSessionRequest:
    """Downgrade the params of `session/new`."""
    return _downgrade_setup(v1.NewSessionRequest, request)


def upgrade_new(request: v1.NewSessionRequest) -> v2.NewSessionRequest:
    """Upgrade the params of `session/new`."""
    return _upgrade_setup(v2.NewSessionRequest, request)


def downgrade_fork(request: v2.ForkSessionRequest) -> v1.ForkSessionRequest:
    """Downgrade the params of `session/fork`."""
    return _downgrade_setup(v1.ForkSessionRequest, request, session_id=request.session_id)


def upgrade_fork(request: v1.ForkSessionRequest) -> v2.ForkSessionRequest:
    """Upgrade the params of `session/fork`."""
    return _upgrade_setup(v2.ForkSessionRequest, request, session_id=request.session_id)


def downgrade_resume(request: v2.ResumeSessionRequest) -> v1.ResumeSessionRequest:
    """Downgrade the params of `session/resume` without replay."""
    return _downgrade_setup(v1.ResumeSessionRequest, request, session_id=request.session_id)


def upgrade_resume(request: v1.ResumeSessionRequest) -> v2.ResumeSessionRequest:
    """Upgrade the params of `session/resume`, which does not replay in version 1."""
    return _upgrade_setup(v2.ResumeSessionRequest, request, session_id=request.session_id)


def downgrade_load(request: v2.ResumeSessionRequest) -> v1.LoadSessionRequest:
    """Downgrade the params of `session/resume` with replay to those of `session/load`.

    Raises:
        Unsupported: The replay would not begin at the start.
    """
    if isinstance(request.replay_from, Unknown):
        raise Unsupported("version 1 of the protocol replays whole sessions only")
    return _downgrade_setup(v1.LoadSessionRequest, request, session_id=request.session_id)


def upgrade_load(request: v1.LoadSessionRequest) -> v2.ResumeSessionRequest:
    """Upgrade the params of `session/load` to a resume that replays from the start."""
    return _upgrade_setup(
        v2.ResumeSessionRequest,
        request,
        session_id=request.session_id,
        replay_from=v2.ReplayFromStart(),
    )


# Prompts and requests to the user


def downgrade_prompt_request(request: v2.PromptRequest) -> v1.PromptRequest:
    """Downgrade the params of `session/prompt`.

    Raises:
        Unsupported: Version 1 does not have one of its blocks.
    """
    return v1.PromptRequest(
        session_id=request.session_id, prompt=downgrade_prompt(request.prompt), meta=request.meta
    )


def upgrade_prompt(request: v1.PromptRequest) -> v2.PromptRequest:
    """Upgrade the params of `session/prompt`."""
    return v2.PromptRequest(
        session_id=request.session_id, prompt=upgrade_blocks(request.prompt), meta=request.meta
    )


def downgrade_permission_response(
    response: v2.RequestPermissionResponse,
) -> v2.RequestPermissionResponse:
    """Downgrade the user's decision; an outcome of an unknown type becomes `cancelled`."""
    if isinstance(response.outcome, Unknown):
        return v2.RequestPermissionResponse(
            outcome=v2.CancelledPermissionOutcome(), meta=response.meta
        )
    return response


def _upgrade_elicitation(request: v1.CreateElicitationRequest) -> v2.CreateElicitationRequest:
    if isinstance(request, Unknown):
        return request
    if request.session_id is not None and request.request_id is not UNSET:
        # With both ids, the session takes precedence; version 2 allows only one of them.
        request = structs.replace(request, request_id=UNSET)
    upgraded: v2.CreateElicitationRequest = reencode(request, v2.CreateElicitationRequest)
    return upgraded


def _downgrade_status(result: v2.SessionStatusResponse) -> v2.SessionStatusResponse:
    return structs.replace(result, state=None)


# Next edit suggestions

_REJECT_REASONS: tuple[str, ...] = get_args(nes1.NesRejectReason)


def upgrade_suggestion(suggestion: nes1.NesSuggestion) -> nes2.NesSuggestion | None:
    """Upgrade a suggestion; return None if a required field is missing."""
    fields: dict[str, Any] = reencode(suggestion, dict[str, Any])
    fields["suggestionId"] = fields.pop("id")
    action = suggestion if isinstance(suggestion, nes1.NesActionSuggestion) else None
    # A well-known action has the fields of the version 2 kind of that name as its arguments.
    if action is not None and action.action_id in WELL_KNOWN_ACTIONS:
        fields = {**(action.arguments or {}), **fields, "kind": action.action_id}
    try:
        upgraded: nes2.NesSuggestion = reencode(fields, nes2.NesSuggestion)
    except Unsupported:  # an action without a required argument, or an edit without edits
        return None
    return upgraded


def downgrade_suggestion(
    suggestion: nes2.NesSuggestion, actions: Sequence[str] = ()
) -> nes1.NesSuggestion | None:
    """Downgrade a suggestion; return None if its kind is unknown.

    Args:
        suggestion: The version 2 suggestion.
        actions: The kinds that the client expects as an `action`.
    """
    if isinstance(suggestion, Unknown):
        return None
    fields: dict[str, Any] = reencode(suggestion, dict[str, Any])
    id, meta = fields.pop("suggestionId"), fields.pop("_meta", None)
    if fields["kind"] in actions:
        kind = fields.pop("kind")
        return nes1.NesActionSuggestion(id=id, action_id=kind, arguments=fields, meta=meta)
    fields |= {"id": id, "_meta": meta}
    downgraded: nes1.NesSuggestion = reencode(fields, nes1.NesSuggestion)
    return downgraded


def _upgrade_start_nes(response: nes1.StartNesResponse) -> nes2.StartNesResponse:
    options = upgrade_options(response.config_options or ())
    return nes2.StartNesResponse(
        session_id=response.session_id, config_options=options, meta=response.meta
    )


def _upgrade_suggestions(response: nes1.SuggestNesResponse) -> nes2.SuggestNesResponse:
    upgraded = [upgrade_suggestion(each) for each in response.suggestions]
    return nes2.SuggestNesResponse(
        suggestions=[each for each in upgraded if each is not None], meta=response.meta
    )


def downgrade_suggestions(
    response: nes2.SuggestNesResponse, actions: Sequence[str] = ()
) -> nes1.SuggestNesResponse:
    """Downgrade the response to `nes/suggest`; see `downgrade_suggestion` for `actions`."""
    downgraded = [downgrade_suggestion(each, actions) for each in response.suggestions]
    return nes1.SuggestNesResponse(
        suggestions=[each for each in downgraded if each is not None], meta=response.meta
    )


def _downgrade_accept(note: nes2.AcceptNesNotification) -> nes1.AcceptNesNotification:
    return nes1.AcceptNesNotification(
        session_id=note.session_id, id=note.suggestion_id, meta=note.meta
    )


def _upgrade_accept(note: nes1.AcceptNesNotification) -> nes2.AcceptNesNotification:
    return nes2.AcceptNesNotification(
        session_id=note.session_id, suggestion_id=note.id, meta=note.meta
    )


def _downgrade_reject(note: nes2.RejectNesNotification) -> nes1.RejectNesNotification:
    reason = cast("nes1.NesRejectReason", note.reason) if note.reason in _REJECT_REASONS else None
    return nes1.RejectNesNotification(
        session_id=note.session_id, id=note.suggestion_id, reason=reason, meta=note.meta
    )


def _upgrade_reject(note: nes1.RejectNesNotification) -> nes2.RejectNesNotification:
    return nes2.RejectNesNotification(
        session_id=note.session_id, suggestion_id=note.id, reason=note.reason, meta=note.meta
    )


# Requests whose translation depends on the session


def _upgrade_set_option(
    request: v1.SetSessionConfigOptionRequest, session: SessionUpgrader | SessionDowngrader
) -> v2.SetSessionConfigOptionRequest:
    """Upgrade a request to set an option; only a `SessionDowngrader` has changed any options."""
    if not isinstance(session, SessionDowngrader):
        session = SessionDowngrader(ClientFeatures())
    return session.set_option(request)


def _check_v1_permission(request: object, session: object) -> object:
    """Return a version 1 permission request unchanged; raise `Unsupported` for any other.

    A version 2 request is downgraded by `SessionDowngrader.permission`, which also returns the
    updates for the user's decision.
    """
    del session
    if isinstance(request, v1.RequestPermissionRequest):
        return request
    raise Unsupported(
        "version 1 of the protocol has permission requests only for tool calls. "
        "Send a version 1 request."
    )


def _replays(request: object, session: object) -> bool:
    del session
    return isinstance(request, v2.ResumeSessionRequest) and request.replay_from is not None


# The table

_ROWS: tuple[MethodTranslation, ...] = (
    _same_json(methods1.AUTHENTICATE, methods2.LOGIN_AUTH),
    _same_json(methods1.LOGOUT, methods2.LOGOUT_AUTH),
    _same_json(methods1.AUTH_STATUS, methods2.AUTH_STATUS),
    _same_json(methods1.AUTH_STATUS_UPDATE, methods2.AUTH_STATUS_UPDATE),
    # Opening sessions
    MethodTranslation(
        v1=methods1.NEW_SESSION,
        v2=methods2.NEW_SESSION,
        downgrade=_stateless(downgrade_new),
        upgrade=_stateless(upgrade_new),
        downgrade_result=lambda result, session: session.new_session(result),
        upgrade_result=lambda result, session, _: session.new_session(result),
        is_reversible=False,
    ),
    MethodTranslation(
        v1=methods1.FORK_SESSION,
        v2=methods2.FORK_SESSION,
        downgrade=_stateless(downgrade_fork),
        upgrade=_stateless(upgrade_fork),
        downgrade_result=lambda result, session: session.fork_session(result),
        upgrade_result=lambda result, session, _: session.fork_session(result),
        is_reversible=False,
    ),
    MethodTranslation(
        v1=methods1.RESUME_SESSION,
        v2=methods2.RESUME_SESSION,
        downgrade=_stateless(downgrade_resume),
        upgrade=_stateless(upgrade_resume),
        downgrade_result=lambda result, session: session.resume_session(result),
        upgrade_result=lambda result, session, _: session.resume_session(result),
        is_reversible=False,
    ),
    MethodTranslation(
        v1=methods1.LOAD_SESSION,
        v2=methods2.RESUME_SESSION,
        downgrade=_stateless(downgrade_load),
        upgrade=_stateless(upgrade_load),
        downgrade_result=lambda result, session: session.load_session(result),
        upgrade_result=lambda result, session, _: session.resume_session(result),
        applies=_replays,
        is_reversible=False,
    ),
    # Sessions
    _same_json(methods1.LIST_SESSIONS, methods2.LIST_SESSIONS),
    _same_json(methods1.CLOSE_SESSION, methods2.CLOSE_SESSION),
    _same_json(methods1.DELETE_SESSION, methods2.DELETE_SESSION),
    _same_json(methods1.ARCHIVE_SESSION, methods2.ARCHIVE_SESSION),
    _same_json(methods1.UNARCHIVE_SESSION, methods2.UNARCHIVE_SESSION),
    _same_json(methods1.SET_SESSION_TITLE, methods2.SET_SESSION_TITLE),
    _same_json(
        methods1.SESSION_STATUS,
        methods2.SESSION_STATUS,
        downgrade_result=_stateless(_downgrade_status),
    ),
    MethodTranslation(
        v1=methods1.SET_SESSION_CONFIG_OPTION,
        v2=methods2.SET_SESSION_CONFIG_OPTION,
        downgrade=lambda request, session: session.set_option(request),
        upgrade=_upgrade_set_option,
        downgrade_result=lambda result, session: session.option_set(result),
        upgrade_result=lambda result, session, _: session.option_set(result),
        is_reversible=False,
    ),
    MethodTranslation(
        v1=methods1.SET_SESSION_MODE,
        v2=methods2.SET_SESSION_CONFIG_OPTION,
        downgrade=lambda request, session: session.set_option(request),
        upgrade=lambda request, session: session.set_mode(request),
        downgrade_result=lambda result, _: v1.SetSessionModeResponse(meta=result.meta),
        upgrade_result=lambda result, session, request: session.mode_set(request, result),
        applies=lambda request, session: session.sets_mode(request),
        is_reversible=False,
        is_in_dialect=False,
    ),
    # Turns. In version 1 the response to a prompt ends its turn, so it stays as it is here: the
    # adapters and the replay make a turn of it.
    MethodTranslation(
        v1=methods1.PROMPT,
        v2=methods2.PROMPT,
        downgrade=_stateless(downgrade_prompt_request),
        upgrade=_stateless(upgrade_prompt),
        is_reversible=False,
    ),
    _same_json(methods1.CANCEL_SESSION, methods2.CANCEL_SESSION),
    _same_json(
        methods1.REQUEST_PERMISSION,
        methods2.REQUEST_PERMISSION,
        downgrade=_check_v1_permission,
        upgrade=lambda request, session: session.permission(request),
        downgrade_result=_stateless(downgrade_permission_response),
    ),
    _same_json(
        methods1.CREATE_ELICITATION,
        methods2.CREATE_ELICITATION,
        upgrade=_stateless(_upgrade_elicitation),
    ),
    _same_json(methods1.COMPLETE_ELICITATION, methods2.COMPLETE_ELICITATION),
    # Providers and MCP. Proxies read both forms of `mcp/message`, with and without a connection.
    _same_json(methods1.LIST_PROVIDERS, methods2.LIST_PROVIDERS),
    _same_json(methods1.SET_PROVIDER, methods2.SET_PROVIDER),
    _same_json(methods1.DISABLE_PROVIDER, methods2.DISABLE_PROVIDER),
    _same_json(methods1.MESSAGE_MCP, methods2.MESSAGE_MCP, is_in_dialect=False),
    _same_json(
        methods1.MESSAGE_MCP_NOTIFICATION, methods2.MESSAGE_MCP_NOTIFICATION, is_in_dialect=False
    ),
    # Next edit suggestions
    _same_json(
        methods1.START_NES,
        methods2.START_NES,
        downgrade_result=lambda result, session: session.start_nes(result),
        upgrade_result=_stateless(_upgrade_start_nes),
    ),
    _same_json(
        methods1.SUGGEST_NES,
        methods2.SUGGEST_NES,
        downgrade_result=lambda result, session: downgrade_suggestions(
            result, session.features.nes_actions
        ),
        upgrade_result=_stateless(_upgrade_suggestions),
    ),
    _same_json(methods1.CLOSE_NES, methods2.CLOSE_NES),
    _same_json(
        methods1.ACCEPT_NES,
        methods2.ACCEPT_NES,
        downgrade=_stateless(_downgrade_accept),
        upgrade=_stateless(_upgrade_accept),
    ),
    _same_json(
        methods1.REJECT_NES,
        methods2.REJECT_NES,
        downgrade=_stateless(_downgrade_reject),
        upgrade=_stateless(_upgrade_reject),
    ),
    *(
        _same_json(method1, method2)
        for method1, method2 in zip(
            methods1.DOCUMENT_METHODS, methods2.DOCUMENT_METHODS, strict=True
        )
    ),
)

TRANSLATIONS: dict[tuple[Kind, str], tuple[MethodTranslation, ...]] = {
    (row.v2.kind, row.v2.name): tuple(
        each for each in _ROWS if (each.v2.kind, each.v2.name) == (row.v2.kind, row.v2.name)
    )
    for row in _ROWS
}
"""The version 1 forms of each method, the usual one first, by kind and version 2 name."""

V1_TRANSLATIONS: dict[tuple[Kind, str], MethodTranslation] = {
    (row.v1.kind, row.v1.name): row for row in _ROWS
}
"""The same rows, by kind and version 1 name."""


def translation_of(
    kind: Kind, name: str, params: object, session: SessionUpgrader
) -> MethodTranslation:
    """Return the row for version 2 params, given the version 2 name of a translated method."""
    forms = TRANSLATIONS[kind, name]
    special = (row for row in forms if row.applies is not None and row.applies(params, session))
    return next(special, forms[0])
