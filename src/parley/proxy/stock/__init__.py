"""The stock proxies: each a function that returns a component of a chain, and small enough to copy.

`Conductor(stock.budget(cost=1), stock.policy(), agent=…)`, or `parley conduct "budget --cost 1"
policy -- AGENT`; `stock.parse` reads the words of the latter. Each is in a file of `shelf/`, which
is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .line import NAMES, help_of, is_stock, parse

if TYPE_CHECKING:
    from .joint import Joint, Stock
    from .shelf.budget import budget
    from .shelf.context import context
    from .shelf.limits import limits
    from .shelf.log import log
    from .shelf.policy import policy
    from .shelf.record import record
    from .shelf.redact import redact
    from .shelf.rename_paths import rename_paths
    from .shelf.replay import replay
    from .shelf.versions import versions

__all__ = [
    "NAMES",
    "Joint",
    "Stock",
    "budget",
    "context",
    "help_of",
    "is_stock",
    "limits",
    "log",
    "parse",
    "policy",
    "record",
    "redact",
    "rename_paths",
    "replay",
    "versions",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = "joint" if name in ("Joint", "Stock") else f"shelf.{name}"
    return getattr(import_module(f"{__name__}.{file}"), name)
