"""Chains wherever an agent can be: behind the gateway, in `parley run`, in the chat."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.proxy.conducted_chain import component_command

import parley as front
from parley.agent import Agent, Turn
from parley.asgi_server.server import Server
from parley.client import Remote
from parley.errors import InternalError
from parley.gateway import AgentHost, Gateway
from parley.gateway.app import GatewayApp
from parley.gateway.events import Event, ignore
from parley.proxy import Conductor, Proxy, builtin
from parley.proxy._chain.component import ComponentSpec
from parley.transport.http._app.access import Access

from .command import PARLEY, parley
from .gateway_process import run_gateway, token_of
from .terminal import run_in_terminal

DEMO = [sys.executable, "-m", "parley", "demo"]
MARK = shlex.join(component_command("mark", "a"))
TOKEN = "the-token-of-ann"


@pytest.fixture(autouse=True)
def configured(places: Path) -> None:
    path = places / "config" / "parley" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    dying = shlex.join(component_command("dying", "session/prompt"))
    chains = {"marked": [MARK, "limits --sessions 4"], "dying": [dying]}
    told = [
        f"[chains.{name}]\nproxies = {json.dumps(proxies)}\nagent = {json.dumps(shlex.join(DEMO))}"
        for name, proxies in chains.items()
    ]
    path.write_text("\n".join(told))


@pytest.mark.parametrize("flags", [(), ("--shared",)], ids=["alone", "shared"])
async def test_a_configured_chain_is_served(places: Path, flags: tuple[str, ...]) -> None:
    with run_gateway("marked", *flags) as served:
        token = token_of(places)
        for scheme in ("ws", "http"):
            async with front.connect(
                served.url(scheme=scheme), "/", remote=Remote(token=token)
            ) as agent:
                session = await agent.new_session()
                assert await session.ask("!") == "aecho: a!"
        served.signal()
        assert served.end() == 0


async def test_a_chain_that_dies_behind_the_gateway_is_told_to_client_and_log(places: Path) -> None:
    with run_gateway("dying") as served:
        async with front.connect(served.url(), "/", remote=Remote(token=token_of(places))) as agent:
            session = await agent.new_session()
            with pytest.raises(InternalError, match="exited with code"):
                await session.ask("Hello")
        assert "code=5" in served.until("agent exited")


@asynccontextmanager
async def _hosted(
    conductor: Conductor, on_event: Callable[[Event], None] = ignore
) -> AsyncGenerator[str]:
    hosted = AgentHost("chain", conductor)
    hosted.events.subscribe(on_event)
    gateway = Gateway([hosted])
    app = GatewayApp(gateway, access=Access({TOKEN: "ann"}))
    async with Server(app, "127.0.0.1", 0) as server:
        try:
            yield f"ws://127.0.0.1:{server.addresses[0][1]}/acp"
        finally:
            await app.aclose()
            await gateway.aclose()


async def test_a_conductor_of_a_program_is_behind_the_gateway_and_brings_it_tools() -> None:
    agent = Agent("adder", mcp=True)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        result = await turn.session.mcp.call_tool("add", {"left": 2, "right": 3})
        await turn.say(f"{turn.text} {result.structured_content}")

    def add(left: int, right: int) -> int:
        """Add two numbers."""
        return left + right

    proxy = Proxy("plain")
    async with _hosted(Conductor(proxy, component_command("mark", "a"), agent=agent)) as url:
        for version in (1, 2):
            async with front.connect(
                url, "/", remote=Remote(token=TOKEN), versions=(version,)
            ) as client:
                session = await client.new_session(tools=[add])
                assert await session.ask("2+3") == "aa2+3 {'result': 5}"


async def test_the_chain_of_one_client_dies_and_that_of_another_goes_on(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    dying = ComponentSpec(
        target=component_command("dying", "_die"),
        name="dying",
        options={"env": {"PIDS": str(pids)}},
    )
    events: list[Event] = []
    async with (
        _hosted(Conductor(builtin.limits(sessions=2), dying, agent=DEMO), events.append) as url,
        front.connect(url, "/", remote=Remote(token=TOKEN)) as one,
        front.connect(url, "/", remote=Remote(token=TOKEN)) as other,
    ):
        session, beside = await one.new_session(), await other.new_session()
        assert await session.ask("!") == "echo: !"
        await one.notify("_die", {})
        await one.peer.wait_closed()
        assert [each.code for each in events if each.event == "agent_exited"] == [3]
        assert await beside.ask("!") == "echo: !"
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_run_tells_which_component_of_a_chain_died(places: Path) -> None:
    done = parley("run", "!", "-a", "marked")
    assert (done.returncode, done.stdout.strip()) == (0, "aecho: a!"), done.stderr
    done = parley("run", "!", "-a", "dying")
    assert done.returncode != 0
    assert "exited with code 3" in done.stderr
    assert "my last words" in done.stderr


def test_a_chain_is_talked_to_in_the_chat(places: Path) -> None:
    with run_in_terminal(*PARLEY, "chat", "marked", env={"TERM": "xterm-256color"}) as terminal:
        terminal.shows("ready")
        terminal.press("hello\r")
        terminal.shows("aecho: ahello")
        terminal.press("\x04")
        assert terminal.exit_code() == 0


def test_a_record_stands_where_the_agent_did(places: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    recording = [*PARLEY, "conduct", shlex.join(["record", str(record)]), "--", *DEMO]
    said = parley("run", "Hello", "-q", "-a", shlex.join(recording))
    assert said.stdout == "echo: Hello\n", said.stderr
    for words in (["replay", str(record)], [shlex.join(["replay", str(record)])]):
        replaying = shlex.join([*PARLEY, "conduct", MARK, "--", *words])
        played = parley("run", "Hello", "-q", "-a", replaying)
        assert (played.returncode, played.stdout) == (0, "aecho: Hello\n"), played.stderr


def test_what_is_no_agent_does_not_stand_where_one_does(places: Path) -> None:
    done = parley("conduct", "log", "--", "budget", "--cost", "1", given="{}\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "budget is a proxy, and a chain ends with an agent" in done.stderr
