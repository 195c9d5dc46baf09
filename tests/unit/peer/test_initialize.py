"""Which version two sides agree on, and what they know about each other then.

https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import (
    ConnectionClosed,
    InvalidParams,
    InvalidRequest,
    RemoteProtocolError,
    VersionMismatch,
)
from parley.peer import Peer
from parley.peer._initialize import (
    Negotiated,
    initialize,
    respond_to_initialize,
    table_of,
)
from parley.schema import v1, v2
from parley.transport import memory_pair

from .raw_peer import RawPeer, WatchedTransport, connected

requirement = pytest.mark.requirement
V1 = v1.InitializeRequest(
    protocol_version=1, client_info=v1.Implementation(name="me", version="1.0")
)
V2 = v2.InitializeRequest(protocol_version=2, info=v2.Implementation(name="me", version="1.0"))
BOTH: dict[int, Any] = {1: V1, 2: V2}
INFO = {"name": "you", "version": "9"}
NUMBERS = "ACP versions are numbers, not dates; this agent supports 1 and 2"


def response_of(version: int) -> dict[str, Any]:
    body: dict[str, Any] = {"protocolVersion": version}
    return body | ({"info": INFO} if version == 2 else {"agentInfo": INFO})


async def initialized(offers: dict[int, Any], response: Any) -> tuple[Negotiated, Any]:
    """Initialize as a client with this response; return the outcome and the request."""
    async with connected() as (peer, remote):
        peer.set_handlers(None)
        task = asyncio.create_task(initialize(peer, offers))
        question = await remote.receive()
        remote.respond(question, response)
        agreement = await task
        assert peer.table is agreement.table
        return agreement, question


@requirement("V1-INIT-03", "V2-INIT-02", "V2-DUAL-05")
@pytest.mark.parametrize(
    ("offers", "response_version", "agreed"),
    [(BOTH, 2, 2), (BOTH, 1, 1), ({1: V1}, 1, 1), ({2: V2}, 2, 2)],
)
async def test_a_client_speaks_the_version_of_the_response(
    offers: dict[int, Any], response_version: int, agreed: int
) -> None:
    agreement, question = await initialized(offers, response_of(response_version))
    assert question["method"] == "initialize"
    assert question["params"]["protocolVersion"] == max(offers)
    assert (agreement.version, agreement.table) == (agreed, table_of(agreed))
    assert agreement.params is offers[agreed]
    info = agreement.result.agent_info if agreed == 1 else agreement.result.info
    assert (info.name, info.version) == ("you", "9")


@requirement("V2-DUAL-06", "V2-INIT-03", "V1-INIT-04", "V1-INIT-05")
async def test_the_offer_of_two_versions_can_be_read_as_either() -> None:
    _, question = await initialized(BOTH, response_of(2))
    body = question["params"]
    assert body["protocolVersion"] == 2
    assert body["info"] == body["clientInfo"] == {"name": "me", "version": "1.0"}
    assert {"clientCapabilities"} <= body.keys()


@pytest.mark.parametrize("info", [{}, {"info": None}, {"agentInfo": INFO}])
async def test_a_2_with_the_capabilities_of_version_1_is_version_1(info: dict[str, Any]) -> None:
    echo = {"protocolVersion": 2, **info, "agentCapabilities": {"loadSession": True}}
    agreement, _ = await initialized(BOTH, echo)
    assert agreement.version == 1
    assert agreement.result.agent_capabilities.load_session


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"agentInfo": INFO, "capabilities": {"session": {}}}, "you"),
        ({"agentInfo": INFO}, "you"),
        ({"agentInfo": None, "capabilities": {"session": {}}}, "unknown"),
        ({"capabilities": {"session": {}}}, "unknown"),
        ({}, "unknown"),
        ({"info": INFO, "agentCapabilities": {}}, "you"),
        ({"info": INFO, "agentInfo": {**INFO, "name": "older"}}, "you"),
    ],
    ids=["agentInfo", "no capabilities", "null", "no info", "bare", "info wins", "both infos"],
)
async def test_a_2_without_the_capabilities_of_version_1_is_version_2(
    body: dict[str, Any], name: str
) -> None:
    agreement, _ = await initialized(BOTH, {"protocolVersion": 2, **body})
    assert agreement.version == 2
    assert agreement.result.info.name == name


@requirement("V1-INIT-10", "V2-INIT-08")
@pytest.mark.parametrize(
    ("offers", "response", "sentence"),
    [
        ({1: V1}, response_of(2), "supports protocol version 2; we support 1"),
        ({2: V2}, response_of(1), "supports protocol version 1; we support 2"),
        (BOTH, {"protocolVersion": 3, "info": INFO}, "protocol version 3; we support 1 and 2"),
        (
            {2: V2},
            {"protocolVersion": 2, "agentCapabilities": {}},
            "supports protocol version 1; we support 2",
        ),
    ],
)
async def test_a_version_that_we_do_not_speak_is_a_mismatch(
    offers: dict[int, Any], response: Any, sentence: str
) -> None:
    with pytest.raises(VersionMismatch, match=sentence):
        await initialized(offers, response)


@pytest.mark.parametrize(
    "response",
    [{}, {"protocolVersion": "1"}, {"protocolVersion": -1}, [], 5, {**response_of(2), "info": 5}],
)
async def test_an_answer_of_another_shape_is_the_agents_mistake(response: Any) -> None:
    with pytest.raises(RemoteProtocolError, match="response to initialize is malformed: result"):
        await initialized(BOTH, response)


async def test_handlers_are_there_before_anything_after_the_response_is_handled() -> None:
    seen: list[str] = []

    def update(note: v1.SessionNotification) -> None:
        seen.append(note.session_id)

    async with connected() as (peer, remote):
        peer.set_handlers(None)

        def agreed(agreement: Negotiated) -> None:
            peer.set_handlers(agreement.table, notifications={"session/update": update})

        task = asyncio.create_task(initialize(peer, BOTH, agreed))
        remote.respond(await remote.receive(), response_of(1))
        remote.update("s", "1")
        assert (await task).version == 1
        await remote.wait_until_read()
    assert seen == ["s"]


@requirement("V2-DUAL-07")
async def test_an_agent_that_refuses_or_goes_fails_the_initialization() -> None:
    async with connected() as (peer, remote):
        task = asyncio.create_task(initialize(peer, BOTH))
        remote.respond_with_error(await remote.receive(), -32602, "no")
        with pytest.raises(InvalidParams):
            await task
        task = asyncio.create_task(initialize(peer, BOTH))
        await remote.receive()
        await remote.transport.aclose()
        with pytest.raises(ConnectionClosed):
            await task


class Agent:
    """An agent that responds to initialize, and a client that sends raw messages."""

    def __init__(self, versions: tuple[int, ...]) -> None:
        inner, self.transport = memory_pair()
        local = WatchedTransport(inner)
        self.peer = Peer(local, "agent")
        self.far = RawPeer(self.transport, local)
        self.transport.start(self.far)
        self.agreements: list[Negotiated] = []
        self.may_respond = asyncio.Event()
        self.may_respond.set()
        respond_to_initialize(self.peer, self._respond, self._agreed, versions)

    async def _respond(self, version: int, request: Any) -> Any:
        await self.may_respond.wait()
        name = request.info.name if version == 2 else "any"
        if name == "nobody":
            raise InvalidRequest("Not you")
        if version == 2:
            return v2.InitializeResponse(
                protocol_version=2, info=v2.Implementation(name="you", version="9")
            )
        return v1.InitializeResponse(protocol_version=1)

    def _agreed(self, agreement: Negotiated) -> None:
        self.agreements.append(agreement)
        self.peer.set_handlers(agreement.table)

    async def ask(self, params: Any) -> Any:
        self.far.call(1, "initialize", params)
        return await self.far.receive()


@requirement(
    "V1-INIT-08",
    "V1-INIT-09",
    "V1-INIT-13",
    "V2-INIT-05",
    "V2-INIT-06",
    "V2-INIT-07",
    "V2-DUAL-02",
    "V2-DUAL-03",
)
@pytest.mark.parametrize(
    ("versions", "params", "expected"),
    [
        ((1, 2), {"protocolVersion": 1}, 1),
        ((1, 2), {"protocolVersion": 2, "info": INFO}, 2),
        ((1, 2), {"protocolVersion": 2, "clientInfo": INFO}, 2),
        ((1, 2), {"protocolVersion": 2, "clientInfo": None}, 2),
        ((1, 2), {"protocolVersion": 2}, 2),
        ((1, 2), {"protocolVersion": 7, "info": INFO}, 2),
        ((1, 2), {"protocolVersion": 7}, 2),
        ((1, 2), {"protocolVersion": 7, "info": 5}, 2),
        ((1,), {"protocolVersion": 2, "info": INFO}, 1),
        ((1,), {"protocolVersion": 0}, 1),
        ((2,), {"protocolVersion": 1, "clientInfo": INFO}, 2),
        ((2,), {"protocolVersion": 1}, 2),
    ],
)
async def test_an_agent_answers_with_the_version_asked_for_or_the_nearest(
    versions: tuple[int, ...], params: Any, expected: int
) -> None:
    agent = Agent(versions)
    async with agent.peer:
        reply = await agent.ask(params)
        assert reply["result"]["protocolVersion"] == expected
        [agreement] = agent.agreements
        assert (agreement.version, agreement.table) == (expected, table_of(expected))
        assert agent.peer.table is agreement.table
        assert agreement.result.protocol_version == expected
        if expected == 2:
            says_who = INFO in params.values()
            assert agreement.params.info.name == ("you" if says_who else "unknown")


@requirement("V1-INIT-12", "V2-INIT-09")
@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({}, "params.protocolVersion: required"),
        (None, "params.protocolVersion: required"),
        (
            {"protocolVersion": "2025-11-25", "clientInfo": INFO, "clientCapabilities": {}},
            f"params.protocolVersion: expected integer from 0 to 65535; {NUMBERS}",
        ),
        ({"protocolVersion": 2, "info": {}}, "params.info.name: required"),
        ({"protocolVersion": 2, "clientInfo": {}}, "params.clientInfo.name: required"),
        ([], "params: expected object"),
    ],
    ids=["empty", "none", "date", "broken info", "broken clientInfo", "array"],
)
async def test_an_agent_refuses_an_initialization_of_another_shape_and_takes_the_next(
    params: Any, problem: str
) -> None:
    agent = Agent((1, 2))
    async with agent.peer:
        error = (await agent.ask(params))["error"]
        assert error["code"] == -32602
        assert error["data"] == {"problem": problem}
        assert agent.agreements == []
        assert (await agent.ask({"protocolVersion": 1}))["result"]["protocolVersion"] == 1


@requirement("V1-INIT-25", "V2-INIT-20")
async def test_an_agent_initializes_once_and_after_an_error_once_more() -> None:
    agent = Agent((1, 2))
    async with agent.peer:
        nobody = {"protocolVersion": 2, "info": {"name": "nobody", "version": "0"}}
        assert (await agent.ask(nobody))["error"]["message"] == "Not you"
        agent.may_respond.clear()
        agent.far.call("first", "initialize", {"protocolVersion": 1})
        second = await agent.ask({"protocolVersion": 1})
        assert second["error"]["message"] == "The connection is already being initialized"
        agent.may_respond.set()
        assert (await agent.far.receive())["id"] == "first"
        third = await agent.ask({"protocolVersion": 1})
        assert third["error"]["message"] == "The connection is already initialized"
        assert len(agent.agreements) == 1


@requirement("V1-INIT-25", "V2-INIT-20")
async def test_of_two_initializations_that_come_together_one_counts() -> None:
    agent = Agent((1, 2))
    async with agent.peer:
        agent.far.call("first", "initialize", {"protocolVersion": 1})
        agent.far.call("second", "initialize", {"protocolVersion": 2, "info": INFO})
        first, second = await agent.far.receive(), await agent.far.receive()
        assert (first["id"], second["id"]) == ("first", "second")
        assert first["result"]["protocolVersion"] == 1
        assert second["error"]["code"] == -32600
        assert len(agent.agreements) == 1


async def test_an_initialization_without_params_gets_an_error_that_says_what_is_missing() -> None:
    agent = Agent((1, 2))
    async with agent.peer:
        agent.far.send({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
        error = (await agent.far.receive())["error"]
        assert error["data"] == {"problem": "params.protocolVersion: required"}
