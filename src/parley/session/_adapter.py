"""Protocol adapters: version 2 types on an initialized connection of either version.

Agents and clients use only version 2 types, which are the more general ones. A `ProtocolAdapter`
sends their requests and notifications and calls their handlers. The adapters in `_v2_adapter.py`
pass messages on unchanged. Those in `_v1_agent_adapter.py` and `_v1_client_adapter.py` translate
them. A client's files and terminals exist only in version 1: their methods keep version 1 types,
and raise `Unsupported` on a version 2 connection.

The adapter is selected here, by the negotiated version, and only the modules of the versions in use
are loaded. Handlers are registered by version 2 method name, or by version 1 name for methods that
only version 1 has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct, to_builtins

from parley.errors import Unsupported
from parley.peer import NotificationHandler, Peer, RequestHandler, TypedHandler
from parley.peer._initialize import Negotiated, initialize, respond_to_initialize
from parley.peer._peer_name import with_article
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.schema.base import Method, MethodTable, Unknown
from parley.schema.v2 import methods
from parley.schema.version import SUPPORTED

from ._capabilities import AgentFeatures, ClientFeatures

P = TypeVar("P")
R = TypeVar("R")


class HandlerTable(Struct, frozen=True, kw_only=True):
    """The handlers of a program, by method name."""

    requests: Mapping[str, RequestHandler | TypedHandler] = {}
    notifications: Mapping[str, NotificationHandler | TypedHandler] = {}


class AgentDescription(Struct, frozen=True, kw_only=True):
    """An agent's description of itself, for the response to `initialize`."""

    info: v2.Implementation
    features: AgentFeatures
    auth_methods: list[v2.AuthMethod] = []
    meta: dict[str, Any] | None = None


class MalformedResponse(v2.Error):
    """The error of a turn whose prompt got a malformed response.

    Only in version 1 does a response end the turn. Other code sees an internal error.
    """


class ProtocolAdapter(Protocol):
    """An initialized connection, as both sides use it."""

    @property
    def version(self) -> int:
        """The protocol version on the wire."""
        ...

    @property
    def peer(self) -> Peer:
        """The underlying connection."""
        ...

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> Coroutine[Any, Any, R]:
        """Send a request and return its result.

        As with `Peer.request`, the right to pass the session's barrier is determined when this is
        called, not when it is awaited. `on_result` is called as soon as the result arrives, before
        any later message is handled.

        Raises:
            Unsupported: The peer does not offer the method.
        """
        ...

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        """Send a notification."""
        ...


class ResumeAttempt(Struct, frozen=True, kw_only=True):
    """One way to reopen a session."""

    method: Method[Any, v2.ResumeSessionResponse]
    request: Any
    """The params of the method."""
    replays: bool
    """Whether the agent replays the conversation."""


class ClientAdapter(ProtocolAdapter, Protocol):
    """A client's connection to an agent."""

    @property
    def agent(self) -> AgentDescription:
        """The agent's name, features and authentication methods."""
        ...

    def begin_prompt(
        self,
        params: v2.PromptRequest,
        *,
        on_accepted: Callable[[v2.PromptResponse], None],
        on_failed: Callable[[BaseException], None],
    ) -> None:
        """Send a prompt before returning, so that nothing sent later can overtake it.

        Args:
            params: The prompt.
            on_accepted: Called when the agent has accepted the prompt, before any later message is
                handled; in version 1, which has no such message, before this returns.
            on_failed: Called if the agent rejects the prompt, after the earlier updates of the
                session have been handled.

        Raises:
            AcpError: The prompt could not be sent.
        """
        ...

    def notify_now(self, method: Method[P, None], params: P) -> None:
        """Send a notification before returning, without waiting for room to send more."""
        ...

    def resume_fallback(self, request: v2.ResumeSessionRequest) -> ResumeAttempt | None:
        """Return the attempt to make if the agent does not know the method of a `session/resume`.

        Return None if the agent offers no other way.
        """
        ...

    def unknown_content(self, frame: Frame) -> Sequence[Unknown]:
        """Return the content that an update lacks because this version does not know its type."""
        ...


