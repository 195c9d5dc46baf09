"""The MCP clients of one session of an agent: for all servers of the session.

Each server is one client of the official `mcp` package, the extra `parley-acp[mcp]`, which lives in
a task of its own from the first use to the end of the session. One that cannot be opened, or has
ended, says so by a `McpCallFailed` to whoever wants something of it, is opened again at the next
use, and is nobody else's trouble.

A process gets the variables that every child gets and those of its declaration, nothing else of
ours. Headers are sent to the server that they were declared for; a redirect elsewhere is not
followed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

import httpx2
from mcp import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, Tool
from msgspec import Struct

from parley.errors import McpCallFailed
from parley.schema import v2

from ._channels import McpChannels
from ._open_client import name_of, open_client
from ._stderr import Stderr

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_PAGES = 100
"""The maximum number of pages of tools that are requested; a server may never end."""
_CLOSE_SECONDS = 10.0


class ServerTool(Struct, frozen=True):
    """A tool, and the server that has it."""

    server: str
    """The name of the server."""
    tool: Tool
    """The tool as the `mcp` package has it, with its schemas."""

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    @property
    def description(self) -> str:
        """The description of the tool."""
        return self.tool.description or ""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return self.tool.input_schema


class McpClients:
    """The MCP servers of a session, as `session.mcp`."""

    def __init__(
        self,
        servers: Sequence[v2.McpServer],
        *,
        cwd: str,
        channels: McpChannels,
        info: Implementation,
    ) -> None:
        """Prepare the clients; nothing is opened.

        Args:
            servers: Those that the session carries.
            cwd: Where processes run.
            channels: What carries the conversations with servers over ACP.
            info: What to call ourselves.
        """
        self.open_seconds = 30.0
        """How many seconds a server may take to be ready, and to list its tools."""
        self.failures: dict[str, McpCallFailed] = {}
        """The servers whose tools could not be listed the last time, and why."""
        self._servers: dict[str, _Server] = {}
        self._owners: dict[str, list[str]] = {}
        self._is_closed = False
        for declared in servers:
            name = _free(name_of(declared), self._servers)
            stderr = Stderr(name)
            new_client = partial(
                open_client, declared, cwd=cwd, channels=channels, info=info, stderr=stderr
            )
            self._servers[name] = _Server(name, new_client, stderr)

    @property
    def servers(self) -> list[str]:
        """The names of the servers; the second of two with the same name gets a number."""
        return list(self._servers)

    async def list_tools(self) -> list[ServerTool]:
        """Return the tools of all servers; `failures` has those that did not answer."""
        listed = await asyncio.gather(*map(self._tools_of, self._servers.values()))
        self._owners.clear()
        for tool in (tools := [tool for each in listed for tool in each]):
            self._owners.setdefault(tool.name, []).append(tool.server)
        return tools

    async def _tools_of(self, server: _Server) -> list[ServerTool]:
        self.failures.pop(server.name, None)
        try:
            tools = await self._do(server, _list_tools, self.open_seconds)
        except McpCallFailed as error:
            logger.warning("no tools: %s", error)
            self.failures[server.name] = error
            return []
        return [ServerTool(server.name, tool) for tool in tools]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        give_up_after: float | None = None,
        progress: ProgressFnT | None = None,
    ) -> CallToolResult:
        """Call a tool; when the waiting task is cancelled, so is the call.

        Args:
            name: What it is called.
            arguments: What its schema asks for.
            server: Which server's; needed where several have a tool of this name.
            give_up_after: The maximum number of seconds; unbounded by default.
            progress: Called with how far it is, of how much, and a text.

        Raises:
            McpCallFailed: The server cannot be reached, has ended, or has refused.
            KeyError: The tool or server is unknown, or it is not clear which one is meant.
        """
        found = self._find(await self._owner(name) if server is None else server)

        async def call(client: Client) -> CallToolResult:
            return await client.call_tool(name, dict(arguments or {}), progress_callback=progress)

        return await self._do(found, call, give_up_after)

    async def client(self, server: str) -> Client:
        """Return the client of a server, for everything else that it can do.

        Raises:
            McpCallFailed: The server cannot be reached.
            KeyError: The server is unknown.
        """
        return await self._find(server).client(self.open_seconds)

    async def _owner(self, tool: str) -> str:
        if tool not in self._owners:
            await self.list_tools()
        owners = self._owners.get(tool, [])
        if len(owners) > 1:
            raise KeyError(
                f"the tool {tool} exists on several servers; name one of them: {', '.join(owners)}"
            )
        if not owners:
            if len(self.failures) == 1:  # it is most likely there
                raise next(iter(self.failures.values()))
            raise KeyError(f"no server has a tool {tool}")
        return owners[0]

    def _find(self, name: str) -> _Server:
        if self._is_closed:
            raise McpCallFailed(name, "has ended with its session")
        if name not in self._servers:
            raise KeyError(f"there is no MCP server {name}; choose from {', '.join(self._servers)}")
        return self._servers[name]

    async def _do(
        self, server: _Server, operation: Callable[[Client], Awaitable[T]], seconds: float | None
    ) -> T:
        client = await server.client(self.open_seconds)
        try:
            async with asyncio.timeout(seconds):
                return await server.during(operation(client))
        except TimeoutError as error:
            raise McpCallFailed(server.name, f"has not answered for {seconds:g} s") from error

    async def aclose(self) -> None:
        """End all clients, and with them the processes that were started."""
        self._is_closed = True
        await asyncio.gather(*(each.aclose() for each in self._servers.values()))

    def __repr__(self) -> str:
        return f"McpClients({', '.join(self._servers)})"


class _ClientRun(Struct, frozen=True, eq=False):
    """The time from the opening of a client to its end."""

    task: asyncio.Task[None]
    ready: asyncio.Future[Client]
    """The client, once it is open."""
    ending: asyncio.Event
    """Set when it shall end."""


class _Server:
    """A server, and the task in which its client lives."""

    def __init__(self, name: str, new_client: Callable[[], Client], stderr: Stderr) -> None:
        self.name = name
        self._new_client = new_client
        self._stderr = stderr
        self._run: _ClientRun | None = None
        self._runs: set[asyncio.Task[None]] = set()

    async def client(self, seconds: float) -> Client:
        """Return the client, opened."""
        if self._run is None or self._run.task.done() or self._run.ending.is_set():
            ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            ending = asyncio.Event()
            task = asyncio.create_task(self._live(ready, ending, seconds))
            self._run = _ClientRun(task, ready, ending)
            self._runs.add(task)
            task.add_done_callback(self._runs.discard)
        return await asyncio.shield(self._run.ready)

    async def _live(
        self, ready: asyncio.Future[Client], ending: asyncio.Event, seconds: float
    ) -> None:
        problem = "has ended with its session"
        try:
            async with asyncio.timeout(seconds) as bound, self._new_client() as client:
                bound.reschedule(None)
                ready.set_result(client)
                await ending.wait()
        except Exception as error:  # of the server or the SDK: the waiting caller gets it
            logger.info("the MCP server %s has ended", self.name, exc_info=error)
            problem = self._with_stderr(_describe_failure(error, seconds))
        finally:
            if not ready.done():
                ready.set_exception(McpCallFailed(self.name, problem))
                ready.exception()  # for the waiting caller, if there still is one

    def _with_stderr(self, problem: str) -> str:
        """Return a problem together with the end of the process's stderr, if there is any."""
        stderr = self._stderr.last_line
        return f"{problem}; stderr ends with: {stderr}" if stderr else problem

    async def during(self, operation: Awaitable[T]) -> T:
        """Wait for something that a client does; the end of the client is its end."""
        run = self._run
        assert run is not None
        task = asyncio.ensure_future(operation)
        try:
            await asyncio.wait({task, run.task}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise McpCallFailed(self.name, self._with_stderr("has ended"))
            return task.result()
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                run.ending.set()  # the next use opens it again
                raise McpCallFailed(self.name, self._with_stderr("has ended")) from error
            raise McpCallFailed(
                self.name, f"refused: {error.message} ({error.code})", code=error.code
            ) from error
        except (OSError, RuntimeError, ValueError, httpx2.HTTPError) as error:
            raise McpCallFailed(self.name, f"failed: {error}") from error
        finally:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def aclose(self) -> None:
        """End the client, also one that is being opened."""
        if self._run is not None:
            self._run.ending.set()
            if not self._run.ready.done():
                self._run.task.cancel()
        if self._runs:
            _, left = await asyncio.wait(self._runs, timeout=_CLOSE_SECONDS)
            for task in left:
                logger.error("the MCP server %s does not end", self.name)
                task.cancel()


async def _list_tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that no other server of the session has."""
    names = [name, *(f"{name}-{number}" for number in range(2, len(taken) + 2))]
    return next(each for each in names if each not in taken)


def _describe_failure(error: BaseException, seconds: float) -> str:
    """Return why a server could not be opened."""
    while isinstance(error, BaseExceptionGroup):  # the tasks below a client wrap what they raise
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, TimeoutError):
        return f"was not ready within {seconds:g} s"
    if isinstance(error, FileNotFoundError):
        return "cannot be started: there is no such program"
    return f"cannot be opened: {error}"
