"""An MCP server that runs here, as the official `mcp` package has it.

The package calls the handlers of a server; Parley carries the messages. A request with MCP's own
envelope (its revision of July 2026) stands alone; a `ServerConversation` has the handshake of the
earlier revisions. The server's lifespan is entered with the first request and left when the server
is withdrawn, both in one task, as a lifespan may require.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import anyio
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, aclose_shielded, modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import PROTOCOL_VERSION_META_KEY, UNSUPPORTED_PROTOCOL_VERSION, ErrorData
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import UNSET

from parley._user_code import as_exception, reraise_if_ending
from parley.errors import McpServerFailed, RequestCancelled, RequestError

from ._current_request import ServerRequest, current_request
from ._errors import McpFailure

logger = logging.getLogger(__name__)

Json: TypeAlias = Mapping[str, Any] | None
Notify: TypeAlias = Callable[[str, Json], Awaitable[None]]
Ask: TypeAlias = Callable[[str, Json], Awaitable[Any]]

_GRACE = 1.0
"""How many seconds what runs in a server has to end when it is withdrawn."""


def is_server(value: object) -> bool:
    """Return whether something is a server of the `mcp` package."""
    return _lowlevel(value) is not None


def _lowlevel(value: object) -> Server[Any] | None:
    """Return the server below the decorators, where the packages keep it."""
    places = (value, getattr(value, "_lowlevel_server", None), getattr(value, "_mcp_server", None))
    found: list[Server[Any]] = [each for each in places if isinstance(each, Server)]
    return found[0] if found else None


def _has_envelope(params: Json) -> bool:
    """Return whether a request names its revision of MCP."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


