"""What is told in sessions between two others, in version 2's words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from parley.errors import MalformedValue, Unsupported
from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.schema.codec import decode, encode
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import unstable as draft2
from parley.session.features import ClientFeatures
from parley.session.words import MAX_SESSIONS, Words, words_of


def json(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def update(words: Words, kind: str, session: str = "s", **fields: Any) -> list[v2.SessionUpdate]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return words.updates(session, json(params))


def test_an_update_of_version_2_says_what_it_says(words2: Words) -> None:
    chunk = v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text="Hi"))
    params = v2.UpdateSessionNotification(session_id="s", update=chunk)
    assert words2.updates("s", Raw(encode(params))) == [chunk]
    assert words2.told("s", chunk) == [chunk]


def test_what_is_known_of_a_session_counts_for_what_follows_in_it(words1: Words) -> None:
    def piece(session: str) -> Any:
        content = {"type": "text", "text": "a"}
        (chunk,) = update(words1, "agent_message_chunk", session, content=content)
        return chunk

    first = piece("s")
    assert isinstance(first, v2.AgentMessageChunk)
    assert piece("other").message_id != first.message_id
    assert piece("s").message_id == first.message_id


@pytest.mark.parametrize("version", [1, 2])
def test_an_update_that_cannot_be_read_is_an_error(version: int) -> None:
    with pytest.raises(MalformedValue):
        words_of(version).updates("s", json({"sessionId": "s"}))


def test_only_the_newest_sessions_are_remembered(words1: Words) -> None:
    first, second = words1.lifting("first"), words1.lifting("second")
    assert words1.lifting("first") is first
    for number in range(MAX_SESSIONS - 1):
        words1.lifting(str(number))
    assert words1.lifting("second") is second
    assert words1.lifting("first") is not first


def test_a_client_of_version_1_is_told_the_whole_call_at_once_and_then_its_changes(
    words1: Words,
) -> None:
    (call,) = words1.told("s", v2.ToolCallUpdated(tool_call_id="t", title="Edit"))
    assert isinstance(call, v1.ToolCall)
    assert call.title == "Edit"
    (change,) = words1.told("s", v2.ToolCallUpdated(tool_call_id="t", status="completed"))
    assert isinstance(change, v1.ToolCallUpdated)
    (anew,) = words1.told("other", v2.ToolCallUpdated(tool_call_id="t", title="Edit"))
    assert isinstance(anew, v1.ToolCall)
    assert words1.told("s", v2.StateUpdated(state="running")) == []


def test_a_client_of_version_1_does_not_wait_for_what_a_call_shows(words1: Words) -> None:
    words1.told("s", v2.ToolCallUpdated(tool_call_id="t", title="Edit"))
    for count, text in ((1, "much " * 1000), (2, "little")):
        content = v2.Content(content=v2.TextContent(text=text))
        (change,) = words1.told("s", v2.ToolCallContentChunk(tool_call_id="t", content=content))
        assert isinstance(change, v1.ToolCallUpdated)
        assert len(change.content or []) == count


def test_a_client_of_version_1_is_told_what_it_offers_to_take(words1: Words) -> None:
    removed = draft2.PlanRemoved(plan_id="p")
    assert not words1.client.plans
    assert not any(isinstance(told, draft1.PlanRemoved) for told in words1.told("s", removed))
    words1.initialize(json({"protocolVersion": 1, "clientCapabilities": {"plan": {}}}))
    assert words1.client == ClientFeatures(plans=True)
    assert words1.told("new", removed) == [draft1.PlanRemoved(plan_id="p")]


def test_nothing_of_what_a_client_of_version_2_offers_counts(words2: Words) -> None:
    words2.initialize(json({"protocolVersion": 2, "clientCapabilities": {"plan": {}}}))
    assert words2.client == ClientFeatures()


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
    words1: Words, words2: Words, tag: str, expected: str
) -> None:
    assert words1.kind(tag) == expected
    assert words2.kind(tag) == tag


def test_the_end_of_a_turn_is_an_update_in_version_2_alone(words1: Words, words2: Words) -> None:
    idle = v2.StateUpdated(state="idle")
    assert words2.ends_turn(idle)
    assert not words2.ends_turn(v2.StateUpdated(state="running"))
    assert not words2.ends_turn(draft2.PlanRemoved(plan_id="p"))
    assert not words1.ends_turn(idle)


def test_an_agent_of_version_2_may_have_no_sessions(words1: Words, words2: Words) -> None:
    answer: dict[str, Any] = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}}
    assert not words2.has_sessions(json(answer))
    assert words2.has_sessions(json({**answer, "capabilities": {"session": {}}}))
    assert words1.has_sessions(json({"protocolVersion": 1}))
    with pytest.raises(MalformedValue):
        words2.has_sessions(json({"protocolVersion": 2}))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"value": "ask"}, v2.SetSessionConfigValueRequest),
        ({"type": "boolean", "value": True}, v2.SetSessionConfigBooleanRequest),
    ],
)
def test_an_option_that_is_set_is_heard_and_said_in_version_2_s_words(
    value: dict[str, Any], kind: type
) -> None:
    words = words_of(1)
    word = words.heard("request", "agent", "session/set_config_option")
    told = {"sessionId": "s", "configId": "c", **value}
    request = word.lift(decode(word.params, Raw(msgspec.json.encode(told))), words.lifting("s"))
    assert type(request) is kind
    assert msgspec.json.decode(encode(word.lower(request))) == told
    options = word.lift_result(
        v1.SetSessionConfigOptionResponse(config_options=[]), words.lifting("s")
    )
    assert options == v2.SetSessionConfigOptionResponse(config_options=[])


def test_a_value_of_an_option_that_version_1_does_not_have_is_not_said() -> None:
    word = words_of(1).heard("request", "agent", "session/set_config_option")
    with pytest.raises(Unsupported, match="no option value 'colour'"):
        word.lower(Unknown("colour", b"{}"))
