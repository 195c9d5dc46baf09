"""`parley connect`: a remote agent as a local one, for editors."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.transport.http.proxy import Proxy

from parley.client import Process, connect
from parley.errors import InternalError
from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.serving import Serving, serve

from .command import PARLEY, parley
from .gateway_process import INITIALIZE, GatewayProcess, run_gateway, token_file, token_of

TOKEN = "a-token-that-nobody-guesses"
HELLO = json.dumps(INITIALIZE) + "\n"


@pytest.fixture
def served() -> Iterator[GatewayProcess]:
    with run_gateway() as gateway:
        yield gateway


def command(url: str, *words: str) -> list[str]:
    return [*PARLEY, "connect", url, *words]


@pytest.mark.parametrize("scheme", ["http", "ws"])
@pytest.mark.parametrize("version", [1, 2])
async def test_an_editor_has_a_whole_conversation(
    served: GatewayProcess, places: Path, scheme: str, version: int
) -> None:
    words = command(served.url(scheme=scheme), "--token-file", str(token_file(places)))
    versions = tuple(range(1, version + 1))
    async with connect(
        words, "/", permission=lambda request, session: "yes", versions=versions
    ) as agent:
        assert agent.version == version
        session = await agent.new_session()
        assert await session.ask("Hello") == "echo: Hello"
        assert await session.ask("perm") == 'perm:{"outcome":"selected","optionId":"yes"}'
        assert "chunk 499" in await session.ask("flood 500")
        turn = session.prompt("slow")
        async for _ in turn:
            await turn.cancel()
        assert (await turn).stop_reason == "cancelled"
    served.until("connection closed")


async def test_the_token_is_of_the_environment_or_of_the_configuration(
    served: GatewayProcess, places: Path
) -> None:
    token = {"PARLEY_TOKEN": token_of(places)}
    async with connect(command(served.url()), "/", process=Process(env=token)) as agent:
        assert agent.info.name == "parley-demo"
    added = parley(
        *("agents", "add", "far", "--token-file", str(token_file(places)), "--", served.url())
    )
    assert (added.returncode, added.stderr.splitlines()[0]) == (0, f"parley: far: {served.url()}")
    async with connect(command("far"), "/") as agent:
        assert agent.info.name == "parley-demo"
    assert parley("run", "Hi", "-a", "far", "-q").stdout == "echo: Hi\n"
    assert served.url() in parley("agents").stdout
    assert "✓ far" in parley("doctor").stdout
    async with connect("far", "/", config=True) as agent:
        assert agent.info.name == "parley-demo"


class Heard:
    """What a process writes to stderr."""

    def __init__(self) -> None:
        self._said = b""
        self._more = asyncio.Event()

    def hear(self, data: bytes) -> None:
        self._said += data
        self._more.set()

    async def until(self, part: bytes) -> None:
        while part not in self._said:
            self._more.clear()
            await self._more.wait()


def _with(token: str) -> dict[str, str]:
    return {**os.environ, "PARLEY_TOKEN": token}


async def _all(stream: asyncio.StreamReader | None) -> str:
    assert stream is not None
    return (await stream.read()).decode()


async def test_an_editor_is_told_what_is_wrong_and_so_is_who_reads_stderr(
    served: GatewayProcess, places: Path
) -> None:
    nobody = "http://127.0.0.1:9/acp"
    done = parley("connect", nobody, given=HELLO)
    assert done.returncode == 5
    assert json.loads(done.stdout)["error"]["message"].startswith(f"{nobody} cannot be reached")
    assert done.stderr.startswith(f"parley: {nobody} cannot be reached")
    process = await asyncio.create_subprocess_exec(
        *command(served.url()), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=_with("not-the-token")
    )
    assert process.stdin is not None
    process.stdin.write(HELLO.encode())
    said, told = await asyncio.gather(_all(process.stdout), _all(process.stderr))
    assert await process.wait() == 6
    assert "requires a token, or a different one" in json.loads(said)["error"]["message"]
    assert "give --token-file FILE, or set PARLEY_TOKEN" in told
    assert "not-the-token" not in told


@pytest.mark.requirement("SAFE-IN-03")
def test_a_token_does_not_leave_the_machine_in_plain_text() -> None:
    done = parley("connect", "http://agents.example/acp", given=HELLO, env={"PARLEY_TOKEN": TOKEN})
    assert done.returncode == 5
    assert "is not sent to agents.example without TLS" in done.stderr
    assert TOKEN not in done.stderr + done.stdout


def test_what_is_no_address_is_refused() -> None:
    for word in ("parley demo", "ftp://agents.example", "nothing"):
        done = parley("connect", word, given="")
        assert (done.returncode, "is not an address" in done.stderr) == (2, True), done.stderr


def test_the_end_of_the_editor_is_the_end(served: GatewayProcess, places: Path) -> None:
    done = parley("connect", served.url(), "--token-file", str(token_file(places)), given="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_what_was_asked_is_answered_though_stdin_has_ended(
    served: GatewayProcess, places: Path, scheme: str
) -> None:
    words = (served.url(scheme=scheme), "--token-file", str(token_file(places)))
    done = parley("connect", *words, given=HELLO)
    assert json.loads(done.stdout)["id"] == INITIALIZE["id"]
    assert json.loads(done.stdout)["result"]["protocolVersion"] == 1
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_a_missing_token_is_told_though_stdin_has_ended(
    served: GatewayProcess, scheme: str
) -> None:
    done = parley("connect", served.url(scheme=scheme), given=HELLO)
    assert done.returncode == 6
    assert "requires a token" in json.loads(done.stdout)["error"]["message"]
    assert "give --token-file FILE, or set PARLEY_TOKEN" in done.stderr


async def test_what_the_agent_asks_when_stdin_has_ended_is_refused_and_does_not_hold_the_turn(
    served: GatewayProcess, places: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *command(served.url(), "--token-file", str(token_file(places))),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    where: dict[str, object] = {"cwd": "/", "mcpServers": []}
    new = {"jsonrpc": "2.0", "id": 7, "method": "session/new", "params": where}
    process.stdin.write(HELLO.encode() + json.dumps(new).encode() + b"\n")
    said = json.loads(await process.stdout.readline())
    while said.get("id") != 7:
        said = json.loads(await process.stdout.readline())
    text = [{"type": "text", "text": "perm"}]
    asked = {"sessionId": said["result"]["sessionId"], "prompt": text}
    prompt = {"jsonrpc": "2.0", "id": 8, "method": "session/prompt", "params": asked}
    process.stdin.write(json.dumps(prompt).encode() + b"\n")
    process.stdin.close()
    rest = [json.loads(line) for line in (await process.stdout.read()).splitlines()]
    assert [each["id"] for each in rest if "id" in each] == [8]
    assert await process.wait() == 0


async def test_who_says_no_more_does_not_wait_for_a_remote_that_is_away() -> None:
    access = Access({TOKEN: "ann"})
    async with (
        serve(demo_agent(), "127.0.0.1:0", access=access) as far,
        Proxy(port_of(far)) as proxy,
    ):
        url = f"http://127.0.0.1:{proxy.port}/acp"
        process = await asyncio.create_subprocess_exec(
            *command(url), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=_with(TOKEN)
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(HELLO.encode())
        await process.stdout.readline()
        proxy.go_down()
        assert b"is disconnected" in await process.stderr.readline()
        new = {"jsonrpc": "2.0", "id": 7, "method": "session/new"}
        process.stdin.write(json.dumps({**new, "params": {"cwd": "/"}}).encode() + b"\n")
        process.stdin.close()
        said, told = await asyncio.gather(_all(process.stdout), _all(process.stderr))
        assert await process.wait() == 5
        assert f"parley: {url}: it is disconnected" in told
        assert json.loads(said)["id"] == 7
        assert "error" in json.loads(said)


def port_of(serving: Serving) -> int:
    return serving.addresses[0][1]


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_an_interruption_is_told_on_stderr_and_nothing_is_lost(scheme: str) -> None:
    asked, decided, heard = asyncio.Event(), asyncio.Event(), Heard()

    async def decide(request: object, session: object) -> str:
        asked.set()
        await decided.wait()
        return "yes"

    access = Access({TOKEN: "ann"})
    async with (
        serve(demo_agent(), "127.0.0.1:0", access=access) as far,
        Proxy(port_of(far)) as proxy,
        connect(
            command(f"{scheme}://127.0.0.1:{proxy.port}/acp"),
            "/",
            process=Process(env={"PARLEY_TOKEN": TOKEN}, on_stderr=heard.hear),
            permission=decide,
        ) as agent,
    ):
        session = await agent.new_session()
        asking = asyncio.create_task(session.ask("perm"))
        await asked.wait()
        proxy.go_down()
        await heard.until(b"is disconnected")
        decided.set()
        proxy.come_back()
        assert await asking == 'perm:{"outcome":"selected","optionId":"yes"}'
        await heard.until(b"is connected again")
        said = [each.text for each in session.transcript.messages]
        assert said == ["perm", 'perm:{"outcome":"selected","optionId":"yes"}']


async def test_when_the_remote_is_gone_for_good_the_editor_gets_one_clear_error() -> None:
    limits, heard, updated = AppLimits(grace=1.0), Heard(), asyncio.Event()
    access = Access({TOKEN: "ann"})
    async with (
        serve(demo_agent(), "127.0.0.1:0", access=access, limits=limits) as far,
        Proxy(port_of(far)) as proxy,
        connect(
            command(f"http://127.0.0.1:{proxy.port}/acp"),
            "/",
            process=Process(env={"PARLEY_TOKEN": TOKEN}, on_stderr=heard.hear),
            versions=(1,),
            on_update=lambda session, update: updated.set(),
        ) as agent,
    ):
        session = await agent.new_session()
        asking = asyncio.create_task(session.ask("slow"))
        await updated.wait()
        proxy.go_down()
        with pytest.raises(InternalError, match="is gone"):
            await asking
        reason = await agent.peer.wait_closed()
        assert "exited with code 5" in str(reason)
        await heard.until(b"has been unreachable for 1 seconds")


async def test_a_signal_ends_it_quietly(served: GatewayProcess, places: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *command(served.url(), "--token-file", str(token_file(places))),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO.encode())
    assert b"parley-demo" in await process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, told = await process.communicate()
    assert (process.returncode, told) == (0, b"")
    await asyncio.to_thread(served.until, "connection closed")
