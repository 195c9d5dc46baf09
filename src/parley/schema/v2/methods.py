"""The methods of version 2, stable and unstable: one row each, and the table of all.

A row has the name of its params type without the last word: `NewSessionRequest` is sent with
`NEW_SESSION`. Methods that were removed from the schema and proposals are in `extra_methods.py`.

`tool_call/cancel` and `terminal/cancel` also require that the tool call or the terminal itself
currently allows it. `auth/login` and `auth/logout` require that the agent has auth methods.

Spec: https://agentclientprotocol.com/protocol/v2/schema
"""

from __future__ import annotations

from parley.schema.base import Method, MethodTable

from . import (
    auth,
    cancel,
    config,
    elicitation,
    initialize,
    mcp,
    permission,
    prompt,
    providers,
    proxy,
    session,
    terminal,
    tools,
    updates,
)

# fmt: off
__all__ = [
    "ARCHIVE_SESSION", "AUTH_STATUS", "AUTH_STATUS_UPDATE", "CANCEL_REQUEST", "CANCEL_SESSION",
    "CANCEL_TERMINAL", "CANCEL_TOOL_CALL", "CLOSE_SESSION", "COMPLETE_ELICITATION",
    "CREATE_ELICITATION", "DELETE_SESSION", "DISABLE_PROVIDER", "FORK_SESSION", "INITIALIZE",
    "INITIALIZE_PROXY", "LIST_PROVIDERS", "LIST_SESSIONS", "LOGIN_AUTH", "LOGOUT_AUTH",
    "MESSAGE_MCP", "MESSAGE_MCP_NOTIFICATION", "NEW_SESSION", "PROMPT", "PROXY_SUCCESSOR",
    "PROXY_SUCCESSOR_NOTIFICATION", "REQUEST_PERMISSION", "RESUME_SESSION", "SESSION_STATUS",
    "SET_PROVIDER", "SET_SESSION_CONFIG_OPTION", "SET_SESSION_TITLE", "TABLE",
    "UNARCHIVE_SESSION", "UPDATE_SESSION",
]
# fmt: on

