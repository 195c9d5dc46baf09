"""Components that die, hang, flood, answer twice or speak nonsense."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.proxy.component_process import slow
from tests.unit.proxy.conducted_chain import (
    ConductedChain,
    FakeComponent,
    answer_initialize,
    chain_of_fakes,
    component_command,
    pass_initialize,
)
from tests.unit.proxy.proxied_pair import chunk, notification, request, result

import parley
from parley.errors import RequestError
from parley.proxy import Conductor, Notification, Proxy
from parley.proxy._chain import chain
from parley.proxy._chain.component import ComponentSpec

PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "1 1"}]}


def _counted(pids: Path, *words: str) -> ComponentSpec:
    return ComponentSpec(
        target=component_command(*words), name=words[0], options={"env": {"PIDS": str(pids)}}
    )


def _alive(pids: Path) -> list[int]:
    found: list[int] = []
    for pid in map(int, pids.read_text().split()):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        found.append(pid)
    return found


@pytest.mark.requirement("TR-PRX-24", "TR-PRX-31")
@pytest.mark.parametrize("when", ["initialize", "session/prompt"])
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_component_that_dies_ends_the_chain_and_is_named(
    tmp_path: Path, when: str, place: int
) -> None:
    pids = tmp_path / "pids"
    parts = [_counted(pids, "plain"), _counted(pids, "plain")]
    parts.insert(place, _counted(pids, "dying", when))
    chained = ConductedChain(Conductor(*parts, agent=_counted(pids, "agent")))
    chained.initialize(1)
    if when != "initialize":
        await chained.client.hear()
        chained.client.say(request("waits", "session/prompt", PROMPT))
    failed = await chained.client.hear()
    assert failed["id"] == ("init" if when == "initialize" else "waits")
    assert failed["error"]["message"] == "dying exited with code 3"
    assert failed["error"]["data"]["exitCode"] == 3
    assert "my last words" in failed["error"]["data"]["lastWords"]
    failure = await chained.task
    assert failure is not None
    assert failure.message == "dying exited with code 3"
    assert chained.client.lost is not None
    assert _alive(pids) == []


@pytest.mark.requirement("TR-PRX-31")
async def test_the_end_of_the_client_is_the_end_of_every_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    conductor = Conductor(
        _counted(pids, "plain"), _counted(pids, "plain"), agent=_counted(pids, "agent")
    )
    chained = ConductedChain(conductor)
    await chained.begin(1)
    assert len(_alive(pids)) == 3
    assert await chained.end() is None
    assert _alive(pids) == []


async def test_an_agent_that_dies_is_named_too() -> None:
    agent = ComponentSpec(target=["sh", "-c", "echo no key >&2; exit 4"], name="the keyless one")
    chained = ConductedChain(Conductor(Proxy("p"), component_command("plain"), agent=agent))
    failed = (await chained.begin())["error"]
    assert failed["message"] == "the keyless one exited with code 4"
    assert failed["data"]["lastWords"] == "no key\n"
    await chained.task


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_component_that_hangs_at_the_beginning_is_given_up_and_named(
    tmp_path: Path, place: int
) -> None:
    pids = tmp_path / "pids"
    parts = [component_command("plain"), component_command("plain")]
    silent = ComponentSpec(
        target=component_command("silent"),
        name="the silent one",
        options={"env": {"PIDS": str(pids)}, "grace_after": 0.2},
    )
    agent: ComponentSpec | list[str] = component_command("agent")
    if place == 2:
        agent = silent
    conductor = Conductor(
        *parts[:place], *([silent] if place < 2 else []), agent=agent, component_timeout=2
    )
    chained = ConductedChain(conductor)
    failed = (await chained.begin(1))["error"]
    assert failed["message"] == "the silent one did not answer initialize within 2 seconds"
    await chained.task
    assert _alive(pids) == []


async def test_an_in_process_client_learns_who_died() -> None:
    conductor = Conductor(
        component_command("dying", "session/prompt"), agent=component_command("agent")
    )
    async with parley.connect(conductor, "/", versions=(1,)) as agent:
        session = await agent.new_session()
        with pytest.raises(RequestError, match="exited with code 3"):
            await session.ask("1 1")


async def test_only_the_first_answer_counts() -> None:
    chained, proxy, _ = await chain_of_fakes()
    chained.client.say(request("c", "_x", {}))
    heard = await proxy.hear()
    proxy.say(result(heard["id"], 1), result(heard["id"], 2), result(1, 3), result("no", 4))
    assert (await chained.client.hear())["result"] == 1
    assert await chained.client.is_silent()
    await chained.end()


async def test_nonsense_of_a_component_harms_nobody() -> None:
    chained, proxy, agent = await chain_of_fakes()
    chained.client.say(request("c", "_x", {}))
    heard = await proxy.hear()
    proxy.say(
        b"log line",
        b"[1, 2",
        b'{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":7}}',
        b'{"jsonrpc":"2.0","method":"proxy/successor","params":"x"}',
        b'{"jsonrpc":"2.0","id":%d,"result":1,"error":{}}' % heard["id"],
    )
    failed = await chained.client.hear()
    assert (failed["id"], failed["error"]["code"]) == ("c", -32603)
    agent.say(b"noise", b'{"half', chunk("still here"))
    wrap = await proxy.hear()
    while wrap.get("method") != "proxy/successor":  # it is told what was wrong
        wrap = await proxy.hear()
    assert wrap["params"]["method"] == "session/update"
    await chained.end()


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", ["process", "object"])
async def test_a_client_that_stops_reading_dams_only_what_is_for_it(kind: str, count: int) -> None:
    agent = FakeComponent()
    parts = [component_command("plain") if kind == "process" else Proxy("p") for _ in range(count)]
    chained = ConductedChain(Conductor(*parts, agent=agent))
    chained.initialize()
    await answer_initialize(agent)
    await chained.client.hear()
    talker = await agent.talker()
    talker.say(request("q", "session/request_permission", {"sessionId": "s"}))
    question = await chained.client.hear()
    chained.client.transport.pause_reading()
    said = 0
    while talker.transport.drained() is None:
        talker.say(*[chunk("x" * 1000)] * 50)
        said += 50
        await talker.is_silent()
        await asyncio.sleep(0)
        assert said < 40_000, "somebody keeps everything"
    chained.client.say(result(question["id"], {"outcome": {"outcome": "cancelled"}}))
    chained.client.say(notification("session/cancel", {"sessionId": "s"}))
    assert (await talker.hear())["id"] == "q"
    assert (await talker.hear())["method"] == "session/cancel"
    chained.client.transport.resume_reading()
    assert len(await chained.client.texts(said)) == said
    assert await chained.end() is None


async def test_an_agent_that_stops_reading_dams_only_what_is_for_it() -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(component_command("plain"), agent=agent))
    chained.initialize()
    await answer_initialize(agent)
    await chained.client.hear()
    talker = await agent.talker()
    chained.client.say(request("q", "_x", {}))
    asked = await agent.hear()
    talker.transport.pause_reading()
    said = 0
    while chained.client.transport.drained() is None:
        chained.client.say(*[notification("_to_agent", {"n": 1, "text": "x" * 1000})] * 50)
        said += 50
        await chained.client.is_silent()
        assert said < 40_000, "somebody keeps everything"
    talker.say(result(asked["id"], "the answer passes"))
    assert (await chained.client.hear())["result"] == "the answer passes"
    talker.transport.resume_reading()
    for _ in range(said):
        assert json.loads(await talker.next())["method"] == "_to_agent"
    await chained.end()


CHAINS: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "processes": lambda: [component_command("plain"), component_command("slow")],
    "this one": lambda: [slow(), slow()],
    "both": lambda: [slow(), component_command("slow"), slow()],
}


@pytest.mark.parametrize("kind", list(CHAINS))
async def test_what_an_agent_said_before_it_died_comes_before_the_error(kind: str) -> None:
    chained = ConductedChain(Conductor(*CHAINS[kind](), agent=component_command("agent")))
    await chained.begin(1)
    prompt = [{"type": "text", "text": "1000 500 die"}]
    chained.client.say(request(2, "session/prompt", {"sessionId": "s", "prompt": prompt}))
    texts = await chained.client.texts(1000)
    assert [int(each.strip(".")) for each in texts] == list(range(1000))
    failed = await chained.client.hear()
    assert failed["id"] == 2
    assert failed["error"]["data"]["exitCode"] == 7
    failure = await chained.task
    assert failure is not None
    assert "exited with code 7" in failure.message


async def test_what_a_dead_agent_said_takes_its_time_as_long_as_it_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chain, "_FLUSH_TIMEOUT", 0.5)
    proxy = parley.Proxy("very slow")

    @proxy.from_agent("session/update")
    async def look(note: Notification) -> None:
        await asyncio.sleep(0.002)

    chained = ConductedChain(Conductor(proxy, agent=component_command("agent")))
    await chained.begin(1)
    prompt = [{"type": "text", "text": "500 10 die"}]
    chained.client.say(request(2, "session/prompt", {"sessionId": "s", "prompt": prompt}))
    assert len(await chained.client.texts(500)) == 500
    assert (await chained.client.hear())["error"]["data"]["exitCode"] == 7
    assert await chained.task is not None


async def _flooded(seconds: float) -> tuple[ConductedChain, FakeComponent]:
    """Return a chain whose proxy floods the agent, reads nothing, and then answers a request."""
    proxy, agent = FakeComponent(), FakeComponent()
    conductor = Conductor(
        ComponentSpec(target=proxy, name="greedy"), agent=agent, component_timeout=seconds
    )
    chained = ConductedChain(conductor)
    chained.initialize()
    begun = await pass_initialize(proxy)
    await answer_initialize(agent)
    proxy.say(result(begun["id"], (await proxy.hear())["result"]))
    await chained.client.hear()
    chained.client.say(request("waits", "_ask", {}))
    asked = await proxy.hear()
    talker = await proxy.talker()
    talker.transport.pause_reading()
    flood = request("flood", "proxy/successor", {"method": "_flood", "params": "x" * 1000})
    while talker.transport.drained() is None:  # the proxy does not read the refusals
        proxy.say(*[flood] * 50)
        await talker.is_silent()
    proxy.say(result(asked["id"], "an answer"))
    return chained, proxy


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_a_proxy_that_floods_and_does_not_read_fails_what_waits_for_it() -> None:
    chained, _ = await _flooded(seconds=0.5)
    async with asyncio.timeout(300):
        failed = await chained.client.hear()
        assert failed["id"] == "waits"
        told = "greedy sends too much: nothing of it was accepted for 0.5 seconds"
        assert failed["error"]["message"] == told
        failure = await chained.task
    assert failure is not None
    assert failure.message == told


async def test_a_proxy_that_floods_and_reads_in_the_end_has_its_answer_heard() -> None:
    chained, proxy = await _flooded(seconds=60)
    assert await chained.client.is_silent()
    (await proxy.talker()).transport.resume_reading()
    async with asyncio.timeout(300):
        assert (await chained.client.hear())["result"] == "an answer"
        await chained.end()
