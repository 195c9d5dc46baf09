"""Methods that were removed from the schema, and proposals, for `MethodTable.extended`.

A peer that supports one of these groups adds it to its table; other programs do not load it. Rows
are named as in `methods.py`.

With `MCP_CONNECTION_METHODS`, `mcp/message` is read in both forms, distinguished by their keys: the
older one with a connection, and the current one, whose rows these replace. The sender knows which
form it sends, and therefore the type of the response: `MESSAGE_MCP` or `MESSAGE_MCP_CONNECTION`.

Spec: https://agentclientprotocol.com/rfds
"""

from __future__ import annotations

from typing import Any, TypeAlias

from parley.schema.base import Method, Untagged

from . import documents, mcp, mcp_connections, nes, proxy, session, workspace

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
    "LOAD_SESSION",
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

LOAD_SESSION: Method[session.LoadSessionRequest, session.LoadSessionResponse] = Method(
    name="session/load",
    to="agent",
    kind="request",
    params=session.LoadSessionRequest,
    result=session.LoadSessionResponse,
    stability="former",
    capability="session",
    session="session_id",
)
"""A resume with replay, as an earlier draft of version 2 had it; it has no `replayFrom`."""
START_NES: Method[nes.StartNesRequest, nes.StartNesResponse] = Method(
    name="nes/start",
    to="agent",
    kind="request",
    params=nes.StartNesRequest,
    result=nes.StartNesResponse,
    stability="former",
    capability="nes",
    opens_session=True,
)
SUGGEST_NES: Method[nes.SuggestNesRequest, nes.SuggestNesResponse] = Method(
    name="nes/suggest",
    to="agent",
    kind="request",
    params=nes.SuggestNesRequest,
    result=nes.SuggestNesResponse,
    stability="former",
    capability="nes",
    session="session_id",
)
ACCEPT_NES: Method[nes.AcceptNesNotification, None] = Method(
    name="nes/accept",
    to="agent",
    kind="notification",
    params=nes.AcceptNesNotification,
    stability="former",
    capability="nes",
    session="session_id",
)
REJECT_NES: Method[nes.RejectNesNotification, None] = Method(
    name="nes/reject",
    to="agent",
    kind="notification",
    params=nes.RejectNesNotification,
    stability="former",
    capability="nes",
    session="session_id",
)
CLOSE_NES: Method[nes.CloseNesRequest, nes.CloseNesResponse] = Method(
    name="nes/close",
    to="agent",
    kind="request",
    params=nes.CloseNesRequest,
    result=nes.CloseNesResponse,
    stability="former",
    capability="nes",
    session="session_id",
    closes_session=True,
)
DID_OPEN_DOCUMENT: Method[documents.DidOpenDocumentNotification, None] = Method(
    name="document/didOpen",
    to="agent",
    kind="notification",
    params=documents.DidOpenDocumentNotification,
    stability="former",
    capability="nes.events.document.didOpen",
    session="session_id",
)
DID_CHANGE_DOCUMENT: Method[documents.DidChangeDocumentNotification, None] = Method(
    name="document/didChange",
    to="agent",
    kind="notification",
    params=documents.DidChangeDocumentNotification,
    stability="former",
    capability="nes.events.document.didChange",
    session="session_id",
)
DID_CLOSE_DOCUMENT: Method[documents.DidCloseDocumentNotification, None] = Method(
    name="document/didClose",
    to="agent",
    kind="notification",
    params=documents.DidCloseDocumentNotification,
    stability="former",
    capability="nes.events.document.didClose",
    session="session_id",
)
DID_SAVE_DOCUMENT: Method[documents.DidSaveDocumentNotification, None] = Method(
    name="document/didSave",
    to="agent",
    kind="notification",
    params=documents.DidSaveDocumentNotification,
    stability="former",
    capability="nes.events.document.didSave",
    session="session_id",
)
DID_FOCUS_DOCUMENT: Method[documents.DidFocusDocumentNotification, None] = Method(
    name="document/didFocus",
    to="agent",
    kind="notification",
    params=documents.DidFocusDocumentNotification,
    stability="former",
    capability="nes.events.document.didFocus",
    session="session_id",
)
CONNECT_MCP: Method[mcp_connections.ConnectMcpRequest, mcp_connections.ConnectMcpResponse] = Method(
    name="mcp/connect",
    to="client",
    kind="request",
    params=mcp_connections.ConnectMcpRequest,
    result=mcp_connections.ConnectMcpResponse,
    stability="former",
)
MESSAGE_MCP_CONNECTION: Method[
    mcp_connections.MessageMcpConnectionRequest, mcp_connections.MessageMcpConnectionResponse
] = Method(
    name="mcp/message",
    to="either",
    kind="request",
    params=mcp_connections.MessageMcpConnectionRequest,
    result=mcp_connections.MessageMcpConnectionResponse,
    stability="former",
)
MESSAGE_MCP_CONNECTION_NOTIFICATION: Method[
    mcp_connections.MessageMcpConnectionNotification, None
] = Method(
    name="mcp/message",
    to="either",
    kind="notification",
    params=mcp_connections.MessageMcpConnectionNotification,
    stability="former",
)
DISCONNECT_MCP: Method[
    mcp_connections.DisconnectMcpRequest, mcp_connections.DisconnectMcpResponse
] = Method(
    name="mcp/disconnect",
    to="client",
    kind="request",
    params=mcp_connections.DisconnectMcpRequest,
    result=mcp_connections.DisconnectMcpResponse,
    stability="former",
)
WORKSPACE_OPEN_DOCUMENTS: Method[
    workspace.WorkspaceOpenDocumentsRequest, workspace.WorkspaceOpenDocumentsResponse
] = Method(
    name="workspace/open_documents",
    to="client",
    kind="request",
    params=workspace.WorkspaceOpenDocumentsRequest,
    result=workspace.WorkspaceOpenDocumentsResponse,
    stability="proposal",
    capability="workspace.openDocuments",
    session="session_id",
)
WORKSPACE_RECENT_DOCUMENTS: Method[
    workspace.WorkspaceRecentDocumentsRequest, workspace.WorkspaceRecentDocumentsResponse
] = Method(
    name="workspace/recent_documents",
    to="client",
    kind="request",
    params=workspace.WorkspaceRecentDocumentsRequest,
    result=workspace.WorkspaceRecentDocumentsResponse,
    stability="proposal",
    capability="workspace.recentDocuments",
    session="session_id",
)
WORKSPACE_ACTIVE_DOCUMENT: Method[
    workspace.WorkspaceActiveDocumentRequest, workspace.WorkspaceActiveDocumentResponse
] = Method(
    name="workspace/active_document",
    to="client",
    kind="request",
    params=workspace.WorkspaceActiveDocumentRequest,
    result=workspace.WorkspaceActiveDocumentResponse,
    stability="proposal",
    capability="workspace.activeDocument",
    session="session_id",
)

