"""The options of `connect` as a type, for functions that pass them on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from parley.config import Config
from parley.journal import Journal
from parley.peer import Limits, Observer, Tracer
from parley.schema import v2
from parley.schema.base import JsonObject

from ._handlers import ClientHandlers
from ._login import Chooser, RunLogin
from ._session import Session
from ._target_settings import Process, Remote


class ConnectOptions(ClientHandlers, total=False):
    """The keyword arguments of `connect`, whose documentation describes each of them.

    Annotate `**options` of your own function with it, `**options: Unpack[ConnectOptions]`, to pass
    them on to `connect`.
    """

    process: Process | None
    remote: Remote | None
    config: Config | bool
    name: str
    info: v2.Implementation | None
    meta: JsonObject | None
    versions: Sequence[int]
    give_up_after: float | None
    max_message_bytes: int
    limits: Limits | None
    tools: Sequence[Callable[..., Any]]
    mcp_servers: Sequence[object]
    on_update: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None
    login: Chooser | None
    terminal_login: RunLogin | None
    journal: Journal | None
    observer: Observer | None
    tracer: Tracer | None
