"""The limits of a gateway: those of a hosted agent, and the configuration of all limits.

The limits belong to three parts: the server (sockets, heads of requests), the application
(connections, streams, logs), and the hosted agents (processes, sessions, further clients). In the
configuration they are one table; a name that several parts have sets all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct, structs

from parley.asgi_server.limits import ServerLimits
from parley.config._check import Wrong, checked
from parley.transport.http._app.limits import AppLimits

__all__ = ["LIMITS", "GatewayLimits", "HostLimits", "read_limits"]


class HostLimits(Struct, frozen=True, kw_only=True):
    """The limits of a hosted agent; requests beyond them are rejected with -32005."""

    in_flight: int = AppLimits().in_flight
    """Pending requests of one connection."""
    spawns: int = 30
    """Processes that may be started within `spawns_within`."""
    spawns_within: float = 60.0
    """Seconds."""
    shared_idle: float = 300.0
    """The seconds for which a shared agent without clients and sessions stays."""
    shared_per_principal: int = 8
    """Processes of a shared agent for one principal, one for each kind of client."""
    attached: int = 16
    """Further clients on one session."""
    waiting_prompts: int = 16
    """Queued prompts of further clients, in one session."""
    history_bytes: int = 16 * 1024 * 1024
    """The history of a session for further clients; beyond it, the beginning is dropped."""
    total_history_bytes: int = 256 * 1024 * 1024
    """All histories together; beyond it, those of the least recently used sessions are dropped."""
    behind_bytes: int = 4 * 1024 * 1024
    """How far a further client may fall behind before its connection is closed."""
    patience: float = 60.0
    """The seconds for which a client may read nothing while the agent waits for it."""


_SERVER = {
    **{each.name: each.name for each in fields(ServerLimits)},
    "connections": "sockets",
    "body_bytes": "",
}
"""The configuration keys of the server's limits; it has none of its own for bodies."""
_APP = {**{name: name for name in AppLimits.__struct_fields__}, "body_bytes": "message_bytes"}
_HOST = {name: name for name in HostLimits.__struct_fields__}


class GatewayLimits(Struct, frozen=True, kw_only=True):
    """The limits of the server, the application and the hosted agents."""

    server: ServerLimits = ServerLimits()
    app: AppLimits = AppLimits()
    host: HostLimits = HostLimits()


def _known() -> type[Struct]:
    """Return the type of the configuration table."""
    hints = {
        shown: get_type_hints(kind)[own]
        for kind, names in ((ServerLimits, _SERVER), (AppLimits, _APP), (HostLimits, _HOST))
        for own, shown in names.items()
        if shown
    }
    return msgspec.defstruct("Limits", [(name, kind | None, None) for name, kind in hints.items()])


_Limits = _known()
LIMITS = _Limits.__struct_fields__
"""The configuration keys of all limits."""


def read_limits(table: Mapping[str, Any], place: str) -> GatewayLimits:
    """Read the table of limits.

    Raises:
        Wrong: A limit is not known, or is not a positive number.
    """
    given = {
        name: value
        for name, value in structs.asdict(checked(table, _Limits, place)).items()
        if value is not None
    }
    for name, value in given.items():
        if value <= 0:
            raise Wrong(f"{place}.{name}: must be a positive number")

    def of(names: Mapping[str, str]) -> dict[str, Any]:
        return {own: given[shown] for own, shown in names.items() if shown in given}

    return GatewayLimits(
        server=ServerLimits(**of(_SERVER)), app=AppLimits(**of(_APP)), host=HostLimits(**of(_HOST))
    )
