"""A live ACP connection: `Peer`, its limits, observers and tracing, and the handshake.

Create a `Peer` on a transport, then call `initialize` (as a client) or `respond_to_initialize` (as
an agent). `parley.client` and `parley.agent` do this for you.
"""

from __future__ import annotations

from ._initialize import Negotiated, initialize, respond_to_initialize
from ._limits import Limits
from ._peer import Peer
from ._request import RequestContext, reserve_response
from ._routes import (
    NotificationHandler,
    RequestHandler,
    Role,
    TypedHandler,
)
from ._tracing import (
    Direction,
    Observer,
    TraceContext,
    Tracer,
    current_trace,
)

__all__ = [
    "Direction",
    "Limits",
    "Negotiated",
    "NotificationHandler",
    "Observer",
    "Peer",
    "RequestContext",
    "RequestHandler",
    "Role",
    "TraceContext",
    "Tracer",
    "TypedHandler",
    "current_trace",
    "initialize",
    "reserve_response",
    "respond_to_initialize",
]