INITIALIZE: Method[initialize.InitializeRequest, initialize.InitializeResponse] = Method(
    name="initialize",
    to="agent",
    kind="request",
    params=initialize.InitializeRequest,
    result=initialize.InitializeResponse,
)
LOGIN_AUTH: Method[auth.LoginAuthRequest, auth.LoginAuthResponse] = Method(
    name="auth/login",
    to="agent",
    kind="request",
    params=auth.LoginAuthRequest,
    result=auth.LoginAuthResponse,
)
LOGOUT_AUTH: Method[auth.LogoutAuthRequest, auth.LogoutAuthResponse] = Method(
    name="auth/logout",
    to="agent",
    kind="request",
    params=auth.LogoutAuthRequest,
    result=auth.LogoutAuthResponse,
)
AUTH_STATUS: Method[auth.AuthStatusRequest, auth.AuthStatusResponse] = Method(
    name="auth/status",
    to="agent",
    kind="request",
    params=auth.AuthStatusRequest,
    result=auth.AuthStatusResponse,
    stability="unstable",
    capability="auth.status",
)
AUTH_STATUS_UPDATE: Method[auth.AuthStatusUpdateNotification, None] = Method(
    name="auth/status_update",
    to="client",
    kind="notification",
    params=auth.AuthStatusUpdateNotification,
    stability="unstable",
)
NEW_SESSION: Method[session.NewSessionRequest, session.NewSessionResponse] = Method(
    name="session/new",
    to="agent",
    kind="request",
    params=session.NewSessionRequest,
    result=session.NewSessionResponse,
    capability="session",
    opens_session=True,
)
LIST_SESSIONS: Method[session.ListSessionsRequest, session.ListSessionsResponse] = Method(
    name="session/list",
    to="agent",
    kind="request",
    params=session.ListSessionsRequest,
    result=session.ListSessionsResponse,
    capability="session",
)
RESUME_SESSION: Method[session.ResumeSessionRequest, session.ResumeSessionResponse] = Method(
    name="session/resume",
    to="agent",
    kind="request",
    params=session.ResumeSessionRequest,
    result=session.ResumeSessionResponse,
    capability="session",
    session="session_id",
)
CLOSE_SESSION: Method[session.CloseSessionRequest, session.CloseSessionResponse] = Method(
    name="session/close",
    to="agent",
    kind="request",
    params=session.CloseSessionRequest,
    result=session.CloseSessionResponse,
    capability="session",
    session="session_id",
    closes_session=True,
)
DELETE_SESSION: Method[session.DeleteSessionRequest, session.DeleteSessionResponse] = Method(
    name="session/delete",
    to="agent",
    kind="request",
    params=session.DeleteSessionRequest,
    result=session.DeleteSessionResponse,
    capability="session.delete",
    session="session_id",
    closes_session=True,
)
FORK_SESSION: Method[session.ForkSessionRequest, session.ForkSessionResponse] = Method(
    name="session/fork",
    to="agent",
    kind="request",
    params=session.ForkSessionRequest,
    result=session.ForkSessionResponse,
    stability="unstable",
    capability="session.fork",
    session="session_id",
    opens_session=True,
)
ARCHIVE_SESSION: Method[session.ArchiveSessionRequest, session.ArchiveSessionResponse] = Method(
    name="session/archive",
    to="agent",
    kind="request",
    params=session.ArchiveSessionRequest,
    result=session.ArchiveSessionResponse,
    stability="unstable",
    capability="session.archive",
    session="session_id",
    closes_session=True,
)
UNARCHIVE_SESSION: Method[session.UnarchiveSessionRequest, session.UnarchiveSessionResponse] = (
    Method(
        name="session/unarchive",
        to="agent",
        kind="request",
        params=session.UnarchiveSessionRequest,
        result=session.UnarchiveSessionResponse,
        stability="unstable",
        capability="session.archive",
        session="session_id",
    )
)
SESSION_STATUS: Method[session.SessionStatusRequest, session.SessionStatusResponse] = Method(
    name="session/status",
    to="agent",
    kind="request",
    params=session.SessionStatusRequest,
    result=session.SessionStatusResponse,
    stability="unstable",
    capability="session.status",
    session="session_id",
)
SET_SESSION_TITLE: Method[session.SetSessionTitleRequest, session.SetSessionTitleResponse] = Method(
    name="session/set_title",
    to="agent",
    kind="request",
    params=session.SetSessionTitleRequest,
    result=session.SetSessionTitleResponse,
    stability="unstable",
    capability="session.title",
    session="session_id",
)
SET_SESSION_CONFIG_OPTION: Method[
    config.SetSessionConfigOptionRequest, config.SetSessionConfigOptionResponse
] = Method(
    name="session/set_config_option",
    to="agent",
    kind="request",
    params=config.SetSessionConfigOptionRequest,
    result=config.SetSessionConfigOptionResponse,
    capability="session",
    session="session_id",
)
PROMPT: Method[prompt.PromptRequest, prompt.PromptResponse] = Method(
    name="session/prompt",
    to="agent",
    kind="request",
    params=prompt.PromptRequest,
    result=prompt.PromptResponse,
    capability="session",
    session="session_id",
)
CANCEL_SESSION: Method[prompt.CancelSessionNotification, None] = Method(
    name="session/cancel",
    to="agent",
    kind="notification",
    params=prompt.CancelSessionNotification,
    capability="session",
    session="session_id",
    is_urgent=True,
)
CANCEL_TOOL_CALL: Method[tools.CancelToolCallRequest, tools.CancelToolCallResponse] = Method(
    name="tool_call/cancel",
    to="agent",
    kind="request",
    params=tools.CancelToolCallRequest,
    result=tools.CancelToolCallResponse,
    capability="session",
    session="session_id",
)
CANCEL_TERMINAL: Method[terminal.CancelTerminalRequest, terminal.CancelTerminalResponse] = Method(
    name="terminal/cancel",
    to="agent",
    kind="request",
    params=terminal.CancelTerminalRequest,
    result=terminal.CancelTerminalResponse,
    capability="session",
    session="session_id",
)
UPDATE_SESSION: Method[updates.UpdateSessionNotification, None] = Method(
    name="session/update",
    to="client",
    kind="notification",
    params=updates.UpdateSessionNotification,
    session="session_id",
)
REQUEST_PERMISSION: Method[
    permission.RequestPermissionRequest, permission.RequestPermissionResponse
] = Method(
    name="session/request_permission",
    to="client",
    kind="request",
    params=permission.RequestPermissionRequest,
    result=permission.RequestPermissionResponse,
    session="session_id",
)
CREATE_ELICITATION: Method[
    elicitation.CreateElicitationRequest, elicitation.CreateElicitationResponse
] = Method(
    name="elicitation/create",
    to="client",
    kind="request",
    params=elicitation.CreateElicitationRequest,
    result=elicitation.CreateElicitationResponse,
    capability="elicitation",
    session="session_id",
)
COMPLETE_ELICITATION: Method[elicitation.CompleteElicitationNotification, None] = Method(
    name="elicitation/complete",
    to="client",
    kind="notification",
    params=elicitation.CompleteElicitationNotification,
    capability="elicitation.url",
)
LIST_PROVIDERS: Method[providers.ListProvidersRequest, providers.ListProvidersResponse] = Method(
    name="providers/list",
    to="agent",
    kind="request",
    params=providers.ListProvidersRequest,
    result=providers.ListProvidersResponse,
    stability="unstable",
    capability="providers",
)
SET_PROVIDER: Method[providers.SetProviderRequest, providers.SetProviderResponse] = Method(
    name="providers/set",
    to="agent",
    kind="request",
    params=providers.SetProviderRequest,
    result=providers.SetProviderResponse,
    stability="unstable",
    capability="providers",
)
DISABLE_PROVIDER: Method[providers.DisableProviderRequest, providers.DisableProviderResponse] = (
    Method(
        name="providers/disable",
        to="agent",
        kind="request",
        params=providers.DisableProviderRequest,
        result=providers.DisableProviderResponse,
        stability="unstable",
        capability="providers",
    )
)
MESSAGE_MCP: Method[mcp.MessageMcpRequest, mcp.MessageMcpResponse] = Method(
    name="mcp/message",
    to="client",
    kind="request",
    params=mcp.MessageMcpRequest,
    result=mcp.MessageMcpResponse,
    stability="unstable",
)
MESSAGE_MCP_NOTIFICATION: Method[mcp.MessageMcpNotification, None] = Method(
    name="mcp/message",
    to="agent",
    kind="notification",
    params=mcp.MessageMcpNotification,
    stability="unstable",
    capability="session.mcp.acp",
)
INITIALIZE_PROXY: Method[proxy.InitializeProxyRequest, proxy.InitializeProxyResponse] = Method(
    name="proxy/initialize",
    to="agent",
    kind="request",
    params=proxy.InitializeProxyRequest,
    result=proxy.InitializeProxyResponse,
    stability="unstable",
)
PROXY_SUCCESSOR: Method[proxy.ProxySuccessorRequest, proxy.ProxySuccessorResponse] = Method(
    name="proxy/successor",
    to="either",
    kind="request",
    params=proxy.ProxySuccessorRequest,
    result=proxy.ProxySuccessorResponse,
    stability="unstable",
)
PROXY_SUCCESSOR_NOTIFICATION: Method[proxy.ProxySuccessorNotification, None] = Method(
    name="proxy/successor",
    to="either",
    kind="notification",
    params=proxy.ProxySuccessorNotification,
    stability="unstable",
)
CANCEL_REQUEST: Method[cancel.CancelRequestNotification, None] = Method(
    name="$/cancel_request",
    to="either",
    kind="notification",
    params=cancel.CancelRequestNotification,
    is_urgent=True,
)

