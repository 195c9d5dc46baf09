"""The methods of version 1, one row each, and the table for dispatching and calling them.

To add a method, declare its row: two or three lines. A row is named by verb and noun: `session/new`
is `NEW_SESSION`; `terminal/output` has no verb and is `TERMINAL_OUTPUT`. `stability` says where the
method is defined, see `Method`. `TABLE` contains the rows of the schema, stable and unstable.
Methods that were removed from the schema, and proposals, are in groups: a program that supports a
group adds it with `TABLE.extended(NES_METHODS + DOCUMENT_METHODS)`.

With `MCP_CONNECTION_METHODS`, `mcp/message` is read in both forms, distinguished by their keys: the
older one with a connection, and the current one, whose rows these replace. The sender knows which
form it sends, and therefore the type of the response: `MESSAGE_MCP` or `MESSAGE_MCP_CONNECTION`.

Spec: https://agentclientprotocol.com/protocol/v1/schema
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from parley.schema import v1
from parley.schema.base import Method, MethodTable, Untagged, declared_in, notification, request

# A table reads better with each row in two or three lines.
# fmt: off

INITIALIZE = request("initialize", v1.InitializeRequest, v1.InitializeResponse, to="agent")
AUTHENTICATE = request("authenticate", v1.AuthenticateRequest, v1.AuthenticateResponse, to="agent")
LOGOUT = request(
    "logout", v1.LogoutRequest, v1.LogoutResponse, to="agent", capability="auth.logout")
NEW_SESSION = request(
    "session/new", v1.NewSessionRequest, v1.NewSessionResponse, to="agent", opens_session=True)
LOAD_SESSION = request(
    "session/load", v1.LoadSessionRequest, v1.LoadSessionResponse,
    to="agent", capability="loadSession")
RESUME_SESSION = request(
    "session/resume", v1.ResumeSessionRequest, v1.ResumeSessionResponse,
    to="agent", capability="sessionCapabilities.resume")
CLOSE_SESSION = request(
    "session/close", v1.CloseSessionRequest, v1.CloseSessionResponse,
    to="agent", capability="sessionCapabilities.close", closes_session=True)
LIST_SESSIONS = request(
    "session/list", v1.ListSessionsRequest, v1.ListSessionsResponse,
    to="agent", capability="sessionCapabilities.list")
DELETE_SESSION = request(
    "session/delete", v1.DeleteSessionRequest, v1.DeleteSessionResponse,
    to="agent", capability="sessionCapabilities.delete", closes_session=True)
SET_SESSION_MODE = request(
    "session/set_mode", v1.SetSessionModeRequest, v1.SetSessionModeResponse, to="agent")
SET_SESSION_CONFIG_OPTION: Method[
    v1.SetSessionConfigOptionRequest, v1.SetSessionConfigOptionResponse
] = request(
    "session/set_config_option",
    v1.SetSessionConfigOptionRequest, v1.SetSessionConfigOptionResponse,
    to="agent")
PROMPT = request("session/prompt", v1.PromptRequest, v1.PromptResponse, to="agent")
CANCEL_SESSION = notification("session/cancel", v1.CancelNotification, to="agent", is_urgent=True)
UPDATE_SESSION = notification("session/update", v1.SessionNotification, to="client")
REQUEST_PERMISSION = request(
    "session/request_permission", v1.RequestPermissionRequest, v1.RequestPermissionResponse,
    to="client")
READ_TEXT_FILE = request(
    "fs/read_text_file", v1.ReadTextFileRequest, v1.ReadTextFileResponse,
    to="client", capability="fs.readTextFile")
WRITE_TEXT_FILE = request(
    "fs/write_text_file", v1.WriteTextFileRequest, v1.WriteTextFileResponse,
    to="client", capability="fs.writeTextFile")
CREATE_TERMINAL = request(
    "terminal/create", v1.CreateTerminalRequest, v1.CreateTerminalResponse,
    to="client", capability="terminal")
TERMINAL_OUTPUT = request(
    "terminal/output", v1.TerminalOutputRequest, v1.TerminalOutputResponse,
    to="client", capability="terminal")
WAIT_FOR_TERMINAL_EXIT = request(
    "terminal/wait_for_exit", v1.WaitForTerminalExitRequest, v1.WaitForTerminalExitResponse,
    to="client", capability="terminal")
KILL_TERMINAL = request(
    "terminal/kill", v1.KillTerminalRequest, v1.KillTerminalResponse,
    to="client", capability="terminal")
RELEASE_TERMINAL = request(
    "terminal/release", v1.ReleaseTerminalRequest, v1.ReleaseTerminalResponse,
    to="client", capability="terminal")
CREATE_ELICITATION: Method[v1.CreateElicitationRequest, v1.CreateElicitationResponse] = request(
    "elicitation/create", v1.CreateElicitationRequest, v1.CreateElicitationResponse,
    to="client", capability="elicitation")
COMPLETE_ELICITATION = notification(
    "elicitation/complete", v1.CompleteElicitationNotification,
    to="client", capability="elicitation.url")
CANCEL_REQUEST = notification(
    "$/cancel_request", v1.CancelRequestNotification, to="either", is_urgent=True)
AUTH_STATUS = request(
    "auth/status", v1.AuthStatusRequest, v1.AuthStatusResponse,
    to="agent", capability="auth.status", stability="unstable")
AUTH_STATUS_UPDATE = notification(
    "auth/status_update", v1.AuthStatusUpdateNotification, to="client", stability="unstable")
FORK_SESSION = request(
    "session/fork", v1.ForkSessionRequest, v1.ForkSessionResponse,
    to="agent", capability="sessionCapabilities.fork", stability="unstable", opens_session=True)
ARCHIVE_SESSION = request(
    "session/archive", v1.ArchiveSessionRequest, v1.ArchiveSessionResponse,
    to="agent", capability="sessionCapabilities.archive", stability="unstable", closes_session=True)
UNARCHIVE_SESSION = request(
    "session/unarchive", v1.UnarchiveSessionRequest, v1.UnarchiveSessionResponse,
    to="agent", capability="sessionCapabilities.archive", stability="unstable")
SESSION_STATUS = request(
    "session/status", v1.SessionStatusRequest, v1.SessionStatusResponse,
    to="agent", capability="sessionCapabilities.status", stability="unstable")
SET_SESSION_TITLE = request(
    "session/set_title", v1.SetSessionTitleRequest, v1.SetSessionTitleResponse,
    to="agent", capability="sessionCapabilities.title", stability="unstable")
LIST_PROVIDERS = request(
    "providers/list", v1.ListProvidersRequest, v1.ListProvidersResponse,
    to="agent", capability="providers", stability="unstable")
SET_PROVIDER = request(
    "providers/set", v1.SetProviderRequest, v1.SetProviderResponse,
    to="agent", capability="providers", stability="unstable")
DISABLE_PROVIDER = request(
    "providers/disable", v1.DisableProviderRequest, v1.DisableProviderResponse,
    to="agent", capability="providers", stability="unstable")
MESSAGE_MCP: Method[v1.MessageMcpRequest, v1.MessageMcpResponse] = request(
    "mcp/message", v1.MessageMcpRequest, v1.MessageMcpResponse, to="client", stability="unstable")
MESSAGE_MCP_NOTIFICATION = notification(
    "mcp/message", v1.MessageMcpNotification,
    to="agent", capability="mcpCapabilities.acp", stability="unstable")
INITIALIZE_PROXY = request(
    "proxy/initialize", v1.InitializeProxyRequest, v1.InitializeProxyResponse,
    to="agent", stability="unstable")
PROXY_SUCCESSOR = request(
    "proxy/successor", v1.ProxySuccessorRequest, v1.ProxySuccessorResponse,
    to="either", stability="unstable")
PROXY_SUCCESSOR_NOTIFICATION = notification(
    "proxy/successor", v1.ProxySuccessorNotification, to="either", stability="unstable")

TABLE = MethodTable(1, declared_in(globals()))

# Removed from the schema, and proposals.

START_NES = request(
    "nes/start", v1.StartNesRequest, v1.StartNesResponse,
    to="agent", capability="nes", stability="former", opens_session=True)
SUGGEST_NES = request(
    "nes/suggest", v1.SuggestNesRequest, v1.SuggestNesResponse,
    to="agent", capability="nes", stability="former")
ACCEPT_NES = notification(
    "nes/accept", v1.AcceptNesNotification, to="agent", capability="nes", stability="former")
REJECT_NES = notification(
    "nes/reject", v1.RejectNesNotification, to="agent", capability="nes", stability="former")
CLOSE_NES = request(
    "nes/close", v1.CloseNesRequest, v1.CloseNesResponse,
    to="agent", capability="nes", stability="former", closes_session=True)
NES_METHODS: tuple[Method[Any, Any], ...] = (
    START_NES, SUGGEST_NES, ACCEPT_NES, REJECT_NES, CLOSE_NES,
)

DID_OPEN_DOCUMENT = notification(
    "document/didOpen", v1.DidOpenDocumentNotification,
    to="agent", capability="nes.events.document.didOpen", stability="former")
DID_CHANGE_DOCUMENT = notification(
    "document/didChange", v1.DidChangeDocumentNotification,
    to="agent", capability="nes.events.document.didChange", stability="former")
DID_CLOSE_DOCUMENT = notification(
    "document/didClose", v1.DidCloseDocumentNotification,
    to="agent", capability="nes.events.document.didClose", stability="former")
DID_SAVE_DOCUMENT = notification(
    "document/didSave", v1.DidSaveDocumentNotification,
    to="agent", capability="nes.events.document.didSave", stability="former")
DID_FOCUS_DOCUMENT = notification(
    "document/didFocus", v1.DidFocusDocumentNotification,
    to="agent", capability="nes.events.document.didFocus", stability="former")
DOCUMENT_METHODS: tuple[Method[Any, Any], ...] = (
    DID_OPEN_DOCUMENT, DID_CHANGE_DOCUMENT, DID_CLOSE_DOCUMENT, DID_SAVE_DOCUMENT,
    DID_FOCUS_DOCUMENT,
)

CONNECT_MCP = request(
    "mcp/connect", v1.ConnectMcpRequest, v1.ConnectMcpResponse, to="client", stability="former")
DISCONNECT_MCP = request(
    "mcp/disconnect", v1.DisconnectMcpRequest, v1.DisconnectMcpResponse,
    to="client", stability="former")
MESSAGE_MCP_CONNECTION: Method[v1.MessageMcpConnectionRequest, Any] = request(
    "mcp/message", v1.MessageMcpConnectionRequest, v1.MessageMcpConnectionResponse,
    to="either", stability="former")
MESSAGE_MCP_CONNECTION_NOTIFICATION = notification(
    "mcp/message", v1.MessageMcpConnectionNotification, to="either", stability="former")
_EitherRequest: TypeAlias = Untagged[v1.MessageMcpRequest | v1.MessageMcpConnectionRequest]
_EitherNotification: TypeAlias = Untagged[
    v1.MessageMcpNotification | v1.MessageMcpConnectionNotification]
_MESSAGE_MCP: Method[Any, Any] = request(
    "mcp/message", _EitherRequest, Any, to="either", stability="former")
_MESSAGE_MCP_NOTIFICATION = notification(
    "mcp/message", cast(Any, _EitherNotification), to="either", stability="former")
MCP_CONNECTION_METHODS: tuple[Method[Any, Any], ...] = (
    CONNECT_MCP, DISCONNECT_MCP, _MESSAGE_MCP, _MESSAGE_MCP_NOTIFICATION,
)

UNDERSCORE_INITIALIZE_PROXY = request(
    "_proxy/initialize", v1.InitializeProxyRequest, v1.InitializeProxyResponse,
    to="agent", stability="former")
UNDERSCORE_PROXY_SUCCESSOR = request(
    "_proxy/successor", v1.ProxySuccessorRequest, v1.ProxySuccessorResponse,
    to="either", stability="former")
UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION = notification(
    "_proxy/successor", v1.ProxySuccessorNotification, to="either", stability="former")
UNDERSCORE_PROXY_METHODS: tuple[Method[Any, Any], ...] = (
    UNDERSCORE_INITIALIZE_PROXY, UNDERSCORE_PROXY_SUCCESSOR,
    UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION,
)

WORKSPACE_OPEN_DOCUMENTS = request(
    "workspace/open_documents", v1.WorkspaceOpenDocumentsRequest, v1.WorkspaceOpenDocumentsResponse,
    to="client", capability="workspace.openDocuments", stability="proposal")
WORKSPACE_RECENT_DOCUMENTS = request(
    "workspace/recent_documents",
    v1.WorkspaceRecentDocumentsRequest, v1.WorkspaceRecentDocumentsResponse,
    to="client", capability="workspace.recentDocuments", stability="proposal")
WORKSPACE_ACTIVE_DOCUMENT = request(
    "workspace/active_document",
    v1.WorkspaceActiveDocumentRequest, v1.WorkspaceActiveDocumentResponse,
    to="client", capability="workspace.activeDocument", stability="proposal")
WORKSPACE_METHODS: tuple[Method[Any, Any], ...] = (
    WORKSPACE_OPEN_DOCUMENTS, WORKSPACE_RECENT_DOCUMENTS, WORKSPACE_ACTIVE_DOCUMENT,
)
