"""Agents on the network: hosted and supervised, with more than one client on a session.

`HttpApp` and `GatewayApp` run under any ASGI server; `serve` is ours, and needs the extra `http`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp
from parley.transport.http._extra import require_http_extra

from .agent_host import AgentHost
from .app import GatewayApp
from .gateway import Gateway
from .history_budget import HistoryBudget
from .limits import HostLimits

if TYPE_CHECKING:
    from parley.transport.http._app.serving import serve

__all__ = [
    "Access",
    "AgentHost",
    "Gateway",
    "GatewayApp",
    "HistoryBudget",
    "HostLimits",
    "HttpApp",
    "serve",
]


def __getattr__(name: str) -> Any:
    if name == "serve":
        with require_http_extra("serving"):
            from parley.transport.http._app.serving import serve

        return serve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
