"""Clients on the official SDKs against our server, over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import Peer

from parley import Agent
from parley.agent import Turn
from parley.transport.http._app.access import Access
from parley.transport.http._app.serving import serve

from .programs import Program, everybody, reported


def _agent() -> Agent:
    agent = Agent("remote", version="1.0")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        word, _, rest = turn.text.partition(" ")
        match word:
            case "flood":
                for number in range(int(rest)):
                    await turn.say(f"{number} ")
            case "big":
                await turn.say("x" * int(rest))
            case "measure":
                await turn.say(str(len(turn.text)))
            case "ask":
                await turn.say("yes" if await turn.ask_permission("Write?") else "no")
            case _:
                await turn.say("waiting")
                await asyncio.Event().wait()

    return agent


@pytest.mark.requirement("TR-HTTP-16", "TR-WS-02")
@everybody
async def test_their_client_talks_to_our_server(
    program: Program, scheme: str, find_peer: Callable[[Peer], Path]
) -> None:
    command = program.command(find_peer, "remote_client")
    async with serve(_agent(), "127.0.0.1:0", access=Access()) as server:
        url = f"{scheme}{server.url.removeprefix('http')}"
        report = await reported(command, url)
        assert report.pop("flood") == list(range(1000))
        permission, said = report.pop("ask")
        assert permission
        assert said == "yes"
        assert report == {
            "version": program.version,
            "end": "end_turn",
            "cancel": "cancelled",
            "big": 1_000_000,
            "measure": "1000000",
            "both": [300, 400],
            "refused": -32601,
            "again": "0 1 2 ",
        }
