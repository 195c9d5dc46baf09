"""The methods that a handler of a proxy can be registered for."""

from __future__ import annotations

from typing import Any

from parley._suggestions import suggest
from parley.errors import LocalProtocolError
from parley.schema.base import Method
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2
from parley.session._dialect import RENAMED, To

REST = "*"
"""Stands for every method without a handler of its own."""

_OTHERWISE = {
    "$/cancel_request": "$/cancel_request has no handler: it cancels that of the request",
    "proxy/initialize": "proxy/initialize is called initialize here",
    "proxy/successor": "proxy/successor has no handler: what it carries has",
}

_METHODS: tuple[Method[Any, Any], ...] = (
    *methods1.TABLE.methods,
    *methods2.TABLE.methods,
    *(
        method
        for version in (methods1, methods2)
        for method in (
            *version.NES_METHODS,
            *version.DOCUMENT_METHODS,
            *version.MCP_CONNECTION_METHODS,
            *version.WORKSPACE_METHODS,
        )
    ),
)


def check_method(method: object, to: To) -> None:
    """Refuse what a handler would wait for in vain.

    Args:
        method: The name that was passed.
        to: The side that receives it after the proxy.

    Raises:
        TypeError: It is not a string; perhaps the decorator was used without parentheses.
        LocalProtocolError: The method is never sent to that side.
    """
    decorator = "from_client" if to == "agent" else "from_agent"
    if not isinstance(method, str):
        raise TypeError(f'{decorator} takes a method, as @proxy.{decorator}("session/prompt")')
    if method in RENAMED:
        raise LocalProtocolError(f"{method} is {RENAMED[method]} in version 2; use that name")
    if method in _OTHERWISE:
        raise LocalProtocolError(_OTHERWISE[method])
    if method == REST or method.startswith("_"):
        return
    sides = {each.to for each in _METHODS if each.name == method}
    if not sides:
        names = sorted({each.name for each in _METHODS})
        hint = suggest(method, names, otherwise="names of your own begin with _")
        raise LocalProtocolError(f"unknown method {method!r}; {hint}")
    if not sides & {to, "either"}:
        sender, other = ("agent", "from_agent") if to == "agent" else ("client", "from_client")
        raise LocalProtocolError(f"{method} is sent by the {sender}; use {other}")
