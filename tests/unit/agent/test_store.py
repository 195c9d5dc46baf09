"""A stored session as JSON: what is written is what is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.agent import Agent, AgentSession, MemoryStore, StoredSession, Turn
from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema.base import Unknown

from .agent_clients import connected_client, texts

LOUD = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=True)
GREET = v2.Command(name="greet", description="Greets.")


class JsonStore(MemoryStore):
    """Keeps sessions as JSON only."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, bytes] = {}

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        return [StoredSession.from_json(each).info() for each in self.kept.values()]

    async def get(self, id: str) -> StoredSession | None:
        return StoredSession.from_json(self.kept[id]) if id in self.kept else None

    async def put(self, session: StoredSession) -> None:
        self.kept[session.id] = session.to_json()


def full() -> StoredSession:
    stored = StoredSession(
        id="s",
        cwd="/w",
        additional_directories=["/x"],
        data={"notes": [1, "ä", None]},
        updated_at="2026-01-01T00:00:00Z",
        is_archived=True,
    )
    hello = v2.TextContent(text="Hello")
    for update in (
        v2.UserMessage(message_id="u", content=[hello]),
        v2.AgentMessageChunk(message_id="a", content=hello),
        v2.ToolCallUpdated(tool_call_id="c", title="Look", status="completed"),
        Unknown("_gauge", b'{"sessionUpdate":"_gauge","level":3}'),
        v2.PlanUpdate(plan=v2.PlanItems(plan_id="p", entries=[])),
        v2.SessionInfoUpdate(title="A talk"),
        v2.UsageUpdate(used=1, size=2, cost=v2.Cost(amount=0.5, currency="EUR")),
        v2.ConfigOptionUpdate(config_options=[LOUD]),
        v2.AvailableCommandsUpdate(available_commands=[GREET]),
    ):
        stored.transcript.fold(update)
    return stored


def test_everything_of_a_session_is_written_and_read() -> None:
    stored = full()
    read = StoredSession.from_json(stored.to_json())
    assert read.to_json() == stored.to_json()
    assert read.info() == stored.info()
    assert read.data == stored.data
    transcript = read.transcript
    assert [each.text for each in transcript.messages] == ["Hello", "Hello"]
    assert transcript.tool_calls["c"].status == "completed"
    assert (transcript.title, transcript.config_options, transcript.commands) == (
        "A talk",
        [LOUD],
        [GREET],
    )
    assert transcript.cost == v2.Cost(amount=0.5, currency="EUR")
    assert Unknown("_gauge", b'{"sessionUpdate":"_gauge","level":3}') in transcript.entries


def test_what_ran_when_it_was_written_does_not_run_any_more() -> None:
    stored = StoredSession(id="s", cwd="/w")
    stored.transcript.fold(v2.ToolCallUpdated(tool_call_id="c", status="in_progress"))
    read = StoredSession.from_json(stored.to_json().decode())
    assert read.transcript.tool_calls["c"].status == "cancelled"


@pytest.mark.parametrize(
    "change",
    [
        {"cwd": 5},
        {"updates": None},
        {"updates": [5]},
        {"updates": [{"sessionUpdate": "user_message"}]},
        {"data": []},
    ],
)
def test_what_is_no_session_is_refused(change: dict[str, Any]) -> None:
    written = json.loads(full().to_json())
    with pytest.raises(MalformedValue):
        StoredSession.from_json(json.dumps({**written, **change}))
    for text in (b"", b"{", b"\xff", b"[]", "null"):
        with pytest.raises(MalformedValue):
            StoredSession.from_json(text)


def test_data_that_json_cannot_hold_is_the_programs_mistake() -> None:
    with pytest.raises(TypeError):
        StoredSession(id="s", cwd="/w", data={"x": object()}).to_json()


async def test_a_session_continues_where_a_store_of_json_left_it() -> None:
    store = JsonStore()

    def begun() -> Agent:
        agent = Agent("notes", store=store)

        @agent.open_session
        async def prepare(session: AgentSession) -> None:
            if session.origin == "new":
                await session.set_config_options([LOUD])
                await session.set_commands([GREET])

        @agent.prompt
        async def reply(turn: Turn) -> None:
            turn.session.data["count"] = turn.session.data.get("count", 0) + 1
            await turn.say(str(turn.session.data["count"]))

        return agent

    async with connected_client(begun()) as client:
        session = await client.new()
        assert texts(await client.turn(session)) == ["1"]
    async with connected_client(begun()) as client:
        response = await client.resume(session, replays=True)
        assert (response.config_options, response.available_commands) == ([LOUD], [GREET])
        assert texts(client.unread()) == ["1"]
        assert texts(await client.turn(session)) == ["2"]
