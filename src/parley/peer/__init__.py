"""One live connection: `Peer`, its limits, what may watch it, and how it is initialized."""

from __future__ import annotations

from .limits import Limits
from .middleware import Observer, TraceContext, Tracer, current_trace
from .peer import Peer
from .request import RequestContext
from .routes import NotificationHandler, RequestHandler, Role, Typed

__all__ = [
    "Limits",
    "NotificationHandler",
    "Observer",
    "Peer",
    "RequestContext",
    "RequestHandler",
    "Role",
    "TraceContext",
    "Tracer",
    "Typed",
    "current_trace",
]
