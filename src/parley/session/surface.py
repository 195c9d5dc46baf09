"""One initialized connection, spoken in version 2's words whatever is on the wire.

Programs, agents as well as clients, know only version 2's types: they are the more general ones. A
`Surface` sends their requests and notifications and calls their handlers; `v2.py` passes both on as
they are, `v1.py` translates, with the state that this needs. What only version 1 has, the files and
terminals of the client, is asked for with version 1's types and is `Unsupported` elsewhere.

This is one of the two places that look at the version, and it loads only the module that is spoken.
Handlers are given by version 2's method names, and version 1's for what only that has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct, to_builtins

from parley.errors import Unsupported
from parley.peer import NotificationHandler, Peer, RequestHandler, Typed
from parley.peer.initialize import Agreement, answer_initialize, initialize
from parley.rpc.framing import Frame
from parley.schema import v2
from parley.schema.base import Method, Table, Unknown
from parley.schema.version import SUPPORTED

from .features import AgentFeatures, ClientFeatures

__all__ = [
    "AgentDescription",
    "AgentSurface",
    "ClientSurface",
    "Gate",
    "Program",
    "Surface",
    "extended_table",
    "open_agent",
    "open_client",
]

P = TypeVar("P")
R = TypeVar("R")


class Program(Struct, frozen=True, kw_only=True):
    """The handlers of one side, by method name."""

    requests: Mapping[str, RequestHandler | Typed] = {}
    notifications: Mapping[str, NotificationHandler | Typed] = {}


class AgentDescription(Struct, frozen=True, kw_only=True):
    """How an agent answers initialize."""

    info: v2.Implementation
    features: AgentFeatures
    auth_methods: list[v2.AuthMethod] = []
    meta: dict[str, Any] | None = None


class Surface(Protocol):
    """What both sides can do on a connection."""

    @property
    def version(self) -> int:
        """The version on the wire."""
        ...

    @property
    def peer(self) -> Peer:
        """The connection itself."""
        ...

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> Coroutine[Any, Any, R]:
        """Send a request and return its result; `Unsupported` if the other side does not offer it.

        The right to pass the barrier is taken when this is called, as `Peer.request` says.
        `on_result` is called as soon as the result arrives, before what came after it is handled.
        """
        ...

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        """Send a notification."""
        ...


class ClientSurface(Surface, Protocol):
    """A connection as its client sees it."""

    @property
    def agent(self) -> AgentDescription:
        """Who the agent is and what it offers."""
        ...

    def unread(self, frame: Frame) -> Sequence[Unknown]:
        """Return what of an update has no name in this version and is in no update therefore."""
        ...


class AgentSurface(Surface, Protocol):
    """A connection as its agent sees it."""

    @property
    def client(self) -> ClientFeatures:
        """What the client offers."""
        ...

    def update(self, session_id: str, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Send an update of a session."""
        ...

    @property
    def client_info(self) -> v2.Implementation | None:
        """Who the client is, if it says so."""
        ...


class Gate:
    """Knows what the other side offers, and stops what it does not."""

    def __init__(self, name: str, capabilities: Any) -> None:
        self._name = name
        self._offers: dict[str, Any] = to_builtins(capabilities)

    def check(self, method: Method[Any, Any]) -> None:
        """Raise `Unsupported` for a method that was not offered."""
        if method.capability is None:
            return
        found: Any = self._offers
        for key in method.capability.split("."):
            found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
        if found is None or found is False:
            why = "; it has no function for prompts" if method.capability == "session" else ""
            raise Unsupported(
                f"the {self._name} does not offer {method.name} "
                f"(capability {method.capability}){why}"
            )


def extended_table(table: Table, program: Program) -> Table:
    """Add methods that are not in the schema where a program serves them.

    They are those of the editor's state, which are only proposed, those of MCP over ACP with
    connections, and those of next edit suggestions. Programs know version 2's types.
    """
    names = [*program.requests, *program.notifications]
    if any(name.startswith("workspace/") for name in names):
        from parley.schema.v2.former_methods import WORKSPACE_METHODS

        table = table.extended(WORKSPACE_METHODS)
    if any(name.startswith("mcp/") for name in names):
        from parley.schema.v2.former_methods import MCP_CONNECTION_METHODS

        table = table.extended(MCP_CONNECTION_METHODS)
    if any(name.startswith(("nes/", "document/")) for name in names):
        from parley.schema.v2.former_methods import DOCUMENT_METHODS, NES_METHODS

        table = table.extended(NES_METHODS + DOCUMENT_METHODS)
    return table


async def open_client(
    peer: Peer,
    *,
    info: v2.Implementation,
    features: ClientFeatures,
    program: Program,
    versions: tuple[int, ...] = SUPPORTED,
) -> ClientSurface:
    """Initialize a connection as its client and have the program's handlers called.

    Raises:
        VersionMismatch: The agent speaks none of these versions.
        RequestError: It refused.
    """
    offers = {version: _module(version).hello(info, features) for version in versions}
    surfaces: list[ClientSurface] = []

    def agreed(agreement: Agreement) -> None:
        surfaces.append(_module(agreement.version).client_surface(peer, agreement, program))

    await initialize(peer, offers, agreed)
    return surfaces[0]


def open_agent(
    peer: Peer,
    describe: Callable[[ClientFeatures, v2.Implementation | None], Awaitable[AgentDescription]],
    begin: Callable[[AgentSurface], Program],
    versions: tuple[int, ...] = SUPPORTED,
) -> None:
    """Make a peer, not yet started, answer initialize as an agent.

    Args:
        peer: The connection.
        describe: Called with what the client says of itself; returns what the agent is.
        begin: Called when a version was agreed on; returns the handlers.
        versions: The versions to speak.
    """

    async def answer(version: int, params: Any) -> Any:
        module = _module(version)
        features, info = module.client_features(params)
        return module.welcome(await describe(features, info), params)

    def agreed(agreement: Agreement) -> None:
        _module(agreement.version).agent_surface(peer, agreement, begin)

    answer_initialize(peer, answer, agreed, versions)


def _module(version: int) -> ModuleType:
    if version == 1:
        from . import v1 as module_v1

        return module_v1
    from . import v2 as module_v2

    return module_v2
