"""Content: the blocks that prompts, messages and tools are made of.

https://agentclientprotocol.com/protocol/v1/content
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.schema import v1, v2
from parley.schema.base import Unknown

from .raw_client import everywhere, initialized
from .shapes import is_refused, read, text, told, update, write

requirement = pytest.mark.requirement
BLOCKS: dict[int, Any] = {1: v1.ContentBlock, 2: v2.ContentBlock}
in_both_versions = pytest.mark.parametrize("version", BLOCKS)

IMAGE = {"type": "image", "data": "AAEC", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 12}
NOTES = {"uri": "file:///a", "text": "hi", "mimeType": "text/plain"}
BYTES = {"uri": "file:///a", "blob": "AAEC"}


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
    assert write(read(BLOCKS[version], block)) == block


@requirement("V1-CONTENT-07", "V1-CONTENT-08", "V1-CONTENT-09")
@in_both_versions
@pytest.mark.parametrize("block", [IMAGE, AUDIO])
def test_images_and_sound_need_data_and_a_type(version: int, block: dict[str, Any]) -> None:
    for name in ("data", "mimeType"):
        assert is_refused(BLOCKS[version], {k: v for k, v in block.items() if k != name})


@requirement("V1-CONTENT-08", "V1-CONTENT-09")
@in_both_versions
def test_a_resource_needs_a_uri_and_what_is_in_it_or_what_it_is_called(version: int) -> None:
    for resource in ({"uri": "file:///a"}, {"text": "hi"}, {"blob": "AAEC"}, {}):
        assert is_refused(BLOCKS[version], {"type": "resource", "resource": resource})
    for name in ("uri", "name"):
        assert is_refused(BLOCKS[version], {k: v for k, v in LINK.items() if k != name})
    assert read(BLOCKS[version], {**LINK, "size": "big"}).size is None


@requirement("V1-CONTENT-11", "V1-EXT-17")
def test_an_unknown_kind_of_block_is_refused_in_version_1_and_kept_in_version_2() -> None:
    video = {"type": "video", "data": [1, {"a": None}]}
    assert is_refused(v1.ContentBlock, video)
    kept = read(v2.ContentBlock, video)
    assert isinstance(kept, Unknown)
    assert write(kept) == video


@requirement("V1-CONTENT-11", "V1-TOOL-14")
@pytest.mark.parametrize("wrong", [text("x"), {"type": "content", "content": {"type": "video"}}, 5])
def test_a_broken_item_of_a_tools_content_is_left_out_alone(wrong: Any) -> None:
    good = {"type": "content", "content": text("kept")}
    call = update("tool_call", toolCallId="t", title="T", content=[wrong, good])
    content = told(1, call).tool_calls["t"].content
    assert [write(each) for each in content] == [good]


@requirement("V1-CONTENT-15")
@in_both_versions
def test_broken_annotations_are_ignored_and_unknown_roles_left_out(version: int) -> None:
    block = BLOCKS[version]
    assert read(block, text("x", annotations=5)).annotations is None
    annotations = read(block, text("x", annotations={"audience": ["user", "x"], "priority": "?"}))
    expected = ["user"] if version == 1 else ["user", "x"]
    assert annotations.text == "x"
    assert list(annotations.annotations.audience) == expected
    assert annotations.annotations.priority is None


@requirement("V1-CONTENT-16")
@in_both_versions
@pytest.mark.parametrize("block", [IMAGE, AUDIO, LINK, {"type": "resource", "resource": BYTES}])
def test_an_agent_may_say_any_kind_of_block(version: int, block: Any) -> None:
    (message,) = told(
        version,
        update("agent_message_chunk", messageId="m", content=block),
        update("agent_message_chunk", messageId="m", content=text("!")),
    ).messages
    assert [write(each) for each in message.content] == [block, text("!")]


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
