"""The methods of version 2, one row each, and the table for dispatching and calling them.

To add a method, declare its row: two or three lines. A row has the name of its params type without
the last word: `NewSessionRequest` is sent with `NEW_SESSION`. `stability` says where the method is
defined, see `Method`. `TABLE` contains the rows of the schema, stable and unstable. Methods that
were removed from the schema, and proposals, are in groups: a program that supports a group adds it
with `TABLE.extended(NES_METHODS + DOCUMENT_METHODS)`.

`tool_call/cancel` and `terminal/cancel` also require that the tool call or the terminal itself
currently allows it. `auth/login` and `auth/logout` require that the agent has auth methods.

With `MCP_CONNECTION_METHODS`, `mcp/message` is read in both forms, distinguished by their keys: the
older one with a connection, and the current one, whose rows these replace. The sender knows which
form it sends, and therefore the type of the response: `MESSAGE_MCP` or `MESSAGE_MCP_CONNECTION`.

Spec: https://agentclientprotocol.com/protocol/v2/schema
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from parley.schema import v2
from parley.schema.base import Method, MethodTable, Untagged, declared_in, notification, request

# A table reads better with each row in two or three lines.
# fmt: off

INITIALIZE = request("initialize", v2.InitializeRequest, v2.InitializeResponse, to="agent")
LOGIN_AUTH = request("auth/login", v2.LoginAuthRequest, v2.LoginAuthResponse, to="agent")
LOGOUT_AUTH = request("auth/logout", v2.LogoutAuthRequest, v2.LogoutAuthResponse, to="agent")
AUTH_STATUS = request(
    "auth/status", v2.AuthStatusRequest, v2.AuthStatusResponse,
    to="agent", capability="auth.status", stability="unstable")
AUTH_STATUS_UPDATE = notification(
    "auth/status_update", v2.AuthStatusUpdateNotification, to="client", stability="unstable")
NEW_SESSION = request(
    "session/new", v2.NewSessionRequest, v2.NewSessionResponse,
    to="agent", capability="session", opens_session=True)
LIST_SESSIONS = request(
    "session/list", v2.ListSessionsRequest, v2.ListSessionsResponse,
    to="agent", capability="session")
RESUME_SESSION = request(
    "session/resume", v2.ResumeSessionRequest, v2.ResumeSessionResponse,
    to="agent", capability="session")
CLOSE_SESSION = request(
    "session/close", v2.CloseSessionRequest, v2.CloseSessionResponse,
    to="agent", capability="session", closes_session=True)
DELETE_SESSION = request(
    "session/delete", v2.DeleteSessionRequest, v2.DeleteSessionResponse,
    to="agent", capability="session.delete", closes_session=True)
FORK_SESSION = request(
    "session/fork", v2.ForkSessionRequest, v2.ForkSessionResponse,
    to="agent", capability="session.fork", stability="unstable", opens_session=True)
ARCHIVE_SESSION = request(
    "session/archive", v2.ArchiveSessionRequest, v2.ArchiveSessionResponse,
    to="agent", capability="session.archive", stability="unstable", closes_session=True)
UNARCHIVE_SESSION = request(
    "session/unarchive", v2.UnarchiveSessionRequest, v2.UnarchiveSessionResponse,
    to="agent", capability="session.archive", stability="unstable")
SESSION_STATUS = request(
    "session/status", v2.SessionStatusRequest, v2.SessionStatusResponse,
    to="agent", capability="session.status", stability="unstable")
SET_SESSION_TITLE = request(
    "session/set_title", v2.SetSessionTitleRequest, v2.SetSessionTitleResponse,
    to="agent", capability="session.title", stability="unstable")
SET_SESSION_CONFIG_OPTION: Method[
    v2.SetSessionConfigOptionRequest, v2.SetSessionConfigOptionResponse
] = request(
    "session/set_config_option",
    v2.SetSessionConfigOptionRequest, v2.SetSessionConfigOptionResponse,
    to="agent", capability="session")
PROMPT = request(
    "session/prompt", v2.PromptRequest, v2.PromptResponse, to="agent", capability="session")
CANCEL_SESSION = notification(
    "session/cancel", v2.CancelSessionNotification,
    to="agent", capability="session", is_urgent=True)
CANCEL_TOOL_CALL = request(
    "tool_call/cancel", v2.CancelToolCallRequest, v2.CancelToolCallResponse,
    to="agent", capability="session")
CANCEL_TERMINAL = request(
    "terminal/cancel", v2.CancelTerminalRequest, v2.CancelTerminalResponse,
    to="agent", capability="session")
UPDATE_SESSION = notification("session/update", v2.UpdateSessionNotification, to="client")
REQUEST_PERMISSION = request(
    "session/request_permission", v2.RequestPermissionRequest, v2.RequestPermissionResponse,
    to="client")
CREATE_ELICITATION: Method[v2.CreateElicitationRequest, v2.CreateElicitationResponse] = request(
    "elicitation/create", v2.CreateElicitationRequest, v2.CreateElicitationResponse,
    to="client", capability="elicitation")
COMPLETE_ELICITATION = notification(
    "elicitation/complete", v2.CompleteElicitationNotification,
    to="client", capability="elicitation.url")
LIST_PROVIDERS = request(
    "providers/list", v2.ListProvidersRequest, v2.ListProvidersResponse,
    to="agent", capability="providers", stability="unstable")
SET_PROVIDER = request(
    "providers/set", v2.SetProviderRequest, v2.SetProviderResponse,
    to="agent", capability="providers", stability="unstable")
DISABLE_PROVIDER = request(
    "providers/disable", v2.DisableProviderRequest, v2.DisableProviderResponse,
    to="agent", capability="providers", stability="unstable")
MESSAGE_MCP: Method[v2.MessageMcpRequest, v2.MessageMcpResponse] = request(
    "mcp/message", v2.MessageMcpRequest, v2.MessageMcpResponse, to="client", stability="unstable")
MESSAGE_MCP_NOTIFICATION = notification(
    "mcp/message", v2.MessageMcpNotification,
    to="agent", capability="session.mcp.acp", stability="unstable")
INITIALIZE_PROXY = request(
    "proxy/initialize", v2.InitializeProxyRequest, v2.InitializeProxyResponse,
    to="agent", stability="unstable")
PROXY_SUCCESSOR = request(
    "proxy/successor", v2.ProxySuccessorRequest, v2.ProxySuccessorResponse,
    to="either", stability="unstable")
PROXY_SUCCESSOR_NOTIFICATION = notification(
    "proxy/successor", v2.ProxySuccessorNotification, to="either", stability="unstable")
CANCEL_REQUEST = notification(
    "$/cancel_request", v2.CancelRequestNotification, to="either", is_urgent=True)

TABLE = MethodTable(2, declared_in(globals()), allows_null_ids=False)

# Removed from the schema, and proposals.

LOAD_SESSION = request(
    "session/load", v2.LoadSessionRequest, v2.LoadSessionResponse,
    to="agent", capability="session", stability="former")
"""A resume with replay, as an earlier draft of version 2 had it; it has no `replayFrom`."""

START_NES = request(
    "nes/start", v2.StartNesRequest, v2.StartNesResponse,
    to="agent", capability="nes", stability="former", opens_session=True)
SUGGEST_NES = request(
    "nes/suggest", v2.SuggestNesRequest, v2.SuggestNesResponse,
    to="agent", capability="nes", stability="former")
ACCEPT_NES = notification(
    "nes/accept", v2.AcceptNesNotification, to="agent", capability="nes", stability="former")
REJECT_NES = notification(
    "nes/reject", v2.RejectNesNotification, to="agent", capability="nes", stability="former")
CLOSE_NES = request(
    "nes/close", v2.CloseNesRequest, v2.CloseNesResponse,
    to="agent", capability="nes", stability="former", closes_session=True)
NES_METHODS: tuple[Method[Any, Any], ...] = (
    START_NES, SUGGEST_NES, ACCEPT_NES, REJECT_NES, CLOSE_NES,
)

DID_OPEN_DOCUMENT = notification(
    "document/didOpen", v2.DidOpenDocumentNotification,
    to="agent", capability="nes.events.document.didOpen", stability="former")
DID_CHANGE_DOCUMENT = notification(
    "document/didChange", v2.DidChangeDocumentNotification,
    to="agent", capability="nes.events.document.didChange", stability="former")
DID_CLOSE_DOCUMENT = notification(
    "document/didClose", v2.DidCloseDocumentNotification,
    to="agent", capability="nes.events.document.didClose", stability="former")
DID_SAVE_DOCUMENT = notification(
    "document/didSave", v2.DidSaveDocumentNotification,
    to="agent", capability="nes.events.document.didSave", stability="former")
DID_FOCUS_DOCUMENT = notification(
    "document/didFocus", v2.DidFocusDocumentNotification,
    to="agent", capability="nes.events.document.didFocus", stability="former")
DOCUMENT_METHODS: tuple[Method[Any, Any], ...] = (
    DID_OPEN_DOCUMENT, DID_CHANGE_DOCUMENT, DID_CLOSE_DOCUMENT, DID_SAVE_DOCUMENT,
    DID_FOCUS_DOCUMENT,
)

CONNECT_MCP = request(
    "mcp/connect", v2.ConnectMcpRequest, v2.ConnectMcpResponse, to="client", stability="former")
DISCONNECT_MCP = request(
    "mcp/disconnect", v2.DisconnectMcpRequest, v2.DisconnectMcpResponse,
    to="client", stability="former")
MESSAGE_MCP_CONNECTION: Method[v2.MessageMcpConnectionRequest, Any] = request(
    "mcp/message", v2.MessageMcpConnectionRequest, v2.MessageMcpConnectionResponse,
    to="either", stability="former")
MESSAGE_MCP_CONNECTION_NOTIFICATION = notification(
    "mcp/message", v2.MessageMcpConnectionNotification, to="either", stability="former")
_EitherRequest: TypeAlias = Untagged[v2.MessageMcpRequest | v2.MessageMcpConnectionRequest]
_EitherNotification: TypeAlias = Untagged[
    v2.MessageMcpNotification | v2.MessageMcpConnectionNotification]
_MESSAGE_MCP: Method[Any, Any] = request(
    "mcp/message", _EitherRequest, Any, to="either", stability="former")
_MESSAGE_MCP_NOTIFICATION = notification(
    "mcp/message", cast(Any, _EitherNotification), to="either", stability="former")
MCP_CONNECTION_METHODS: tuple[Method[Any, Any], ...] = (
    CONNECT_MCP, DISCONNECT_MCP, _MESSAGE_MCP, _MESSAGE_MCP_NOTIFICATION,
)

UNDERSCORE_INITIALIZE_PROXY = request(
    "_proxy/initialize", v2.InitializeProxyRequest, v2.InitializeProxyResponse,
    to="agent", stability="former")
UNDERSCORE_PROXY_SUCCESSOR = request(
    "_proxy/successor", v2.ProxySuccessorRequest, v2.ProxySuccessorResponse,
    to="either", stability="former")
UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION = notification(
    "_proxy/successor", v2.ProxySuccessorNotification, to="either", stability="former")
UNDERSCORE_PROXY_METHODS: tuple[Method[Any, Any], ...] = (
    UNDERSCORE_INITIALIZE_PROXY, UNDERSCORE_PROXY_SUCCESSOR,
    UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION,
)

WORKSPACE_OPEN_DOCUMENTS = request(
    "workspace/open_documents", v2.WorkspaceOpenDocumentsRequest, v2.WorkspaceOpenDocumentsResponse,
    to="client", capability="workspace.openDocuments", stability="proposal")
WORKSPACE_RECENT_DOCUMENTS = request(
    "workspace/recent_documents",
    v2.WorkspaceRecentDocumentsRequest, v2.WorkspaceRecentDocumentsResponse,
    to="client", capability="workspace.recentDocuments", stability="proposal")
WORKSPACE_ACTIVE_DOCUMENT = request(
    "workspace/active_document",
    v2.WorkspaceActiveDocumentRequest, v2.WorkspaceActiveDocumentResponse,
    to="client", capability="workspace.activeDocument", stability="proposal")
WORKSPACE_METHODS: tuple[Method[Any, Any], ...] = (
    WORKSPACE_OPEN_DOCUMENTS, WORKSPACE_RECENT_DOCUMENTS, WORKSPACE_ACTIVE_DOCUMENT,
)
