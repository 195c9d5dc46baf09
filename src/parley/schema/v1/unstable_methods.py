"""The methods of version 1 that are only in the draft schema.

`methods.py` includes them in its table. Their types are in the modules of their topics.

Spec: https://agentclientprotocol.com/protocol/v1/draft/schema
"""

from __future__ import annotations

from typing import Any

from parley.schema.base import Method

from .auth import AuthStatusRequest, AuthStatusResponse, AuthStatusUpdateNotification
from .mcp import MessageMcpNotification, MessageMcpRequest, MessageMcpResponse
from .providers import (
    DisableProviderRequest,
    DisableProviderResponse,
    ListProvidersRequest,
    ListProvidersResponse,
    SetProviderRequest,
    SetProviderResponse,
)
from .proxy import (
    InitializeProxyRequest,
    InitializeProxyResponse,
    ProxySuccessorNotification,
    ProxySuccessorRequest,
    ProxySuccessorResponse,
)
from .session import (
    ArchiveSessionRequest,
    ArchiveSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    SessionStatusRequest,
    SessionStatusResponse,
    SetSessionTitleRequest,
    SetSessionTitleResponse,
    UnarchiveSessionRequest,
    UnarchiveSessionResponse,
)

__all__ = [
    "ARCHIVE_SESSION",
    "AUTH_STATUS",
    "AUTH_STATUS_UPDATE",
    "DISABLE_PROVIDER",
    "FORK_SESSION",
    "INITIALIZE_PROXY",
    "LIST_PROVIDERS",
    "MESSAGE_MCP",
    "MESSAGE_MCP_NOTIFICATION",
    "PROXY_SUCCESSOR",
    "PROXY_SUCCESSOR_NOTIFICATION",
    "SESSION_STATUS",
    "SET_PROVIDER",
    "SET_SESSION_TITLE",
    "UNARCHIVE_SESSION",
    "UNSTABLE_METHODS",
]

AUTH_STATUS: Method[AuthStatusRequest, AuthStatusResponse] = Method(
    name="auth/status",
    to="agent",
    kind="request",
    params=AuthStatusRequest,
    result=AuthStatusResponse,
    stability="unstable",
    capability="auth.status",
)

AUTH_STATUS_UPDATE: Method[AuthStatusUpdateNotification, None] = Method(
    name="auth/status_update",
    to="client",
    kind="notification",
    params=AuthStatusUpdateNotification,
    stability="unstable",
)

FORK_SESSION: Method[ForkSessionRequest, ForkSessionResponse] = Method(
    name="session/fork",
    to="agent",
    kind="request",
    params=ForkSessionRequest,
    result=ForkSessionResponse,
    stability="unstable",
    capability="sessionCapabilities.fork",
    session="session_id",
    opens_session=True,
)

ARCHIVE_SESSION: Method[ArchiveSessionRequest, ArchiveSessionResponse] = Method(
    name="session/archive",
    to="agent",
    kind="request",
    params=ArchiveSessionRequest,
    result=ArchiveSessionResponse,
    stability="unstable",
    capability="sessionCapabilities.archive",
    session="session_id",
    closes_session=True,
)

UNARCHIVE_SESSION: Method[UnarchiveSessionRequest, UnarchiveSessionResponse] = Method(
    name="session/unarchive",
    to="agent",
    kind="request",
    params=UnarchiveSessionRequest,
    result=UnarchiveSessionResponse,
    stability="unstable",
    capability="sessionCapabilities.archive",
    session="session_id",
)

SESSION_STATUS: Method[SessionStatusRequest, SessionStatusResponse] = Method(
    name="session/status",
    to="agent",
    kind="request",
    params=SessionStatusRequest,
    result=SessionStatusResponse,
    stability="unstable",
    capability="sessionCapabilities.status",
    session="session_id",
)

SET_SESSION_TITLE: Method[SetSessionTitleRequest, SetSessionTitleResponse] = Method(
    name="session/set_title",
    to="agent",
    kind="request",
    params=SetSessionTitleRequest,
    result=SetSessionTitleResponse,
    stability="unstable",
    capability="sessionCapabilities.title",
    session="session_id",
)

LIST_PROVIDERS: Method[ListProvidersRequest, ListProvidersResponse] = Method(
    name="providers/list",
    to="agent",
    kind="request",
    params=ListProvidersRequest,
    result=ListProvidersResponse,
    stability="unstable",
    capability="providers",
)

SET_PROVIDER: Method[SetProviderRequest, SetProviderResponse] = Method(
    name="providers/set",
    to="agent",
    kind="request",
    params=SetProviderRequest,
    result=SetProviderResponse,
    stability="unstable",
    capability="providers",
)

DISABLE_PROVIDER: Method[DisableProviderRequest, DisableProviderResponse] = Method(
    name="providers/disable",
    to="agent",
    kind="request",
    params=DisableProviderRequest,
    result=DisableProviderResponse,
    stability="unstable",
    capability="providers",
)

MESSAGE_MCP: Method[MessageMcpRequest, MessageMcpResponse] = Method(
    name="mcp/message",
    to="client",
    kind="request",
    params=MessageMcpRequest,
    result=MessageMcpResponse,
    stability="unstable",
)

MESSAGE_MCP_NOTIFICATION: Method[MessageMcpNotification, None] = Method(
    name="mcp/message",
    to="agent",
    kind="notification",
    params=MessageMcpNotification,
    stability="unstable",
    capability="mcpCapabilities.acp",
)

INITIALIZE_PROXY: Method[InitializeProxyRequest, InitializeProxyResponse] = Method(
    name="proxy/initialize",
    to="agent",
    kind="request",
    params=InitializeProxyRequest,
    result=InitializeProxyResponse,
    stability="unstable",
)

PROXY_SUCCESSOR: Method[ProxySuccessorRequest, ProxySuccessorResponse] = Method(
    name="proxy/successor",
    to="either",
    kind="request",
    params=ProxySuccessorRequest,
    result=ProxySuccessorResponse,
    stability="unstable",
)

PROXY_SUCCESSOR_NOTIFICATION: Method[ProxySuccessorNotification, None] = Method(
    name="proxy/successor",
    to="either",
    kind="notification",
    params=ProxySuccessorNotification,
    stability="unstable",
)

UNSTABLE_METHODS: tuple[Method[Any, Any], ...] = (
    AUTH_STATUS,
    AUTH_STATUS_UPDATE,
    FORK_SESSION,
    ARCHIVE_SESSION,
    UNARCHIVE_SESSION,
    SESSION_STATUS,
    SET_SESSION_TITLE,
    LIST_PROVIDERS,
    SET_PROVIDER,
    DISABLE_PROVIDER,
    MESSAGE_MCP,
    MESSAGE_MCP_NOTIFICATION,
    INITIALIZE_PROXY,
    PROXY_SUCCESSOR,
    PROXY_SUCCESSOR_NOTIFICATION,
)
