"""The methods of version 1, one row each, and the table for dispatching and calling them.

A row is named by verb and noun: `session/new` is `NEW_SESSION`; `terminal/output` has no verb and
is `TERMINAL_OUTPUT`. The rows of the draft schema come from `unstable_methods.py`. Methods that
were removed from the schema or never in it are in `extra_methods.py`, so that they cost nothing
until they are needed; `TABLE.extended(rows)` adds them.

Spec: https://agentclientprotocol.com/protocol/v1/schema
"""

from __future__ import annotations

from parley.schema.base import Method, MethodTable

from .auth import AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse
from .cancel import CancelRequestNotification
from .config import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
from .elicitation import (
    CompleteElicitationNotification,
    CreateElicitationRequest,
    CreateElicitationResponse,
)
from .files import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from .initialize import InitializeRequest, InitializeResponse
from .modes import SetSessionModeRequest, SetSessionModeResponse
from .permission import RequestPermissionRequest, RequestPermissionResponse
from .prompt import CancelNotification, PromptRequest, PromptResponse
from .session import (
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
)
from .terminal import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
)
from .unstable_methods import (
    ARCHIVE_SESSION,
    AUTH_STATUS,
    AUTH_STATUS_UPDATE,
    DISABLE_PROVIDER,
    FORK_SESSION,
    INITIALIZE_PROXY,
    LIST_PROVIDERS,
    MESSAGE_MCP,
    MESSAGE_MCP_NOTIFICATION,
    PROXY_SUCCESSOR,
    PROXY_SUCCESSOR_NOTIFICATION,
    SESSION_STATUS,
    SET_PROVIDER,
    SET_SESSION_TITLE,
    UNARCHIVE_SESSION,
    UNSTABLE_METHODS,
)
from .updates import SessionNotification

__all__ = [
    "ARCHIVE_SESSION",
    "AUTHENTICATE",
    "AUTH_STATUS",
    "AUTH_STATUS_UPDATE",
    "CANCEL_REQUEST",
    "CANCEL_SESSION",
    "CLOSE_SESSION",
    "COMPLETE_ELICITATION",
    "CREATE_ELICITATION",
    "CREATE_TERMINAL",
    "DELETE_SESSION",
    "DISABLE_PROVIDER",
    "FORK_SESSION",
    "INITIALIZE",
    "INITIALIZE_PROXY",
    "KILL_TERMINAL",
    "LIST_PROVIDERS",
    "LIST_SESSIONS",
    "LOAD_SESSION",
    "LOGOUT",
    "MESSAGE_MCP",
    "MESSAGE_MCP_NOTIFICATION",
    "NEW_SESSION",
    "PROMPT",
    "PROXY_SUCCESSOR",
    "PROXY_SUCCESSOR_NOTIFICATION",
    "READ_TEXT_FILE",
    "RELEASE_TERMINAL",
    "REQUEST_PERMISSION",
    "RESUME_SESSION",
    "SESSION_STATUS",
    "SET_PROVIDER",
    "SET_SESSION_CONFIG_OPTION",
    "SET_SESSION_MODE",
    "SET_SESSION_TITLE",
    "TABLE",
    "TERMINAL_OUTPUT",
    "UNARCHIVE_SESSION",
    "UPDATE_SESSION",
    "WAIT_FOR_TERMINAL_EXIT",
    "WRITE_TEXT_FILE",
]

INITIALIZE: Method[InitializeRequest, InitializeResponse] = Method(
    name="initialize",
    to="agent",
    kind="request",
    params=InitializeRequest,
    result=InitializeResponse,
)

AUTHENTICATE: Method[AuthenticateRequest, AuthenticateResponse] = Method(
    name="authenticate",
    to="agent",
    kind="request",
    params=AuthenticateRequest,
    result=AuthenticateResponse,
)

LOGOUT: Method[LogoutRequest, LogoutResponse] = Method(
    name="logout",
    to="agent",
    kind="request",
    params=LogoutRequest,
    result=LogoutResponse,
    capability="auth.logout",
)

NEW_SESSION: Method[NewSessionRequest, NewSessionResponse] = Method(
    name="session/new",
    to="agent",
    kind="request",
    params=NewSessionRequest,
    result=NewSessionResponse,
    opens_session=True,
)

LOAD_SESSION: Method[LoadSessionRequest, LoadSessionResponse] = Method(
    name="session/load",
    to="agent",
    kind="request",
    params=LoadSessionRequest,
    result=LoadSessionResponse,
    capability="loadSession",
    session="session_id",
)

RESUME_SESSION: Method[ResumeSessionRequest, ResumeSessionResponse] = Method(
    name="session/resume",
    to="agent",
    kind="request",
    params=ResumeSessionRequest,
    result=ResumeSessionResponse,
    capability="sessionCapabilities.resume",
    session="session_id",
)

CLOSE_SESSION: Method[CloseSessionRequest, CloseSessionResponse] = Method(
    name="session/close",
    to="agent",
    kind="request",
    params=CloseSessionRequest,
    result=CloseSessionResponse,
    capability="sessionCapabilities.close",
    session="session_id",
    closes_session=True,
)

LIST_SESSIONS: Method[ListSessionsRequest, ListSessionsResponse] = Method(
    name="session/list",
    to="agent",
    kind="request",
    params=ListSessionsRequest,
    result=ListSessionsResponse,
    capability="sessionCapabilities.list",
)