NES_METHODS: tuple[Method[Any, Any], ...] = (
    START_NES,
    SUGGEST_NES,
    ACCEPT_NES,
    REJECT_NES,
    CLOSE_NES,
)

DOCUMENT_METHODS: tuple[Method[Any, Any], ...] = (
    DID_OPEN_DOCUMENT,
    DID_CHANGE_DOCUMENT,
    DID_CLOSE_DOCUMENT,
    DID_SAVE_DOCUMENT,
    DID_FOCUS_DOCUMENT,
)

_McpRequest: TypeAlias = Untagged[
    mcp.MessageMcpRequest | mcp_connections.MessageMcpConnectionRequest
]
_McpNotification: TypeAlias = Untagged[
    mcp.MessageMcpNotification | mcp_connections.MessageMcpConnectionNotification
]
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
    _MESSAGE_MCP,
    _MESSAGE_MCP_NOTIFICATION,
    DISCONNECT_MCP,
)

UNDERSCORE_INITIALIZE_PROXY: Method[proxy.InitializeProxyRequest, proxy.InitializeProxyResponse] = (
    Method(
        name="_proxy/initialize",
        to="agent",
        kind="request",
        params=proxy.InitializeProxyRequest,
        result=proxy.InitializeProxyResponse,
        stability="former",
    )
)
UNDERSCORE_PROXY_SUCCESSOR: Method[proxy.ProxySuccessorRequest, proxy.ProxySuccessorResponse] = (
    Method(
        name="_proxy/successor",
        to="either",
        kind="request",
        params=proxy.ProxySuccessorRequest,
        result=proxy.ProxySuccessorResponse,
        stability="former",
    )
)
UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION: Method[proxy.ProxySuccessorNotification, None] = Method(
    name="_proxy/successor",
    to="either",
    kind="notification",
    params=proxy.ProxySuccessorNotification,
    stability="former",
)

UNDERSCORE_PROXY_METHODS: tuple[Method[Any, Any], ...] = (
    UNDERSCORE_INITIALIZE_PROXY,
    UNDERSCORE_PROXY_SUCCESSOR,
    UNDERSCORE_PROXY_SUCCESSOR_NOTIFICATION,
)
"""Proxies as they were spelled before they were in the schema."""

WORKSPACE_METHODS: tuple[Method[Any, Any], ...] = (
    WORKSPACE_OPEN_DOCUMENTS,
    WORKSPACE_RECENT_DOCUMENTS,
    WORKSPACE_ACTIVE_DOCUMENT,
)
