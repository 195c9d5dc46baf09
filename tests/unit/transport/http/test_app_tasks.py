"""Tasks of the application: when a request has ended, none that belongs to it is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.transport.http._app import post_inbox
from parley.transport.http._app.app import HttpApp
from parley.transport.http._asgi_types import Receive, Scope, Send

from .asgi_client import Client, client_of
from .manual_clock import settle
from .scripted_agent import ScriptedAgent, request


@asynccontextmanager
async def watched_client(host: ScriptedAgent) -> AsyncGenerator[tuple[Client, list[Any]]]:
    """Yield a client, and the cancelled tasks that were running when a request had ended."""
    app, left = HttpApp(host), list[Any]()

    async def watch(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)
        left.extend(each for each in asyncio.all_tasks() if each.cancelling())

    async with client_of(watch) as client:
        yield client, left


async def test_a_stream_that_has_ended_leaves_no_task() -> None:
    host = ScriptedAgent()
    async with watched_client(host) as (client, left):
        await client.initialize()
        stream = await client.stream()
        host.last.ends.set_result(None)
        await stream.ended()
        await stream.task
        assert left == []


async def test_a_message_that_waited_for_the_agent_leaves_no_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(post_inbox, "_WATCH_AFTER", 0)
    host = ScriptedAgent()
    async with watched_client(host) as (client, left):
        await client.initialize()
        host.last.transport.pause_reading()
        post = client.begin_post(request(1, "session/list"))
        await settle()
        host.last.transport.resume_reading()
        assert (await post.response()).status == 202
        assert left == []