@dataclass
class _Exchange:
    """The messages that a handler of the server can send while it works on a message."""

    _notify: Notify
    _ask: Ask | None
    request_id: str | int | None = None
    progress_token: str | int | None = None
    message_metadata: MessageMetadata = None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    is_over: bool = False

    @property
    def can_send_request(self) -> bool:
        return self._ask is not None and not self.is_over

    @property
    def transport(self) -> TransportContext:
        return TransportContext(kind="acp", can_send_request=self.can_send_request)

    async def notify(self, method: str, params: Json, opts: CallOptions | None = None) -> None:
        if not self.is_over:
            await self._notify(method, params)

    async def send_raw_request(
        self, method: str, params: Json, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if self._ask is None or self.is_over:
            raise NoBackChannelError(method)
        return await _ask_client(self._ask, method, params, opts)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self.progress_token is None:
            return
        members = {"progress": progress, "total": total, "message": message}
        params = {name: value for name, value in members.items() if value is not None}
        await self.notify(
            "notifications/progress", {"progressToken": self.progress_token, **params}
        )


async def _ask_client(
    ask: Ask, method: str, params: Json, opts: CallOptions | None
) -> dict[str, Any]:
    """Ask the other side something for a server; what goes wrong is an error of MCP."""
    try:
        async with asyncio.timeout((opts or {}).get("timeout")):
            result = await ask(method, params)
    except RequestError as error:
        data: Any = None if error.data is UNSET else error.data
        raise MCPError(code=error.code, message=error.message, data=data) from error
    except TimeoutError as error:
        raise MCPError(code=-32001, message=f"Timed out waiting for {method}") from error
    return cast("dict[str, Any]", result) if isinstance(result, dict) else {}


def _failure(error: Exception) -> McpFailure:
    """Return the error that the other side gets for an exception of a handler."""
    error_data: ErrorData = modern_error_data(error)
    return McpFailure(error_data.model_dump(mode="json", exclude_none=True))


class HostedServer:
    """A server that was added to a provider."""

    def __init__(self, server: object, name: str, session: object = None) -> None:
        found = _lowlevel(server)
        if found is None:
            raise TypeError(f"{type(server).__name__} is not an MCP server of the mcp package")
        self.server = found
        self.name = name or found.name
        """The name that the agent sees."""
        self.session = session
        """The session that it was added for; None if that is not known."""
        self.running: dict[object, asyncio.Task[Any]] = {}
        """The running requests, by key."""
        self._background: set[asyncio.Task[Any]] = set()
        self._lifespan_task: asyncio.Task[None] | None = None
        self._state: asyncio.Future[Any] | None = None
        self._is_withdrawn = asyncio.Event()

    async def begin(self) -> Any:
        """Enter the lifespan unless that was done, and return what it has made.

        Raises:
            McpServerFailed: It failed; the next request tries again.
        """
        if self._state is None:
            self._state = asyncio.get_running_loop().create_future()
            self._lifespan_task = asyncio.create_task(self._live(self._state))
        return await asyncio.shield(self._state)

    async def _live(self, state: asyncio.Future[Any]) -> None:
        try:
            async with self.server.lifespan(self.server) as made:
                state.set_result(made)
                await self._is_withdrawn.wait()
        except BaseException as error:  # of the server's program; callers are notified below
            reraise_if_ending(error)
            logger.exception("the lifespan of the MCP server %s failed", self.name)
        finally:
            if not state.done():
                state.set_exception(
                    McpServerFailed(f"The MCP server {self.name} cannot be started")
                )
                state.exception()  # for the waiting caller, if there is one
                self._state = None

    async def ask(self, method: str, params: Json, id: str | int, notify: Notify) -> dict[str, Any]:
        """Answer a request that has everything in it.

        Raises:
            McpFailure: The server refused it.
            McpServerFailed: The server has ended.
        """
        if method == "initialize":
            raise _no_handshake(params)
        route = classify_inbound_request({"method": method, "params": params})
        if isinstance(route, InboundLadderRejection):
            data = {} if route.data is None else {"data": route.data}
            raise McpFailure({"code": route.code, "message": route.message, **data})
        exchange = _Exchange(notify, None, id, progress_token_from_params(params))
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        state = await self.begin()
        try:
            return await serve_one(
                self.server,
                exchange,
                method,
                params,
                connection=connection,
                lifespan_state=state,
            )
        except BaseException as error:  # of the server: `_failure` decides what the caller may know
            raise _failure(as_exception(error)) from error
        finally:
            exchange.is_over = True

    async def run(
        self, key: object, coroutine: Coroutine[Any, Any, dict[str, Any]]
    ) -> dict[str, Any]:
        """Run a request so that it can be cancelled by its key.

        The caller does not wait for a function that ignores its cancellation.

        Raises:
            RequestCancelled: It was cancelled by its key, or with the server.
        """
        request = ServerRequest(self, self.session)
        context = copy_context()
        context.run(current_request.set, request)
        task = self.running[key] = asyncio.create_task(coroutine, context=context)
        task.add_done_callback(_retrieve_exception)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        try:
            await asyncio.wait({task})
        finally:
            request.is_over = True
            task.cancel()
            if self.running.get(key) is task:
                del self.running[key]
        if task.cancelled():
            raise RequestCancelled
        result: dict[str, Any] = task.result()
        return result

    def run_in_background(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that nothing waits for until the server is closed."""
        task = asyncio.create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def aclose(self) -> None:
        """End what it works on, and its lifespan."""
        left = set(self._background)
        for task in left:
            task.cancel()
        self._is_withdrawn.set()
        if self._lifespan_task is not None:
            left.add(self._lifespan_task)
        if not left:
            return
        _, left = await asyncio.wait(left, timeout=_GRACE)
        for task in left:
            task.cancel()
        if left:
            logger.error("the MCP server %s: %d functions do not end", self.name, len(left))


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of a task whose caller no longer waits."""
    if not task.cancelled():
        task.exception()


def _no_handshake(params: Json) -> McpFailure:
    data = {
        "supported": list(MODERN_PROTOCOL_VERSIONS),
        "requested": (params or {}).get("protocolVersion"),
    }
    text = "There is no handshake: each request names its revision of MCP"
    return McpFailure({"code": UNSUPPORTED_PROTOCOL_VERSION, "message": text, "data": data})


class ServerConversation:
    """An open connection to a server, with MCP's handshake and both directions."""

    def __init__(self, server: HostedServer, state: Any, *, ask: Ask, notify: Notify) -> None:
        self.server = server
        self._ask = ask
        self._notify = notify
        self._connection = Connection.for_loop(_Exchange(notify, ask))
        self._runner = ServerRunner(server.server, self._connection, state)

    async def ask(self, method: str, params: Json, id: str | int) -> dict[str, Any]:
        """Answer a request.

        Raises:
            McpFailure: The server refused it.
        """
        if method != "initialize" and _has_envelope(params):
            return await self.server.ask(method, params, id, self._notify)
        token = progress_token_from_params(params)
        exchange = _Exchange(self._notify, self._ask, id, token)
        try:
            return await self._runner.on_request(exchange, method, params)
        except BaseException as error:  # of the server: `_failure` decides what the caller may know
            raise _failure(as_exception(error)) from error
        finally:
            exchange.is_over = True

    async def notify(self, method: str, params: Json) -> None:
        """Deliver a notification."""
        await self._runner.on_notify(_Exchange(self._notify, self._ask), method, params)

    async def aclose(self) -> None:
        """Free what the server holds for this connection."""
        await aclose_shielded(self._connection)
