"""Messages: ids, chunks, whole messages, and the three states of a field.

https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v2

from .transcripts import TranscriptReader, transcript_after
from .wire_values import chunk, is_refused, read, text, update, write

requirement = pytest.mark.requirement
ROLES = ("user_message", "agent_message", "agent_thought")


def message_texts(*updates: Any) -> list[tuple[str, str]]:
    return [(each.id, each.text) for each in transcript_after(2, *updates).messages]


def whole(id: str = "m", role: str = "agent_message", **fields: Any) -> Any:
    return update(role, messageId=id, **fields)


@requirement("V2-MSG-01", "V2-MSG-02", "V2-ENUM-03")
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("id", [{}, {"messageId": None}, {"messageId": 5}])
def test_a_message_without_an_id_is_malformed_and_not_an_unknown_update(
    role: str, id: dict[str, Any]
) -> None:
    message = update(role, content=[text("x")], **id)
    piece = update(f"{role}_chunk", content=text("x"), **id)
    assert is_refused(v2.SessionUpdate, message)
    assert is_refused(v2.SessionUpdate, piece)
    assert message_texts(message, piece, chunk("kept")) == [("m", "kept")]


@requirement("V2-MSG-03")
@pytest.mark.parametrize("id", ["", " ", "a/../b", "é\u202e", "\n", "0", "null", "x" * 1000])
def test_ids_are_compared_as_they_are(id: str) -> None:
    assert message_texts(chunk("a", id), chunk("b", id + "x"), chunk("c", id)) == [
        (id, "ac"),
        (id + "x", "b"),
    ]


@requirement("V2-MSG-04")
def test_content_of_a_whole_message_stays_is_cleared_or_replaced() -> None:
    client = TranscriptReader(2)
    steps: list[tuple[Any, str]] = [
        (whole(content=[text("A")]), "A"),
        (chunk("B"), "AB"),
        (whole(content=[text("C")]), "C"),
        (chunk("D"), "CD"),
        (whole(), "CD"),
        (whole(content=None), ""),
        (chunk("E"), "E"),
        (whole(content=[]), ""),
    ]
    for step, expected in steps:
        assert [each.text for each in client.receive(step).messages] == [expected]


@requirement("V2-MSG-05")
def test_a_chunk_appends_and_begins_a_message_that_is_not_there() -> None:
    assert message_texts(chunk("a"), whole(), chunk("b")) == [("m", "ab")]


@requirement("V2-MSG-06", "V2-MSG-08")
def test_messages_with_other_ids_are_others_and_may_be_interleaved() -> None:
    assert message_texts(chunk("1", "a"), chunk("2", "b"), chunk("3", "a"), chunk("4", "b")) == [
        ("a", "13"),
        ("b", "24"),
    ]


@requirement("V2-MSG-07")
def test_meta_patches_the_message_but_not_when_it_comes_with_a_chunk() -> None:
    client = TranscriptReader(2)
    steps: list[tuple[Any, Any]] = [
        (whole(_meta={"a": 1}), {"a": 1}),
        ({**chunk("x"), "_meta": {"b": 2}}, {"a": 1}),
        (whole(), {"a": 1}),
        (whole(_meta=None), None),
    ]
    for step, expected in steps:
        assert client.receive(step).messages[0].meta == expected


@requirement("V2-MSG-09", "V2-DUAL-09")
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": []}])
@pytest.mark.parametrize("meta", [{}, {"_meta": None}, {"_meta": {}}])
def test_omitted_null_and_value_are_written_as_they_were_read(
    content: dict[str, Any], meta: dict[str, Any]
) -> None:
    value = whole(**content, **meta)
    assert write(read(v2.SessionUpdate, value)) == value
