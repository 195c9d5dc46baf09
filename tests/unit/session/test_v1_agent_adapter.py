"""An agent with a version 1 client: initialization and turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import InvalidRequest
from parley.peer import RequestContext
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods
from parley.session._adapter import AgentAdapter, HandlerTable
from parley.session._capabilities import AgentFeatures

from .raw_peer import RawPeer, agent

PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "Hi"}]}


class Turns:
    """A program that takes prompts and cancels, and lets the test play its turns."""

    def __init__(self) -> None:
        self.taken: asyncio.Queue[tuple[v2.PromptRequest, RequestContext]] = asyncio.Queue()
        self.cancelled: asyncio.Queue[str] = asyncio.Queue()
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.adapter: AgentAdapter | None = None
        self.count = 0

    def __call__(self, adapter: AgentAdapter) -> HandlerTable:
        self.adapter = adapter
        return HandlerTable(
            requests={"session/prompt": self.prompt, "session/close": self.close},
            notifications={"session/cancel": self.cancel},
        )

    async def prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        self.count += 1
        message_id = f"m{self.count}"
        self.taken.put_nowait((params, request))
        request.after_response(lambda: self.begun.put_nowait(message_id))
        return v2.PromptResponse(message_id=message_id)

    async def close(self, params: v2.CloseSessionRequest, request: RequestContext) -> None:
        self.cancelled.put_nowait(params.session_id)

    def cancel(self, note: v2.CancelSessionNotification) -> None:
        self.cancelled.put_nowait(note.session_id)

    async def send_updates(self, *updates: v2.SessionUpdate, session: str = "s") -> None:
        assert self.adapter is not None
        for update in updates:
            note = v2.UpdateSessionNotification(session_id=session, update=update)
            await self.adapter.notify(methods.UPDATE_SESSION, note)

    async def end(self, reason: str = "end_turn", **fields: Any) -> None:
        await self.send_updates(v2.StateUpdated(state="idle", stop_reason=reason, **fields))


def agent_chunk(text: str) -> v2.AgentMessageChunk:
    return v2.AgentMessageChunk(message_id="a", content=v2.TextContent(text=text))


async def prompted(turns: Turns, raw: RawPeer, id: int = 1) -> None:
    raw.send(id=id, method="session/prompt", params=PROMPT)
    await turns.begun.get()


async def test_the_client_is_described_in_the_version_2_vocabulary() -> None:
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": True},
        "terminal": True,
        "elicitation": {"form": {}},
    }
    info: dict[str, Any] = {"name": "c", "version": "3"}
    async with agent(HandlerTable(), clientCapabilities=capabilities, clientInfo=info) as (
        adapter,
        _,
    ):
        client = adapter.client
        assert adapter.version == 1
        assert adapter.client_info == v2.Implementation(name="c", version="3")
    assert (client.read_files, client.write_files, client.terminals) == (True, False, True)
    assert (client.form_elicitation, client.url_elicitation) == (True, False)
    async with agent(HandlerTable()) as (adapter, _):
        assert adapter.client_info is None


async def test_a_prompt_gets_a_response_when_the_session_becomes_idle() -> None:
    turns = Turns()
    async with agent(turns) as (_, raw):
        raw.send(id=1, method="session/prompt", params=PROMPT)
        params, request = await turns.taken.get()
        assert params.prompt == [v2.TextContent(text="Hi")]
        assert request.params is params
        assert await turns.begun.get() == "m1"
        message = v2.UserMessage(message_id="m1", content=[v2.TextContent(text="Hi")])
        await turns.send_updates(message, v2.StateUpdated(state="running"), agent_chunk("Hello"))
        usage = v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)
        await turns.end("max_tokens", usage=usage, meta={"k": 1})
        update = await raw.next_update()  # the client knows what its user said
        assert update["content"] == {"type": "text", "text": "Hello"}
        assert await raw.result(1) == {
            "stopReason": "max_tokens",
            "usage": {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2},
            "_meta": {"k": 1},
        }


@pytest.mark.parametrize(
    ("reason", "response"),
    [
        ("end_turn", "end_turn"),
        ("max_turn_requests", "max_turn_requests"),
        ("refusal", "refusal"),
        ("cancelled", "cancelled"),
        ("_bored", "end_turn"),
    ],
)
async def test_stop_reasons_that_version_1_has_are_kept(reason: str, response: str) -> None:
    turns = Turns()
    async with agent(turns) as (_, raw):
        await prompted(turns, raw)
        await turns.end(reason)
        assert await raw.result(1) == {"stopReason": response}


async def test_a_turn_that_fails_responds_to_its_prompt_with_the_error() -> None:
    turns = Turns()
    async with agent(turns) as (_, raw):
        await prompted(turns, raw)
        error = v2.Error(code=-32050, message="No", data={"detail": 42})
        await turns.end("error", error=error)
        assert await raw.error(1) == {"code": -32050, "message": "No", "data": {"detail": 42}}
        await prompted(turns, raw, 2)
        await turns.end("error")
        assert await raw.error(2) == {"code": -32603, "message": "Internal error"}


async def test_what_is_said_after_the_end_of_a_turn_is_sent_after_its_response() -> None:
    turns = Turns()
    async with agent(turns) as (_, raw):
        await prompted(turns, raw)
        await prompted(turns, raw, 2)
        await turns.end()
        await turns.send_updates(
            v2.UserMessage(message_id="m2", content=[v2.TextContent(text="Hi")]),
            agent_chunk("Second"),
        )
        await turns.end("refusal")
        assert await raw.result(1) == {"stopReason": "end_turn"}
        assert (await raw.next_update())["content"]["text"] == "Second"
        assert await raw.result(2) == {"stopReason": "refusal"}


async def test_a_piece_of_a_message_that_version_1_has_no_kind_for_is_left_out() -> None:
    turns = Turns()
    async with agent(turns) as (adapter, raw):
        await prompted(turns, raw)
        hologram = Unknown("x_hologram", b'{"type":"x_hologram"}')
        await adapter.update("s", v2.AgentMessageChunk(message_id="a", content=hologram))
        await adapter.update("s", agent_chunk("seen"))
        assert (await raw.next_update())["content"] == {"type": "text", "text": "seen"}
        await turns.end()
        assert await raw.result(1) == {"stopReason": "end_turn"}


async def test_a_session_can_be_idle_without_ending_a_turn() -> None:
    turns = Turns()
    async with agent(turns) as (_, raw):
        await turns.end()
        await prompted(turns, raw)
        await turns.send_updates(v2.StateUpdated(state="idle"))
        await turns.send_updates(v2.StateUpdated(state="requires_action"), agent_chunk("Go on"))
        assert (await raw.next_update())["content"]["text"] == "Go on"
        await turns.end()
        assert await raw.result(1) == {"stopReason": "end_turn"}


async def test_a_prompt_that_the_program_refuses_gets_a_response_with_that() -> None:
    async def refuse(params: Any, request: Any) -> Any:
        raise InvalidRequest("Too many")

    async with agent(HandlerTable(requests={"session/prompt": refuse})) as (adapter, raw):
        raw.send(id=1, method="session/prompt", params=PROMPT)
        assert (await raw.error(1))["message"] == "Too many"
        note = v2.UpdateSessionNotification(
            session_id="s",
            update=v2.UserMessage(message_id="x", content=[v2.TextContent(text="Yo")]),
        )
        await adapter.notify(methods.UPDATE_SESSION, note)
        assert (await raw.next_update())["sessionUpdate"] == "user_message_chunk"


async def test_a_refused_prompt_leaves_the_turn_that_runs_alone() -> None:
    turns = Turns()
    refuses = False

    async def prompt(params: Any, request: Any) -> Any:
        if refuses:
            raise InvalidRequest("Busy")
        return await turns.prompt(params, request)

    def program(adapter: AgentAdapter) -> HandlerTable:
        return HandlerTable(requests={**turns(adapter).requests, "session/prompt": prompt})

    async with agent(program) as (_, raw):
        await prompted(turns, raw)
        refuses = True
        raw.send(id=2, method="session/prompt", params=PROMPT)
        assert (await raw.error(2))["message"] == "Busy"
        await turns.end()
        assert await raw.result(1) == {"stopReason": "end_turn"}


async def test_cancelling_a_session_is_the_programs_business() -> None:
    turns = Turns()
    async with agent(turns) as (_, raw):
        await prompted(turns, raw)
        raw.send(method="session/cancel", params={"sessionId": "s"})
        assert await turns.cancelled.get() == "s"
        await turns.send_updates(agent_chunk("Stopping"))
        await turns.end("cancelled")
        assert (await raw.next_update())["content"]["text"] == "Stopping"
        assert await raw.result(1) == {"stopReason": "cancelled"}


@pytest.mark.requirement("V1-CANCEL-10")
async def test_a_prompt_that_is_withdrawn_is_cancelled_and_answered_by_the_end_of_its_turn() -> (
    None
):
    turns = Turns()
    async with agent(turns) as (_, raw):
        await prompted(turns, raw)
        raw.send(method="$/cancel_request", params={"requestId": 1})
        assert await turns.cancelled.get() == "s"
        await turns.send_updates(agent_chunk("Stopping"))
        await turns.end("cancelled")
        assert (await raw.next_update())["content"]["text"] == "Stopping"
        assert await raw.result(1) == {"stopReason": "cancelled"}
        await prompted(turns, raw, 2)
        await turns.end()
        assert await raw.result(2) == {"stopReason": "end_turn"}


async def test_a_cancel_handler_may_wait_for_the_end_of_the_turn() -> None:
    turns = Turns()
    over = asyncio.Event()

    async def cancel(note: v2.CancelSessionNotification) -> None:
        await turns.end("cancelled")
        over.set()

    def program(adapter: AgentAdapter) -> HandlerTable:
        requests = turns(adapter).requests
        return HandlerTable(requests=requests, notifications={"session/cancel": cancel})

    async with agent(program) as (_, raw):
        await prompted(turns, raw)
        raw.send(method="$/cancel_request", params={"requestId": 1})
        await over.wait()
        assert await raw.result(1) == {"stopReason": "cancelled"}


async def test_a_program_that_cannot_cancel_ends_a_withdrawn_prompt_as_it_likes() -> None:
    turns = Turns()

    def program(adapter: AgentAdapter) -> HandlerTable:
        return HandlerTable(requests=turns(adapter).requests)

    async with agent(program) as (_, raw):
        await prompted(turns, raw)
        raw.send(method="$/cancel_request", params={"requestId": 1})
        await turns.end()
        assert await raw.result(1) == {"stopReason": "end_turn"}


@pytest.mark.requirement("V1-SESS-26")
async def test_the_prompts_of_a_session_that_is_closed_get_responses_before() -> None:
    turns = Turns()
    features = AgentFeatures(sessions=True, close=True)
    async with agent(turns, features) as (_, raw):
        await prompted(turns, raw)
        await prompted(turns, raw, 2)
        raw.send(id=3, method="session/close", params={"sessionId": "s"})
        assert await raw.result(1) == {"stopReason": "cancelled"}
        assert await raw.result(2) == {"stopReason": "cancelled"}
        assert await raw.result(3) == {}


@pytest.mark.parametrize("is_in_hook", [True, False])
async def test_a_turn_may_be_over_before_its_prompt_is_accepted(is_in_hook: bool) -> None:
    turns = Turns()

    async def prompt(params: Any, request: RequestContext) -> v2.PromptResponse:
        async def play() -> None:
            await turns.send_updates(
                v2.UserMessage(message_id="m", content=[v2.TextContent(text="Hi")]),
                v2.UserMessageChunk(message_id="m", content=v2.TextContent(text="!")),
                agent_chunk("Hello"),
            )
            await turns.end()

        if is_in_hook:
            request.after_response(play)
        else:
            await play()
        return v2.PromptResponse(message_id="m")

    def program(adapter: AgentAdapter) -> HandlerTable:
        turns(adapter)
        return HandlerTable(requests={"session/prompt": prompt})

    async with agent(program) as (_, raw):
        raw.send(id=1, method="session/prompt", params=PROMPT)
        assert (await raw.next_update())["sessionUpdate"] == "agent_message_chunk"
        assert await raw.result(1) == {"stopReason": "end_turn"}


async def test_a_hook_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    turns = Turns()

    async def prompt(params: Any, request: RequestContext) -> v2.PromptResponse:
        def fail() -> None:
            raise RuntimeError("no")

        request.after_response(fail)
        return await turns.prompt(params, request)

    def program(adapter: AgentAdapter) -> HandlerTable:
        turns(adapter)
        return HandlerTable(requests={"session/prompt": prompt})

    async with agent(program) as (_, raw):
        await prompted(turns, raw)
        await turns.end()
        assert await raw.result(1) == {"stopReason": "end_turn"}
    assert "a hook after an accepted prompt failed" in caplog.text


async def test_a_prompt_ends_with_the_connection() -> None:
    turns = Turns()
    async with agent(turns) as (adapter, raw):
        await prompted(turns, raw)
        _, request = await turns.taken.get()
        await raw.transport.aclose()
        await adapter.peer.wait_closed()
        assert request.task is not None
        await asyncio.wait({request.task})
        assert request.task.cancelled()
    assert turns.cancelled.empty()