TABLE = MethodTable(
    2,
    (
        INITIALIZE,
        LOGIN_AUTH,
        LOGOUT_AUTH,
        AUTH_STATUS,
        AUTH_STATUS_UPDATE,
        NEW_SESSION,
        LIST_SESSIONS,
        RESUME_SESSION,
        CLOSE_SESSION,
        DELETE_SESSION,
        FORK_SESSION,
        ARCHIVE_SESSION,
        UNARCHIVE_SESSION,
        SESSION_STATUS,
        SET_SESSION_TITLE,
        SET_SESSION_CONFIG_OPTION,
        PROMPT,
        CANCEL_SESSION,
        CANCEL_TOOL_CALL,
        CANCEL_TERMINAL,
        UPDATE_SESSION,
        REQUEST_PERMISSION,
        CREATE_ELICITATION,
        COMPLETE_ELICITATION,
        LIST_PROVIDERS,
        SET_PROVIDER,
        DISABLE_PROVIDER,
        MESSAGE_MCP,
        MESSAGE_MCP_NOTIFICATION,
        INITIALIZE_PROXY,
        PROXY_SUCCESSOR,
        PROXY_SUCCESSOR_NOTIFICATION,
        CANCEL_REQUEST,
    ),
    allows_null_ids=False,
)
