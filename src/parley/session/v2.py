"""Version 2 on the wire: what programs say is what is sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from parley.errors import Unsupported
from parley.peer import Peer
from parley.peer.initialize import Agreement
from parley.rpc.framing import Frame
from parley.schema import v2
from parley.schema.base import Method, Table, Unknown
from parley.schema.v2 import methods

from .features import AgentFeatures, ClientFeatures
from .surface import AgentDescription, AgentSurface, Gate, Program, extended_table

__all__ = ["agent_surface", "client_features", "client_surface", "hello", "welcome"]

P = TypeVar("P")
R = TypeVar("R")

H = TypeVar("H")


def hello(info: v2.Implementation, features: ClientFeatures) -> v2.InitializeRequest:
    """Return how a client begins."""
    return v2.InitializeRequest(protocol_version=2, info=info, capabilities=features.to_v2())


def client_features(
    params: v2.InitializeRequest,
) -> tuple[ClientFeatures, v2.Implementation | None]:
    """Return what a client says of itself."""
    return ClientFeatures.from_v2(params.capabilities), params.info


def welcome(agent: AgentDescription, params: v2.InitializeRequest) -> v2.InitializeResponse:
    """Return how an agent answers, whatever its client says."""
    del params
    return v2.InitializeResponse(
        protocol_version=2,
        info=agent.info,
        capabilities=agent.features.to_v2(),
        auth_methods=agent.auth_methods,
        meta=agent.meta,
    )


class _Surface:
    """A connection on which nothing has to be translated."""

    version = 2

    def __init__(self, peer: Peer, table: Table, capabilities: Any) -> None:
        self.peer = peer
        self._table = table
        self._gate = Gate(peer.name, capabilities)
        self._offered: set[str] = set()

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> Coroutine[Any, Any, R]:
        self._check(method)
        return self.peer.request(method, params, on_result=on_result)

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        self._check(method)
        return self.peer.notify(method, params)

    def use(self, program: Program) -> None:
        """Have the program's handlers called; those of version 1 alone have nothing to do here."""
        self._table = extended_table(self._table, program)
        requests = _known(program.requests, self._table.requests(self.peer.role))
        notifications = _known(program.notifications, self._table.notifications(self.peer.role))
        self.peer.use(self._table, requests=requests, notifications=notifications)

    def _check(self, method: Method[Any, Any]) -> None:
        if method.name in self._offered:
            return
        if method.name.startswith(("fs/", "terminal/")) and method.to == "client":
            raise Unsupported(f"{method.name} does not exist in version 2 of the protocol")
        self._gate.check(method)
        self._offered.add(method.name)


def _known(handlers: Mapping[str, H], methods: Mapping[str, Any]) -> dict[str, H]:
    return {name: each for name, each in handlers.items() if name in methods or name[0] == "_"}


class _ClientSurface(_Surface):
    def __init__(self, peer: Peer, agreement: Agreement, table: Table) -> None:
        result: v2.InitializeResponse = agreement.result
        super().__init__(peer, table, result.capabilities)
        features = AgentFeatures.from_v2(
            result.capabilities, has_auth_methods=bool(result.auth_methods)
        )
        self.agent = AgentDescription(
            info=result.info,
            features=features,
            auth_methods=list(result.auth_methods),
            meta=result.meta,
        )

    def unread(self, frame: Frame) -> Sequence[Unknown]:
        """Return nothing: content of any kind is in the updates."""
        return ()


class _AgentSurface(_Surface):
    def __init__(self, peer: Peer, agreement: Agreement, table: Table) -> None:
        params: v2.InitializeRequest = agreement.params
        super().__init__(peer, table, params.capabilities)
        self.client, self.client_info = client_features(params)

    def update(self, session_id: str, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        return self.peer.update(methods.UPDATE_SESSION, session_id, update)


def client_surface(peer: Peer, agreement: Agreement, program: Program) -> _ClientSurface:
    """Begin to speak as a client."""
    surface = _ClientSurface(peer, agreement, agreement.table)
    surface.use(program)
    return surface


def agent_surface(
    peer: Peer, agreement: Agreement, begin: Callable[[AgentSurface], Program]
) -> _AgentSurface:
    """Begin to speak as an agent."""
    surface = _AgentSurface(peer, agreement, agreement.table)
    surface.use(begin(surface))
    return surface
