"""The built-in proxies: functions that return a component of a chain, each small enough to copy.

`Conductor(builtin.budget(cost=1), builtin.policy(), agent=…)` in a program, or `parley conduct
"budget --cost 1" policy -- AGENT` on the command line; `parse` reads the notation of the latter.
"""

from __future__ import annotations

from parley.proxy._chain.builtin_commands import NAMES, help_of, is_builtin, parse
from parley.proxy._chain.terminating import TerminatingProxy

from ._budget import budget
from ._context import context
from ._limits import limits
from ._log import log
from ._policy import policy
from ._record import record
from ._redact import redact
from ._rename_paths import rename_paths
from ._replay import replay
from ._versions import versions

__all__ = [
    "NAMES",
    "TerminatingProxy",
    "budget",
    "context",
    "help_of",
    "is_builtin",
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
