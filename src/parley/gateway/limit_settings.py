"""The limits of a gateway under one roof: what each is called in the configuration.

They belong to three parts: the server (sockets, heads of requests), the application (connections,
streams, logs), and the hosted agents (processes, sessions, further clients). A name that several
parts have means the same to each.
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

from .limits import HostLimits

__all__ = ["LIMITS", "GatewayLimits", "read_limits"]

_SERVER = {
    **{each.name: each.name for each in fields(ServerLimits)},
    "connections": "sockets",
    "body_bytes": "",
}
"""What a limit of the server is called; it has no own one for bodies."""
_APP = {**{name: name for name in AppLimits.__struct_fields__}, "body_bytes": "message_bytes"}
_HOST = {name: name for name in HostLimits.__struct_fields__}


class GatewayLimits(Struct, frozen=True, kw_only=True):
    """The limits of all parts."""

    server: ServerLimits = ServerLimits()
    app: AppLimits = AppLimits()
    host: HostLimits = HostLimits()


def _known() -> type[Struct]:
    """Return what the table of limits looks like."""
    hints = {
        shown: get_type_hints(kind)[own]
        for kind, names in ((ServerLimits, _SERVER), (AppLimits, _APP), (HostLimits, _HOST))
        for own, shown in names.items()
        if shown
    }
    return msgspec.defstruct("Limits", [(name, kind | None, None) for name, kind in hints.items()])


_Limits = _known()
LIMITS = _Limits.__struct_fields__
"""What the limits are called."""


def read_limits(table: Mapping[str, Any], place: str) -> GatewayLimits:
    """Read the table of limits.

    Raises:
        Wrong: A limit is not known, or is no number above 0.
    """
    given = {
        name: value
        for name, value in structs.asdict(checked(table, _Limits, place)).items()
        if value is not None
    }
    for name, value in given.items():
        if value <= 0:
            raise Wrong(f"{place}.{name}: expected a number above 0")

    def of(names: Mapping[str, str]) -> dict[str, Any]:
        return {own: given[shown] for own, shown in names.items() if shown in given}

    return GatewayLimits(
        server=ServerLimits(**of(_SERVER)), app=AppLimits(**of(_APP)), host=HostLimits(**of(_HOST))
    )
