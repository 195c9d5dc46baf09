"""Version 1 on the wire: what programs say in version 2's words is translated, both ways.

How what is said in a session is translated is in `lift.py` (from version 1) and `lower.py` (to it),
how everything else is in `pairs.py`, and what is lost on the way in `docs/versions.md`. When it is
done, and what a turn is in each version, is in `v1_client.py` and `v1_agent.py`.

Spec: https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

from collections.abc import Callable

from parley.peer import Peer
from parley.peer.initialize import Agreement
from parley.schema import v1, v2

from .features import ClientFeatures
from .features_v1 import agent_to_v1, client_from_v1, client_to_v1
from .pairs import lift_info, lower_auth_methods, lower_info
from .surface import AgentDescription, AgentSurface, Program
from .v1_agent import AgentWire
from .v1_client import ClientWire

__all__ = ["agent_surface", "client_features", "client_surface", "hello", "welcome"]


def hello(info: v2.Implementation, features: ClientFeatures) -> v1.InitializeRequest:
    """Return how a client begins."""
    return v1.InitializeRequest(
        protocol_version=1,
        client_capabilities=client_to_v1(features),
        client_info=lower_info(info),
    )


def client_features(
    params: v1.InitializeRequest,
) -> tuple[ClientFeatures, v2.Implementation | None]:
    """Return what a client says of itself."""
    info = None if params.client_info is None else lift_info(params.client_info)
    return client_from_v1(params.client_capabilities, params.general), info


def welcome(agent: AgentDescription, params: v1.InitializeRequest) -> v1.InitializeResponse:
    """Return how an agent answers; an older client finds the encoding where it looks for it."""
    is_older = params.general is not None or params.client_capabilities.general is not None
    return v1.InitializeResponse(
        protocol_version=1,
        agent_capabilities=agent_to_v1(agent.features),
        auth_methods=lower_auth_methods(agent.auth_methods),
        agent_info=lower_info(agent.info),
        position_encoding=agent.features.position_encoding if is_older else None,
        meta=agent.meta,
    )


def client_surface(peer: Peer, agreement: Agreement, program: Program) -> ClientWire:
    """Begin to speak as a client."""
    surface = ClientWire(peer, agreement, agreement.table)
    surface.use(program)
    return surface


def agent_surface(
    peer: Peer, agreement: Agreement, begin: Callable[[AgentSurface], Program]
) -> AgentWire:
    """Begin to speak as an agent."""
    surface = AgentWire(peer, agreement, agreement.table)
    surface.use(begin(surface))
    return surface