class AgentAdapter(ProtocolAdapter, Protocol):
    """An agent's connection to a client."""

    @property
    def client(self) -> ClientFeatures:
        """The features that the client offers."""
        ...

    def update(self, session_id: str, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Send a session update."""
        ...

    @property
    def client_info(self) -> v2.Implementation | None:
        """The client's name and version, if it sent them."""
        ...


class CapabilityCheck:
    """The capabilities of a peer; rejects methods that it does not offer."""

    def __init__(self, name: str, capabilities: Any) -> None:
        self._name = name
        self._offered: dict[str, Any] = to_builtins(capabilities)

    def check(self, method: Method[Any, Any]) -> None:
        """Raise `Unsupported` if the peer does not offer a method."""
        if method.capability is None:
            return
        found: Any = self._offered
        for key in method.capability.split("."):
            found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
        if found is None or found is False:
            hint = "; it has no prompt handler" if method.capability == "session" else ""
            raise Unsupported(
                f"{with_article(self._name)} does not offer {method.name} "
                f"(capability {method.capability}){hint}"
            )


def extended_table(table: MethodTable, program: HandlerTable) -> MethodTable:
    """Return the table, extended with methods that the program serves but the schema lacks.

    These are the proposed methods for the editor's state (`workspace/*`), MCP over ACP with
    connections (`mcp/*`), and next edit suggestions (`nes/*`, `document/*`). They have version 2
    types, which programs use.
    """
    names = [*program.requests, *program.notifications]
    if any(name.startswith("workspace/") for name in names):
        table = table.extended(methods.WORKSPACE_METHODS)
    if any(name.startswith("mcp/") for name in names):
        table = table.extended(methods.MCP_CONNECTION_METHODS)
    if any(name.startswith(("nes/", "document/")) for name in names):
        table = table.extended(methods.NES_METHODS + methods.DOCUMENT_METHODS)
    return table


async def open_client_adapter(
    peer: Peer,
    *,
    info: v2.Implementation,
    features: ClientFeatures,
    program: HandlerTable,
    versions: tuple[int, ...] = SUPPORTED,
    meta: dict[str, Any] | None = None,
) -> ClientAdapter:
    """Initialize a connection as a client, and register the program's handlers.

    Raises:
        VersionMismatch: The agent supports none of these versions.
        RequestError: The agent rejected `initialize`.
    """
    offers = {
        version: _version_module(version).initialize_request(info, features, meta)
        for version in versions
    }
    adapters: list[ClientAdapter] = []

    def on_negotiated(negotiated: Negotiated) -> None:
        adapters.append(
            _version_module(negotiated.version).client_adapter(peer, negotiated, program)
        )

    await initialize(peer, offers, on_negotiated)
    return adapters[0]


def open_agent_adapter(
    peer: Peer,
    describe: Callable[[ClientFeatures, v2.Implementation | None], Awaitable[AgentDescription]],
    begin: Callable[[AgentAdapter], HandlerTable],
    versions: tuple[int, ...] = SUPPORTED,
) -> None:
    """Make a peer respond to `initialize` as an agent; call this before the peer is started.

    Args:
        peer: The connection.
        describe: Called with the client's features and name; returns the agent's description.
        begin: Called with the adapter once a version is negotiated; returns the handlers.
        versions: The supported versions.
    """

    async def respond(version: int, params: Any) -> Any:
        module = _version_module(version)
        features, info = module.client_features(params)
        return module.initialize_response(await describe(features, info), params)

    def on_negotiated(negotiated: Negotiated) -> None:
        _version_module(negotiated.version).agent_adapter(peer, negotiated, begin)

    respond_to_initialize(peer, respond, on_negotiated, versions)


def _version_module(version: int) -> ModuleType:
    if version == 1:
        from . import _v1_initialize as module_v1

        return module_v1
    from . import _v2_adapter as module_v2

    return module_v2
