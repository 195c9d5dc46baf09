"""Components that stand between a client and an agent and forward what the two send.

`Proxy` is a component with handlers of your own, `Conductor` runs a chain of components and an
agent, and `parley.proxy.builtin` has ready-made components. `Switch` and `Port`, the raw
switchboard on which they are built, forward frames as bytes and know no method.
"""

from __future__ import annotations

from ._chain.component import Component, ComponentSpec
from ._chain.conductor import Conductor
from ._handling.connection import ProxyConnection
from ._handling.message import Message, Notification, Request, Response
from ._handling.peer import ProxyPeer
from ._handling.tools import ToolSession
from ._proxy import Proxy
from ._switch.messages import DirectResponse, PendingRequest, RawMessage, RawNotification, Route
from ._switch.port import Port, PortOptions, Router
from ._switch.switch import Switch
from ._transports.mux import MuxTransport

__all__ = [
    "Component",
    "ComponentSpec",
    "Conductor",
    "DirectResponse",
    "Message",
    "MuxTransport",
    "Notification",
    "PendingRequest",
    "Port",
    "PortOptions",
    "Proxy",
    "ProxyConnection",
    "ProxyPeer",
    "RawMessage",
    "RawNotification",
    "Request",
    "Response",
    "Route",
    "Router",
    "Switch",
    "ToolSession",
]
