"""Content: the blocks that prompts, messages and tools are made of.

https://agentclientprotocol.com/protocol/v1/content
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from parley.agent import Agent, AgentFeatures, Turn
from parley.schema import v2
from parley.schema.base import Unknown

from .raw_client import everywhere, in_both_versions, initialized, talking_to
from .raw_connection import ErrorResponse
from .transcripts import transcript_after
from .wire_values import text, update, write

requirement = pytest.mark.requirement

IMAGE = {"type": "image", "data": "AAEC", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 12}
NOTES = {"uri": "file:///a", "text": "hi", "mimeType": "text/plain"}
BYTES = {"uri": "file:///a", "blob": "AAEC"}


def prompted(version: int, *blocks: Any) -> list[v2.ContentBlock]:
    """Return what an agent gets of a prompt; raise `ErrorReply` if it is refused."""
    return asyncio.run(_received(version, list(blocks)))


async def _received(version: int, prompt: list[Any]) -> list[v2.ContentBlock]:
    received: list[v2.ContentBlock] = []
    features = AgentFeatures(image=True, audio=True, embedded_context=True)
    agent = Agent("reader", features=features)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        received.extend(turn.prompt)

    async with talking_to(agent) as client:
        await client.initialize(version)
        session = await client.new_session()
        params = {"sessionId": session, "prompt": prompt}
        since = len(client.log)
        turn = await client.ended(session, client.request("session/prompt", params), since)
        if turn.error is not None:
            raise ErrorResponse(turn.error["code"])
    return received


def spoken(version: int, *blocks: Any) -> list[v2.ContentBlock]:
    """Return what a client gets of a message of these blocks."""
    chunks = (update("agent_message_chunk", messageId="m", content=each) for each in blocks)
    return [
        block
        for message in transcript_after(version, *chunks).messages
        for block in message.content
    ]


@requirement("V1-CONTENT-14", "V1-CONTENT-07", "V1-CONTENT-08", "V1-CONTENT-09")
@in_both_versions
@pytest.mark.parametrize(
    "block",
    [
        text("hi", annotations={"audience": ["user"], "priority": 0.5}, _meta={"k": 1}),
        {**IMAGE, "uri": "file:///a.png"},
        AUDIO,
        {**LINK, "title": "A", "description": "d", "mimeType": "text/plain"},
        {"type": "resource", "resource": NOTES},
        {"type": "resource", "resource": BYTES},
    ],
)
def test_a_block_of_mcp_is_a_block_and_stays_as_it_is(version: int, block: Any) -> None:
    assert [write(each) for each in prompted(version, block)] == [block]
    assert [write(each) for each in spoken(version, block)] == [block]


def without(block: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != name}


BROKEN: dict[str, Any] = {
    **{f"image-{name}": without(IMAGE, name) for name in ("data", "mimeType")},
    **{f"audio-{name}": without(AUDIO, name) for name in ("data", "mimeType")},
    **{f"link-{name}": without(LINK, name) for name in ("uri", "name")},
    "uri": {"type": "resource", "resource": {"uri": "file:///a"}},
    "text": {"type": "resource", "resource": {"text": "hi"}},
    "blob": {"type": "resource", "resource": {"blob": "AAEC"}},
    "nothing": {"type": "resource", "resource": {}},
}


@requirement("V1-CONTENT-07", "V1-CONTENT-08", "V1-CONTENT-09", "V2-ENUM-03")
@in_both_versions
@pytest.mark.parametrize("name", BROKEN)
def test_a_block_that_lacks_something_is_refused(version: int, name: str) -> None:
    with pytest.raises(ErrorResponse, match="-32602"):
        prompted(version, BROKEN[name])
    assert spoken(version, BROKEN[name]) == []


@requirement("V1-CONTENT-09")
@in_both_versions
def test_a_size_that_is_no_number_is_none(version: int) -> None:
    (link,) = prompted(version, {**LINK, "size": "big"})
    assert isinstance(link, v2.ResourceLink)
    assert link.size is None


@requirement("V1-CONTENT-11", "V1-EXT-17", "V2-ENUM-04")
def test_an_unknown_kind_of_block_is_refused_in_version_1_and_kept_in_version_2() -> None:
    video = {"type": "video", "data": [1, {"a": None}]}
    with pytest.raises(ErrorResponse, match="-32602"):
        prompted(1, video)
    (kept,) = prompted(2, video)
    assert isinstance(kept, Unknown)
    assert write(kept) == video


@requirement("V1-CONTENT-11", "V1-TOOL-14")
@pytest.mark.parametrize("wrong", [text("x"), {"type": "content", "content": {"type": "video"}}, 5])
def test_a_broken_item_of_a_tools_content_is_left_out_alone(wrong: Any) -> None:
    good = {"type": "content", "content": text("kept")}
    call = update("tool_call", toolCallId="t", title="T", content=[wrong, good])
    content = transcript_after(1, call).tool_calls["t"].content
    assert [write(each) for each in content] == [good]


@requirement("V1-CONTENT-15")
@in_both_versions
def test_broken_annotations_are_ignored_and_unknown_roles_left_out(version: int) -> None:
    blocks = prompted(
        version,
        text("x", annotations=5),
        text("y", annotations={"audience": ["user", "x"], "priority": "?"}),
    )
    audience = ["user"] if version == 1 else ["user", "x"]
    assert [write(each) for each in blocks] == [
        text("x"),
        text("y", annotations={"audience": audience}),
    ]


@requirement("V1-CONTENT-16")
@in_both_versions
@pytest.mark.parametrize("block", [IMAGE, AUDIO, LINK, {"type": "resource", "resource": BYTES}])
def test_an_agent_may_say_any_kind_of_block(version: int, block: Any) -> None:
    assert [write(each) for each in spoken(version, block, text("!"))] == [block, text("!")]


@requirement("V1-CONTENT-02", "V2-PROMPT-02", "V1-CMD-05", "V1-CMD-06", "V1-CMD-07")
@everywhere
async def test_text_links_and_unknown_commands_are_always_taken(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        turn = await client.turn(session, "where", LINK)
        assert json.loads(turn.text)["blocks"] == ["TextContent", "ResourceLink"]
        turn = await client.turn(session, "/nosuch thing", LINK)
        assert (turn.text, turn.stop_reason) == ("echo: /nosuch thing", "end_turn")


@requirement("V1-CONTENT-06", "V1-PROMPT-02", "V2-PROMPT-01")
@in_both_versions
@pytest.mark.parametrize("block", [IMAGE, AUDIO, {"type": "resource", "resource": NOTES}])
async def test_a_kind_that_the_agent_does_not_take_is_refused(version: int, block: Any) -> None:
    async with initialized(version, name="bare") as client:
        session = await client.new_session()
        params = {"sessionId": session, "prompt": [text("x"), block]}
        assert await client.refusal("session/prompt", params) == -32602
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V1-CONTENT-05")
@in_both_versions
async def test_a_kind_that_the_agent_offers_is_taken(version: int) -> None:
    async with initialized(version) as client:
        block = {"type": "resource", "resource": NOTES}
        turn = await client.turn(await client.new_session(), "where", block)
        assert json.loads(turn.text)["blocks"] == ["TextContent", "EmbeddedResource"]
