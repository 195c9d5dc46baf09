"""Session updates between two other programs, as version 2 types."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from parley.errors import MalformedValue, Unsupported
from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.schema.base import Unknown
from parley.session._capabilities import ClientFeatures
from parley.session._dialect import MAX_SESSIONS, Dialect, dialect_of


def json(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def update(
    dialect: Dialect, kind: str, session: str = "s", **fields: Any
) -> list[v2.SessionUpdate]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return dialect.updates(session, json(params))


def test_an_update_of_version_2_says_what_it_says(dialect2: Dialect) -> None:
    chunk = v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text="Hi"))
    params = v2.UpdateSessionNotification(session_id="s", update=chunk)
    assert dialect2.updates("s", Raw(encode(params))) == [chunk]
    assert dialect2.downgrade_update("s", chunk) == [chunk]


def test_what_is_known_of_a_session_counts_for_what_follows_in_it(dialect1: Dialect) -> None:
    def piece(session: str) -> Any:
        content = {"type": "text", "text": "a"}
        (chunk,) = update(dialect1, "agent_message_chunk", session, content=content)
        return chunk

    first = piece("s")
    assert isinstance(first, v2.AgentMessageChunk)
    assert piece("other").message_id != first.message_id
    assert piece("s").message_id == first.message_id


@pytest.mark.parametrize("version", [1, 2])
def test_an_update_that_cannot_be_read_is_an_error(version: int) -> None:
    with pytest.raises(MalformedValue):
        dialect_of(version).updates("s", json({"sessionId": "s"}))


def test_only_the_newest_sessions_are_remembered(dialect1: Dialect) -> None:
    first, second = dialect1.upgrader("first"), dialect1.upgrader("second")
    assert dialect1.upgrader("first") is first
    for number in range(MAX_SESSIONS - 1):
        dialect1.upgrader(str(number))
    assert dialect1.upgrader("second") is second
    assert dialect1.upgrader("first") is not first


def test_a_client_of_version_1_receives_the_whole_call_at_once_and_then_its_changes(
    dialect1: Dialect,
) -> None:
    (call,) = dialect1.downgrade_update("s", v2.ToolCallUpdated(tool_call_id="t", title="Edit"))
    assert isinstance(call, v1.ToolCall)
    assert call.title == "Edit"
    (change,) = dialect1.downgrade_update(
        "s", v2.ToolCallUpdated(tool_call_id="t", status="completed")
    )
    assert isinstance(change, v1.ToolCallUpdated)
    (other,) = dialect1.downgrade_update(
        "other", v2.ToolCallUpdated(tool_call_id="t", title="Edit")
    )
    assert isinstance(other, v1.ToolCall)
    assert dialect1.downgrade_update("s", v2.StateUpdated(state="running")) == []


def test_a_client_of_version_1_does_not_wait_for_what_a_call_shows(dialect1: Dialect) -> None:
    dialect1.downgrade_update("s", v2.ToolCallUpdated(tool_call_id="t", title="Edit"))
    for count, text in ((1, "much " * 1000), (2, "little")):
        content = v2.Content(content=v2.TextContent(text=text))
        (change,) = dialect1.downgrade_update(
            "s", v2.ToolCallContentChunk(tool_call_id="t", content=content)
        )
        assert isinstance(change, v1.ToolCallUpdated)
        assert len(change.content or []) == count


def test_a_client_of_version_1_is_offered_only_what_it_supports(dialect1: Dialect) -> None:
    removed = v2.PlanRemoved(plan_id="p")
    assert not dialect1.client.plans
    assert not any(
        isinstance(params, v1.PlanRemoved) for params in dialect1.downgrade_update("s", removed)
    )
    dialect1.initialize(json({"protocolVersion": 1, "clientCapabilities": {"plan": {}}}))
    assert dialect1.client == ClientFeatures(plans=True)
    assert dialect1.downgrade_update("new", removed) == [v1.PlanRemoved(plan_id="p")]


def test_nothing_of_what_a_client_of_version_2_offers_counts(dialect2: Dialect) -> None:
    dialect2.initialize(json({"protocolVersion": 2, "clientCapabilities": {"plan": {}}}))
    assert dialect2.client == ClientFeatures()


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("tool_call", "tool_call_update"),
        ("plan", "plan_update"),
        ("current_mode_update", "config_option_update"),
        ("agent_message_chunk", "agent_message_chunk"),
        ("_mine", "_mine"),
    ],
)
def test_kinds_of_updates_have_version_2s_names(
    dialect1: Dialect, dialect2: Dialect, tag: str, expected: str
) -> None:
    assert dialect1.upgrade_tag(tag) == expected
    assert dialect2.upgrade_tag(tag) == tag


def test_the_end_of_a_turn_is_an_update_in_version_2_alone(
    dialect1: Dialect, dialect2: Dialect
) -> None:
    idle = v2.StateUpdated(state="idle")
    assert dialect2.ends_turn(idle)
    assert not dialect2.ends_turn(v2.StateUpdated(state="running"))
    assert not dialect2.ends_turn(v2.PlanRemoved(plan_id="p"))
    assert not dialect1.ends_turn(idle)


def test_an_agent_of_version_2_may_have_no_sessions(dialect1: Dialect, dialect2: Dialect) -> None:
    response: dict[str, Any] = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}}
    assert not dialect2.has_sessions(json(response))
    assert dialect2.has_sessions(json({**response, "capabilities": {"session": {}}}))
    assert dialect1.has_sessions(json({"protocolVersion": 1}))
    with pytest.raises(MalformedValue):
        dialect2.has_sessions(json({"protocolVersion": 2, "info": 5}))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"value": "ask"}, v2.SetSessionConfigValueRequest),
        ({"type": "boolean", "value": True}, v2.SetSessionConfigBooleanRequest),
    ],
)
def test_an_option_that_is_set_is_read_and_written_in_the_version_2_vocabulary(
    value: dict[str, Any], kind: type
) -> None:
    dialect = dialect_of(1)
    method = dialect.method_from_wire("request", "agent", "session/set_config_option")
    params = {"sessionId": "s", "configId": "c", **value}
    request = method.upgrade(
        decode(method.params, Raw(msgspec.json.encode(params))), dialect.upgrader("s")
    )
    assert type(request) is kind
    assert msgspec.json.decode(encode(method.downgrade(request))) == params
    options = method.upgrade_result(
        v1.SetSessionConfigOptionResponse(config_options=[]), dialect.upgrader("s")
    )
    assert options == v2.SetSessionConfigOptionResponse(config_options=[])


def test_a_value_of_an_option_that_version_1_does_not_have_is_not_sent() -> None:
    method = dialect_of(1).method_from_wire("request", "agent", "session/set_config_option")
    with pytest.raises(Unsupported, match="no option value 'colour'"):
        method.downgrade(Unknown("colour", b"{}"))
