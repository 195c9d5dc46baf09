"""`initialize` in version 1, and the adapters for the connection that it negotiates.

`_adapter.py` loads this module when a connection may speak version 1. Programs use version 2 types;
everything is translated in both directions. `_v1_session_upgrader.py` upgrades and
`_v1_session_downgrader.py` downgrades the messages of a session, and `_v1_method_translations.py`
translates the rest. `_v1_client_adapter.py` and `_v1_agent_adapter.py` apply the translations and
map the turns of one version to those of the other. `docs/reference/versions.md` lists what is lost.

Spec: https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

from collections.abc import Callable

from parley.peer import Peer
from parley.peer._initialize import Negotiated
from parley.schema import v1, v2
from parley.schema.base import JsonObject

from ._adapter import AgentAdapter, AgentDescription, HandlerTable
from ._capabilities import ClientFeatures
from ._v1_agent_adapter import V1AgentAdapter
from ._v1_capabilities import agent_to_v1, client_from_v1, client_to_v1
from ._v1_client_adapter import V1ClientAdapter
from ._v1_method_translations import downgrade_auth_methods, downgrade_info, upgrade_info


def initialize_request(
    info: v2.Implementation, features: ClientFeatures, meta: JsonObject | None = None
) -> v1.InitializeRequest:
    """Return the params of a client's `initialize` request."""
    return v1.InitializeRequest(
        protocol_version=1,
        client_capabilities=client_to_v1(features),
        client_info=downgrade_info(info),
        meta=meta,
    )


def client_features(
    params: v1.InitializeRequest,
) -> tuple[ClientFeatures, v2.Implementation | None]:
    """Return the features and the name of a client, from its `initialize` params."""
    info = None if params.client_info is None else upgrade_info(params.client_info)
    return client_from_v1(params.client_capabilities, params.general), info


def initialize_response(
    agent: AgentDescription, params: v1.InitializeRequest
) -> v1.InitializeResponse:
    """Return the result of `initialize`.

    Clients that follow an older draft get the position encoding at the top level.
    """
    is_older = params.general is not None or params.client_capabilities.general is not None
    return v1.InitializeResponse(
        protocol_version=1,
        agent_capabilities=agent_to_v1(agent.features),
        auth_methods=downgrade_auth_methods(agent.auth_methods),
        agent_info=downgrade_info(agent.info),
        position_encoding=agent.features.position_encoding if is_older else None,
        meta=agent.meta,
    )


def client_adapter(peer: Peer, negotiated: Negotiated, program: HandlerTable) -> V1ClientAdapter:
    """Return the adapter for a client, and register the program's handlers."""
    adapter = V1ClientAdapter(peer, negotiated, negotiated.table)
    adapter.register(program)
    return adapter


def agent_adapter(
    peer: Peer, negotiated: Negotiated, begin: Callable[[AgentAdapter], HandlerTable]
) -> V1AgentAdapter:
    """Return the adapter for an agent; register the handlers that `begin` returns for it."""
    adapter = V1AgentAdapter(peer, negotiated, negotiated.table)
    adapter.register(begin(adapter))
    return adapter
