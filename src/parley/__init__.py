"""Parley: the Agent Client Protocol (ACP) in Python.

Write an agent:

    from parley import Agent, Turn

    agent = Agent("hello")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    agent.run()

Use one:

    async with parley.connect("opencode acp", cwd=".") as connection:
        session = await connection.new_session()
        print(await session.ask("What is in this repository?"))

`Agent` defines an agent; its handlers get a `Turn` and open `ToolCall`s. `serve` serves one beside
the other tasks of a program. `connect` yields a
`Connection`, which opens `Session`s; `think` asks one question. `Process` says how to start an
agent, and `Remote` how to reach one by its URL. A `Workspace` lends files and
terminals, and a `Policy` decides permission requests. A `Proxy` sits between a client and an agent,
and a `Conductor` runs a chain of proxies. All errors are an `AcpError`.

Everything else comes from its package: `parley.agent`, `parley.client`, `parley.proxy` and
`parley.policy` for the types that these work with, `parley.errors` for all errors, `parley.mcp` for
tools, `parley.testing` for tests without a model, `parley.schema` for the protocol types of both
versions, `parley.peer` and `parley.transport` for the layers below. `docs/reference/api.md` lists
all public names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import agent as agent
    from . import client as client
    from . import config as config
    from . import errors as errors
    from . import export as export
    from . import gateway as gateway
    from . import journal as journal
    from . import mcp as mcp
    from . import nes as nes
    from . import peer as peer
    from . import policy as policy
    from . import proxy as proxy
    from . import recording as recording
    from . import rpc as rpc
    from . import schema as schema
    from . import session as session
    from . import testing as testing
    from . import transport as transport
    from .agent import Agent, ToolCall, Turn, serve
    from .client import Connection, Process, Remote, Session, Workspace, connect, think
    from .errors import (
        AcpError,
        AuthRequired,
        ConnectFailed,
        ConnectionClosed,
        InvalidParams,
        NoResult,
        OptionRefused,
        ProcessExited,
        RequestError,
        ResourceNotFound,
        ToolError,
        Unauthorized,
        Unsupported,
    )
    from .policy import Policy
    from .proxy import Conductor, Proxy

__all__ = [
    "AcpError",
    "Agent",
    "AuthRequired",
    "Conductor",
    "ConnectFailed",
    "Connection",
    "ConnectionClosed",
    "InvalidParams",
    "NoResult",
    "OptionRefused",
    "Policy",
    "Process",
    "ProcessExited",
    "Proxy",
    "Remote",
    "RequestError",
    "ResourceNotFound",
    "Session",
    "ToolCall",
    "ToolError",
    "Turn",
    "Unauthorized",
    "Unsupported",
    "Workspace",
    "connect",
    "serve",
    "think",
]

__version__ = "0.2.0"

_PACKAGES = frozenset(
    {
        "agent",
        "client",
        "config",
        "errors",
        "export",
        "gateway",
        "journal",
        "mcp",
        "nes",
        "peer",
        "policy",
        "proxy",
        "recording",
        "rpc",
        "schema",
        "session",
        "testing",
        "transport",
    }
)
"""The packages that `import parley; parley.client` finds, imported on first access."""

_EXPORTED_BY = {
    "agent": ("Agent", "ToolCall", "Turn", "serve"),
    "client": ("Connection", "Process", "Remote", "Session", "Workspace", "connect", "think"),
    "policy": ("Policy",),
    "proxy": ("Conductor", "Proxy"),
}
_ORIGIN = {name: package for package, names in _EXPORTED_BY.items() for name in names}
"""The package of each name; an error comes from `errors`. Names are imported on first access,
because they load the protocol types."""


def _import(name: str) -> Any:
    """Import a package, or a name from its package."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_ORIGIN.get(name, 'errors')}"), name)
    globals()[name] = value  # so that this function is not called again
    return value


if not TYPE_CHECKING:  # a type checker would accept any name otherwise
    __getattr__ = _import


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
