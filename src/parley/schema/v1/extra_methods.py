"""Methods that were removed from the schema or never in it, and that Parley still supports.

`TABLE.extended(NES_METHODS + DOCUMENT_METHODS)` returns a table that includes them. `methods.py`
does not import this module, so that programs that do not need these methods do not load them.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions,
https://agentclientprotocol.com/rfds/mcp-over-acp and https://agentclientprotocol.com/rfds/proxy-chains
"""

from __future__ import annotations

from typing import Any, TypeAlias

from parley.schema.base import Method, Untagged

from .documents import (
    DidChangeDocumentNotification,
    DidCloseDocumentNotification,
    DidFocusDocumentNotification,
    DidOpenDocumentNotification,
    DidSaveDocumentNotification,
)
from .mcp import MessageMcpNotification, MessageMcpRequest
from .mcp_connections import (
    ConnectMcpRequest,
    ConnectMcpResponse,
    DisconnectMcpRequest,
    DisconnectMcpResponse,
    MessageMcpConnectionNotification,
    MessageMcpConnectionRequest,
    MessageMcpConnectionResponse,
)
from .nes import (
    AcceptNesNotification,
    CloseNesRequest,
    CloseNesResponse,
    RejectNesNotification,
    StartNesRequest,
    StartNesResponse,
    SuggestNesRequest,
    SuggestNesResponse,
)
from .proxy import (
    InitializeProxyRequest,
    InitializeProxyResponse,
    ProxySuccessorNotification,
    ProxySuccessorRequest,
    ProxySuccessorResponse,
)
from .workspace import (
    WorkspaceActiveDocumentRequest,
    WorkspaceActiveDocumentResponse,
    WorkspaceOpenDocumentsRequest,
    WorkspaceOpenDocumentsResponse,
    WorkspaceRecentDocumentsRequest,
    WorkspaceRecentDocumentsResponse,
)

__all__ = [
    "ACCEPT_NES",
    "CLOSE_NES",
    "CONNECT_MCP",
    "DID_CHANGE_DOCUMENT",
    "DID_CLOSE_DOCUMENT",
    "DID_FOCUS_DOCUMENT",
    "DID_OPEN_DOCUMENT",
    "DID_SAVE_DOCUMENT",
    "DISCONNECT_MCP",
    "DOCUMENT_METHODS",
    "MCP_CONNECTION_METHODS",
    "MESSAGE_MCP_CONNECTION",
    "MESSAGE_MCP_CONNECTION_NOTIFICATION",
    "NES_METHODS",
    "REJECT_NES",
    "START_NES",
    "SUGGEST_NES",
    "UNDERSCORE_INITIALIZE_PROXY",
    "UNDERSCORE_PROXY_METHODS",
    "UNDERSCORE_PROXY_SUCCESSOR",
    "UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION",
    "WORKSPACE_ACTIVE_DOCUMENT",
    "WORKSPACE_METHODS",
    "WORKSPACE_OPEN_DOCUMENTS",
    "WORKSPACE_RECENT_DOCUMENTS",
]

START_NES: Method[StartNesRequest, StartNesResponse] = Method(
    name="nes/start",
    to="agent",
    kind="request",
    params=StartNesRequest,
    result=StartNesResponse,
    stability="former",
    capability="nes",
    opens_session=True,
)

SUGGEST_NES: Method[SuggestNesRequest, SuggestNesResponse] = Method(
    name="nes/suggest",
    to="agent",
    kind="request",
    params=SuggestNesRequest,
    result=SuggestNesResponse,
    stability="former",
    capability="nes",
    session="session_id",
)

ACCEPT_NES: Method[AcceptNesNotification, None] = Method(
    name="nes/accept",
    to="agent",
    kind="notification",
    params=AcceptNesNotification,
    stability="former",
    capability="nes",
    session="session_id",
)

REJECT_NES: Method[RejectNesNotification, None] = Method(
    name="nes/reject",
    to="agent",
    kind="notification",
    params=RejectNesNotification,
    stability="former",
    capability="nes",
    session="session_id",
)

CLOSE_NES: Method[CloseNesRequest, CloseNesResponse] = Method(
    name="nes/close",
    to="agent",
    kind="request",
    params=CloseNesRequest,
    result=CloseNesResponse,
    stability="former",
    capability="nes",
    session="session_id",
    closes_session=True,
)

NES_METHODS: tuple[Method[Any, Any], ...] = (
    START_NES,
    SUGGEST_NES,
    ACCEPT_NES,
    REJECT_NES,
    CLOSE_NES,
)

DID_OPEN_DOCUMENT: Method[DidOpenDocumentNotification, None] = Method(
    name="document/didOpen",
    to="agent",
    kind="notification",
    params=DidOpenDocumentNotification,
    stability="former",
    capability="nes.events.document.didOpen",
    session="session_id",
)

DID_CHANGE_DOCUMENT: Method[DidChangeDocumentNotification, None] = Method(
    name="document/didChange",
    to="agent",
    kind="notification",
    params=DidChangeDocumentNotification,
    stability="former",
    capability="nes.events.document.didChange",
    session="session_id",
)

DID_CLOSE_DOCUMENT: Method[DidCloseDocumentNotification, None] = Method(
    name="document/didClose",
    to="agent",
    kind="notification",
    params=DidCloseDocumentNotification,
    stability="former",
    capability="nes.events.document.didClose",
    session="session_id",
)

