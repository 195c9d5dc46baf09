"""What stands between a client and an agent and passes on what they say.

`Proxy` is a component that a program defines, and `Conductor` makes a chain of some of them and an
agent; both are loaded, with the protocol's types, when they are first asked for. Below them is the
raw switchboard (`wire/switch.py`), which the gateway stands on too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from parley.proxy.pipe.split import Split
from parley.proxy.wire.port import Port, Routing
from parley.proxy.wire.switch import Switch
from parley.proxy.wire.traffic import Answer, Call, Note

if TYPE_CHECKING:
    from parley.proxy.chain.conductor import Conductor
    from parley.proxy.handling.end import End
    from parley.proxy.handling.link import Link
    from parley.proxy.handling.message import Message, Notification, Reply, Request
    from parley.proxy.handling.tools import ToolSession

    from .proxy import Proxy

__all__ = [
    "Answer",
    "Call",
    "Conductor",
    "End",
    "Link",
    "Message",
    "Note",
    "Notification",
    "Port",
    "Proxy",
    "Reply",
    "Request",
    "Routing",
    "Split",
    "Switch",
    "ToolSession",
]

_LAZY = {
    "Conductor": "chain.conductor",
    "End": "handling.end",
    "Link": "handling.link",
    "Message": "handling.message",
    "Notification": "handling.message",
    "Proxy": "proxy",
    "Reply": "handling.message",
    "Request": "handling.message",
    "ToolSession": "handling.tools",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
