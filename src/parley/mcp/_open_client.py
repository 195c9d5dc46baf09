"""Clients for each kind of MCP server."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import msgspec
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, jsonrpc_message_adapter

from parley.errors import Unsupported
from parley.rpc._codec import DECODE_ERRORS
from parley.schema import v2
from parley.schema.base import JsonObject, Unknown
from parley.transport._child_process import child_environment

from ._channels import Id, McpChannels
from ._stderr import Stderr

_TIMEOUT = httpx2.Timeout(30.0, read=300.0)


class _Sse(msgspec.Struct):
    """A server over server-sent events, which only version 1 has."""

    url: str
    headers: list[v2.HttpHeader] = []


def name_of(server: v2.McpServer) -> str:
    """Return the name of a server."""
    if not isinstance(server, Unknown):
        return server.name
    try:
        return str(msgspec.json.decode(server.raw, type=dict[str, Any])["name"])
    except (KeyError, *DECODE_ERRORS):
        return server.tag or "unnamed"


def open_client(
    server: v2.McpServer, *, cwd: str, channels: McpChannels, info: Implementation, stderr: Stderr
) -> Client:
    """Return the client of a server, to be entered.

    Raises:
        Unsupported: It is of an unknown kind.
    """
    match server:
        case v2.McpServerStdio():
            env = child_environment({each.name: each.value for each in server.env})
            params = StdioServerParameters(
                command=server.command, args=list(server.args), env=env, cwd=cwd
            )
            return Client(_stdio(params, stderr), client_info=info)
        case v2.McpServerHttp():
            return Client(_http(server), client_info=info)
        case v2.McpServerAcp():
            return Client(_acp(channels, server.server_id), client_info=info)
        case Unknown(tag="sse"):
            found = msgspec.json.decode(server.raw, type=_Sse)
            headers = {each.name: each.value for each in found.headers}
            return Client(sse_client(found.url, headers=headers), mode="legacy", client_info=info)
        case _:
            raise Unsupported(f"servers of the kind {server.tag} cannot be reached")


@asynccontextmanager
async def _stdio(params: StdioServerParameters, stderr: Stderr) -> AsyncGenerator[Any]:
    with stderr.opened() as errors:
        async with stdio_client(params, errlog=errors) as streams:
            yield streams


@asynccontextmanager
async def _http(server: v2.McpServerHttp) -> AsyncGenerator[Any]:
    headers = {each.name: each.value for each in server.headers}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


@asynccontextmanager
async def _acp(channels: McpChannels, server_id: str) -> AsyncGenerator[Any]:
    """Carry a client's messages over the ACP connection."""
    to_client, client_reader = anyio.create_memory_object_stream[SessionMessage | Exception](
        math.inf
    )
    client_writer, from_client = anyio.create_memory_object_stream[SessionMessage](0)

    def deliver(message: JsonObject, about: Id | None) -> None:
        try:
            read = jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValueError as error:
            to_client.send_nowait(error)
        else:
            to_client.send_nowait(SessionMessage(read))

    async def forward() -> None:
        async for each in from_client:
            channel.receive(each.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

    channel = channels.open(server_id, deliver)
    async with (
        to_client,
        client_reader,
        client_writer,
        from_client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(forward)
        try:
            yield client_reader, client_writer
        finally:
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await channel.aclose()