DID_SAVE_DOCUMENT: Method[DidSaveDocumentNotification, None] = Method(
    name="document/didSave",
    to="agent",
    kind="notification",
    params=DidSaveDocumentNotification,
    stability="former",
    capability="nes.events.document.didSave",
    session="session_id",
)

DID_FOCUS_DOCUMENT: Method[DidFocusDocumentNotification, None] = Method(
    name="document/didFocus",
    to="agent",
    kind="notification",
    params=DidFocusDocumentNotification,
    stability="former",
    capability="nes.events.document.didFocus",
    session="session_id",
)

DOCUMENT_METHODS: tuple[Method[Any, Any], ...] = (
    DID_OPEN_DOCUMENT,
    DID_CHANGE_DOCUMENT,
    DID_CLOSE_DOCUMENT,
    DID_SAVE_DOCUMENT,
    DID_FOCUS_DOCUMENT,
)

CONNECT_MCP: Method[ConnectMcpRequest, ConnectMcpResponse] = Method(
    name="mcp/connect",
    to="client",
    kind="request",
    params=ConnectMcpRequest,
    result=ConnectMcpResponse,
    stability="former",
)

DISCONNECT_MCP: Method[DisconnectMcpRequest, DisconnectMcpResponse] = Method(
    name="mcp/disconnect",
    to="client",
    kind="request",
    params=DisconnectMcpRequest,
    result=DisconnectMcpResponse,
    stability="former",
)

MESSAGE_MCP_CONNECTION: Method[MessageMcpConnectionRequest, MessageMcpConnectionResponse] = Method(
    name="mcp/message",
    to="either",
    kind="request",
    params=MessageMcpConnectionRequest,
    result=MessageMcpConnectionResponse,
    stability="former",
)

MESSAGE_MCP_CONNECTION_NOTIFICATION: Method[MessageMcpConnectionNotification, None] = Method(
    name="mcp/message",
    to="either",
    kind="notification",
    params=MessageMcpConnectionNotification,
    stability="former",
)

# A table has one row for a name, so with connections `mcp/message` is read in both forms, which
# their keys tell apart. The sender knows the form, and therefore that of the response.
_McpRequest: TypeAlias = Untagged[MessageMcpRequest | MessageMcpConnectionRequest]
_McpNotification: TypeAlias = Untagged[MessageMcpNotification | MessageMcpConnectionNotification]

_MESSAGE_MCP: Method[_McpRequest, Any] = Method(
    name="mcp/message",
    to="either",
    kind="request",
    params=_McpRequest,
    result=Any,
    stability="former",
)

_MESSAGE_MCP_NOTIFICATION: Method[_McpNotification, None] = Method(
    name="mcp/message",
    to="either",
    kind="notification",
    params=_McpNotification,
    stability="former",
)

MCP_CONNECTION_METHODS: tuple[Method[Any, Any], ...] = (
    CONNECT_MCP,
    DISCONNECT_MCP,
    _MESSAGE_MCP,
    _MESSAGE_MCP_NOTIFICATION,
)

UNDERSCORE_INITIALIZE_PROXY: Method[InitializeProxyRequest, InitializeProxyResponse] = Method(
    name="_proxy/initialize",
    to="agent",
    kind="request",
    params=InitializeProxyRequest,
    result=InitializeProxyResponse,
    stability="former",
)

UNDERSCORE_PROXY_SUCCESSOR: Method[ProxySuccessorRequest, ProxySuccessorResponse] = Method(
    name="_proxy/successor",
    to="either",
    kind="request",
    params=ProxySuccessorRequest,
    result=ProxySuccessorResponse,
    stability="former",
)

UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION: Method[ProxySuccessorNotification, None] = Method(
    name="_proxy/successor",
    to="either",
    kind="notification",
    params=ProxySuccessorNotification,
    stability="former",
)

UNDERSCORE_PROXY_METHODS: tuple[Method[Any, Any], ...] = (
    UNDERSCORE_INITIALIZE_PROXY,
    UNDERSCORE_PROXY_SUCCESSOR,
    UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION,
)

WORKSPACE_OPEN_DOCUMENTS: Method[WorkspaceOpenDocumentsRequest, WorkspaceOpenDocumentsResponse] = (
    Method(
        name="workspace/open_documents",
        to="client",
        kind="request",
        params=WorkspaceOpenDocumentsRequest,
        result=WorkspaceOpenDocumentsResponse,
        stability="proposal",
        capability="workspace.openDocuments",
        session="session_id",
    )
)

WORKSPACE_RECENT_DOCUMENTS: Method[
    WorkspaceRecentDocumentsRequest, WorkspaceRecentDocumentsResponse
] = Method(
    name="workspace/recent_documents",
    to="client",
    kind="request",
    params=WorkspaceRecentDocumentsRequest,
    result=WorkspaceRecentDocumentsResponse,
    stability="proposal",
    capability="workspace.recentDocuments",
    session="session_id",
)

WORKSPACE_ACTIVE_DOCUMENT: Method[
    WorkspaceActiveDocumentRequest, WorkspaceActiveDocumentResponse
] = Method(
    name="workspace/active_document",
    to="client",
    kind="request",
    params=WorkspaceActiveDocumentRequest,
    result=WorkspaceActiveDocumentResponse,
    stability="proposal",
    capability="workspace.activeDocument",
    session="session_id",
)

WORKSPACE_METHODS: tuple[Method[Any, Any], ...] = (
    WORKSPACE_OPEN_DOCUMENTS,
    WORKSPACE_RECENT_DOCUMENTS,
    WORKSPACE_ACTIVE_DOCUMENT,
)
