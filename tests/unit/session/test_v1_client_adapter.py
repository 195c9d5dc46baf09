"""A client with a version 1 agent: initialization and turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import ConnectionClosed, Unsupported
from parley.peer import Peer
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods
from parley.session._adapter import ClientAdapter, HandlerTable, open_client_adapter
from parley.session._capabilities import ClientFeatures
from parley.transport import memory_pair

from .raw_peer import US, RawPeer, Updates, client

TEXT: list[v2.ContentBlock] = [v2.TextContent(text="Hi")]
PROMPT = v2.PromptRequest(session_id="s", prompt=[*TEXT])
IDLE = v2.StateUpdated(state="idle", stop_reason="end_turn")
RUNNING = v2.StateUpdated(state="running")
OPEN = {"cwd": "/w"}


async def prompted(adapter: ClientAdapter, raw: RawPeer) -> tuple[v2.PromptResponse, Any]:
    """Send the prompt; return the response and the request that the agent received."""
    response = await adapter.request(methods.PROMPT, PROMPT)
    return response, await raw.expect("session/prompt")


async def test_the_agent_is_described_in_the_version_2_vocabulary() -> None:
    response: dict[str, Any] = {
        "agentInfo": {"name": "a", "version": "2", "title": "A"},
        "agentCapabilities": {"loadSession": True, "promptCapabilities": {"image": True}},
        "authMethods": [
            {"id": "m", "name": "M"},
            {"type": "terminal", "id": "t", "name": "T", "args": ["-x"], "env": {"K": "V"}},
        ],
        "_meta": {"k": 1},
    }
    async with client(**response) as (adapter, _):
        agent = adapter.agent
    assert adapter.version == 1
    assert agent.info == v2.Implementation(name="a", version="2", title="A")
    assert (agent.features.load, agent.features.image, agent.features.resume) == (True, True, False)
    assert agent.auth_methods == [
        v2.AuthMethodAgent(method_id="m", name="M"),
        v2.AuthMethodTerminal(
            method_id="t", name="T", args=["-x"], env=[v2.EnvVariable(name="K", value="V")]
        ),
    ]
    assert agent.meta == {"k": 1}


async def test_an_agent_need_not_say_who_it_is() -> None:
    async with client() as (adapter, _):
        assert adapter.agent.info.name == "unknown"


async def test_what_the_agent_says_right_after_its_response_is_received() -> None:
    received: asyncio.Queue[Any] = asyncio.Queue()
    program = HandlerTable(notifications={"auth/status_update": received.put_nowait})
    here, there = memory_pair()
    raw = RawPeer(there)
    async with Peer(here, "client") as peer:
        opening = asyncio.create_task(
            open_client_adapter(
                peer, info=US, features=ClientFeatures(), program=program, versions=(1,)
            )
        )
        await raw.serve("initialize", {"protocolVersion": 1})
        raw.send(method="auth/status_update", params={"state": "authenticated"})
        await opening
        update = await received.get()
    assert update == v2.AuthStatusUpdateNotification(state="authenticated")


async def test_content_of_a_kind_that_version_1_has_no_name_for_is_found_in_its_frame() -> None:
    hologram = b'{"type":"x_hologram","depth":3}'
    frame = (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
        b'{"sessionUpdate":"agent_message_chunk","content":%b}}}' % hologram
    )
    async with client() as (adapter, _):
        assert adapter.unknown_content(frame) == [Unknown("x_hologram", hologram)]


async def test_a_prompt_gets_its_response_at_once_and_its_turn_is_that_of_version_2() -> None:
    updates = Updates()
    async with client(updates.program()) as (adapter, raw):
        response, request = await prompted(adapter, raw)
        assert request["params"] == {
            "sessionId": "s",
            "prompt": [{"type": "text", "text": "Hi"}],
        }
        assert await updates.next() == v2.UserMessage(message_id=response.message_id, content=TEXT)
        assert await updates.next() == RUNNING
        raw.chunk("Hello")
        chunk = await updates.next()
        assert chunk.content == v2.TextContent(text="Hello")
        assert chunk.message_id != response.message_id
        usage = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
        raw.send(id=request["id"], result={"stopReason": "max_tokens", "usage": usage})
        end = await updates.next()
        assert (end.state, end.stop_reason) == ("idle", "max_tokens")
        assert end.usage == v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)


async def test_the_end_of_a_turn_waits_for_slow_handlers_of_what_came_before() -> None:
    seen: list[str] = []
    gate, over = asyncio.Event(), asyncio.Event()

    async def listen(note: v2.UpdateSessionNotification) -> None:
        if isinstance(note.update, v2.AgentMessageChunk):
            await gate.wait()
        seen.append(type(note.update).__name__)
        if note.update == IDLE:
            over.set()

    program = HandlerTable(notifications={"session/update": listen})
    async with client(program) as (adapter, raw):
        _, request = await prompted(adapter, raw)
        raw.chunk("Hello")
        raw.send(id=request["id"], result={"stopReason": "end_turn"})
        raw.chunk("By the way")
        gate.set()
        await over.wait()
    assert seen[:4] == ["UserMessage", "StateUpdated", "AgentMessageChunk", "StateUpdated"]


@pytest.mark.parametrize(
    ("response", "end"),
    [
        (
            {"error": {"code": -32050, "message": "No", "data": {"detail": 42}}},
            v2.StateUpdated(
                state="idle",
                stop_reason="error",
                error=v2.Error(code=-32050, message="No", data={"detail": 42}),
            ),
        ),
        (
            {"error": {"code": -32603, "message": "No"}},
            v2.StateUpdated(
                state="idle", stop_reason="error", error=v2.Error(code=-32603, message="No")
            ),
        ),
        (
            {"error": {"code": -32800, "message": "Cancelled"}},
            v2.StateUpdated(state="idle", stop_reason="cancelled"),
        ),
    ],
)
async def test_a_prompt_that_is_refused_ends_its_turn(
    response: dict[str, Any], end: v2.StateUpdated
) -> None:
    updates = Updates()
    async with client(updates.program()) as (adapter, raw):
        _, request = await prompted(adapter, raw)
        raw.send(id=request["id"], **response)
        assert [await updates.next() for _ in range(3)][2] == end


async def test_a_malformed_response_to_a_prompt_ends_its_turn_with_an_error() -> None:
    updates = Updates()
    async with client(updates.program()) as (adapter, raw):
        _, request = await prompted(adapter, raw)
        raw.send(id=request["id"], result={"stopReason": 7})
        end = [await updates.next() for _ in range(3)][2]
        assert end.stop_reason == "error"
        assert end.error.code == -32603


async def test_a_cancel_that_follows_a_prompt_reaches_the_agent_after_it() -> None:
    async with client() as (adapter, raw):
        await adapter.request(methods.PROMPT, PROMPT)
        await adapter.notify(methods.CANCEL_SESSION, v2.CancelSessionNotification(session_id="s"))
        await raw.expect("session/prompt")
        assert (await raw.expect("session/cancel"))["params"] == {"sessionId": "s"}


async def test_turns_follow_each_other_whatever_the_order_of_their_responses() -> None:
    updates = Updates()
    async with client(updates.program()) as (adapter, raw):
        first, request = await prompted(adapter, raw)
        second, other = await prompted(adapter, raw)
        assert first.message_id != second.message_id
        raw.send(id=other["id"], error={"code": -32600, "message": "Busy"})
        raw.chunk("Hello")
        raw.send(id=request["id"], result={"stopReason": "end_turn"})
        received = [await updates.next() for _ in range(7)]
    assert received[0].message_id == first.message_id
    assert [type(each) for each in received[1:4]] == [
        v2.StateUpdated,
        v2.AgentMessageChunk,
        v2.StateUpdated,
    ]
    assert received[3] == IDLE
    assert received[4].message_id == second.message_id
    assert received[5] == RUNNING
    assert received[6].error == v2.Error(code=-32600, message="Busy")


async def test_what_cannot_be_expressed_in_version_1_is_not_sent() -> None:
    block = Unknown("_video", b'{"type":"_video"}')
    request = v2.PromptRequest(session_id="s", prompt=[block])
    cancel = v2.CancelToolCallRequest(session_id="s", tool_call_id="t")
    option = Unknown("_range", b'{"type":"_range"}')
    resume = v2.ResumeSessionRequest(
        session_id="s", cwd="/w", replay_from=Unknown("_mark", b'{"type":"_mark"}')
    )
    server = Unknown("_tube", b'{"type":"_tube"}')
    async with client(agentCapabilities={"loadSession": True}) as (adapter, raw):
        with pytest.raises(Unsupported, match="_video"):
            await adapter.request(methods.PROMPT, request)
        with pytest.raises(Unsupported, match="does not exist in version 1"):
            await adapter.request(methods.CANCEL_TOOL_CALL, cancel)
        with pytest.raises(Unsupported, match="_range"):
            await adapter.request(methods.SET_SESSION_CONFIG_OPTION, option)
        with pytest.raises(Unsupported, match="whole sessions"):
            await adapter.request(methods.RESUME_SESSION, resume)
        with pytest.raises(Unsupported, match="_tube"):
            await adapter.request(
                methods.NEW_SESSION, v2.NewSessionRequest(cwd="/w", mcp_servers=[server])
            )
        assert raw.unread == 0


async def test_a_prompt_that_cannot_be_sent_fails() -> None:
    updates = Updates()
    async with client(updates.program()) as (adapter, raw):
        await raw.transport.aclose()
        await adapter.peer.wait_closed()
        with pytest.raises(ConnectionClosed):
            await adapter.request(methods.PROMPT, PROMPT)
    assert updates.is_empty


async def test_a_notification_sent_after_a_prompt_does_not_overtake_it() -> None:
    async with client(Updates().program()) as (adapter, raw):
        accepted: list[v2.PromptResponse] = []
        rejected: list[BaseException] = []
        adapter.begin_prompt(PROMPT, on_accepted=accepted.append, on_failed=rejected.append)
        cancel = v2.CancelSessionNotification(session_id="s")
        adapter.notify_now(methods.CANCEL_SESSION, cancel)
        assert len(accepted) == 1
        assert (await raw.expect("session/prompt"))["params"]["sessionId"] == "s"
        assert (await raw.expect("session/cancel"))["params"] == {"sessionId": "s"}
    assert rejected == []


async def test_the_end_of_the_connection_is_not_the_end_of_a_turn() -> None:
    updates = Updates()
    async with client(updates.program()) as (adapter, raw):
        await prompted(adapter, raw)
        assert [type(await updates.next()) for _ in range(2)] == [v2.UserMessage, v2.StateUpdated]
        await raw.transport.aclose()
        await adapter.peer.wait_closed()
    assert updates.is_empty


async def test_the_caller_can_have_the_response_to_a_prompt_before_its_turn_is_reported() -> None:
    order: list[str] = []
    program = HandlerTable(notifications={"session/update": lambda note: order.append("update")})
    async with client(program) as (adapter, raw):
        received: list[v2.PromptResponse] = []

        def on_result(response: v2.PromptResponse) -> None:
            order.append("response")
            received.append(response)

        response = await adapter.request(methods.PROMPT, PROMPT, on_result=on_result)
        assert received == [response]
        await raw.expect("session/prompt")
    assert order[0] == "response"