DELETE_SESSION: Method[DeleteSessionRequest, DeleteSessionResponse] = Method(
    name="session/delete",
    to="agent",
    kind="request",
    params=DeleteSessionRequest,
    result=DeleteSessionResponse,
    capability="sessionCapabilities.delete",
    session="session_id",
    closes_session=True,
)

SET_SESSION_MODE: Method[SetSessionModeRequest, SetSessionModeResponse] = Method(
    name="session/set_mode",
    to="agent",
    kind="request",
    params=SetSessionModeRequest,
    result=SetSessionModeResponse,
    session="session_id",
)

SET_SESSION_CONFIG_OPTION: Method[SetSessionConfigOptionRequest, SetSessionConfigOptionResponse] = (
    Method(
        name="session/set_config_option",
        to="agent",
        kind="request",
        params=SetSessionConfigOptionRequest,
        result=SetSessionConfigOptionResponse,
        session="session_id",
    )
)

PROMPT: Method[PromptRequest, PromptResponse] = Method(
    name="session/prompt",
    to="agent",
    kind="request",
    params=PromptRequest,
    result=PromptResponse,
    session="session_id",
)

CANCEL_SESSION: Method[CancelNotification, None] = Method(
    name="session/cancel",
    to="agent",
    kind="notification",
    params=CancelNotification,
    session="session_id",
    is_urgent=True,
)

UPDATE_SESSION: Method[SessionNotification, None] = Method(
    name="session/update",
    to="client",
    kind="notification",
    params=SessionNotification,
    session="session_id",
)

REQUEST_PERMISSION: Method[RequestPermissionRequest, RequestPermissionResponse] = Method(
    name="session/request_permission",
    to="client",
    kind="request",
    params=RequestPermissionRequest,
    result=RequestPermissionResponse,
    session="session_id",
)

READ_TEXT_FILE: Method[ReadTextFileRequest, ReadTextFileResponse] = Method(
    name="fs/read_text_file",
    to="client",
    kind="request",
    params=ReadTextFileRequest,
    result=ReadTextFileResponse,
    capability="fs.readTextFile",
    session="session_id",
)

WRITE_TEXT_FILE: Method[WriteTextFileRequest, WriteTextFileResponse] = Method(
    name="fs/write_text_file",
    to="client",
    kind="request",
    params=WriteTextFileRequest,
    result=WriteTextFileResponse,
    capability="fs.writeTextFile",
    session="session_id",
)

CREATE_TERMINAL: Method[CreateTerminalRequest, CreateTerminalResponse] = Method(
    name="terminal/create",
    to="client",
    kind="request",
    params=CreateTerminalRequest,
    result=CreateTerminalResponse,
    capability="terminal",
    session="session_id",
)

TERMINAL_OUTPUT: Method[TerminalOutputRequest, TerminalOutputResponse] = Method(
    name="terminal/output",
    to="client",
    kind="request",
    params=TerminalOutputRequest,
    result=TerminalOutputResponse,
    capability="terminal",
    session="session_id",
)

WAIT_FOR_TERMINAL_EXIT: Method[WaitForTerminalExitRequest, WaitForTerminalExitResponse] = Method(
    name="terminal/wait_for_exit",
    to="client",
    kind="request",
    params=WaitForTerminalExitRequest,
    result=WaitForTerminalExitResponse,
    capability="terminal",
    session="session_id",
)

KILL_TERMINAL: Method[KillTerminalRequest, KillTerminalResponse] = Method(
    name="terminal/kill",
    to="client",
    kind="request",
    params=KillTerminalRequest,
    result=KillTerminalResponse,
    capability="terminal",
    session="session_id",
)

RELEASE_TERMINAL: Method[ReleaseTerminalRequest, ReleaseTerminalResponse] = Method(
    name="terminal/release",
    to="client",
    kind="request",
    params=ReleaseTerminalRequest,
    result=ReleaseTerminalResponse,
    capability="terminal",
    session="session_id",
)

CREATE_ELICITATION: Method[CreateElicitationRequest, CreateElicitationResponse] = Method(
    name="elicitation/create",
    to="client",
    kind="request",
    params=CreateElicitationRequest,
    result=CreateElicitationResponse,
    capability="elicitation",
    session="session_id",
)

COMPLETE_ELICITATION: Method[CompleteElicitationNotification, None] = Method(
    name="elicitation/complete",
    to="client",
    kind="notification",
    params=CompleteElicitationNotification,
    capability="elicitation.url",
)

CANCEL_REQUEST: Method[CancelRequestNotification, None] = Method(
    name="$/cancel_request",
    to="either",
    kind="notification",
    params=CancelRequestNotification,
    is_urgent=True,
)

TABLE = MethodTable(
    1,
    (
        INITIALIZE,
        AUTHENTICATE,
        LOGOUT,
        NEW_SESSION,
        LOAD_SESSION,
        RESUME_SESSION,
        CLOSE_SESSION,
        LIST_SESSIONS,
        DELETE_SESSION,
        SET_SESSION_MODE,
        SET_SESSION_CONFIG_OPTION,
        PROMPT,
        CANCEL_SESSION,
        UPDATE_SESSION,
        REQUEST_PERMISSION,
        READ_TEXT_FILE,
        WRITE_TEXT_FILE,
        CREATE_TERMINAL,
        TERMINAL_OUTPUT,
        WAIT_FOR_TERMINAL_EXIT,
        KILL_TERMINAL,
        RELEASE_TERMINAL,
        CREATE_ELICITATION,
        COMPLETE_ELICITATION,
        CANCEL_REQUEST,
        *UNSTABLE_METHODS,
    ),
)
