"""MCP servers of a proxy, offered to the agent over the connection that passes through it.

Each session that is opened gets servers with ids of its own, which nobody else knows; they can be
used before the session is there, and are gone with it. What the agent says to them is answered
here; what it says to others goes on to whoever declared those.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from parley.errors import AcpError, InternalError, RequestCancelled, RequestError
from parley.mcp.provider import MCP_METHODS, Provider
from parley.proxy.wire.patching import patched
from parley.proxy.wire.port import Port
from parley.proxy.wire.traffic import Answer, Call, Note, named
from parley.rpc import codec
from parley.rpc.codec import NOT_FITTING
from parley.rpc.message import Success
from parley.schema.codec import encode
from parley.schema.sessions import CLOSES, OPENS

from .way import Inner, Way, cancel_soon, params_of

if TYPE_CHECKING:
    from .link import Link

__all__ = ["Tools"]

logger = logging.getLogger(__name__)

_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode


class Tools:
    """What a proxy offers on one connection."""

    def __init__(
        self, link: Link, tools: Sequence[Callable[..., Any]], servers: Sequence[object]
    ) -> None:
        self._link = link
        self._tools = tools
        self._servers = servers
        self._provider = Provider(_Outlet(link))
        self._opening: dict[Call, list[str]] = {}
        self._sessions: dict[str, list[str]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self.is_taken = True
        """Whether whoever is behind the proxy takes MCP servers over ACP."""

    def use(self, down: Way, up: Way) -> None:
        """Stand in the way of what opens sessions, and of what is said to the servers."""
        for method in OPENS | CLOSES:
            handler = down.handlers.get(method, down.rest)
            if handler is None:
                down.handlers[method] = Inner(lambda message: down.handle(None, message))
        for method in MCP_METHODS:
            handler = up.handlers.get(method, up.rest)
            assert not isinstance(handler, Inner)
            up.handlers[method] = Inner(self._route(up, handler))

    def _route(
        self, up: Way, handler: Callable[[Any], Any] | None
    ) -> Callable[[Call | Note], Port | Answer | None]:
        def route(message: Call | Note) -> Port | Answer | None:
            params = params_of(message)
            if not self._provider.owns(params):
                up.handle(handler, message)
            elif isinstance(message, Note):
                self._provider.notified(params)
            else:
                self._serve(message)
            return None

        return route

    def _serve(self, call: Call) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(call))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        call.on_cancel = lambda _: cancel_soon(task)

    async def _answer(self, call: Call) -> None:
        try:
            call.answer(await self._provider.request(call.method, call.params, id=call.id))
        except asyncio.CancelledError:
            call.refuse(RequestCancelled())
            raise
        except RequestError as error:
            call.refuse(error)
        except Exception:  # of a server's program: its caller gets an answer in any case
            logger.exception("%s: an MCP server failed", self._link.name)
            call.refuse(InternalError(f"An MCP server of {self._link.name} failed"))

    # Sessions

    def prepare(self, call: Call) -> None:
        """Declare the servers in a request that opens a session, just before it goes on."""
        if call.method not in OPENS or not self.is_taken:
            return
        ids: list[str] = []
        try:
            if self._tools:
                ids.append(self._provider.add_functions(self._tools, name=self._link.name))
            ids += [self._provider.add(server) for server in self._servers]
            declared = [self._provider.declaration(id) for id in ids]
            body = _with_servers(bytes(call.params), [encode(each) for each in declared])
        except (AcpError, TypeError, *NOT_FITTING) as error:
            logger.error("%s: its tools are not offered: %s", self._link.name, error)
            self._withdraw(ids)
            return
        call.frame = patched(call.frame, {"params": body})
        call.params = Raw(body)
        self._opening[call] = ids

    def settled(self, call: Call, frame: bytes, is_result: bool) -> None:
        """Learn what was answered to a request that opens a session, or closes it."""
        ids = self._opening.pop(call, None)
        if ids is not None:
            message = codec.decode(frame)
            found = named(message.result).session_id if isinstance(message, Success) else ""
            session_id = found or call.session_id
            if is_result and session_id:
                self._withdraw(self._sessions.pop(session_id, []))
                self._sessions[session_id] = ids
            else:
                self._withdraw(ids)
        elif is_result and call.method in CLOSES:
            self._withdraw(self._sessions.pop(call.session_id, []))

    def _withdraw(self, ids: list[str]) -> None:
        if ids:
            task = asyncio.get_running_loop().create_task(self._remove(ids))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _remove(self, ids: list[str]) -> None:
        for id in ids:
            await self._provider.remove(id)

    async def aclose(self) -> None:
        """Offer nothing any more."""
        for task in list(self._running):
            cancel_soon(task)
        await self._provider.aclose()


class _Outlet:
    """Brings the agent what the servers say."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def request(self, params: dict[str, Any]) -> Any:
        return await self._link.agent.request("mcp/message", params)

    async def notify(self, params: dict[str, Any]) -> None:
        await self._link.agent.notify("mcp/message", params)


def _with_servers(params: bytes, declared: list[bytes]) -> bytes:
    """Return params with further MCP servers; those that are there keep their bytes."""
    there = _decode_members(params or b"{}").get("mcpServers", Raw(b"[]"))
    items = [] if bytes(there) == b"null" else [bytes(item) for item in _decode_items(there)]
    return patched(params, {"mcpServers": b"[%b]" % b",".join([*items, *declared])})
